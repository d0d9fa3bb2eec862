"""From a running exporter to a webhook: a real Prometheus with the rules of this repository and a real Alertmanager.

The API is the tests' own, which this script controls. The shipped files are used unchanged except for addresses and times, which are
replaced in their text; it is an error if there is nothing to replace. Later Alertmanager gets the teams of the README's recipe, and is
reloaded. A translation stops because libfaketime puts the clock of the exporter forward.

    delivery.py PROGRAM FAKE_API FOLDER      the exporter, the API, and an empty folder for files and logs

The first `prometheus` and `prometheus-alertmanager` on the PATH are used: Debian's, or newer ones.
"""

import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import sys
import textwrap
import threading
import time

import harness
import yaml
from harness import FakeApi, Prometheus, address, fake_time, replace, running

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "prometheus"
STARTED = time.monotonic()


def wait_for(what, condition):
    value = harness.wait_for(what, condition)
    print(f"{time.monotonic() - STARTED:5.1f}s  {what}", flush=True)
    return value


class Webhook(http.server.ThreadingHTTPServer):
    """What Alertmanager has delivered, by receiver, in its order."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Receiver)
        self.messages = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def mark(self):
        return len(self.messages)

    def alerts(self, mark, name, status):
        """Labels of the alerts of that name and status which were delivered since `mark`."""
        return [
            alert["labels"]
            for _, message in self.messages[mark:]
            for alert in message["alerts"]
            if alert["labels"]["alertname"] == name and alert["status"] == status
        ]


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.messages.append((self.path.strip("/"), json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def write_shortened(folder, name, *replacements):
    """A shipped file, with seconds in place of minutes and days."""
    text = (DEPLOY / name).read_text()
    for pattern, replacement in replacements:
        text, count = re.subn(pattern, replacement, text)
        if not count:
            sys.exit(f"{name} has nothing like {pattern!r} to shorten any more: adapt tests/rules/delivery.py")
    (folder / name).write_text(text)


def add_teams(folder):
    """Changes the configuration as "Route by team" of the README says."""
    section = (DEPLOY / "README.md").read_text().partition("\n## Route by team\n")[2].partition("\n## ")[0]
    [routes] = (textwrap.dedent(block) for block in re.findall(r"\n\n((?:    .*\n)+)", section))
    file = folder / "alertmanager.yaml"
    config = yaml.safe_load(file.read_text())
    config["route"]["routes"][0] |= yaml.safe_load(routes)
    [url] = [hook["url"] for receiver in config["receivers"] if receiver["name"] == "translators" for hook in receiver["webhook_configs"]]
    for team in ("europe", "asia"):
        config["receivers"].append({"name": team, "webhook_configs": [{"url": url.replace("translators", team)}]})
    file.write_text(yaml.safe_dump(config))


def expect(what, actual, expected):
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def main(program, fake_api, folder):
    with contextlib.ExitStack() as stack:
        def start(command, *options, **environment):
            """The process, and where it listens."""
            log = folder / f"{pathlib.Path(command).name}.log"
            command = [command, *options, "--web.listen-address=127.0.0.1:0"]
            process = stack.enter_context(running(command, log, cwd=folder, env=os.environ | environment))
            return process, address(process, log)

        api, webhook = stack.enter_context(FakeApi(fake_api)), Webhook()
        api.put((1, "acme/site", {"de": 40, "fr": 100}), (2, "acme/app", {"es": 50, "pt": 60}), (3, "acme/docs", {"ja": 0}))
        api.command("rise", {"id": 3, "code": "ja", "by": 0.01})
        (folder / "exporter.yaml").write_text(json.dumps({
            "api": {"base_url": api.url, "key": FakeApi.KEY, "max_attempts": 1, "requests_per_second": 0},
            "poll": {"interval": "1s", "stale_after": "12s"},
            "thresholds": {"stalled_after": "1h"},
        }))
        write_shortened(folder, "alerts.yaml", (r"interval: \d+m", "interval: 1s"), (r"\[(15m|30m)\]", "[10s]"),
                        (r"\bfor: (15m|1h)", "for: 12s"), (r"_for: 1h", "_for: 10s"))
        write_shortened(folder, "alertmanager.yaml", (r"# (webhook_configs:)", r"\1"), (r"group_wait: 30s", "group_wait: 1s"),
                        (r"# (  - url: http://)localhost:9099", rf"\g<1>127.0.0.1:{webhook.server_port}"),
                        (r"group_interval: 5m", "group_interval: 1s"))
        try:
            clock = folder / "clock"
            replace(clock, "+0\n")
            _, exporter = start(program, "--config.file=exporter.yaml", **fake_time(clock))
            alertmanager, at = start("prometheus-alertmanager", "--config.file=alertmanager.yaml", "--storage.path=alertmanager",
                                     "--cluster.listen-address=")
            write_shortened(folder, "prometheus.yaml", (r"_interval: 15s", "_interval: 1s"),
                            (r"localhost:10018", exporter), (r"localhost:9093", at))
            prometheus = stack.enter_context(Prometheus.start(folder, "prometheus.yaml", "--rules.alert.resend-delay=1s"))

            def introduce_teams():
                add_teams(folder)
                alertmanager.send_signal(signal.SIGHUP)

            scenario(api, webhook, prometheus, introduce_teams, lambda: replace(clock, "+2h\n"))
        except (AssertionError, TimeoutError) as error:
            for log in sorted(folder.glob("*.log")):
                print(f"-- the end of {log.name}\n" + "\n".join(log.read_text().splitlines()[-20:]), file=sys.stderr)
            print(json.dumps(webhook.messages, indent=1)[-6000:], file=sys.stderr)
            sys.exit(f"FAILED: {error}")


def scenario(api, webhook, prometheus, introduce_teams, two_hours_later):
    def delivered(name, status, mark=0, **labels):
        """Whether that was delivered of an alert with these labels."""
        return any(labels.items() <= alert.items() for alert in webhook.alerts(mark, name, status))

    # Translations stop.
    wait_for("Prometheus reads all languages", lambda: len(prometheus.now("translation_completion_ratio")) == 5)
    two_hours_later()
    wait_for("TranslationStalled is delivered for acme/site, de",
             lambda: delivered("TranslationStalled", "firing", repo="acme/site", language="de"))
    group = {"alertname": "TranslationStalled", "job": "translation-exporter"}
    message = wait_for("all that stands still comes as one message", lambda: next((
        message for receiver, message in webhook.messages if receiver == "translators" and message["groupLabels"] == group
        and {alert["labels"]["language"] for alert in message["alerts"]} == {"de", "es", "pt"}
    ), None))
    alert = next(alert for alert in message["alerts"] if alert["labels"]["language"] == "de")
    expect("labels of the alert", alert["labels"], {
        "alertname": "TranslationStalled", "job": "translation-exporter", "repo": "acme/site", "language": "de", "severity": "warning",
    })
    expect("summary", alert["annotations"]["summary"], "A translation has stalled.")
    expect("runbook", alert["annotations"]["runbook_url"].rpartition("#")[2], "translationstalled")

    # Teams get what is theirs, and the translators what is nobody's.
    mark = webhook.mark()
    introduce_teams()
    wait_for("of two teams, the one of the language is notified", lambda: any(receiver == "europe" for receiver, _ in webhook.messages[mark:]))
    expect("what the teams got", {
        (receiver, alert["labels"]["language"])
        for receiver, message in webhook.messages[mark:] if receiver in {"europe", "asia"} for alert in message["alerts"]
    }, {("europe", "de")})

    # It moves.
    api.put((1, "acme/site", {"de": 41, "fr": 100}))
    wait_for("its resolution is delivered after the language has moved",
             lambda: delivered("TranslationStalled", "resolved", mark, repo="acme/site"))

    # The API is unavailable: one message for the operators, and none for the translators, as nothing is known to have moved.
    mark = webhook.mark()
    api.command("status", 503)
    wait_for("with the API unavailable, TranslationDataStale is delivered", lambda: delivered("TranslationDataStale", "firing", mark))
    expect("alerts on stale data", webhook.alerts(mark, "TranslationDataStale", "firing")[0], {
        "alertname": "TranslationDataStale", "job": "translation-exporter", "severity": "warning",
    })
    languages = "translation_repository_languages"
    wait_for("no repository is served", lambda: not prometheus.now(languages))
    outage = webhook.mark()

    # It is available again: that is no progress.
    api.command("status", None)
    wait_for("with the API available again, TranslationDataStale is resolved", lambda: delivered("TranslationDataStale", "resolved", outage))
    wait_for("all repositories are served again", lambda: len(prometheus.now(languages)) == 3)
    expect("resolutions of what stands still", [
        labels for labels in webhook.alerts(mark, "TranslationStalled", "resolved") if labels["repo"] == "acme/app"
    ], [])

    # The key is refused.
    api.command("key", None)
    wait_for("TranslationApiKeyRejected is delivered", lambda: delivered("TranslationApiKeyRejected", "firing", outage))

    # What rises or is complete was never reported.
    expect("alerts about languages that rise or are complete", [
        labels for labels in webhook.alerts(0, "TranslationStalled", "firing") if labels["language"] in {"fr", "ja"}
    ], [])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
