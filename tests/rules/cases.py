"""Turns the rule tests of this folder, which are written as cases, into the unit tests that promtool runs.

A file is named after the alert that it tests, or after its subject, and holds a list of tests:

    name        the promise
    step        the time between two samples; `evaluated` is the time between two evaluations, 1m unless given
    steps       how many samples follow the first one
    scraped     when targets are scraped, where they do not say so themselves; or `lost`: each so-manieth scrape fails
    paused      from when until when no rule is evaluated, in hours
    exporters   what is scraped, one entry for each target, or a list of such:
      labels        of the target; `instance` is `a` unless given
      scraped       when it is scraped: promtool's notation with `$` for each value; `$xSTEPS` unless given
      crashes       instead: after how many steps it starts again and again, and how many of them it is up
      series        values by selector, where they are not those of a healthy exporter; null is no series
      problems      values of translation_exporter_problem by kind; 0 of each kind that is not named
      shown         how many repositories it has, all of them fresh: 3 unless given
      languages     values by repository and language: `ratio`, `target`, `due`, `fallen` (from which ratio), and its problems by kind;
                    `url` of a repository leads to the work
    by          the labels that distinguish alerts: [job] unless given
    firing      by time, the alerts that fire then, each as its values of `by`; `active` includes those that are pending
    all         by time, all alerts that fire then, whatever their names, each as its name and `by`
    notified    the texts of all alerts that fire at a time: `of` has the labels of each, for which {label} stands in the texts, and as
                `value` what else differs in the description; of a language also what its annotations say, as `link`, `ratio`, `target`
                and `due`
    each        the test is one for each of these: `alert`, the `summary` and `description` that it notifies, and `kind`, which
                stands for KIND in the test
    expressions other expressions, as promtool has them

A number is the value of each sample, and `now` its time; any other text is promtool's notation.
"""

import json
import re
from pathlib import Path
from urllib.parse import quote_plus

import yaml

HERE = Path(__file__).resolve().parent
ALERTS = HERE.parent.parent / "deploy" / "prometheus" / "alerts.yaml"
RUNBOOK = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/README.md#"
# Labels that a ServiceMonitor's targets have besides job and instance: a metric with one of these names would lose it.
OPERATOR = {"endpoint": "metrics", "namespace": "l10n", "service": "translation-exporter", "container": "translation-exporter"}
# Labels of alerts that tests name.
LABELS = {"job", "repo", "language", "namespace", "cluster"}
POD = {"pod": "translation-exporter-0"}
# What a healthy exporter exposes, as far as a rule reads it.
HEALTHY = {"up": 1, "process_start_time_seconds": 0, 'translation_exporter_build_info{version="1.0.0"}': 1}
# The kinds of problems that an exporter's diagnosis knows, by severity, from the table that its definitions generate.
KINDS = dict(re.findall(r"^\| `(\w+)` \| (warning|info) \|", (HERE.parents[1] / "deploy/metrics.md").read_text(), re.MULTILINE))
OF_A_LANGUAGE = {
    "ratio": "translation_completion_ratio",
    "target": "translation_target_ratio",
    "due": "translation_target_due_timestamp_seconds",
    "fallen": "translation_fallen_from_ratio",
}
# What the annotations of an alert on a language say, unless a test expects more.
UNKNOWN = {"link": "", "ratio": "", "target": "", "due": ""}
SECONDS = {"m": 60, "h": 3600}


def load():
    """All tests, each with the name of the alert that its file is about."""
    tests = []
    for path in sorted(HERE.glob("*.yaml")):
        text = path.read_text()
        assert not re.search(r": 0x\d+[,}\n]", text), f"{path}: YAML reads 0x10 as a number: put it into quotes"
        tests += [{"alert": path.stem, **one} for test in yaml.safe_load(text) for one in each(test)]
    return tests


def each(test):
    """The test itself, or one for each kind of problem that it is about."""
    if "each" not in test:
        return [test]
    text = yaml.safe_dump({key: value for key, value in test.items() if key != "each"})
    return [
        {**one, "alert": about["alert"], "notified": one["notified"] | {key: about[key] for key in ("summary", "description")}}
        for about in test["each"]
        for kind in about["kinds"]
        for one in [yaml.safe_load(text.replace("all-but: KIND", f"all-but: {about['kinds']}").replace("KIND", kind))]
    ]


def for_promtool(test, severities, folder):
    """One test as a file of promtool's, with the labels that the Prometheus operator adds to all targets."""
    alert = test["alert"]
    return {
        "rule_files": [str(rule_file(test, folder))],
        "evaluation_interval": test.get("evaluated", "1m"),
        "tests": [{
            "interval": test.get("step", "1m"),
            "input_series": [series for exporter in flat(test.get("exporters", [])) for series in scraped(exporter, test)],
            "alert_rule_test": [notification(alert, severities[alert], **test["notified"])] if "notified" in test else [],
            "promql_expr_test": [
                *(count(alert, test, at, alerts, 'alertstate="firing"') for at, alerts in test.get("firing", {}).items()),
                *(count(alert, test, at, alerts, "") for at, alerts in test.get("active", {}).items()),
                *(count(None, test, at, alerts, 'alertstate="firing"') for at, alerts in test.get("all", {}).items()),
                *test.get("expressions", []),
            ],
        }],
    }


