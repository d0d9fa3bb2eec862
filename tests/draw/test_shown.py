"""What a person sees of the dashboards: Grafana's own libraries draw them in a browser, from a real Prometheus with known series.

The environment gives NODE_FOLDER, the folder with Grafana's packages.
"""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import world
from dashboards import FOLDER, Json, load
from dashboards import panels as dashboard_panels
from harness import Prometheus

UIDS = ["translation-progress", "translation-repository", "translation-exporter"]
PROGRESS, REPOSITORY, EXPORTER = UIDS
DRAW = Path(__file__).parent / "draw.mjs"
WORLDS = {
    "full": (world.full, world.MINUTE),
    "empty": (list, world.MINUTE),
    "ready": (world.everything_ready, world.MINUTE),
    "large": (world.large, 4 * world.MINUTE),
    "nothing read": (world.nothing_read, world.MINUTE),
    "outage": (lambda: world.outage(down=False), world.MINUTE),
    "down": (lambda: world.outage(down=True), world.MINUTE),
}
# Columns that may lie beyond the right edge: those of the languages, and those that tell accounts apart.
SCROLLED = re.compile(r"l\d\d|Job|Namespace|Cluster")
RED, BLUE = {"#E02F44", "#F2495C"}, {"#3274D9", "#5794F2"}
stack = ExitStack()


def setUpModule():
    global artist
    command = ["node", DRAW, os.environ["NODE_FOLDER"], FOLDER]
    artist = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    stack.callback(artist.stdin.close)


tearDownModule = stack.close


@cache
def prometheus(where: str) -> str:
    """The address of one that has the series of this world."""
    series, every = WORLDS[where]
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    (folder / "prometheus.yaml").write_text("")
    if found := series():
        world.write(found, folder, every=every)
    return stack.enter_context(Prometheus.start(folder, "prometheus.yaml")).url


def seen(uid: str, where: str = "full", *, address: str = "", theme: str = "light", width: int = 1280) -> Json:
    """The dashboard as it is opened at this address."""
    return drawn(uid, where, address, theme, width)


@cache
def drawn(uid: str, where: str, address: str, theme: str, width: int) -> Json:
    request = {"uid": uid, "prometheus": prometheus(where), "theme": theme, "width": width}
    request["address"] = address if "from=" in address else f"from=now-2h&to=now&{address}"
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
        "Translations: 4 of 10 ready": "40.0%",
        "Not ready: behind": "5",
        "Not ready: incl. stalled": "1",
        "Not ready: unknown": "1",
        "Repositories: ready of 4": "1",
        "Repositories: no data": "1",
        "Due and not ready: overdue": "1",
        "Due and not ready: at risk": "1",
        "Due and not ready: others": "2",
        "Mean completion: now": "65.1%",
        "Oldest data: ago": "3.0 days",
        "Oldest data: gone: acme/gone": "4.0 days",
    }
    WEB = {
        "Translations: 2 of 4 ready": "50.0%",
        "Not ready: behind": "1",
        "Not ready: incl. stalled": "0",
        "Not ready: unknown": "1",
        "Due and not ready: overdue": "1",
        "Due and not ready: at risk": "0",
        "Due and not ready: others": "1",
    }

    def test_figures_of_everything_with_two_replicas_and_two_accounts(self):
        self.assertEqual(figures(PROGRESS), self.ALL)

    def test_a_dot_in_the_name_of_a_repository_is_no_wildcard(self):
        self.assertLessEqual(self.WEB.items(), figures(REPOSITORY, address="var-repo=acme/app.web").items())
        self.assertLessEqual(self.WEB.items(), figures(PROGRESS, address="var-repo=acme/app.web").items())

    def test_a_plus_in_the_name_of_a_repository_is_no_mistake_and_both_accounts_that_have_it_count(self):
        for uid in (PROGRESS, REPOSITORY):
            shown = figures(uid, address="var-repo=acme/c%2B%2B")
            self.assertEqual((shown["Translations: 2 of 4 ready"], shown["Not ready: behind"]), ("50.0%", "2"), uid)

    def test_a_cluster_can_be_chosen(self):
        shown = figures(PROGRESS, address="var-cluster=west")
        self.assertEqual((shown["Translations: 0 of 2 ready"], shown["Not ready: behind"]), ("0.0%", "2"))

    def test_the_exporters_figures_count_one_that_is_down_and_one_that_never_read_everything(self):
        self.assertEqual(
            figures(EXPORTER),
            {
                "Instances: up": "3",
                "Instances: in total": "4",
                "API: it is": "reachable",
                "API: its list was": "complete",
                "Last full poll: ago": "5.0 days",
                "Repositories: failing": "1",
                "Repositories: no data": "1",
            },
        )

    def test_one_that_is_not_ready_among_thousands_is_neither_rounded_nor_abbreviated(self):
        shown = figures(PROGRESS, "large")
        self.assertEqual((shown["Translations: 6399 of 6400 ready"], shown["Not ready: behind"]), ("< 100 %", "1"))

    def test_a_forecast_is_a_day_or_says_why_there_is_none(self):
        shown = {name: figures(REPOSITORY, "outage", address=f"var-repo={name}") for name in ("umbrella/app", "acme/app-web")}
        day = time.strftime("%Y-%m-%d", time.gmtime(world.NOW + 40 * world.DAY))
        forecasts = [(one["Forecast: last one ready"], one["Forecast: not rising"]) for one in shown.values()]
        self.assertEqual(forecasts, [(day, "0"), ("none rises", "2")])
        self.assertEqual(figures(REPOSITORY, "ready")["Forecast: last one ready"], "all ready")


