"""Drives the built program into each kind of problem, its own and those of translations, and out of it again, while a real Prometheus
with the shipped alerts, except for their times, scrapes it: each alert fires and ends.

Each situation below has an exporter, an API and a job of its own. The program lists its kinds itself: a kind without a situation, or with
another severity, is an error. Hours pass by libfaketime, which changes the wall clock of one exporter alone.
"""

import contextlib
import email.utils
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import harness
import pytest
import yaml
from harness import ROOT, FakeApi, Prometheus, address, fake_time, get, replace, running

FILE = ROOT / "deploy/prometheus/alerts.yaml"
STARTED = time.monotonic()
# What an exporter has that nothing is wrong with.
REPOSITORIES = [(number, f"acme/r{number}", {"de": 40, "fr": 0}) for number in (1, 2, 3, 4)]
SITUATIONS = []
# The kinds of problems of translations.
OF_TRANSLATIONS = {
    "stalled": "TranslationStalled",
    "regressed": "TranslationRegressed",
    "overdue": "TranslationTargetMissed",
    "at_risk": "TranslationTargetAtRisk",
}


def wait_for(what, condition):
    value = harness.wait_for(what, condition, patience=300)
    print(f"{time.monotonic() - STARTED:5.1f}s  {what}", flush=True)
    return value


def situation(kind, alert=None, repositories=REPOSITORIES, **options):
    """The function brings about the kind of problem, and ends it after its `yield`. `options` are Exporter's."""

    def note(function):
        SITUATIONS.append((function, kind, alert, repositories, options))
        return function

    return note


class Exporter:
    """The program with an API of its own; `settings` are merged into its configuration. With `state`, a function of the
    API's URL, it begins with that text as its state file; with `web` it serves TLS; with `pipe` its log goes into a small pipe; with
    `monotonic`, `advance` moves its timers too."""

    def __init__(self, stack, programs, folder, repositories, settings=None, state=None, web=False, pipe=False, monotonic=False):
        self.program, fake_api = programs
        self.folder = folder
        folder.mkdir()
        self.clock = folder / "clock"
        self.advance("0")
        self.api = stack.enter_context(FakeApi(fake_api))
        self.api.put(*repositories)
        self.settings = {
            "api": {"base_url": self.api.url, "key": FakeApi.KEY, "max_attempts": 1, "requests_per_second": 0, "timeout": "1h"},
            "poll": {"interval": "1s"},
            "state": {"file": "state.json"},
        }
        if state is not None:
            (folder / "state.json").write_text(state(self.api.url))
        if web:
            self.renew_certificate(2)
            (folder / "web.yaml").write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
            self.settings["web"] = {"config_file": "web.yaml"}
        self.scheme = "https" if web else "http"
        self.configure(**settings or {})
        self.log = folder / "exporter.log"
        if pipe:
            os.mkfifo(folder / "pipe")
            self.pipe = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
            fcntl.fcntl(self.pipe, fcntl.F_SETPIPE_SZ, 4096)
        command = [self.program, "--config.file=exporter.yaml", "--web.listen-address=127.0.0.1:0"]
        self.process = stack.enter_context(
            running(command, folder / "pipe" if pipe else self.log, cwd=folder, env=os.environ | fake_time(self.clock, monotonic))
        )
        if pipe:
            harness.wait_for("the log begins", lambda: "msg=listening" in self.read_log())
        self.address = address(self.process, self.log)
        loaded = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()
        assert "libfaketime" in loaded, f"{self.program} does not load libfaketime: is it linked statically?"

    def read_log(self):
        """Takes what the pipe holds into the file, and returns the whole."""
        with self.log.open("ab") as log:
            log.write(os.read(self.pipe, 4096))
        return self.log.read_text()

    def advance(self, time):
        """Sets the clock of this exporter to that much after the time."""
        replace(self.clock, f"+{time}\n")

    def configure(self, **changes):
        for section, values in changes.items():
            self.settings[section] = self.settings.get(section, {}) | values if isinstance(values, dict) else values
        replace(self.folder / "exporter.yaml", json.dumps(self.settings))

    def reload(self, **changes):
        self.configure(**changes)
        self.process.send_signal(signal.SIGHUP)

    def metric(self, name):
        """The value of one of the exporter's own metrics; 0 while it is absent."""
        found = re.search(rf"^translation_exporter_{name} (\S+)", get(f"http://{self.address}/metrics"), re.MULTILINE)
        return float(found[1]) if found else 0

    def renew_certificate(self, days):
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                str(days),
                "-subj",
                "/CN=exporter",
                "-keyout",
                "new.key",
                "-out",
                "new.pem",
            ],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        for ending in ("key", "pem"):
            (self.folder / f"new.{ending}").rename(self.folder / f"server.{ending}")


