"""The dashboards: their form, and each query of each panel asked of a real Prometheus that scrapes a real exporter."""

import json
import re
import statistics
from pathlib import Path

import pytest
from harness import ROOT, fake_time, replace, wait_for

DASHBOARDS = {file.stem: json.loads(file.read_text()) for file in sorted((ROOT / "grafana/dashboards").glob("*.json"))}
CHOSEN = {"cluster": ".*", "namespace": ".*", "job": "acme", "repo": ".+", "language": ".+", "__rate_interval": "30s"}
ACCOUNT = [(1, "acme/app", {"de": 100, "fr": 50, "ja": 92, "it": 80}), (2, "acme/site", {"de": 100, "eo": 3})]
FALLEN = (1, "acme/app", {"de": 100, "fr": 50, "ja": 92, "it": 20})
ROWS = re.findall(r"^\| (.+) \|$", (Path(__file__).parent / "expected.txt").read_text(), re.MULTILINE)[1:]
EXPECTED = {tuple(cells[:3]): tuple(cells[3:]) for cells in (row.split(" | ") for row in ROWS)}
CONFIG = {
    "poll": {"interval": "5s"},
    "links": {"repository": "https://example.com/{id}"},
    "targets": [
        {"languages": ["fr"], "ratio": 0.9, "due": "2020-02-29"},
        {"languages": ["ja"], "ratio": 0.9},
        {"languages": ["eo"], "ratio": 0},
    ],
}


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries():
    """The queries by dashboard, panel, and legend or letter."""
    return {
        (uid.removeprefix("translation-"), panel["title"], target.get("legendFormat") or target["refId"]): target["expr"]
        for uid, dashboard in DASHBOARDS.items()
        for panel in panels(dashboard)
        for target in panel["targets"]
    }


def asked(expr, **chosen):
    """The query as Grafana sends it."""
    return re.sub(r"\$(\w+)", lambda name: (CHOSEN | chosen)[name[1]], expr)


def answer(prometheus, where, expr):
    """A number; `some` for a time or a rate; the number of rows; or `-`."""
    found = prometheus.now(asked(expr, repo="acme/app" if where[0] == "repository" else ".+"))
    if len(found) != 1 or found[0][0]:
        return f"{len(found)} rows" if found else "-"
    value = found[0][1]
    return "some" if value > 1e6 or re.search(r"increase|time\(\)", expr) else f"{value:.3g}"


def answers(prometheus):
    return {where: answer(prometheus, where, expr) for where, expr in queries().items()}


def test_queries_fit_into_the_editor_and_panels_onto_a_screen():
    for dashboard in DASHBOARDS.values():
        lengths = [len(target["expr"]) for panel in panels(dashboard) for target in panel["targets"]]
        assert statistics.median(lengths) <= 180 and max(lengths) <= 400
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(ids) == len(set(ids))
        assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in dashboard["panels"])
        assert all(panel["description"] for panel in panels(dashboard))
    assert sum(len(panels(dashboard)) for dashboard in DASHBOARDS.values()) < 33


def test_each_query_selects_its_account_and_no_instance():
    for where, expr in queries().items():
        assert all(f'{label}=~"${label}"' in expr for label in ("cluster", "namespace", "job")), where
        assert "instance=" not in expr, where


def test_links_lead_to_dashboards_and_set_their_variables():
    for dashboard in DASHBOARDS.values():
        for uid, options in re.findall(r'"/d/([\w-]+)\?([^"]*)"', json.dumps(dashboard)):
            names = {variable["name"] for variable in DASHBOARDS[uid]["templating"]["list"]}
            assert set(re.findall(r"\$\{(\w+):queryparam\}|var-(\w+)=", options)) <= {(n, "") for n in names} | {("", n) for n in names}


@pytest.fixture
def start(api, exporter, tmp_path):
    """Starts an exporter with a state file; `sections` replace sections of its configuration."""
    clock = tmp_path / "clock"
    clock.write_text("+0\n")

    def start(address="127.0.0.1:0", **sections):
        (tmp_path / "config.yaml").write_text(json.dumps(CONFIG | {"state": {"file": "state.json"}} | sections))
        return exporter("--config.file=config.yaml", api=api, address=address, environment=fake_time(clock))

    return start


@pytest.fixture
def account(api, start, tmp_path):
    """An exporter whose API can fail, with one translation that has fallen and one that is overdue."""
    api.put(*ACCOUNT)
    replace(tmp_path / "clock", "-25h\n")
    started = start()
    started.wait_for_poll()
    replace(tmp_path / "clock", "+0\n")
    api.put(FALLEN)
    return started


@pytest.fixture
def scraping(prometheus, tmp_path):
    """Starts a Prometheus that scrapes an exporter each second as the job acme."""

    def start(exporter):
        job = {"job_name": "acme", "static_configs": [{"targets": [exporter.host]}]}
        seconds = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        (tmp_path / "prometheus.yaml").write_text(json.dumps({"global": seconds, "scrape_configs": [job]}))
        return prometheus("prometheus.yaml")

    return start


def test_a_selected_repository_shows_its_own_languages_alone(account, scraping, api):
    server = scraping(account)
    api.put((2, "acme/site", {"de": 100, "eo": 3, "ko": None}))
    wait_for("a language without a completion", lambda: server.now('translation_ready{language="ko"}'))
    found = server.now(asked(queries()["repository", "Languages", "H"], repo="acme/site"))
    assert {labels["language"] for labels, _ in found} == {"de", "eo", "ko"}


def test_each_query_finds_what_it_should_also_in_an_outage_and_without_the_exporter(account, scraping, api, start):
    server = scraping(account)

    def scraped(what):
        wait_for(what, lambda: server.now(f"count_over_time({what}[5m]) > 2"))

    scraped("translation_fallen_from_ratio")
    wait_for("a further poll", lambda: server.now('increase(translation_exporter_api_requests_total{code="200"}[5m]) > 0'))
    healthy = answers(server)
    # The outage begins between two polls: one in the middle of a poll would add a reason.
    account.end()
    api.command("status", 500)
    account = start(account.host.replace("localhost", "127.0.0.1"), poll={"interval": "2s", "stale_after": "10s"})
    wait_for("failures", lambda: server.now('increase(translation_exporter_api_requests_total{code="500"}[5m]) > 0'))
    wait_for("nothing is shown", lambda: not server.now("translation_ready"))
    wait_for("polls have failed", lambda: server.now('translation_exporter_problem{kind="polls_failing"} == 1'))
    outage = answers(server)
    account.process.terminate()
    wait_for("the exporter is gone", lambda: server.now("up == 0"))
    gone = answers(server)
    found = {where: (healthy[where], outage[where], gone[where]) for where in healthy}
    assert found == EXPECTED


def test_each_query_that_is_not_about_failures_finds_something_in_the_demo(exporter, scraping):
    server = scraping(exporter("demo").wait_for_poll())
    wait_for("a further poll", lambda: server.now("increase(translation_exporter_polls_total[1m]) > 0"))
    of = {"repository": "harborlight/harbor-map"}
    empty = {where for where, expr in queries().items() if not server.now(asked(expr, repo=of.get(where[0], ".+")))}
    assert {where for where in empty if EXPECTED[where][0] != "-"} <= {("repository", "Languages", "G")}
