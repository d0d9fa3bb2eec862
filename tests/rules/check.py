"""Checks what promtool does not: what each alert says, its runbook and its tests.

`check.py expressions` prints the expressions of all rules as a JSON array instead. `check.py operator FOLDER` writes the rule tests
to that folder, with the target labels that the Prometheus operator adds.
"""

import json
import pathlib
import re
import sys

import yaml

here = pathlib.Path(__file__).resolve().parent
deploy = here.parent.parent / "deploy" / "prometheus"
RUNBOOK = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/README.md#"
SECTIONS = ("**Means**", "**See**", "**Do**", "**False alarms**")
# Labels that a ServiceMonitor's targets have besides job and instance: a metric with one of these names would lose it.
OPERATOR = {
    "endpoint": "metrics", "namespace": "l10n", "service": "translation-exporter", "container": "translation-exporter",
}

problems = []


def rules(file, kind):
    groups = yaml.safe_load((deploy / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


def runbook_sections():
    """Section texts by the anchor that GitHub gives their heading."""
    parts = re.split(r"^#+ (.+)$", (deploy / "README.md").read_text(), flags=re.MULTILINE)
    anchors = (re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in parts[1::2])
    return dict(zip(anchors, parts[2::2]))


def tested(alert):
    """How many cases expect the alert to fire, and how many expect silence."""
    firing = silent = 0
    for path in here.glob("*.yaml"):
        for test in yaml.safe_load(path.read_text())["tests"]:
            for case in test.get("alert_rule_test", []):
                if case["alertname"] == alert:
                    firing, silent = firing + bool(case["exp_alerts"]), silent + (not case["exp_alerts"])
            for case in test.get("promql_expr_test", []):
                if f'alertname="{alert}"' in case["expr"]:
                    firing, silent = firing + bool(case["exp_samples"]), silent + (not case["exp_samples"])
    return firing, silent


def with_operator_labels(test):
    """The same test with the operator's labels on all that is scraped, and on all alerts that are expected."""
    for case in test["tests"]:
        for series in case["input_series"]:
            labels = OPERATOR | ({"pod": "translation-exporter-0"} if "instance=" in series["series"] else {})
            added = "".join(f'{name}="{value}",' for name, value in labels.items() if f"{name}=" not in series["series"])
            series["series"] = series["series"].replace("{", "{" + added, 1)
        for expected in case.get("alert_rule_test", []):
            for alert in expected["exp_alerts"]:
                alert["exp_labels"] = OPERATOR | alert["exp_labels"]
    return test | {"rule_files": [str((here / file).resolve()) for file in test["rule_files"]]}


def check_alert(rule, sections):
    name, annotations = rule["alert"], rule.get("annotations", {})
    if rule.get("labels", {}).get("severity") not in {"critical", "warning", "info"}:
        problems.append(f"{name} has no severity of critical, warning or info")
    for annotation in ("summary", "description", "runbook_url"):
        if not annotations.get(annotation):
            problems.append(f"{name} has no {annotation}")
    if "$value" not in annotations.get("description", ""):
        problems.append(f"the description of {name} does not say the value")
    url = annotations.get("runbook_url", "")
    section = sections.get(url.removeprefix(RUNBOOK))
    if not url.startswith(RUNBOOK) or section is None:
        problems.append(f"the runbook has no section for {name} at {url}")
    else:
        problems.extend(f"the runbook's section on {name} lacks {part}" for part in SECTIONS if part not in section)
        severity = rule.get("labels", {}).get("severity")
        if f"*{severity}, per " not in section:
            problems.append(f"the runbook's section on {name} does not say that its severity is {severity}")
    firing, silent = tested(name)
    if not firing or not silent:
        problems.append(f"{name} is tested {firing} times for firing and {silent} times for silence; at least one each")


def main():
    alerts, recorded = rules("alerts.yaml", "alert"), rules("recording-rules.yaml", "record")
    if sys.argv[1:] == ["expressions"]:
        json.dump([rule["expr"] for rule in alerts + recorded], sys.stdout)
        return 0
    if sys.argv[1:2] == ["operator"]:
        for path in here.glob("*.yaml"):
            (pathlib.Path(sys.argv[2]) / path.name).write_text(yaml.dump(with_operator_labels(yaml.safe_load(path.read_text()))))
        return 0
    sections = runbook_sections()
    for rule in alerts:
        check_alert(rule, sections)

    text = (deploy / "README.md").read_text()
    for link in re.findall(r"\]\(#([^)]+)\)", text):
        if link not in sections:
            problems.append(f"the README links to #{link}, which it does not have")

    names = {rule["record"] for rule in recorded}
    expressions = " ".join(rule["expr"] for rule in alerts + recorded)
    for used in set(re.findall(r"\b[a-z_]+:[a-z0-9_]+(?::[a-z0-9_]+)?", expressions)):
        if used not in names:
            problems.append(f"{used} is read but not recorded")
    for file in here.glob("*.yaml"):
        tests = file.read_text()
        names = {name for name in names if name not in tests}
    # What only serves other rules is tested through them.
    for name in names - set(re.findall(r"[\w:]+", expressions)):
        problems.append(f"{name} is recorded, but nothing tests it")

    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(alerts)} alerts and {len(recorded)} recording rules checked, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