class Tables(Shown):
    def test_what_is_due_is_listed_by_urgency_with_the_outlook(self):
        columns = ("Repository", "Language", "Days left", "Outlook", "Completion", "Target")
        self.assertEqual(
            rows(panels(PROGRESS)["What is due"], *columns),
            [
                ("acme/app.web", "es", "-2.0", "overdue", "50.0%", "90%"),
                ("acme/app.web", "ja", "3.0", "open", "unknown", "90%"),
                ("acme/c++", "it", "10.0", "at risk", "40.0%", "80%"),
                ("acme/c++", "de", "20.0", "open", "70.0%", "100%"),
            ],
        )

    def test_the_languages_of_a_repository_say_what_they_are(self):
        shown = panels(REPOSITORY, address="var-repo=acme/app.web")["Languages"]
        self.assertEqual(
            sorted(rows(shown, "Language", "Name", "State", "Completion", "No progress for")),
            [
                ("de", "Name of de", "ready", "100.0%", "2.9 weeks"),
                ("es", "Name of es", "regressed", "50.0%", "1.5 days"),
                ("fr", "Name of fr", "ready", "96.0%", "2.1 days"),
                ("ja", "Name of ja", "unknown", "unknown", ""),
            ],
        )

    def test_a_language_has_stalled_when_the_exporter_says_so(self):
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
        self.assertEqual(matrix["columns"], ["Repository", "Worst", "de", "eo", "es", "fr"])
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
    COUNTS = ("Ready and not ready", "Stalled, regressed, overdue and at risk")

    def test_no_chart_has_more_than_nine_lines_or_two_of_one_name(self):
        for panel in self.every_panel({}, {"where": "large"}):
            names = [line["name"] for line in panel.get("lines", [])]
            self.assertLessEqual(len(names), 9)
            self.assertEqual(len(names), len(set(names)))

    def test_what_never_happens_has_no_line(self):
        names = [line["name"] for line in panels(EXPORTER)["Failures per hour, by reason"]["lines"]]
        self.assertEqual(names, ["all", "server_error"])
        kinds = [line["name"] for line in panels(EXPORTER)["Problems"]["lines"]]
        self.assertFalse({"api_key acme east", "api_key umbrella west", "data_stale umbrella west"} & set(kinds))

    def test_the_problems_of_the_diagnosis_are_shown_by_kind_and_account(self):
        shown = {line["name"]: line["last"] for line in panels(EXPORTER)["Problems"]["lines"]}
        overrun = {"polls_overrun acme east": "for information", "polls_overrun umbrella west": "for information"}
        self.assertEqual(shown, {"any with an alert": "found", "data_stale acme east": "found", "polls_failing umbrella west": "found"} | overrun)
        nothing = {line["name"]: line["last"] for line in panels(EXPORTER, "ready")["Problems"]["lines"]}
        self.assertEqual(nothing, {"any with an alert": "none"})

    def test_only_what_is_not_fresh_is_charted_also_where_there_is_none(self):
        shown = panels(EXPORTER)["Repositories that are not fresh"]["lines"]
        self.assertEqual({line["name"]: line["last"] for line in shown}, {"failing": "1", "pending": "0", "stale": "1"})

    def test_a_pods_memory_is_shown_beside_its_limit(self):
        shown = {line["name"]: line["last"] for line in panels(EXPORTER)["Memory"]["lines"]}
        self.assertEqual((shown["limit"], shown["acme-1:1 acme east"]), ("128 MiB", "28.6 MiB"))

    def test_what_is_ready_and_what_is_wrong_is_counted_over_time(self):
        # French was ready an hour ago.
        shown = {line["name"]: line["last"] for title in self.COUNTS for line in panels(PROGRESS)[title]["lines"]}
        expected = {"ready": "4", "not ready": "6", "overdue": "1", "at risk": "1", "stalled": "1", "regressed": "1"}
        self.assertEqual(shown, expected)
        [ready, _] = panels(PROGRESS)["Ready and not ready"]["lines"]
        self.assertEqual((ready["min"], ready["max"]), (3, 4))

    def test_the_languages_furthest_behind_are_drawn_beside_the_mean(self):
        lines = panels(PROGRESS)["Completion of the five languages furthest behind"]["lines"]
        shown = {line["name"]: line["last"] for line in lines}
        self.assertEqual(shown, {"eo": "10.0%", "it": "40.0%", "es": "50.0%", "de": "71.7%", "fr": "98.0%", "mean": "66.8%"})

    def test_the_moment_in_which_a_language_was_ready_is_marked(self):
        events = {event["name"]: event["titles"] for event in seen(REPOSITORY, address="var-repo=acme/app.web")["events"]}
        self.assertEqual(events, {"Language ready": ["fr is ready"], "No longer ready": []})


