"""The dashboards on a real Prometheus: data in every panel, true figures, metrics that exist.

An exporter reads the demo API through a proxy that keeps the answers, and Prometheus scrapes it as two replicas. The
figures that the stat panels have to show are computed from those answers alone.

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
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from api import Account, Recorder
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
from expected import EXPORTER, INTERVAL, LATE, REPOSITORY, STATS, View
from harness import wait_for
from servers import FORECAST, JOB, Exporter, demo_api, scraped_as_two

DASHBOARDS = load()
PATIENCE = 150
# How the exporter reads the demo API: such that some completions are above the scale, and a repository is left out.
SCALE = 98
EXCLUDED = {"quiet-garden/almanac"}
# How long a language may stand still, where it does not matter.
STALLED_AFTER = 60
# For how many seconds the API stands still while the forecast's window begins.
WHILE = 3

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


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = ExitStack()
        cls.addClassCleanup(stack.close)
        cls.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program, key = os.environ["PROGRAM"], "any-key-will-do"
        cls.api = Recorder(demo_api(stack, program, cls.folder, key))
        stack.callback(cls.api.server_close)
        stack.callback(cls.api.shutdown)
        cls.exporter = Exporter(
            stack,
            program,
            cls.folder,
            cls.api.url,
            INTERVAL,
            api__key=key,
            api__completion_scale=str(SCALE),
            filter__exclude=",".join(EXCLUDED),
        )
        cls.prometheus = stack.enter_context(scraped_as_two(cls.exporter, cls.folder))
        cls.repo = cls.repository_with_most_work()
        # What takes longest to be there: the forecast looks back.
        forecast = f'repo_language:translation_completion_estimated_timestamp_seconds{{repo="{cls.repo}"}}'
        wait_for("the recorded forecast", lambda: cls.prometheus.now(forecast), PATIENCE)

    @classmethod
    def repository_with_most_work(cls) -> str:
        """The one that the dashboard of one repository is looked at with: it has something in every panel."""
        work: dict[str, int] = {}
        for labels, value in cls.exporter.samples()["translation_completion_ratio"]:
            work[labels["repo"]] = work.get(labels["repo"], 0) + (value < 1)
        return max(work, key=lambda repo: work[repo])

    def chosen(self, dashboard: Json, repo: str | None = None) -> dict[str, str]:
        """The variables as they are when a dashboard is opened, except that a language stalls sooner."""
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

    def test_a_second_replica_adds_no_line_bar_or_row_about_translations(self):
        """That it changes no figure either is seen of the stats."""
        for dashboard in DASHBOARDS:
            for query in targets(dashboard) if dashboard["uid"] != EXPORTER else []:
                shown = self.prometheus.range(interpolate(query.expr, self.chosen(dashboard)))
                named = {name for labels, _ in shown for name in labels}
                self.assertFalse(named & {"instance", "pod"}, query.where)

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

    def test_every_stat_shows_what_follows_from_the_answers_of_the_api(self):
        for dashboard in DASHBOARDS:
            shown = {panel["title"] for panel in panels(dashboard) if panel["type"] == "stat"}
            self.assertEqual(shown, STATS[dashboard["uid"]].keys())
        with self.api.held() as answers:
            earlier = Account.of(answers, SCALE, EXCLUDED)
            begin = self.evaluation(earlier)
            # The forecast of any evaluation in a while of this length looks back at what the API had said by now. That
            # also makes the poll that waits take longer than the interval.
            self.evaluation(earlier, after=begin + WHILE)
        with self.api.held() as answers:
            account = Account.of(answers, SCALE, EXCLUDED)
            now = self.evaluation(account, after=begin + FORECAST)
            self.assertLess(now, begin + FORECAST + WHILE, "too slow to compare the forecast")
            view = View(account, earlier, FORECAST, STALLED_AFTER, now)
            view.stalled_after = self.beyond_doubt(view.idle())
            self.assert_distinctive(view)
            compared = sum(self.compare_stats(dashboard, view) for dashboard in DASHBOARDS)
        print(f"{compared} figures follow from {len(answers)} answers of the API")

    def evaluation(self, account: Account, after: float = 0) -> float:
        """When Prometheus evaluated the forecast after this time, from a scrape of all that the API has said."""
        last_answer = account.polls[-1].ended_at - 0.001  # the exporter's clock shows milliseconds

        def evaluated(rule: str, by: float) -> float:
            return max((value for _, value in self.prometheus.now(f"timestamp({rule})", by)), default=0)

        def find() -> float | None:
            at = evaluated("repo_language:translation_completion_estimated_timestamp_seconds", time.time())
            # The completion that it read was recorded by another group of rules, and whenever that is evaluated.
            recorded = evaluated("repo_language:translation_completion_ratio:max", at)
            polls = self.prometheus.now("translation_exporter_last_poll_timestamp_seconds", recorded)
            is_scraped = len(polls) == 2 and all(value >= last_answer for _, value in polls)
            return at if at >= after and is_scraped else None

        return wait_for("an evaluation of the rules after a scrape of the last poll", find, 25)

    def beyond_doubt(self, idle: list[float]) -> float:
        """How long a language may stand still, such that none is close to that: the middle of the widest gap."""
        width, middle = max((high - low, (low + high) / 2) for low, high in pairwise(idle))
        self.assertGreater(width, 2 * LATE, "no gap between those that stand still")
        return round(middle, 3)

    def assert_distinctive(self, view: View) -> None:
        """Figures that would be the same whatever the dashboards did show nothing."""
        incomplete = len(view.chosen()) - view.complete()
        self.assertTrue(0 < view.stalled() < incomplete)
        self.assertTrue(0 < view.complete() < len(view.chosen()))
        self.assertTrue(view.out_of_scale())
        self.assertTrue(view.by_state()["filtered"])
        self.assertTrue(replace(view, repo=self.repo).latest_estimate(), "nothing rose")

    def selections(self, dashboard: Json, language: str) -> list[tuple[str | None, str | None]]:
        """Repository and language, None for All."""
        if dashboard["uid"] == EXPORTER:
            return [(None, None)]
        selected = [(self.repo, None), (self.repo, language)]
        return selected if dashboard["uid"] == REPOSITORY else [(None, None), (None, language), *selected]

    def compare_stats(self, dashboard: Json, view: View) -> int:
        compared = 0
        _, rising = next(iter(replace(view, repo=self.repo).remaining()))
        for repo, language in self.selections(dashboard, rising):
            selected = replace(view, repo=repo, language=language)
            for panel in panels(dashboard):
                if panel["type"] != "stat":
                    continue
                where = f"{dashboard['title']} / {panel['title']} / {repo} / {language}"
                figure = STATS[dashboard["uid"]][panel["title"]]
                shown, expected = self.answer(dashboard, panel, selected), figure.values(selected)
                self.assertEqual(shown.keys(), expected.keys(), where)
                for legend, value in expected.items():
                    self.assertAlmostEqual(shown[legend], value, delta=figure.tolerance, msg=f"{where} {legend}")
                compared += 1
        return compared

    def answer(self, dashboard: Json, panel: Json, view: View) -> dict[str, float]:
        """What the panel shows, by its legends."""
        values = self.chosen(dashboard, view.repo) | {"stalled_after": str(view.stalled_after)}
        found: dict[str, float] = {}
        for target in panel["targets"]:
            expr = interpolate(target["expr"], values | ({"language": view.language} if view.language else {}))
            for labels, value in self.prometheus.now(expr, view.now):
                legend = re.sub(
                    r"\{\{(\w+)\}\}", lambda match, labels=labels: labels[match[1]], target.get("legendFormat", "")
                )
                self.assertNotIn(legend, found, f"{panel['title']} shows two figures of one name")
                found[legend] = value
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
        print(f"{len(exposed)} names of samples exposed, {len(used)} used, {len(unused)} deliberately not")


if __name__ == "__main__":
    unittest.main()
