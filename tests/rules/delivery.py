"""From a running exporter to a webhook: a real Prometheus with the rules of this repository and a real Alertmanager.

The API is a small fake one that this script moves, stops, breaks and repairs. The shipped files are used as they are but for
addresses and for times, which are shortened by replacing text; what is not found to replace is an error.

    delivery.py PROGRAM FOLDER      the exporter's program, and an empty folder for files and logs
"""

import contextlib
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "prometheus"
PATIENCE = 60
STARTED = time.monotonic()


class FakeApi:
    """Two repositories. One language of the first rises with every read; all others stand until this script moves them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.status = 200
        self.repositories = [
            {"id": "1", "name": "acme/site", "private": False, "created_at": "2024-01-01T00:00:00Z"},
            {"id": "2", "name": "acme/app", "private": True, "created_at": "2024-01-01T00:00:00Z"},
        ]
        self.completions = {1: {"de": 40, "fr": 100, "ja": 10}, 2: {"es": 50, "pt": 60}}

    def answer(self, path, query):
        with self.lock:
            if self.status != 200:
                return self.status, {"error": "out"}
            if path == "/v1/repositories":
                after = int(query.get("after", ["0"])[0])
                return 200, [repository for repository in self.repositories if int(repository["id"]) > after]
            languages = self.completions[int(path.split("/")[3])]
            if "ja" in languages:
                languages["ja"] += 0.01
            return 200, [{"code": code, "name": code, "completion": value} for code, value in languages.items()]

    def set(self, **values):
        with self.lock:
            for name, value in values.items():
                setattr(self, name, value)

    def move(self, repository, language, completion):
        with self.lock:
            self.completions[repository][language] = completion


class Webhook:
    """What Alertmanager has delivered, in its order."""

    def __init__(self):
        self.lock = threading.Lock()
        self.messages = []

    def take(self, receiver, message):
        with self.lock:
            self.messages.append((receiver, message))

    def since(self, mark=0):
        with self.lock:
            return self.messages[mark:]

    def mark(self):
        with self.lock:
            return len(self.messages)

    def alerts(self, mark, name, status):
        """Labels of the alerts of that name and status which were delivered since `mark`."""
        return [
            alert["labels"]
            for _, message in self.since(mark)
            for alert in message["alerts"]
            if alert["labels"]["alertname"] == name and alert["status"] == status
        ]


def serve(handle_get=None, handle_post=None):
    """An HTTP server of JSON on a free port of the loopback; returns the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            self.reply(*handle_get(url.path, urllib.parse.parse_qs(url.query)))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            handle_post(self.path.strip("/"), json.loads(body))
            self.reply(200, {})

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def replaced(text, replacements, file):
    for pattern, replacement in replacements:
        text, count = re.subn(pattern, replacement, text)
        if not count:
            sys.exit(f"{file} has nothing like {pattern!r} to shorten any more: adapt tests/rules/delivery.py")
    return text


def write_shortened(folder, exporter, alertmanager, webhook):
    """The shipped files, with minutes and days made seconds."""
    files = {
        "recording-rules.yaml": [
            (r"interval: \d+m", "interval: 1s"),
            (r"7 \* 24 \* 3600\n", "8\n"),
            (r"\[1[25]m\]", "[5s]"),
            (r", 3600\)", ", 6)"),
        ],
        "alerts.yaml": [
            (r"interval: \d+m", "interval: 1s"),
            (r"for: (15m|5m|1h)", "for: 2s"),
            (r"\[15m\]", "[5s]"),
            (r", 900\)", ", 5)"),
            (r", 3600\)", ", 6)"),
        ],
        "prometheus.yaml": [
            (r"_interval: 15s", "_interval: 1s"),
            (r"localhost:10018", f"127.0.0.1:{exporter}"),
            (r"localhost:9093", f"127.0.0.1:{alertmanager}"),
        ],
        "alertmanager.yaml": [
            (r"# (webhook_configs:)", r"\1"),
            (r"# (  - url: http://)localhost:9099", rf"\g<1>127.0.0.1:{webhook}"),
            (r"group_wait: 30s", "group_wait: 1s"),
            (r"group_interval: 5m", "group_interval: 1s"),
        ],
    }
    for name, replacements in files.items():
        (folder / name).write_text(replaced((DEPLOY / name).read_text(), replacements, name))