class Attention(Shown):
    """The first screen says what needs attention; totals that would be wrong are blank."""

    def messages(self, uid: str, where: str, address: str = "") -> list[tuple[str, ...]]:
        return rows(panels(uid, where, address=address)["What needs attention"], "What", "Job")

    def during(self, minutes: int) -> str:
        """An hour of a day of which eight hours were an outage, so long after its begin."""
        end = world.OUTAGE[0] + minutes * world.MINUTE
        return f"from={(end - world.HOUR) * 1000}&to={end * 1000}"

    def test_the_problems_of_exporters_and_of_translations_are_counted_and_lead_to_the_runbook(self):
        of_acme = [("data_stale", "2", "exporters", "acme"), ("Prometheus cannot scrape", "1", "exporters", "acme")]
        of_acme += [(kind, "1", "translations", "acme") for kind in ("overdue", "regressed", "stalled")]
        of_umbrella = [("polls_failing", "1", "exporters", "umbrella"), ("at_risk", "1", "translations", "umbrella")]
        for uid, address in ((PROGRESS, ""), (EXPORTER, ""), (REPOSITORY, "var-repo=acme/app.web")):
            shown = panels(uid, address=address)["What needs attention"]
            expected = of_acme + of_umbrella
            if uid == REPOSITORY:
                expected = [row for row in expected if row[0] not in ("stalled", "at_risk")]
            self.assertEqual(sorted(rows(shown, "What", "How many", "Of", "Job")), sorted(expected))
            self.assertRegex(shown["cells"][0]["What"]["links"][0], "/deploy/prometheus/README.md#runbook$")

    def test_it_says_what_is_not_scraped_and_else_that_no_problem_is_known(self):
        for uid in UIDS:
            asked = [message.split(":")[0] for message, _ in self.messages(uid, "empty")]
            self.assertEqual(asked, ["No exporter is scraped yet"])
            self.assertEqual([message for message, _ in self.messages(uid, "ready")], ["No problem is known"])
            unread = [(message.split(":")[0], job) for message, job in self.messages(uid, "nothing read")]
            self.assertEqual(unread, [("Data are missing", "umbrella"), ("polls_failing", "umbrella")])

    def test_no_total_leaves_out_an_account_whose_data_are_missing(self):
        for where, gone in (("outage", 65), ("down", 5)):
            for minutes in (gone + 1, 4 * 60, 8 * 60 - 1):
                address = self.during(minutes)
                self.place = f"{where}, {minutes} minutes after its begin"
                missing = [job for message, job in self.messages(PROGRESS, where, address) if message.startswith("Data are missing")]
                self.assertEqual(missing, ["umbrella"])
                shown = figures(PROGRESS, where, address=address)
                self.assertEqual({name for name in shown if not name.startswith(("Repositories: no data", "Oldest data: gone")) and not name.endswith(": No data")}, set())
                for language in panels(PROGRESS, where, address=address)["Languages"]["cells"]:
                    self.assertEqual([language[name]["text"] for name in ("Behind", "Of", "Completion")], ["", "", ""])

    def test_no_chart_of_totals_looks_better_in_an_outage(self):
        # All stands still: a line of a day that is neither blank nor as it was has left out an account.
        day = f"from={(world.NOW - 23 * world.HOUR) * 1000}&to={(world.NOW - 2 * world.HOUR) * 1000}"
        titles = [*Charts.COUNTS, "Completion of the five languages furthest behind"]
        for where in ("outage", "down"):
            shown = panels(PROGRESS, where, address=day)
            for title in titles:
                self.place = f"{where}: {title}"
                self.assertTrue(shown[title]["lines"])
                self.assertEqual([line for line in shown[title]["lines"] if line["max"] - line["min"] > 1e-9], [])
            ended = panels(PROGRESS, where, address=self.during(4 * 60))
            self.assertEqual([line for title in titles for line in ended[title]["lines"]], [])

    def test_a_repository_is_not_blank_because_another_account_is(self):
        for repo, blank in (("umbrella/app", True), ("acme/app-web", False)):
            for where in ("outage", "down"):
                shown = figures(REPOSITORY, where, address=f"{self.during(4 * 60)}&var-repo={repo}")
                self.assertEqual("Not ready: behind" not in shown, blank, repo)


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
            self.assertEqual(shown["rows"][0], f"Is it ready to release? {repository['value']}")
            self.assertNotIn("No data", [value["text"] for value in shown["panels"][0]["values"]])
            self.assertEqual(len(repository["options"]), 4, "the others cannot be chosen any more")

    def test_only_the_languages_of_the_repository_can_be_chosen(self):
        chosen = seen(REPOSITORY, address="var-repo=acme/app.web")["variables"]["language"]
        self.assertEqual(chosen["options"], ["de", "es", "fr", "ja"])

    def test_the_links_above_the_panels_lead_to_the_other_dashboards_with_their_variables(self):
        for uid, other in ((PROGRESS, "exporter"), (REPOSITORY, "progress"), (EXPORTER, "of a repository")):
            links = seen(uid, address="var-job=umbrella")["links"]
            [href] = [href for title, href in links.items() if title.endswith(other)]
            self.assertEqual(self.follow(href)["variables"]["job"]["value"], ["umbrella"])

    def test_a_row_leads_to_where_it_is_translated_if_that_is_known(self):
        for title in ("What is due", "Without progress for the longest time", "Repositories read longest ago"):
            for row in panels(PROGRESS)[title]["cells"]:
                known = row["Job"]["text"] == "acme" and row["Repository"]["text"] != "acme/gone"
                work = (row["Work"]["text"], row["Work"]["links"][0])
                self.assertEqual(work, ("open", world.URL + row["Repository"]["text"]) if known else ("", ""))

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
            self.assertFalse(panel.get("lines"))
            if panel["title"] == "What needs attention":
                continue
            for value in panel.get("values", []):
                self.assertEqual(value["text"], "data missing")
                self.assertNotIn(value["color"], RED | BLUE)
            self.assertFalse(panel.get("cells"))

    def test_a_table_without_rows_keeps_its_columns(self):
        for uid in UIDS:
            for title, panel in panels(uid).items():
                if "columns" in panel and not title.startswith("Repositories by languages"):
                    empty = panels(uid, "empty")[title]["columns"]
                    expected = [name for name in panel["columns"] if name not in ("Namespace", "Cluster", "Work")]
                    self.assertEqual(empty, expected, title)

    def test_where_everything_is_ready_nothing_looks_bad(self):
        for panel in self.every_panel({"where": "ready"}):
            self.assertFalse(RED & {value["color"] for value in panel.get("values", [])})
            self.assertFalse(RED & {cell["color"] for row in panel.get("cells", []) for cell in row.values()})
        self.assertEqual(figures(PROGRESS, "ready")["Repositories: ready of 6"], "6")
        self.assertEqual(panels(PROGRESS, "ready")["What is due"]["cells"], [])

    def test_every_override_configures_what_some_situation_shows(self):
        shown: dict[str, set[str]] = {}
        for panel in self.every_panel(*({"where": where} for where in ("full", "ready", "large", "outage"))):
            names = shown.setdefault(panel["title"].split(":")[0], set())
            names |= {*panel.get("columns", []), *(one["name"] for one in panel.get("values", []) + panel.get("lines", []))}
        for dashboard in load():
            for panel in dashboard_panels(dashboard):
                for matcher in (override["matcher"] for override in panel["fieldConfig"]["overrides"]):
                    pattern = matcher["options"].strip("/") if matcher["id"] == "byRegexp" else f"^{re.escape(matcher['options'])}$"
                    names = shown[panel["title"].split(":")[0]]
                    self.assertTrue([name for name in names if re.search(pattern, name)], f"{panel['title']}: {pattern}")

    def test_every_text_has_a_contrast_of_4_5_and_every_title_and_column_that_matters_is_visible(self):
        for panel in self.every_panel({}, {"theme": "dark", "width": 1920}, {"where": "large"}, {"where": "empty"}):
            self.assertEqual(panel["faint"], [])
            self.assertEqual(panel["cut"], [])
            self.assertEqual([name for name in panel["hidden"] if not SCROLLED.fullmatch(name)], [])


if __name__ == "__main__":
    unittest.main()
