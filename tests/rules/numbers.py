"""One account in every output: the numbers of ready, stalled, regressed, overdue and at risk are equal in table, page, JSON, /metrics,
alerts and dashboards.

    numbers.py PROGRAM FAKE_API FOLDER      the exporter, the API, and an empty folder for files and logs

The exporter begins with a state of the past. The alerts are the shipped ones, with seconds in place of minutes, and the queries of
the dashboards are those of their panels whose legend is one of the numbers.
"""

import contextlib
import datetime
import json
import pathlib
import re
import subprocess
import sys

from harness import FakeApi, Prometheus, address, get, running, wait_for
from kinds import FILE, OF_TRANSLATIONS, shortened

DASHBOARDS = FILE.parents[2] / "grafana/dashboards"
NOW = datetime.datetime.now(datetime.UTC)
REPOSITORY = "acme/shop"
# The languages of each kind, which no other kind has: the numbers differ, so that none can stand for another.
OF = {"ready": "de es fr it pt", "stalled": "ja ko ru zh", "regressed": "nl sv", "overdue": "da fi nb", "at risk": "pl"}
OF = {kind: codes.split() for kind, codes in OF.items()}
NUMBERS = {kind: len(codes) for kind, codes in OF.items()}
NOT_READY = sum(NUMBERS.values()) - NUMBERS["ready"]


def millis(days):
    return round((NOW + datetime.timedelta(days)).timestamp() * 1000)


def earlier(completion, days):
    return {"completion": completion, "at": millis(days)}


# What is known of the languages of a kind, beside a completion of 50 and progress a day and a half ago.
PAST = {
    "ready": {"completion": 100},
    "stalled": {"progress_at": millis(-30)},
    "regressed": {"completion": 30, "fall": {"from": 80, "at": millis(-2)}},
    "overdue": {},
    "at risk": {"previous": earlier(40, -8), "latest": earlier(45, -1)},
}
KINDS = {code: kind for kind, codes in OF.items() for code in codes}


def put_back(state):
    """Changes a state that the exporter wrote into one of the past."""
    read = state["state"]["repositories"][0]["languages"]
    read["read_at"] = millis(-1 / 24)
    for record in read["records"]:
        past = PAST[KINDS[record["language"]["code"]]]
        record["known"]["progress_at"] = past.get("progress_at", millis(-1.5))
        record["past"] = {name: past[name] for name in ("fall", "previous", "latest") if name in past} or None
    return state


def targets():
    due = lambda days: (NOW + datetime.timedelta(days)).date().isoformat()
    return [{"languages": OF["overdue"], "due": due(-2)}, {"languages": OF["at risk"], "due": due(5)}]


def in_words(text):
    """The numbers of the sentences of table and page."""
    text = re.sub(r"<[^>]+>", "", text)
    found = {kind: re.search(rf"\b(\d+) {kind}\b", text) for kind in NUMBERS if kind != "ready"}
    found["ready"] = re.search(rf"\b(\d+)(?:/| of ){len(KINDS)} (?:translations )?ready", text)
    return {kind: int(match[1]) if match else None for kind, match in found.items()}


def in_json(text):
    document = json.loads(text)
    kinds = [kind for repository in document["repositories"] for entry in repository["languages"] for kind in entry["problems"]]
    return {kind.replace("_", " "): kinds.count(kind) for kind in OF_TRANSLATIONS} | {"ready": document["summary"]["ready"]}


def in_metrics(text):
    found = {kind.replace("_", " "): len(re.findall(rf'^translation_problem_timestamp_seconds{{.*kind="{kind}"', text, re.MULTILINE))
             for kind in OF_TRANSLATIONS}
    ready = re.findall(r"^translation_ready\{.*\} (\d+)", text, re.MULTILINE)
    return found | {"ready": sum(map(int, ready))}


def in_alerts(prometheus):
    """The alerts that fire, one for each translation; none is about what is ready."""
    firing = [labels["alertname"] for labels, _ in prometheus.now('ALERTS{alertstate="firing"}')]
    return {kind.replace("_", " "): firing.count(alert) for kind, alert in OF_TRANSLATIONS.items()} | {"ready": NUMBERS["ready"]}


def queries():
    """Panel, number and query of each legend of the dashboards that names a number."""
    for file in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", []):
                legend = target.get("legendFormat", "").removeprefix("incl. ")
                if legend in NUMBERS | {"not ready": NOT_READY}:
                    expr = target["expr"].replace("$repository", REPOSITORY).replace("$__rate_interval", "1m")
                    yield f"{file.stem}, {panel['title']}", legend, re.sub(r'"\$\w+"', '".*"', expr)


def main(program, fake_api, folder):
    with contextlib.ExitStack() as stack:
        api = stack.enter_context(FakeApi(fake_api))
        api.put((1, REPOSITORY, {code: PAST[kind].get("completion", 50) for code, kind in KINDS.items()}))
        settings = {"api": {"base_url": api.url, "key": FakeApi.KEY}, "poll": {"interval": "1s"}, "state": {"file": "state.json"}, "targets": targets()}
        (folder / "exporter.yaml").write_text(json.dumps(settings))
        once = [program, "once", "--config.file=exporter.yaml"]
        output = lambda name: subprocess.run([*once, f"--output={name}"], cwd=folder, check=True, capture_output=True, text=True).stdout
        output("text")
        state = folder / "state.json"
        state.write_text(json.dumps(put_back(json.loads(state.read_text()))))
        said = {"table": in_words(output("table")), "Markdown": in_words(output("markdown")), "JSON of once": in_json(output("json"))}
        log = folder / "exporter.log"
        process = stack.enter_context(running([program, "--config.file=exporter.yaml", "--web.listen-address=127.0.0.1:0"], log, cwd=folder))
        exporter = address(process, log)
        page = lambda path: get(f"http://{exporter}/{path}")
        wait_for("the exporter has polled", lambda: "last_success_timestamp" in page("metrics"))
        said |= {"page": in_words(page("")), "JSON of the daemon": in_json(page("translations.json")), "metrics": in_metrics(page("metrics"))}
        shortened(folder)
        (folder / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [FILE.name],
            "scrape_configs": [{"job_name": "l10n", "static_configs": [{"targets": [exporter]}]}],
        }))
        prometheus = stack.enter_context(Prometheus.start(folder, "prometheus.yaml"))
        with contextlib.suppress(TimeoutError):
            wait_for("as many alerts fire as there are problems", lambda: in_alerts(prometheus) == NUMBERS, 30)
        said["alerts"] = in_alerts(prometheus)
        for panel, legend, expr in queries():
            (_, value), = prometheus.now(expr)
            said.setdefault(panel, {})[legend] = int(value)
    expected = NUMBERS | {"not ready": NOT_READY}
    different = {where: numbers for where, numbers in said.items() if numbers != {kind: expected[kind] for kind in numbers}}
    assert not different, f"expected {expected}, found {different}"
    panels = {where: numbers for where, numbers in said.items() if ", " in where}
    for dashboard in ("translation-progress", "translation-repository"):
        missing = expected.keys() - {legend for where, numbers in panels.items() if where.startswith(dashboard) for legend in numbers}
        assert not missing, f"{dashboard} shows no number of {missing}"
    print(f"{', '.join(f'{number} {kind}' for kind, number in NUMBERS.items())} in {len(said)} places: {'; '.join(said)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