@situation("api_key", "TranslationApiKeyRejected")
def a_refused_key(exporter):
    exporter.api.command("key", None)
    yield
    exporter.api.command("key", FakeApi.KEY)


@situation("polls_failing", "TranslationPollFailing")
def an_outage(exporter):
    exporter.api.command("status", 503)
    exporter.advance("20m")
    yield
    exporter.api.command("status", None)


# The kernel accepts the connections of a stopped process, and nobody answers.
@situation("polls_failing", "TranslationPollFailing", monotonic=True)
def a_poll_that_hangs(exporter):
    exporter.api.process.send_signal(signal.SIGSTOP)
    try:
        harness.wait_for("a poll takes long", lambda: 0 < exporter.metric("poll_started_timestamp_seconds") < time.time() - 2)
        exporter.advance("45m")
        yield
    finally:
        exporter.api.process.send_signal(signal.SIGCONT)


@situation("data_stale", "TranslationDataStale", settings={"poll": {"interval": "1s", "stale_after": "2s"}})
def stale_data(exporter):
    exporter.api.command("status", 503)
    yield
    exporter.api.command("status", None)


@situation("no_repositories", "TranslationNoRepositories")
def filters_that_leave_nothing(exporter):
    exporter.reload(filter={"exclude": ["*/*"]})
    yield
    exporter.reload(filter={"exclude": []})


@situation("completion_scale", "TranslationScaleSuspect")
def another_scale(exporter):
    exporter.api.put(*((number, name, {"de": 0.4}) for number, name, _ in REPOSITORIES))
    yield
    exporter.api.put(*REPOSITORIES)


@situation("omitted_zeros", "TranslationScaleSuspect", repositories=[(1, "acme/r1", {"de": 40})])
def zeros_left_out(exporter):
    answer = '[{"code": "de", "name": "de", "completion": 40}, {"code": "fr", "name": "fr"}]'
    exporter.api.command("put", [{"id": 1, "name": "acme/r1", "answer": answer}])
    yield
    exporter.api.put(*REPOSITORIES)


@situation("api_shape", "TranslationApiShapeChanged")
def entries_of_another_shape(exporter):
    exporter.api.command("put", [{"id": 1, "name": "acme/r1", "answer": '[{"code": "de", "name": "de", "completion": "half"}]'}])
    yield
    exporter.api.put(*REPOSITORIES)


# Whoever may write everything, as root in a container, cannot replace a folder by a file either.
@situation("state_not_saved", "TranslationStateNotSaved")
def a_state_that_cannot_be_written(exporter):
    # It exists for a moment while the exporter writes.
    harness.wait_for("the folder is made", lambda: (exporter.folder / "state.json.tmp").mkdir() is None)
    exporter.api.put((1, "acme/r1", {"de": 41}))
    yield
    (exporter.folder / "state.json.tmp").rmdir()


@situation("state_discarded", "TranslationStateDiscarded", state=lambda _: "{", monotonic=True)
def a_damaged_state(exporter):
    yield
    exporter.advance("25h")


@situation("reload_refused", "TranslationConfigReloadFailed")
def a_mistake_in_the_configuration(exporter):
    exporter.reload(poll={"interval": "often"})
    yield
    exporter.reload(poll={"interval": "1s"})


@situation("certificate", "TranslationCertificateExpiring", web=True)
def a_certificate_that_expires(exporter):
    yield
    exporter.renew_certificate(90)
    exporter.reload()


@situation("polls_overrun")
def a_slow_poll(exporter):
    exporter.reload(api={"requests_per_second": 2})
    yield
    exporter.reload(api={"requests_per_second": 0}, poll={"interval": "1m"})


