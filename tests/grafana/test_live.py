"""The dashboards on a real Prometheus: data in every panel, true figures, metrics that exist.

Prometheus scrapes two jobs, each as two replicas: the demo, which has data for every panel, and an exporter of an
account with known translations, whose figures are known. Both jobs have the same instances.

The environment gives PROGRAM and FAKE_API, the built programs, and NODE_FOLDER, the folder with Grafana's own packages.
"""

import json
import math
import os
import re
import subprocess
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

import figures
import yaml
from dashboards import (
    RULES,
    Json,
    choices,
    events,
    interpolate,
    labels_named,
    load,
    panels,
    parse,
    rules,
    selectors,
    targets,
)
from harness import FakeApi, Prometheus, address, get, running, wait_for
from prometheus_client.parser import text_string_to_metric_families

DASHBOARDS = load()
PATIENCE = 150
# How far the shortened forecast looks back, in seconds.
FORECAST = 15
INSTANCES = ["one", "two"]

# Exposed, and neither charted nor alerted on.
UNUSED = {
    "process_virtual_memory_bytes": "says nothing about the memory that is used",
    "process_virtual_memory_max_bytes": "a limit that is hardly ever set",
    "process_threads": "does not change",
}
# Exposed only where the exporter serves TLS, which it does not here.
OF_TLS = {"translation_exporter_tls_certificate_expiry_timestamp_seconds"}
# What Prometheus itself adds.
PROMETHEUS_METRICS = {"up": {"job", "instance", "pod"}}
TARGET_LABELS = {"job", "instance", "pod"}


def shortened_rules() -> str:
    """The recording rules, evaluated each second, with a forecast that needs 15 seconds of history instead of a day."""
    text = (RULES / "recording-rules.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("offset 1d", f"offset {FORECAST}s"),
        (") / (24 * 3600)\n", f") / {FORECAST}\n"),
        ("interval: 2m", "interval: 1s"),
        ("interval: 4m", "interval: 1s"),
    ):
        if old not in text:
            raise ValueError(f"recording-rules.yaml has no {old!r} any more: shorten it in another way")
        text = text.replace(old, new)
    return text