class Processes(contextlib.ExitStack):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def start(self, name, *command):
        log = self.enter_context(open(self.folder / f"{name}.log", "a"))
        process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.callback(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def get(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.read().decode()


def wait_for(what, condition):
    """Waits until `condition` gives something true, and gives that."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            if value := condition():
                print(f"{time.monotonic() - STARTED:5.1f}s  {what}", flush=True)
                return value
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain waited {PATIENCE} s for this: {what}")
        time.sleep(0.1)


def expect(what, actual, expected):
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def main(program, folder):
    api, webhook = FakeApi(), Webhook()
    ports = {name: free_port() for name in ("exporter", "prometheus", "alertmanager")}
    write_shortened(folder, ports["exporter"], ports["alertmanager"], serve(handle_post=webhook.take))
    (folder / "key").write_text("a-key-for-the-fake-api\n")
    (folder / "exporter.yaml").write_text(json.dumps({
        "api": {
            "base_url": f"http://127.0.0.1:{serve(handle_get=api.answer)}",
            "key_file": "key",
            "max_attempts": 1,
            "requests_per_second": 0,
        },
        "poll": {"interval": "1s", "stale_after": "4s"},
        "state": {"file": "state.json"},
        "web": {"listen_addresses": [f"127.0.0.1:{ports['exporter']}"]},
    }))

    def query(expression):
        url = f"http://127.0.0.1:{ports['prometheus']}/api/v1/query?query={urllib.parse.quote(expression)}"
        return json.loads(get(url))["data"]["result"]

    def alertmanager():
        return json.loads(get(f"http://127.0.0.1:{ports['alertmanager']}/api/v2/alerts"))

    with Processes(folder) as processes:
        def start_exporter():
            return processes.start("exporter", program, "serve", "--config.file=exporter.yaml")

        try:
            exporter = start_exporter()
            processes.start(
                "alertmanager", "prometheus-alertmanager", "--config.file=alertmanager.yaml", "--storage.path=alertmanager",
                f"--web.listen-address=127.0.0.1:{ports['alertmanager']}", "--cluster.listen-address=",
            )
            wait_for("Alertmanager is ready", lambda: get(f"http://127.0.0.1:{ports['alertmanager']}/-/ready"))
            processes.start(
                "prometheus", "prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=prometheus",
                f"--web.listen-address=127.0.0.1:{ports['prometheus']}", "--rules.alert.resend-delay=1s",
            )
            scenario(api, webhook, query, alertmanager, exporter, start_exporter)
        except AssertionError as error:
            for log in sorted(folder.glob("*.log")):
                print(f"-- the end of {log.name}\n" + "\n".join(log.read_text().splitlines()[-20:]), file=sys.stderr)
            print(json.dumps(webhook.since(), indent=1)[-6000:], file=sys.stderr)
            sys.exit(f"FAILED: {error}")


def scenario(api, webhook, query, alertmanager, exporter, start_exporter):
    def delivered(name, status, mark=0, **labels):
        """Whether that was delivered of an alert with these labels."""
        return any(labels.items() <= alert.items() for alert in webhook.alerts(mark, name, status))

    # A translation stops.
    wait_for("TranslationStalled is delivered for acme/site, de",
             lambda: delivered("TranslationStalled", "firing", repo="acme/site", language="de"))
    group = {"alertname": "TranslationStalled", "job": "translation-exporter"}
    message = wait_for("all that stands still comes as one message", lambda: next((
        message for receiver, message in webhook.since() if receiver == "translators" and message["groupLabels"] == group
        and {alert["labels"]["language"] for alert in message["alerts"]} == {"de", "es", "pt"}
    ), None))
    alert = next(alert for alert in message["alerts"] if alert["labels"]["language"] == "de")
    expect("labels of the alert", alert["labels"], {
        "alertname": "TranslationStalled", "job": "translation-exporter", "repo": "acme/site", "language": "de", "severity": "warning",
    })
    expect("summary", alert["annotations"]["summary"], "Translation of acme/site into de has stopped")
    expect("runbook", alert["annotations"]["runbook_url"].rpartition("#")[2], "translationstalled")

    # The exporter is killed and comes back with its state: nobody hears of it.
    mark, before = webhook.mark(), query("process_start_time_seconds")[0]["value"][1]
    exporter.send_signal(signal.SIGKILL)
    exporter.wait()
    exporter = start_exporter()
    wait_for("the exporter was killed, restarted and scraped again",
             lambda: (found := query("process_start_time_seconds")) and found[0]["value"][1] != before)
    restarted = time.time()
    wait_for("the rules have judged it since", lambda: float(query(
        "min(timestamp(repo_language:translation_last_progress_timestamp_seconds:min))")[0]["value"][1]) > restarted + 2)
    expect("messages about a restart", webhook.since(mark), [])

    # It moves.
    api.move(1, "de", 41)
    wait_for("its resolution is delivered after the language has moved",
             lambda: delivered("TranslationStalled", "resolved", repo="acme/site", language="de"))

    # The API is out. That is one message for the operators; the translators hear nothing, as nothing is known to have moved.
    mark = webhook.mark()
    api.set(status=503)
    wait_for("with the API out, TranslationPollFailing is delivered", lambda: delivered("TranslationPollFailing", "firing", mark))
    stale = 'ALERTS{alertname="TranslationDataStale",alertstate="firing"}'
    wait_for("TranslationDataStale fires for both repositories",
             lambda: {found["metric"]["repo"] for found in query(stale)} == {"acme/site", "acme/app"})
    stale_since = time.time()
    # A message that nothing held back would come within a second.
    wait_for("it has fired for three seconds", lambda: float(query(f"min(timestamp({stale}))")[0]["value"][1]) > stale_since + 3)
    expect("what Alertmanager does with it", [
        alert["status"]["state"] for alert in alertmanager() if alert["labels"]["alertname"] == "TranslationDataStale"
    ], ["suppressed", "suppressed"])
    expect("messages about stale data during the outage", webhook.alerts(mark, "TranslationDataStale", "firing"), [])
    outage = webhook.mark()

    # It is back: the clock has not moved.
    api.set(status=200)
    wait_for("with the API back, TranslationPollFailing is resolved", lambda: delivered("TranslationPollFailing", "resolved", outage))
    wait_for("the data are fresh again", lambda: not query(stale))
    expect("resolutions of what stands still", [
        labels for labels in webhook.alerts(mark, "TranslationStalled", "resolved") if labels["repo"] == "acme/app"
    ], [])
    stalled = float(query('ALERTS_FOR_STATE{alertname="TranslationStalled",language="es"}')[0]["value"][1])
    clock = float(query('repo_language:translation_last_progress_timestamp_seconds:min{language="es"}')[0]["value"][1])
    if clock > stalled - 8:
        raise AssertionError("the outage has touched the clock of acme/app, es")
    api.move(2, "es", 51)
    wait_for("after the outage too, progress resolves", lambda: delivered("TranslationStalled", "resolved", outage, language="es"))

    # The key is refused.
    api.set(status=401)
    wait_for("TranslationApiKeyRejected is delivered", lambda: delivered("TranslationApiKeyRejected", "firing", outage))

    # What rises or is complete was never reported.
    expect("alerts about languages that rise or are complete", [
        labels for labels in webhook.alerts(0, "TranslationStalled", "firing") if labels["language"] in {"fr", "ja"}
    ], [])


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve())
