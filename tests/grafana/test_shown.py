"""What a person sees of the dashboards: Grafana's own libraries draw them in a browser, from a real Prometheus with known series.

The environment gives NODE_FOLDER, the folder with Grafana's packages. GRAFANA_DASHBOARDS names another folder of dashboards.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import world
from dashboards import FOLDER, Json
from harness import Prometheus

UIDS = ["translation-progress", "translation-repository", "translation-exporter"]
PROGRESS, REPOSITORY, EXPORTER = UIDS
DRAW = Path(__file__).parent / "draw" / "draw.mjs"
WORLDS = {
    "full": (world.full, world.MINUTE),
    "without rules": (world.without_rules, world.MINUTE),
    "empty": (list, world.MINUTE),
    "ready": (world.everything_ready, world.MINUTE),
    "large": (world.large, 4 * world.MINUTE),
}
# Columns that may lie beyond the right edge: those of the languages, and those that tell accounts apart.
SCROLLED = re.compile(r"l\d\d|Job|Namespace|Cluster")
RED, BLUE = {"#E02F44", "#F2495C"}, {"#3274D9", "#5794F2"}
stack = ExitStack()
urls: dict[str, str] = {}


def setUpModule():
    global artist
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for name, (series, every) in WORLDS.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        (place / "prometheus.yaml").write_text("")
        if found := series():
            world.write(found, place, every=every)
        urls[name] = stack.enter_context(Prometheus.start(place, "prometheus.yaml")).url
    dashboards = os.environ.get("GRAFANA_DASHBOARDS", FOLDER)
    command = ["node", DRAW, os.environ["NODE_FOLDER"], dashboards]
    artist = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    stack.callback(artist.stdin.close)


tearDownModule = stack.close


def seen(uid: str, where: str = "full", *, address: str = "", theme: str = "light", width: int = 1280) -> Json:
    """The dashboard as it is opened at this address."""
    return drawn(uid, where, address, theme, width)


@cache
def drawn(uid: str, where: str, address: str, theme: str, width: int) -> Json:
    request = {"uid": uid, "prometheus": urls[where], "theme": theme, "width": width}
    request["address"] = f"from=now-2h&to=now&{address}"
    artist.stdin.write(json.dumps(request) + "\n")
    artist.stdin.flush()
    answer = json.loads(artist.stdout.readline())
    if answer["errors"]:
        raise AssertionError(f"{uid}, {where}: {answer['errors']}")
    return answer


def panels(uid: str, *more: str, **chosen) -> dict[str, Json]:
    return {panel["title"]: panel for panel in seen(uid, *more, **chosen)["panels"]}


def figures(uid: str, *more: str, **chosen) -> dict[str, str]:
    """What the large figures say, by title and name."""
    found = {}
    for panel in seen(uid, *more, **chosen)["panels"]:
        for value in panel.get("values", []):
            found[f"{panel['title']}: {value['name']}"] = value["text"]
    return found


def rows(panel: Json, *columns: str) -> list[tuple[str, ...]]:
    """The texts of these columns."""
    return [tuple(row[column]["text"] for column in columns) for row in panel["cells"]]


class Shown(unittest.TestCase):
    maxDiff = None
    place: object = ""

    def _formatMessage(self, msg, standardMsg):
        return super()._formatMessage(msg, f"{self.place}: {standardMsg}")

    def every_panel(self, *views):
        """The panels of all dashboards, seen like this; a failure names its place."""
        for uid in UIDS:
            for view in views or [{}]:
                for panel in seen(uid, **view)["panels"]:
                    self.place = f"{uid} / {panel['title']} {view}"
                    yield panel


class Figures(Shown):
    ALL = {
        "Translations: ready": "4",
        "Translations: behind": "5",
        "Translations: stalled": "1",
        "Translations: unknown": "1",
        "Repositories: ready": "1",
        "Repositories: in total": "4",
        "Repositories: no data": "1",
        "Due and not ready: missed": "1",
        "Due and not ready: soon": "2",
        "Due and not ready: later": "1",
        "Mean completion: Value": "65.1%",
        "Oldest data: ago": "3.0 days",
        "Oldest data: that is": "late",
    }
    WEB = {
        "Translations: ready": "2",
        "Translations: behind": "1",
        "Translations: stalled": "0",
        "Translations: unknown": "1",
        "Due and not ready: missed": "1",
        "Due and not ready: soon": "1",
        "Due and not ready: later": "0",
        "Oldest data: that is": "in time",
    }

    def test_figures_of_everything_with_two_replicas_and_two_accounts(self):
        self.assertEqual(figures(PROGRESS), self.ALL)

    def test_current_figures_are_the_same_without_rules_but_for_their_threshold(self):
        # Seven days instead of the eight that are recorded: another language has stalled.
        self.assertEqual(figures(PROGRESS, "without rules"), self.ALL | {"Translations: stalled": "2"})

    def test_a_dot_in_the_name_of_a_repository_is_no_wildcard(self):
        self.assertLessEqual(self.WEB.items(), figures(REPOSITORY, address="var-repo=acme/app.web").items())
        self.assertLessEqual(self.WEB.items(), figures(PROGRESS, address="var-repo=acme/app.web").items())

    def test_a_plus_in_the_name_of_a_repository_is_no_mistake_and_both_accounts_that_have_it_count(self):
        for uid in (PROGRESS, REPOSITORY):
            shown = figures(uid, address="var-repo=acme/c%2B%2B")
            self.assertEqual((shown["Translations: ready"], shown["Translations: behind"]), ("2", "2"), uid)

    def test_a_cluster_can_be_chosen(self):
        shown = figures(PROGRESS, address="var-cluster=west")
        self.assertEqual((shown["Translations: ready"], shown["Translations: behind"]), ("0", "2"))

    def test_the_exporters_figures_count_one_that_is_down_and_one_that_never_read_everything(self):
        self.assertEqual(
            figures(EXPORTER),
            {
                "Instances: up": "3",
                "Instances: in total": "4",
                "API: it is": "reachable",
                "API: its list was": "complete",
                "Last full poll: ago": "5.0 days",
                "Last full poll: that is": "late",
                "Repositories: failing": "1",
                "Repositories: without data": "1",
                "Scale: it is": "plausible",
                "Scale: outside of it": "0",
            },
        )

    def test_one_that_is_not_ready_among_thousands_is_neither_rounded_nor_abbreviated(self):
        shown = figures(PROGRESS, "large")
        self.assertEqual((shown["Translations: ready"], shown["Translations: behind"]), ("6,399", "1"))


class Tables(Shown):
    def test_what_is_due_is_listed_by_urgency_with_the_outlook(self):
        columns = ("Repository", "Language", "Days left", "Outlook", "Completion", "Target")
        self.assertEqual(
            rows(panels(PROGRESS)["What is due"], *columns),
            [
                ("acme/app.web", "es", "-2.0", "missed", "50.0%", "90%"),
                ("acme/app.web", "ja", "3.0", "no estimate", "unknown", "90%"),
                ("acme/c++", "it", "10.0", "too late", "40.0%", "80%"),
                ("acme/c++", "de", "20.0", "in time", "70.0%", "100%"),
            ],
        )

    def test_the_languages_of_a_repository_say_what_they_are(self):
        shown = panels(REPOSITORY, address="var-repo=acme/app.web")["Languages"]
        self.assertEqual(
            sorted(rows(shown, "Language", "Name", "State", "Completion", "No progress for")),
            [
                ("de", "Name of de", "ready", "100.0%", "2.9 weeks"),
                ("es", "Name of es", "behind", "50.0%", "1.5 days"),
                ("fr", "Name of fr", "ready", "96.0%", "2.1 days"),
                ("ja", "Name of ja", "unknown", "unknown", ""),
            ],
        )

    def test_a_language_stalls_after_what_the_rules_say(self):
        shown = panels(PROGRESS)["Without progress for the longest time"]
        states = {(repo, language): state for repo, language, state in rows(shown, "Repository", "Language", "State")}
        self.assertEqual((states["acme/app-web", "de"], states["acme/app-web", "fr"]), ("stalled", "behind"))
        # It rests: its target is 0.
        self.assertNotIn(("acme/c++", "eo"), states)

    def test_almost_complete_is_not_100_percent(self):
        shown = panels(REPOSITORY, address="var-repo=acme/app-web")["Languages"]
        self.assertEqual(sorted(rows(shown, "Language", "Completion")), [("de", "20.0%"), ("fr", "< 100 %")])
        matrix = panels(PROGRESS)["Repositories by languages: acme"]
        self.assertIn(("acme/app-web", "20%", "< 100%"), rows(matrix, "Repository", "Worst", "fr"))

    def test_the_matrix_begins_with_the_worst_and_colours_nothing_that_is_ready_or_absent(self):
        matrix = panels(PROGRESS)["Repositories by languages: acme"]
        self.assertEqual(matrix["columns"], ["Repository", "Worst", "de", "es", "fr", "eo"])
        shown = [("acme/app-web", "20%", ""), ("acme/app.web", "50%", "50%"), ("acme/c++", "✓", "")]
        self.assertEqual(rows(matrix, "Repository", "Worst", "es"), shown)
        colors = {cell["text"]: cell["color"] for row in matrix["cells"] for cell in list(row.values())[1:]}
        self.assertEqual({colors[""], colors["✓"]}, {"#ffffff00"})
        self.assertEqual(len({colors["20%"], colors["50%"], colors["< 100%"]}), 3)

    def test_each_account_has_a_matrix_and_each_row_names_its_account(self):
        self.assertIn("Repositories by languages: umbrella", panels(PROGRESS))
        self.assertIn(("acme/c++", "umbrella", "west"), rows(panels(PROGRESS)["What is due"], "Repository", "Job", "Cluster"))

    def test_an_exporter_that_is_down_stays_in_the_list(self):
        shown = rows(panels(EXPORTER)["Instances and their settings"], "Instance", "State", "Version")
        self.assertIn(("acme-3:1", "down", "1.0.0"), shown)
        self.assertEqual(len(shown), 4)


class Charts(Shown):
    def test_no_chart_has_more_than_nine_lines_or_two_of_one_name(self):
        for panel in self.every_panel({}, {"where": "large"}):
            names = [line["name"] for line in panel.get("lines", [])]
            self.assertLessEqual(len(names), 9)
            self.assertEqual(len(names), len(set(names)))

    def test_what_never_happens_has_no_line(self):
        names = [line["name"] for line in panels(EXPORTER)["Failures per hour, by reason"]["lines"]]
        self.assertEqual(names, ["all", "server_error"])
        states = [line["name"] for line in panels(EXPORTER)["Repositories by state"]["lines"]]
        self.assertEqual(sorted(states), ["failing", "fresh", "stale"])

    def test_what_is_left_of_what_has_a_date_is_counted(self):
        # French was ready an hour ago; Japanese has no completion that could be recorded.
        left = {line["name"]: (line["max"], line["last"]) for line in panels(PROGRESS)["Left of what has a date"]["lines"]}
        self.assertEqual(left, {"not ready": (4, "3"), "date missed": (1, "1")})

    def test_the_languages_furthest_behind_are_drawn_beside_the_mean(self):
        lines = panels(PROGRESS)["Completion of the five languages furthest behind"]["lines"]
        shown = {line["name"]: line["last"] for line in lines}
        self.assertEqual(shown, {"eo": "10.0%", "it": "40.0%", "es": "50.0%", "de": "72.5%", "fr": "98.0%", "mean of all": "65.1%"})

    def test_the_moment_in_which_a_language_was_ready_is_marked(self):
        events = {event["name"]: event["titles"] for event in seen(REPOSITORY, address="var-repo=acme/app.web")["events"]}
        self.assertEqual(events, {"Language ready": ["fr is ready"], "No longer ready": []})


class Links(Shown):
    def follow(self, href: str, where: str = "full") -> Json:
        target = urlsplit(href)
        return seen(target.path.removeprefix("/d/"), where, address=target.query)

    def test_a_repository_is_chosen_whatever_the_link_brings(self):
        for chosen, arrived in {
            "var-repo=$__all": None,
            "var-repo=acme/app.web": "acme/app.web",
            "var-repo=acme/c%2B%2B": "acme/c++",
            "var-repo=acme/c%2B%2B&var-repo=acme/app.web": None,
        }.items():
            link = seen(PROGRESS, address=chosen)["links"]["Translation of a repository"]
            shown = self.follow(link)
            repository = shown["variables"]["repository"]
            self.assertIn(repository["value"], repository["options"] if arrived is None else [arrived], link)
            self.assertEqual(shown["rows"][0], f"Is {repository['value']} ready to release?")
            self.assertNotIn("No data", [value["text"] for value in shown["panels"][0]["values"]])
            self.assertEqual(len(repository["options"]), 3, "the others cannot be chosen any more")

    def test_only_the_languages_of_the_repository_can_be_chosen(self):
        chosen = seen(REPOSITORY, address="var-repo=acme/app.web")["variables"]["language"]
        self.assertEqual(chosen["options"], ["de", "es", "fr", "ja"])

    def test_the_links_above_the_panels_lead_to_the_other_dashboards_with_their_variables(self):
        for uid, other in ((PROGRESS, "exporter"), (REPOSITORY, "progress"), (EXPORTER, "of a repository")):
            links = seen(uid, address="var-job=umbrella")["links"]
            [href] = [href for title, href in links.items() if title.endswith(other)]
            self.assertEqual(self.follow(href)["variables"]["job"]["value"], ["umbrella"])

    def test_a_row_leads_to_its_repository_in_its_account(self):
        [row] = [row for row in panels(PROGRESS)["What is due"]["cells"] if row["Language"]["text"] == "it"]
        for column, language in (("Repository", ["$__all"]), ("Language", ["it"])):
            variables = self.follow(row[column]["links"][0])["variables"]
            found = [variables[name]["value"] for name in ("job", "repository", "language")]
            self.assertEqual(found, [["umbrella"], "acme/c++", language])

    def test_a_row_leads_to_its_repository_whatever_its_name_is(self):
        shown = panels(PROGRESS, "ready")
        for title in ("Repositories read longest ago", "Repositories by languages: acme"):
            for row in shown[title]["cells"]:
                self.place = row["Repository"]
                arrived = self.follow(row["Repository"]["links"][0], "ready")["variables"]["repository"]
                self.assertEqual(arrived["value"], row["Repository"]["text"])
                self.assertEqual(len(arrived["options"]), len(shown[title]["cells"]))


class Everywhere(Shown):
    def test_no_query_fails_and_each_panel_shows_something(self):
        for panel in self.every_panel():
            self.assertFalse(panel["errors"])
            self.assertTrue(panel.get("values") or panel.get("lines") or panel.get("cells"))
        for panel in self.every_panel(*({"where": where} for where in ("empty", "ready", "large"))):
            self.assertFalse(panel["errors"])

    def test_nothing_of_another_job_is_shown(self):
        for uid in UIDS:
            self.assertNotRegex(json.dumps(seen(uid)), "other:9100|\"node\"")

    def test_where_nothing_is_known_nothing_looks_good_or_bad(self):
        for panel in self.every_panel({"where": "empty"}):
            for value in panel.get("values", []):
                self.assertEqual(value["text"], "No data")
                self.assertNotIn(value["color"], RED | BLUE)
            self.assertFalse(panel.get("cells") or panel.get("lines"))

    def test_a_table_without_rows_keeps_its_columns(self):
        for uid in UIDS:
            for title, panel in panels(uid).items():
                if "columns" in panel and not title.startswith("Repositories by languages"):
                    empty = panels(uid, "empty")[title]["columns"]
                    self.assertEqual(empty, [name for name in panel["columns"] if name not in ("Namespace", "Cluster")], title)

    def test_where_everything_is_ready_nothing_looks_bad(self):
        for panel in self.every_panel({"where": "ready"}):
            self.assertFalse(RED & {value["color"] for value in panel.get("values", [])})
            self.assertFalse(RED & {cell["color"] for row in panel.get("cells", []) for cell in row.values()})
        self.assertEqual(figures(PROGRESS, "ready")["Repositories: ready"], "6")
        self.assertEqual(panels(PROGRESS, "ready")["What is due"]["cells"], [])

    def test_every_text_has_a_contrast_of_4_5_and_every_title_and_column_that_matters_is_visible(self):
        for panel in self.every_panel({}, {"theme": "dark", "width": 1920}, {"where": "large"}, {"where": "empty"}):
            self.assertEqual(panel["faint"], [])
            self.assertEqual(panel["cut"], [])
            self.assertEqual([name for name in panel["hidden"] if not SCROLLED.fullmatch(name)], [])


if __name__ == "__main__":
    unittest.main()