# Of twenty responses, refusals of three repositories or more halve the pace.
MANY = [(number, f"acme/r{number}", {"de": 40}) for number in range(1, 31)]


@situation("rate_limited", repositories=MANY, settings={"api": {"requests_per_second": 20}})
def an_api_that_limits_the_rate(exporter):
    def requests():
        return len(json.loads(exporter.api.command("keys", True)))

    sent = requests()
    exporter.api.command("status", 429)
    harness.wait_for("the pace was halved", lambda: requests() > sent + 45)
    exporter.api.command("status", None)
    yield
    # The pace grows by a quarter with each twenty responses, until it is what was configured.


@situation("target_unused")
def a_target_of_nothing(exporter):
    exporter.reload(targets=[{"repositories": ["acme/renamed"], "ratio": 0.9}])
    yield
    exporter.reload(targets=[])


@situation("stalled", "TranslationStalled")
def a_translation_that_nobody_works_on(exporter):
    exporter.advance("8d")
    yield
    exporter.api.put(*((number, name, {"de": 41, "fr": 1}) for number, name, _ in REPOSITORIES))


@situation("regressed", "TranslationRegressed")
def a_translation_that_falls(exporter):
    exporter.api.put((1, "acme/r1", {"de": 10, "fr": 0}))
    yield
    exporter.api.put(*REPOSITORIES)


@situation("overdue", "TranslationTargetMissed")
def a_date_that_passes(exporter):
    exporter.reload(targets=[{"languages": ["de"], "ratio": 0.9, "due": "2020-02-29"}])
    yield
    exporter.reload(targets=[])


@situation("at_risk", "TranslationTargetAtRisk")
def a_date_that_comes_near(exporter):
    exporter.advance("25h")
    due = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 5 * 86400))
    exporter.reload(targets=[{"languages": ["de"], "ratio": 0.9, "due": due}])
    yield
    exporter.reload(targets=[])


# Long enough that the next listing does not confirm it before the repositories are back.
@situation("removal_unconfirmed", settings={"poll": {"interval": "8s"}})
def a_listing_that_lacks_most(exporter):
    exporter.api.command("remove", [1, 2, 3])
    yield
    exporter.api.put(*REPOSITORIES)


@situation("clock_wrong")
def a_clock_that_differs_from_that_of_the_api(exporter):
    exporter.api.command("clock", email.utils.formatdate(time.time() + 5400, usegmt=True))
    yield
    exporter.api.command("clock", email.utils.formatdate(usegmt=True))


# The log of a poll of so many repositories is larger than the pipe.
@situation("log_lines_dropped", repositories=[(number, f"acme/r{number}", {"de": 40}) for number in range(1, 400)], pipe=True)
def a_log_that_nobody_reads(exporter):
    exporter.reload(log={"level": "debug"})
    yield
    exporter.reload(log={"level": "error"})
    polls = exporter.metric("polls_total")
    harness.wait_for("the last dropped line was seen", lambda: exporter.metric("polls_total") > polls + 2)
    exporter.advance("30m")


class Watched:
    """What Prometheus knows of one exporter."""

    def __init__(self, prometheus, job):
        self.prometheus, self.job = prometheus, job

    def value(self, kind):
        """1 while there is a problem of the kind, else 0."""
        if kind in OF_TRANSLATIONS:
            return bool(self.prometheus.now(f'translation_problem_timestamp_seconds{{job="{self.job}",kind="{kind}"}}'))
        found = self.prometheus.now(f'translation_exporter_problem{{job="{self.job}",kind="{kind}"}}')
        return max(value for _, value in found) if found else None

    def firing(self):
        """The alerts on kinds of problems that fire; the situations are about no others."""
        found = self.prometheus.now(f'ALERTS{{job="{self.job}",alertstate="firing"}}')
        return {labels["alertname"] for labels, _ in found} & ALERTS


def alerts_on_kinds():
    rules = yaml.safe_load(FILE.read_text())["groups"]
    return {
        rule["alert"]: set(re.search(r'\bkind=~?"(.+?)"', rule["expr"])[1].split("|"))
        for group in rules
        for rule in group["rules"]
        if "kind=" in rule["expr"]
    }


KINDS_OF = alerts_on_kinds()
ALERTS = set(KINDS_OF)


