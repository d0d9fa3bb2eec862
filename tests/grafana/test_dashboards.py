"""What can be checked of the dashboards without a server: form, links, queries and lint rules.

The classes named after lint rules follow grafana/dashboard-linter, which is written in Go and is no package that a test
could install. Each applies to all panels, not only to the kinds that the linter knows.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import promql_parser as promql
import yaml
from dashboards import FOLDER, ROOT, Json, alerts, events, load, panels, parse, selectors, targets, variables

DASHBOARDS = load()
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


class ForEachDashboard(unittest.TestCase):
    """Iterates over the dashboards, and names the place of a failure."""

    where: object = ""

    def _formatMessage(self, msg, standardMsg):
        return super()._formatMessage(msg, f"{self.where}: {standardMsg}")

    def each_dashboard(self):
        for dashboard in DASHBOARDS:
            self.where = dashboard["title"]
            yield dashboard

    def each_panel(self):
        for dashboard in self.each_dashboard():
            for panel in panels(dashboard):
                self.where = f"{dashboard['title']} / {panel['title']}"
                yield panel

    def each_query(self):
        for dashboard in self.each_dashboard():
            for query in [*targets(dashboard), *events(dashboard)]:
                self.where = f"{query.where}: {query.expr}"
                yield query

    def each_selector(self):
        for query in self.each_query():
            for selector, parents in selectors(parse(query.expr)):
                self.where = f"{query.where}: {selector}"
                yield selector, parents


class Source(ForEachDashboard):
    def test_the_dashboards_are_what_the_generator_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "grafana" / "generate", folder], check=True)
            written = {path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
        stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
        self.assertEqual(written.keys(), stored.keys())
        for name, text in written.items():
            self.assertTrue(text == stored[name], f"{name} is not up to date: run python3 grafana/generate")

    def test_the_readme_describes_every_panel(self):
        readme = " ".join((ROOT / "grafana" / "README.md").read_text(encoding="utf-8").split())
        for panel in self.each_panel():
            self.assertTrue(f"**{panel['title']}**" in readme, "the panel is not in grafana/README.md")


class Form(ForEachDashboard):
    def test_each_can_be_provisioned_as_it_is(self):
        for dashboard in self.each_dashboard():
            self.assertIsNone(dashboard["id"])
            self.assertRegex(dashboard["uid"], r"^[a-z-]{8,40}$")
            self.assertTrue((FOLDER / f"{dashboard['uid']}.json").exists())
            self.assertLessEqual(dashboard["schemaVersion"], 42)
            self.assertFalse([key for key in dashboard if key.startswith("__")])
            self.assertIs(dashboard["editable"], False)

    def test_thresholds_rise_from_minus_infinity(self):
        for panel in self.each_panel():
            steps = panel["fieldConfig"]["defaults"].get("thresholds", {"steps": [{"value": None}]})["steps"]
            self.assertIsNone(steps[0]["value"])
            values = [step["value"] for step in steps[1:]]
            self.assertEqual(values, sorted(values))


# Colours of Grafana's themes, light and dark: those of text, and those of cells, on which it writes in white or black.
BACKGROUND = ("#ffffff", "#181b1f")
TEXTS = {"blue": ("#3274d9", "#5794f2"), "red": ("#e02f44", "#f2495c"), "text": ("#24292e", "#ccccdc")}
CELLS = {
    "dark-red": ("#ad0317", "#c4162a"),
    "super-light-orange": ("#ffb357", "#ffcb7d"),
    "super-light-yellow": ("#ffee52", "#fff899"),
    "transparent": BACKGROUND,
}


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Contrast(ForEachDashboard):
    def colors(self, panel: Json) -> set[str]:
        return set(re.findall(r'"(?:color|fixedColor)": "([\w-]+)"', json.dumps(panel["fieldConfig"])))

    def test_every_text_has_a_contrast_of_4_5_in_both_themes(self):
        for panel in self.each_panel():
            if panel["type"] not in ("stat", "table"):
                continue
            for color in self.colors(panel):
                for theme, background in enumerate(BACKGROUND):
                    if color in TEXTS:
                        self.assertGreaterEqual(contrast(TEXTS[color][theme], background), 4.5, color)
                    else:
                        cell = CELLS[color][theme]
                        self.assertGreaterEqual(max(contrast(cell, "#ffffff"), contrast(cell, "#000000")), 4.5, color)


class Links(ForEachDashboard):
    def links(self, panel: Json):
        """Those of its values that stay in Grafana."""
        config = panel["fieldConfig"]
        found = [*config["defaults"].get("links", [])]
        for override in config["overrides"]:
            for item in override["properties"]:
                found += item["value"] if item["id"] == "links" else []
        return [link for link in found if not link["targetBlank"]]

    def opened(self, url: str) -> tuple[str, list[str]]:
        """The dashboard that it opens, at the same time range, and the variables that it sets."""
        match = re.fullmatch(r"/d/([a-z-]+)\?\$\{__url_time_range\}&(.*)#%", url)
        self.assertTrue(match, url)
        given = [
            re.fullmatch(r"(?:\$\{(\w+):queryparam\}|var-(\w+)=\$\{__\S+:percentencode\})", part) for part in match[2].split("&")
        ]
        self.assertNotIn(None, given, url)
        return match[1], [variable[1] or variable[2] for variable in given]

    def test_those_above_the_panels_keep_the_time_and_set_variables_that_exist(self):
        by_uid = {dashboard["uid"]: dashboard for dashboard in DASHBOARDS}
        for dashboard in self.each_dashboard():
            others = dict(self.opened(link["url"]) for link in dashboard["links"][:-1])
            self.assertEqual(others.keys(), by_uid.keys() - {dashboard["uid"]})
            for uid, names in others.items():
                self.assertLessEqual(set(names), variables(by_uid[uid]).keys() & variables(dashboard).keys())

    def test_each_keeps_time_data_source_job_and_instance_and_sets_variables_that_exist(self):
        by_uid = {dashboard["uid"]: dashboard for dashboard in DASHBOARDS}
        seen = set()
        for panel in self.each_panel():
            for link in self.links(panel):
                uid, names = self.opened(link["url"])
                seen.add(uid)
                self.assertEqual(len(names), len(set(names)), "a variable is given twice")
                self.assertLessEqual({"datasource", "cluster", "namespace", "job", "instance"}, set(names))
                self.assertLessEqual(set(names), variables(by_uid[uid]).keys())
        self.assertEqual(seen, {"translation-repository", "translation-progress"})

    def test_the_runbook_that_they_lead_to_is_in_this_repository_and_has_every_alert(self):
        for dashboard in self.each_dashboard():
            path = dashboard["links"][-1]["url"].split("/blob/main/")[1]
            headings = re.findall("^### (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
            self.assertLessEqual({query.where for query in alerts()}, set(headings))


class OverWeeks(ForEachDashboard):
    def test_charts_of_many_repositories_read_no_series_of_each_translation(self):
        # There are as many problems as translations at worst, and few in practice.
        of_each = {"translation_completion_ratio", "translation_last_progress_timestamp_seconds", "translation_target_ratio"}
        for query in self.each_query():
            if not query.instant and not query.where.startswith("Translation of a repository"):
                self.assertFalse(of_each & {selector.name for selector, _ in selectors(parse(query.expr))})


class TemplateRules(ForEachDashboard):
    def test_each_variable_is_explained_and_refreshed_when_the_time_range_changes(self):
        for dashboard in self.each_dashboard():
            for name, variable in variables(dashboard).items():
                self.assertTrue(variable["label"] and variable["description"], name)
                self.assertEqual(variable.get("refresh"), {"query": 2, "datasource": 1}.get(variable["type"]), name)

    def test_template_datasource(self):
        for dashboard in self.each_dashboard():
            found = [item for item in variables(dashboard).values() if item["type"] == "datasource"]
            self.assertEqual(
                [(item["name"], item["label"], item["query"]) for item in found],
                [("datasource", "Data source", "prometheus")],
            )

    def test_template_job_and_instance(self):
        for dashboard in self.each_dashboard():
            for name, label in (("job", "Job"), ("instance", "Instance")):
                expected = {"type": "query", "datasource": DATASOURCE, "label": label, "multi": True, "allValue": ".+"}
                self.assertLessEqual(expected.items(), variables(dashboard)[name].items())

    def test_each_variable_uses_only_those_before_it(self):
        for dashboard in self.each_dashboard():
            before: set[str] = set()
            for variable in dashboard["templating"]["list"]:
                used = set(re.findall(r"\$(\w+)", str(variable.get("query", ""))))
                self.assertLessEqual(used - {"__range"}, before)
                before.add(variable["name"])

class PanelRules(ForEachDashboard):
    def test_each_panel_has_a_title_a_description_a_unit_and_queries(self):
        # Grafana's types check the data source, and Grafana's own code checks the unit.
        for panel in self.each_panel():
            self.assertTrue(panel["title"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"])
            self.assertRegex(panel["description"], r"\.$")


class TargetRules(ForEachDashboard):
    def test_target_rate_interval(self):
        for query in self.each_query():
            # In the text, as the parser sees only the duration that stands for the variable.
            rates = re.sub(r"(\w+_over_time|increase|changes)\([^\[]*?\[.*?\]", "", query.expr)
            self.assertEqual(set(re.findall(r"\[(.*?)\]", rates)) - {"$__rate_interval"}, set())

    def matchers(self, selector: promql.VectorSelector, label: str):
        return [(item.op, item.value) for item in selector.matchers.matchers if item.name == label]

    def test_target_cluster_namespace_job_and_instance(self):
        for selector, _ in self.each_selector():
            # The limit of a pod has the job of kube-state-metrics.
            known = ("cluster", "namespace") if selector.name.startswith("kube_") else ("cluster", "namespace", "job", "instance")
            for label in ("cluster", "namespace", "job", "instance"):
                self.assertEqual(self.matchers(selector, label), [(promql.MatchOp.Re, f"${label}")] * (label in known))

    def test_target_repo_and_language(self):
        """The choice of repositories and languages holds wherever a series has these labels."""
        both = ("completion_", "last_progress_", "target_", "estimated_", "problem_")
        both = tuple(f"translation_{name}" for name in both)
        for dashboard in DASHBOARDS:
            # One that is chosen is no pattern: its dots and plus signs are only that.
            one = dashboard["uid"] == "translation-repository"
            repo = (promql.MatchOp.Equal, "$repository") if one else (promql.MatchOp.Re, "$repo")
            for query in [*targets(dashboard), *events(dashboard)]:
                for selector, _ in selectors(parse(query.expr)):
                    self.where = f"{query.where}: {selector}"
                    name = selector.name
                    per_repository = name.startswith((*both, "translation_repository_"))
                    # Whether data of an account are missing is asked of all its repositories.
                    counted = "translation_repository_languages"
                    if dashboard["uid"] != "translation-exporter" and (name != counted or self.matchers(selector, "repo")):
                        self.assertEqual(self.matchers(selector, "repo"), [repo] * per_repository)
                    if name == "translation_language_info" or name.startswith(both):
                        # How many have no completion is known of a repository, not of a language.
                        self.assertIn(self.matchers(selector, "language"), ([(promql.MatchOp.Re, "$language")], []))

    def test_target_counter_agg(self):
        for selector, parents in self.each_selector():
            if selector.name.endswith(("_total", "_bucket", "_sum", "_count")):
                self.assertIsInstance(parents[-1], promql.MatrixSelector)
                self.assertIsInstance(parents[-2], promql.Call)
                self.assertIn(parents[-2].func.name, ("rate", "irate", "increase"))


class Size(ForEachDashboard):
    """What keeps the dashboards usable at 100,000 languages."""

    def test_charts_ask_for_at_most_100_points_and_dashboards_refresh_every_five_minutes(self):
        for panel in self.each_panel():
            self.assertIn(panel.get("maxDataPoints"), (100,) if panel["type"] in ("timeseries", "state-timeline") else (None,))
        for dashboard in self.each_dashboard():
            self.assertEqual(dashboard["refresh"], "5m")

    def test_a_dashboard_has_at_most_19_panels(self):
        for dashboard in self.each_dashboard():
            self.assertLessEqual(len(panels(dashboard)), 19)

    def test_a_line_or_row_for_each_language_or_repository_is_shown_for_the_worst_only(self):
        # These are meant to show every language of one repository, every language once, every account, every alert of one.
        complete = {"Languages", "The repository", "Accounts", "What needs attention"}
        for panel in self.each_panel():
            if panel["type"] == "stat" or panel["title"] in complete:
                continue
            for target in panel["targets"]:
                if re.search("translation_(completion_ratio|last_progress|repository)", target["expr"]):
                    self.assertRegex(target["expr"], r"(top|bottom)k\((5|20|100|200),|^\((avg|count|sum)\(")


class Accounts(ForEachDashboard):
    """Two accounts may have a repository of one name."""

    def test_rows_name_the_job_and_links_lead_to_it(self):
        for panel in self.each_panel():
            if panel["type"] != "table":
                continue
            steps = {step["id"]: step["options"] for step in panel["transformations"]}
            if "groupingToMatrix" in steps:
                self.assertEqual(panel["repeat"], "job")
                continue
            names = steps["filterFieldsByName"]["include"]["names"]
            self.assertTrue("job" in names or "repo" not in names)
            for override in panel["fieldConfig"]["overrides"]:
                for item in override["properties"]:
                    for link in item["value"] if item["id"] == "links" and "repo" in names else []:
                        if not link["targetBlank"]:
                            self.assertIn("var-job=${__data.fields.Job:percentencode}", link["url"])


class Provisioning(unittest.TestCase):
    def read(self, path: str):
        return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))

    def test_rates_span_four_scrapes_of_the_example_prometheus(self):
        [source] = self.read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
        scrape = self.read("deploy/prometheus/prometheus.yaml")["global"]["scrape_interval"]
        self.assertEqual(source["jsonData"]["timeInterval"], scrape)

    def test_compose_mounts_the_dashboards_where_they_are_looked_for(self):
        [provider] = self.read("grafana/provisioning/dashboards/translation-exporter.yaml")["providers"]
        volumes = self.read("deploy/compose/compose.yaml")["services"]["grafana"]["volumes"]
        self.assertIn(f"../../grafana/dashboards:{provider['options']['path']}:ro", volumes)
        self.assertIn("../../grafana/provisioning:/etc/grafana/provisioning:ro", volumes)


if __name__ == "__main__":
    unittest.main()
