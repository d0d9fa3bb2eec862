"""Drives the built program into each kind of problem that has an alert, and out of it again, while a Prometheus with the shipped alerts,
except for their times, scrapes it: the alert fires and ends.

Hours pass by libfaketime, which changes the clock of the exporter alone. src/diagnosis tests the kinds without an alert.
"""

import contextlib
import functools
import json
import re
import time

import pytest
import yaml
from harness import ROOT, FakeApi, fake_time, replace, wait_for

ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
# An account in which nothing is wrong.
REPOSITORIES = [(number, f"acme/r{number}", {"de": 40, "fr": 0}) for number in (1, 2, 3, 4)]
SITUATIONS = []


def situation(kind, alert, **options):
    """The function brings about the kind of problem, and ends it after its `yield`. `options` are Driven's."""

    def note(function):
        SITUATIONS.append(pytest.param(function, kind, alert, options, id=function.__name__))
        return function

    return note


class Driven:
    """The program with an API: `settings` replace sections of its configuration, `state` is the text of its state file, and with
    `monotonic`, `advance` moves its timers too."""

    def __init__(self, start, api, certificate, folder, repositories=REPOSITORIES, settings=None, state=None, monotonic=False):
        self.api, self.certificate, self.folder = api, certificate, folder
        api.put(*repositories)
        self.settings = {
            "api": {"base_url": api.url, "key": FakeApi.KEY, "requests_per_second": 0, "timeout": "1h"},
            "poll": {"interval": "1s"},
            "state": {"file": "state.json"},
        }
        self.configure(**settings or {})
        if state:
            (folder / "state.json").write_text(state)
        certificate("server", days=90)
        (folder / "web.yaml").write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
        self.advance("0")
        scheme = "https" if "web" in self.settings else "http"
        clock = fake_time(folder / "clock", monotonic)
        self.start = functools.partial(start, "--config.file=exporter.yaml", scheme=scheme, environment=clock)
        self.exporter = self.start()

    def advance(self, time):
        """Sets the clock of this exporter to that much after the time."""
        replace(self.folder / "clock", f"+{time}\n")

    def configure(self, **sections):
        self.settings |= sections
        replace(self.folder / "exporter.yaml", json.dumps(self.settings))

    def restart(self, **sections):
        self.configure(**sections)
        self.exporter.end()
        self.exporter = self.start(address=self.exporter.host.replace("localhost", "127.0.0.1"))


@situation("api_key", "TranslationApiKeyRejected")
def a_refused_key(driven):
    driven.api.command("key", None)
    yield
    driven.api.command("key", FakeApi.KEY)


@situation("polls_failing", "TranslationPollFailing")
def an_outage(driven):
    driven.api.command("status", 503)
    driven.advance("20m")
    yield
    driven.api.command("status", None)


@situation("data_stale", "TranslationDataStale", settings={"poll": {"interval": "1s", "stale_after": "2s"}})
def stale_data(driven):
    driven.api.command("status", 503)
    yield
    driven.api.command("status", None)


@situation("no_repositories", "TranslationNoRepositories")
def filters_that_leave_nothing(driven):
    driven.restart(filter={"exclude": ["*/*"]})
    yield
    driven.restart(filter={})


@situation("completion_scale", "TranslationScaleSuspect")
def another_scale(driven):
    driven.api.put(*((number, name, {"de": 0.4}) for number, name, _ in REPOSITORIES))
    yield
    driven.api.put(*REPOSITORIES)


@situation("omitted_zeros", "TranslationScaleSuspect", repositories=[(1, "acme/r1", {"de": 40})])
def zeros_left_out(driven):
    answer = '[{"code": "de", "name": "de", "completion": 40}, {"code": "fr", "name": "fr"}]'
    driven.api.command("put", [{"id": 1, "name": "acme/r1", "answer": answer}])
    yield
    driven.api.put(*REPOSITORIES)


@situation("api_shape", "TranslationApiShapeChanged")
def entries_of_another_shape(driven):
    driven.api.command("put", [{"id": 1, "name": "acme/r1", "answer": '[{"code": "de", "name": "de", "completion": "half"}]'}])
    yield
    driven.api.put(*REPOSITORIES)


# Not even root can replace a folder by a file.
@situation("state_not_saved", "TranslationStateNotSaved")
def a_state_that_cannot_be_written(driven):
    # It exists for a moment while the exporter writes.
    wait_for("the folder is made", lambda: (driven.folder / "state.json.tmp").mkdir() is None)
    driven.api.put((1, "acme/r1", {"de": 41}))
    yield
    (driven.folder / "state.json.tmp").rmdir()


@situation("state_discarded", "TranslationStateDiscarded", state="{", monotonic=True)
def a_damaged_state(driven):
    yield
    driven.advance("25h")