def drive(steps, watched, kind, alert):
    """Goes through one situation."""
    name = watched.job
    expected = {alert} if alert else set()
    next(steps)
    wait_for(f"{name}: Prometheus reads {kind}", lambda: watched.value(kind) == 1)
    wait_for(f"{name}: {alert or 'no alert'} fires", lambda: watched.firing() == expected)
    with contextlib.suppress(StopIteration):
        next(steps)
    wait_for(f"{name}: {kind} has ended", lambda: watched.value(kind) == 0)
    wait_for(f"{name}: no alert fires any more", lambda: not watched.firing())


def shortened(folder):
    """The alerts, with seconds in place of minutes."""
    text = FILE.read_text()
    for pattern, replacement in (
        (r"interval: \d+m", "interval: 1s"),
        (r" for: \d+[mh]", " for: 2s"),
        (r" keep_firing_for: \d+h", " keep_firing_for: 2s"),
        (r"\[(15m|1d)\]", "[5s]"),
    ):
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{FILE} has nothing like {pattern!r} to shorten any more"
    (folder / FILE.name).write_text(text)


def check_kinds(exporter):
    """Each kind with an alert has a situation; other kinds may have one."""
    exposed = get(f"{exporter.scheme}://{exporter.address}/metrics")
    # What has two severities is listed with the one that has an alert.
    series = re.findall(r'^translation_exporter_problem\{kind="(\w+)",severity="(\w+)"\} ', exposed, re.MULTILINE)
    known = dict(sorted(series, key=lambda one: one[1]))
    known |= dict.fromkeys(OF_TRANSLATIONS, "warning")
    driven = {(kind, alert) for _, kind, alert, _, _ in SITUATIONS}
    expected = {(kind, next((alert for alert, kinds in KINDS_OF.items() if kind in kinds), None)) for kind in known}
    missing = {(kind, alert) for kind, alert in expected - driven if alert}
    assert not missing and driven <= expected, f"without a situation: {missing}; of no kind: {driven - expected}"
    for kind, alert in driven:
        severity = "warning" if alert else "info"
        assert known[kind] == severity, f"{kind} is of severity {known[kind]}, and its alert is {alert}"
    print(f"{len(SITUATIONS)} situations for {len(known)} kinds of problems", flush=True)


@pytest.mark.slow
def test_each_alert_on_a_kind_of_problem_fires_and_ends(built, tmp_path):
    programs, folder = (built / "translation-exporter", built / "examples/fake-api"), tmp_path
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(SITUATIONS)) as threads:
        entering = threading.Lock()

        class Shared:
            """Lets threads enter contexts into the stack of all, one at a time."""

            def enter_context(self, context):
                with entering:
                    return stack.enter_context(context)

        def begin(number):
            function, _, _, repositories, options = SITUATIONS[number]
            of = options | {"folder": folder / function.__name__, "repositories": repositories}
            return Exporter(Shared(), programs, **of)

        exporters = list(threads.map(begin, range(len(SITUATIONS))))
        check_kinds(exporters[0])
        shortened(folder)
        (folder / "prometheus.yaml").write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                    "rule_files": [FILE.name],
                    "scrape_configs": [
                        {
                            "job_name": "exporters",
                            "tls_config": {"insecure_skip_verify": True},
                            "static_configs": [
                                {"targets": [exporter.address], "labels": {"job": exporter.folder.name, "__scheme__": exporter.scheme}}
                                for exporter in exporters
                            ],
                        }
                    ],
                }
            )
        )
        prometheus = stack.enter_context(Prometheus.start(folder, "prometheus.yaml"))

        def run(number):
            function, kind, alert, _, _ = SITUATIONS[number]
            drive(function(exporters[number]), Watched(prometheus, function.__name__), kind, alert)

        failures = []
        for number, running_one in enumerate([threads.submit(run, number) for number in range(len(SITUATIONS))]):
            try:
                running_one.result()
            except (AssertionError, TimeoutError) as error:
                failures.append(SITUATIONS[number][0].__name__)
                log = folder / failures[-1] / "exporter.log"
                print("".join(traceback.format_exception(error)), f"-- the end of {log}", *log.read_text().splitlines()[-10:], sep="\n")
        assert not failures
