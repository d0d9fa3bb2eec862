"""The dashboards on a real Prometheus that scrapes the demo: data in every panel, true figures, metrics that exist.

The environment gives PROGRAM, the built program, and NODE_FOLDER, the folder with Grafana's own packages.
"""

import json
import math
import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from dashboards import (
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
from expected import EXPORTER, REPOSITORY, STALLED_AFTER, STATS, View
from servers import JOB, Exporter, Prometheus, stop, wait_for

DASHBOARDS = load()
PATIENCE = 150

# Exposed, and neither charted nor alerted on.
UNUSED = {
    "process_virtual_memory_bytes": "says nothing about the memory that is used",
    "process_virtual_memory_max_bytes": "a limit that is hardly ever set",
    "process_threads": "does not change",
}
# What Prometheus itself adds.
PROMETHEUS_METRICS = {"up": {"job", "instance", "pod"}}
TARGET_LABELS = {"job", "instance", "pod"}


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.exporter = Exporter(os.environ["PROGRAM"], cls.folder)
        cls.addClassCleanup(stop, cls.exporter.process)
        cls.prometheus = Prometheus(cls.exporter, cls.folder)
        cls.addClassCleanup(stop, cls.prometheus.process)
        cls.repo = cls.repository_with_most_work()
        # What takes longest to be there: the forecast looks back.
        forecast = f'repo_language:translation_completion_estimated_timestamp_seconds{{repo="{cls.repo}"}}'
        wait_for("the recorded forecast", PATIENCE, lambda: cls.prometheus.now(forecast))

    @classmethod
    def repository_with_most_work(cls) -> str:
        """The one that the dashboard of one repository is looked at with: it has something in every panel."""
        work: dict[str, int] = {}
        for labels, value in cls.exporter.samples()["translation_completion_ratio"]:
            work[labels["repo"]] = work.get(labels["repo"], 0) + (value < 1)
        return max(work, key=lambda repo: work[repo])

    def chosen(self, dashboard: Json, repo: str | None = None) -> dict[str, str]:
        """The variables as they are when a dashboard is opened, save that a language stalls sooner."""
        repo = repo or (self.repo if dashboard["uid"] == REPOSITORY else None)
        values = {"job": ".+", "instance": ".+", "language": ".+", "stalled_after": str(STALLED_AFTER)}
        return values | {"__rate_interval": "10s", "repo": re.escape(repo).replace("\\", "\\\\") if repo else ".+"}

    def test_every_query_of_every_panel_and_event_returns_data(self):
        waiting = [
            (query, interpolate(query.expr, self.chosen(dashboard)))
            for dashboard in DASHBOARDS
            for query in targets(dashboard)
        ]
        # Events are rare: one anywhere will do, in a single repository it might take minutes.
        waiting += [
            (query, interpolate(query.expr, self.chosen(dashboard) | {"repo": ".+", "__interval": "1s"}))
            for dashboard in DASHBOARDS
            for query in events(dashboard)
        ]
        number, last = len(waiting), []
        end = time.monotonic() + PATIENCE
        while waiting and time.monotonic() < end:
            waiting = [(query, expr) for query, expr in waiting if not self.has_data(query, expr)]
            last = [query.where for query, _ in waiting] or last
            time.sleep(1 if waiting else 0)
        missing = [f"{query.where}: {expr}" for query, expr in waiting]
        self.assertFalse(missing, f"no data within {PATIENCE} s:\n" + "\n".join(missing))
        print(f"{number} queries return data after {time.time() - self.prometheus.started:.0f} s, {last} last")

    def has_data(self, query, expr: str) -> bool:
        if query.instant:
            return any(not math.isnan(value) for _, value in self.prometheus.now(expr))
        return any(not math.isnan(value) for _, values in self.prometheus.range(expr) for value in values)

    def test_every_variable_offers_what_the_exporter_exposes(self):
        samples = self.exporter.samples()
        exposed = {
            "job": {JOB},
            "instance": {f"{host}:{self.exporter.port}" for host in ("127.0.0.1", "localhost")},
            "repo": {labels["repo"] for labels, _ in samples["translation_repository_info"]},
            "language": {labels["language"] for labels, _ in samples["translation_language_info"]},
        }
        for dashboard in DASHBOARDS:
            for query, label in choices(dashboard):
                expr = interpolate(query.expr, self.chosen(dashboard, ".+"))
                if dashboard["uid"] == REPOSITORY and label == "language":
                    expr = interpolate(query.expr, self.chosen(dashboard))
                    languages = {
                        labels["language"]
                        for labels, _ in samples["translation_language_info"]
                        if labels["repo"] == self.repo
                    }
                    self.assertEqual(set(self.offered(expr, label)), languages, query.where)
                else:
                    expr = interpolate(query.expr, self.chosen(dashboard) | {"repo": ".+"})
                    self.assertEqual(set(self.offered(expr, label)), exposed[label], query.where)

    def offered(self, expr: str, label: str) -> list[str]:
        return self.prometheus.ask(f"label/{label}/values", **{"match[]": expr, "start": time.time() - 10})

    def test_every_stat_shows_what_the_exposition_says(self):
        for dashboard in DASHBOARDS:
            shown = {panel["title"] for panel in panels(dashboard) if panel["type"] == "stat"}
            self.assertEqual(shown, STATS[dashboard["uid"]].keys())
        compared = wait_for("the figures to stand still for long enough", 120, self.compare_stats)
        print(f"{compared} figures are what the exposition says")

    def compare_stats(self) -> int:
        """Compares all figures at one instant, or none if the exposition changed around it."""
        before = self.gauges()
        # Long enough for two scrapes of each replica: the first of them may still be on its way.
        time.sleep(2.3)
        now = time.time()
        answers = [
            (dashboard, panel, repo, self.answer(dashboard, panel, repo, now))
            for dashboard in DASHBOARDS
            for repo in ([None] if dashboard["uid"] == EXPORTER else [None, self.repo])
            for panel in panels(dashboard)
            if panel["type"] == "stat"
        ]
        if self.gauges() != before:
            return 0
        for dashboard, panel, repo, answer in answers:
            where = f"{dashboard['title']} / {panel['title']} / {repo}"
            figure = STATS[dashboard["uid"]][panel["title"]]
            repos = {self.repo} if repo or dashboard["uid"] == REPOSITORY else None
            expected = figure(View(before, repos, now)) if figure else self.latest_estimate(now)
            self.assertEqual(answer.keys(), expected.keys(), where)
            for legend, value in expected.items():
                self.assertAlmostEqual(answer[legend], value, places=3, msg=f"{where} {legend}")
        return len(answers)

    def gauges(self):
        """All that stands still between two publications; each publication changes some of it."""
        changing = re.compile(r"process_|.*_(total|bucket|sum|count)$")
        return {name: values for name, values in self.exporter.samples().items() if not changing.match(name)}

    def answer(self, dashboard: Json, panel: Json, repo: str | None, now: float) -> dict[str, float]:
        found: dict[str, float] = {}
        for target in panel["targets"]:
            expr = interpolate(target["expr"], self.chosen(dashboard, repo))
            for labels, value in self.prometheus.now(expr, now):
                legend = re.sub(
                    r"\{\{(\w+)\}\}", lambda match, labels=labels: labels[match[1]], target.get("legendFormat", "")
                )
                self.assertNotIn(legend, found, f"{panel['title']} shows two figures of one name")
                found[legend] = value
        return found

    def latest_estimate(self, now: float) -> dict[str, float]:
        recorded = self.prometheus.now("repo_language:translation_completion_estimated_timestamp_seconds", now)
        estimates = [value for labels, value in recorded if labels["repo"] == self.repo]
        return {"": max(estimates) * 1000} if estimates else {}

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
        done = subprocess.run(
            ["node", script, os.environ["NODE_FOLDER"], tables], capture_output=True, text=True, check=False
        )
        print(done.stdout, end="")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_overrides_name_series_that_are_there(self):
        for dashboard in DASHBOARDS:
            for panel in panels(dashboard):
                if panel["type"] == "table":
                    continue
                names = {
                    re.sub(
                        r"\{\{(\w+)\}\}",
                        lambda match, labels=labels: labels.get(match[1], ""),
                        target.get("legendFormat", ""),
                    )
                    for target in panel["targets"]
                    for labels, _ in self.prometheus.range(interpolate(target["expr"], self.chosen(dashboard)))
                }
                for override in panel["fieldConfig"]["overrides"]:
                    if override["matcher"]["id"] == "byName":
                        self.assertIn(override["matcher"]["options"], names, panel["title"])

    def test_every_metric_and_label_in_use_is_exposed_and_every_exposed_one_is_used(self):
        exposed = {
            name: TARGET_LABELS.union(*(labels.keys() for labels, _ in values))
            for name, values in self.exporter.samples().items()
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
                if name in recorded:
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
        print(f"{len(exposed)} names of samples exposed, {len(used)} used, {len(unused)} deliberately not")


if __name__ == "__main__":
    unittest.main()