def rule_file(test, folder):
    """The file of rules; if they pause, one in which no expression has a value meanwhile, which is the same to Prometheus."""
    if "paused" not in test:
        return ALERTS
    begin, end = (3600 * hours for hours in test["paused"])
    rules = yaml.safe_load(ALERTS.read_text())
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule["expr"] = f"({rule['expr']}) and on () (vector(time()) < {begin} or vector(time()) >= {end})"
    file = folder / f"paused-{begin}-{end}"
    file.write_text(yaml.dump(rules))
    return file


def flat(entries):
    """A list of which some entries may be lists."""
    return [one for entry in entries for one in (flat(entry) if isinstance(entry, list) else [entry])]


def selector(name, **labels):
    """Label values as PromQL quotes them, which is as JSON does."""
    return f"{name}{{{','.join(f'{label}={json.dumps(value)}' for label, value in labels.items())}}}"


def labelled(selected, labels):
    """The selector with these labels too, except those that it has."""
    name, _, given = selected.removesuffix("}").partition("{")
    more = [f'{label}="{value}"' for label, value in labels.items() if not re.search(rf"\b{label}=", given)]
    return f"{name}{{{','.join(more + ([given] if given else []))}}}"


def scraped(exporter, test):
    labels = {**OPERATOR, **POD, "instance": "a", **exporter["labels"]}
    shape = exporter.get("scraped") or test.get("scraped", f"$x{test.get('steps')}")
    found = HEALTHY | {'translation_exporter_repositories{state="fresh"}': exporter.get("shown", 3)}
    found |= {selector("translation_exporter_repositories", state=state): 0 for state in ("filtered", "pending", "failing", "stale")}
    found |= exporter.get("series", {})
    if "lost" in test and "scraped" not in exporter:
        shape = " ".join([f"$x{test['lost'] - 2} stale"] * (test["steps"] // test["lost"]))
        found["up"] = shape.replace("stale", "0").replace("$", "1")
    if "crashes" in exporter:
        shape, starts = lives(*exporter["crashes"], test)
        found |= {"process_start_time_seconds": starts, "up": shape.replace("stale _", "0").replace("$", "1")}
    problems = dict.fromkeys(KINDS, 0) | exporter.get("problems", {})
    if "all-but" in problems:
        problems = dict.fromkeys(KINDS, 1) | dict.fromkeys(problems["all-but"], 0)
    for kind, value in problems.items():
        found[selector("translation_exporter_problem", kind=kind, severity=KINDS[kind])] = value
    for repo, languages in exporter.get("languages", {}).items():
        for language, values in languages.items():
            if language == "url":
                found[selector("translation_repository_info", repo=repo, id="1", private="true", url=values)] = 1
                continue
            for key, value in values.items():
                name = OF_A_LANGUAGE.get(key, "translation_problem_timestamp_seconds")
                kind = {} if key in OF_A_LANGUAGE else {"kind": key}
                found[selector(name, repo=repo, language=language, **kind)] = value
    for selected, value in found.items():
        if value is not None:
            yield {"series": labelled(selected, labels), "values": notation(value, shape, seconds(test))}


def seconds(test):
    step = test.get("step", "1m")
    return int(step[:-1]) * SECONDS[step[-1]]


def lives(period, up, test):
    """When an exporter is scraped that is up for so many steps of each period, and when it started."""
    number = test["steps"] // period
    down = f"stale _x{period - up - 1}"
    step = seconds(test)
    return (
        " ".join([f"$x{up - 1} {down}"] * number),
        " ".join(f"{life * period * step}x{up - 1} {down}" for life in range(number)),
    )


def notation(value, shape, step):
    if value == "now":
        return times(shape, step)
    return value if isinstance(value, str) else shape.replace("$", str(value))


def times(shape, step):
    """The time of each sample. `$xN` are N + 1 samples, `_xN` are N without."""
    words, at = [], 0
    for word in shape.split():
        what, _, number = word.partition("x")
        words.append(f"{at * step}+{step}x{number}" if what == "$" else word)
        at += int(number or 1) + (what == "$")
    return " ".join(words)


def count(alert, test, at, alerts, state):
    by = test.get("by", ["job"]) if alert else ["alertname", *test.get("by", ["job"])]
    alertname = f'alertname="{alert}", ' if alert else ""
    expr = f"ALERTS{{{alertname}{state}}}"
    samples = [
        {"labels": "{" + ",".join(f'{label}="{value}"' for label, value in zip(by, str(one).split(), strict=True) if value != "{}") + "}", "value": 1}
        for one in flat(alerts)
    ]
    return {"expr": f"count by ({', '.join(by)}) ({expr})", "eval_time": at, "exp_samples": samples}


def notification(alert, severity, at, summary, description, of):
    """All alerts that fire at that time, with their texts: promtool compares the whole."""
    return {"alertname": alert, "eval_time": at, "exp_alerts": [
        {
            "exp_labels": {"namespace": "l10n", "severity": severity} | {label: text for label, text in one.items() if label in LABELS},
            "exp_annotations": {
                "summary": summary, "description": description.format(**{"value": ""} | one), "runbook_url": RUNBOOK + alert.lower(),
                "dashboard": dashboard(one), **({key: one.get(key, text) for key, text in UNKNOWN.items()} if "language" in one else {}),
            },
        }
        for one in of
    ]}


def dashboard(labels):
    job = quote_plus(labels["job"])
    if "repo" in labels:
        return f"/d/translation-repository?var-job={job}&var-repository={quote_plus(labels['repo'])}"
    return f"/d/translation-exporter?var-job={job}"