@situation("web_config_refused", "TranslationWebConfigRefused", settings={"web": {"config_file": "web.yaml"}})
def a_mistake_in_the_web_configuration(driven):
    right = (driven.folder / "web.yaml").read_text()
    replace(driven.folder / "web.yaml", "tls_server_config: {}")
    yield
    replace(driven.folder / "web.yaml", right)


@situation("certificate", "TranslationCertificateExpiring", settings={"web": {"config_file": "web.yaml"}})
def a_certificate_that_expires(driven):
    driven.certificate("server", days=2)
    yield
    driven.certificate("server", days=90)


@situation("target_unused", "TranslationTargetUnused")
def a_target_of_no_repository(driven):
    driven.restart(targets=[{"repositories": ["acme/renamed"], "ratio": 0.9}])
    yield
    driven.restart(targets=[])


@situation("stalled", "TranslationStalled")
def a_translation_that_nobody_works_on(driven):
    driven.advance("8d")
    yield
    driven.api.put(*((number, name, {"de": 41, "fr": 1}) for number, name, _ in REPOSITORIES))


@situation("regressed", "TranslationRegressed")
def a_translation_that_falls(driven):
    driven.exporter.wait_for_poll()
    driven.advance("25h")
    driven.api.put((1, "acme/r1", {"de": 10, "fr": 0}))
    yield
    driven.api.put(*REPOSITORIES)


@situation("overdue", "TranslationTargetMissed")
def a_date_that_passes(driven):
    driven.restart(targets=[{"languages": ["de"], "ratio": 0.9, "due": "2020-02-29"}])
    yield
    driven.restart(targets=[])


@situation("at_risk", "TranslationTargetAtRisk")
def a_date_that_comes_near(driven):
    driven.advance("25h")
    due = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 5 * 86400))
    driven.restart(targets=[{"languages": ["de"], "ratio": 0.9, "due": due}])
    yield
    driven.restart(targets=[])


def test_each_kind_with_an_alert_has_a_situation():
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    reported = {rule["alert"]: rule["expr"].partition("unless on")[0] for rule in rules}
    found = {alert: "|".join(re.findall(r'\bkind=~?"(.+?)"', expr)).split("|") for alert, expr in reported.items()}
    watched = {(kind, alert) for alert, kinds in found.items() for kind in kinds if kind}
    listed = set(re.findall(r"(?m)^\| `(\w+)` \| .* \| (Translation\w+) \|", (ROOT / "docs/metrics.md").read_text()))
    assert listed and listed <= watched == {(kind, alert) for _, kind, alert, _ in (one.values for one in SITUATIONS)}


@pytest.fixture
def watch(prometheus, tmp_path):
    """Starts a Prometheus that evaluates the alerts with seconds in place of minutes."""

    def start(exporter):
        rules = ALERTS.read_text()
        for times, seconds in (
            (r" for: \d+[mhd]", " for: 1s"),
            (r" keep_firing_for: \d+[mh]", " keep_firing_for: 1s"),
            (r"\[(10m|15m|1h|1d)\]", "[3s]"),
        ):
            rules, count = re.subn(times, seconds, rules)
            assert count, f"{ALERTS} has nothing like {times!r} to shorten any more"
        (tmp_path / "alerts.yaml").write_text(rules)
        scheme = exporter.url.partition(":")[0]
        job = {"job_name": "l10n", "scheme": scheme, "static_configs": [{"targets": [exporter.host]}]}
        job["tls_config"] = {"insecure_skip_verify": True}
        times = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        (tmp_path / "prometheus.yaml").write_text(json.dumps({"global": times, "rule_files": ["alerts.yaml"], "scrape_configs": [job]}))
        return prometheus("prometheus.yaml")

    return start


@pytest.mark.slow
@pytest.mark.parametrize(("situation", "kind", "alert", "options"), SITUATIONS)
def test_the_alert_fires_and_ends(situation, kind, alert, options, exporter, api, certificate, watch, tmp_path):
    driven = Driven(exporter, api, certificate, tmp_path, **options)
    server = watch(driven.exporter)
    # Alerts that watch other series may fire too.
    firing = " or ".join(f'ALERTS{{alertname="{one.values[2]}",alertstate="firing"}}' for one in SITUATIONS)
    shown = f'translation_exporter_problem{{kind="{kind}"}} == 1 or translation_problem_timestamp_seconds{{kind="{kind}"}}'

    def fires():
        return {labels["alertname"] for labels, _ in server.now(firing)}

    with contextlib.closing(situation(driven)) as steps:
        next(steps)
        wait_for(f"Prometheus reads {kind}", lambda: server.now(shown))
        wait_for(f"{alert} alone fires", lambda: fires() == {alert})
        next(steps, None)
        wait_for(f"{kind} has ended", lambda: server.now("up == 1") and not server.now(shown))
        wait_for("no alert fires any more", lambda: not fires())