def samples(exporter: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What the exporter at this address exposes now, by the name of the sample."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(get(f"http://{exporter}/metrics")):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def filled_in(legend: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), legend)


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = ExitStack()
        cls.addClassCleanup(stack.close)
        cls.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cls.api = stack.enter_context(FakeApi(os.environ["FAKE_API"]))
        cls.api.put(*figures.REPOSITORIES)
        cls.demo = cls.start(stack, "demo")
        known = cls.start(stack, "serve", api__base_url=cls.api.url, **figures.SETTINGS)
        cls.api.command("lose", [figures.LOST])
        cls.lost = time.time()
        (cls.folder / "rules.yaml").write_text(shortened_rules())
        jobs = {"demo": cls.demo, "known": known}
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [
                {
                    "job_name": job,
                    "static_configs": [
                        {"targets": [at], "labels": {"instance": instance, "pod": f"pod-{instance}"}} for instance in INSTANCES
                    ],
                }
                for job, at in jobs.items()
            ],
        }
        (cls.folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        cls.prometheus = stack.enter_context(Prometheus.start(cls.folder, "prometheus.yaml"))
        cls.repo = cls.repository_with_most_work()
        # The forecast takes longest, as it looks back.
        forecast = f'repo_language:translation_completion_estimated_timestamp_seconds{{repo="{cls.repo}"}}'
        wait_for("the recorded forecast", lambda: cls.prometheus.now(forecast), PATIENCE)

    @classmethod
    def start(cls, stack: ExitStack, command: str, **settings: str) -> str:
        """The address of the program with one of its commands and these settings, once it has read everything."""
        log = cls.folder / f"{command}.log"
        variables = {f"TRANSLATION_EXPORTER_{name.upper()}": value for name, value in settings.items()}
        arguments = [os.environ["PROGRAM"], command, "--web.listen-address=127.0.0.1:0"]
        at = address(stack.enter_context(running(arguments, log, env=os.environ | variables)), log)
        read = "translation_exporter_last_success_timestamp_seconds"
        wait_for("the first whole poll", lambda: read in samples(at))
        return at

    @classmethod
    def repository_with_most_work(cls) -> str:
        """The one chosen in the dashboard of one repository: it has data in every panel."""
        work: dict[str, int] = {}
        for labels, value in samples(cls.demo)["translation_completion_ratio"]:
            work[labels["repo"]] = work.get(labels["repo"], 0) + (value < 1)
        return max(work, key=lambda repo: work[repo])

    def chosen(self, dashboard: Json, **others: str) -> dict[str, str]:
        """The variables as they are when a dashboard is opened, except that a language stalls sooner."""
        repo = re.escape(self.repo).replace("\\", "\\\\") if dashboard["uid"] == "translation-repository" else ".+"
        values = {"job": "demo", "instance": ".+", "repo": repo, "language": ".+", "stalled_after": "60"}
        return values | {"__rate_interval": "10s"} | others

    def test_every_query_of_every_panel_and_event_returns_data(self):
        waiting = [
            (query, interpolate(query.expr, self.chosen(dashboard)))
            for dashboard in DASHBOARDS
            for query in targets(dashboard)
        ]
        # Events are rare: in a single repository one might take minutes, so one anywhere counts.
        waiting += [
            (query, interpolate(query.expr, self.chosen(dashboard, repo=".+", __interval="1s")))
            for dashboard in DASHBOARDS
            for query in events(dashboard)
        ]
        end = time.monotonic() + PATIENCE
        while waiting and time.monotonic() < end:
            waiting = [(query, expr) for query, expr in waiting if not self.has_data(query, expr)]
            time.sleep(1 if waiting else 0)
        missing = [f"{query.where}: {expr}" for query, expr in waiting]
        self.assertFalse(missing, f"no data within {PATIENCE} s:\n" + "\n".join(missing))

    def has_data(self, query, expr: str) -> bool:
        if query.instant:
            return any(not math.isnan(value) for _, value in self.prometheus.now(expr))
        return any(not math.isnan(value) for _, values in self.prometheus.range(expr) for value in values)

    def test_a_second_replica_adds_no_line_bar_or_row_about_translations(self):
        """The stats show that it changes no figure either."""
        for dashboard in DASHBOARDS:
            for query in targets(dashboard) if dashboard["uid"] != "translation-exporter" else []:
                shown = self.prometheus.range(interpolate(query.expr, self.chosen(dashboard)))
                named = {name for labels, _ in shown for name in labels}
                self.assertFalse(named & {"instance", "pod"}, query.where)

    def test_series_of_two_jobs_have_different_names(self):
        for dashboard in DASHBOARDS:
            variables = self.chosen(dashboard, job=".+")
            if dashboard["uid"] == "translation-repository":
                variables["repo"] += "|acme/docs"
            for panel in panels(dashboard):
                if panel["type"] == "table":
                    continue
                names = self.names(panel, variables)
                self.assertEqual(len(names), len(set(names)), f"{dashboard['title']} / {panel['title']}: {sorted(names)}")

    def names(self, panel: Json, variables: dict[str, str]) -> list[str]:
        """What the legend shows of all series."""
        return [
            filled_in(target.get("legendFormat", ""), labels)
            for target in panel["targets"]
            for labels, _ in self.prometheus.range(interpolate(target["expr"], variables))
        ]

    def test_every_variable_offers_what_the_exporter_exposes(self):
        exposed = samples(self.demo)
        languages = exposed["translation_language_info"]
        expected = {
            "job": {"demo", "known"},
            "instance": set(INSTANCES),
            "repo": {labels["repo"] for labels, _ in exposed["translation_repository_info"]},
            "language": {labels["language"] for labels, _ in languages},
        }
        of_one = expected | {"language": {labels["language"] for labels, _ in languages if labels["repo"] == self.repo}}
        for dashboard in DASHBOARDS:
            for query, label in choices(dashboard):
                offered = self.prometheus.ask(
                    f"label/{label}/values",
                    **{"match[]": interpolate(query.expr, self.chosen(dashboard)), "start": time.time() - 10},
                )
                wanted = of_one if dashboard["uid"] == "translation-repository" else expected
                self.assertEqual(set(offered), wanted[label], query.where)

    def test_every_stat_shows_what_follows_from_the_answers_of_the_api(self):
        recorded = 'repo_language:translation_completion_ratio:max{job="known",repo="acme/app",language="fr"}'
        history = f"count_over_time({recorded}[{FORECAST + 3}s]) > {FORECAST}"
        wait_for("history before the rise", lambda: self.prometheus.now(history))
        self.api.put(figures.APP_NOW)
        rise = 'count(translation_completion_ratio{job="known",repo="acme/app",language="fr"} == 0.5) == 2'
        forecast = 'repo_language:translation_completion_estimated_timestamp_seconds{job="known"}'
        wait_for("the rise on both replicas", lambda: self.prometheus.now(rise) and self.prometheus.now(forecast))
        now = time.time()
        expected, seen = figures.expected(FORECAST, now - self.lost), set()
        for dashboard in DASHBOARDS:
            for repo, language in figures.SELECTED[dashboard["uid"]]:
                for name, value in self.stats(dashboard, now, job="known", repo=repo or ".+", language=language or ".+").items():
                    wanted = expected[name]
                    if isinstance(wanted, dict):
                        wanted = wanted[repo, language]
                    where = f"{dashboard['title']} / {name} / {repo} / {language}"
                    if isinstance(wanted, tuple):
                        self.assertTrue(wanted[0] <= value <= wanted[1], f"{where}: {value} is not within {wanted}")
                    else:
                        self.assertAlmostEqual(value, wanted, msg=where)
                    seen.add(name)
        self.assertEqual(seen, expected.keys())

    def stats(self, dashboard: Json, now: float, **selected: str) -> dict[str, float]:
        """What the stat panels show, by title and legend; a date as the seconds until then."""
        variables = self.chosen(dashboard, **selected, stalled_after=str(figures.STALLED_AFTER))
        found: dict[str, float] = {}
        for panel in panels(dashboard):
            for target in panel["targets"] if panel["type"] == "stat" else []:
                for labels, value in self.prometheus.now(interpolate(target["expr"], variables), now):
                    legend = filled_in(target.get("legendFormat", ""), labels)
                    name = f"{panel['title']}, {legend}" if legend else panel["title"]
                    self.assertNotIn(name, found)
                    is_date = panel["fieldConfig"]["defaults"]["unit"] == "dateTimeFromNow"
                    found[name] = value / 1000 - now if is_date else value
        return found

    def test_tables_have_the_columns_that_they_configure(self):
        """Grafana's own code makes the tables from what Prometheus answers."""
        asked = []
        for dashboard in DASHBOARDS:
            for panel in panels(dashboard):
                series = [
                    {"refId": target["refId"], "series": self.prometheus.now(expr)}
                    for target in panel["targets"]
                    if target.get("format") == "table"
                    for expr in [interpolate(target["expr"], self.chosen(dashboard))]
                ]
                asked.append({"dashboard": dashboard["title"], "panel": panel, "frames": series})
        tables = self.folder / "tables.json"
        tables.write_text(json.dumps(asked))
        script = Path(__file__).with_name("tables.cjs")
        subprocess.run(["node", script, os.environ["NODE_FOLDER"], tables], check=True)

    def test_overrides_name_series_that_are_there(self):
        for dashboard in DASHBOARDS:
            for panel in panels(dashboard):
                overrides = panel["fieldConfig"]["overrides"] if panel["type"] != "table" else []
                named = {override["matcher"]["options"] for override in overrides if override["matcher"]["id"] == "byName"}
                if named:
                    self.assertLessEqual(named, set(self.names(panel, self.chosen(dashboard))), panel["title"])

    def test_every_metric_and_label_in_use_is_exposed_and_every_exposed_one_is_used(self):
        exposed = {
            name: TARGET_LABELS.union(*(labels.keys() for labels, _ in values))
            for name, values in samples(self.demo).items()
        }
        recorded = {name for _, name in rules() if name}
        all_labels = set().union(*exposed.values())
        queries = [query for query, _ in rules()]
        for dashboard in DASHBOARDS:
            queries += [*targets(dashboard), *events(dashboard), *(query for query, _ in choices(dashboard))]
        used = set()
        for query in queries:
            expr = parse(query.expr)
            for selector, _ in selectors(expr):
                name = selector.name
                used.add(name)
                if name in recorded | OF_TLS:
                    labels = all_labels
                else:
                    self.assertIn(name, exposed.keys() | PROMETHEUS_METRICS.keys(), query.where)
                    labels = exposed.get(name) or PROMETHEUS_METRICS[name]
                for matcher in selector.matchers.matchers:
                    self.assertIn(matcher.name, labels, query.where)
            legend = (query.target or {}).get("legendFormat", "")
            self.assertLessEqual(
                labels_named(expr) | set(re.findall(r"\{\{(\w+)\}\}", legend)), all_labels, query.where
            )
        self.assertLessEqual({name for name in used if ":" in name}, recorded)
        unused = {re.sub("_(bucket|sum|count)$", "", name) for name in exposed} - {
            re.sub("_(bucket|sum|count)$", "", name) for name in used
        }
        self.assertEqual(
            unused, UNUSED.keys(), "exposed and used by nothing, beside what is listed as deliberately unused"
        )


if __name__ == "__main__":
    unittest.main()
