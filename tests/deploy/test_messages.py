"""The messages of notifications.tmpl, as a real Alertmanager delivers them by the examples of alertmanager.yaml.

An Alertmanager before 0.28 knows no Teams, whose example is left out then.
"""

import http.server
import json
import re
import shutil
import socketserver
import subprocess
import threading
import urllib.request

import yaml
from harness import PATIENCE, ROOT, address, running, wait_for

PROMETHEUS = ROOT / "deploy/prometheus"
RUNBOOK = "https://example.com/runbook"


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted, by path."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append((self.path.strip("/"), body))
        self.send_response(200)
        self.end_headers()
        # Slack answers so.
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as takes one message."""

    def handle(self):
        self.wfile.write(b"220 test\r\n")
        for line in self.rfile:
            command = line.strip().upper()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                message = []
                while (text := self.rfile.readline()) != b".\r\n":
                    # Alertmanager is stopped in the middle of a message.
                    if not text:
                        return
                    message.append(text)
                self.server.received.append(("mail", b"".join(message).decode()))
            self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 ok\r\n")


def serving(kind, handler, received):
    server = kind(("127.0.0.1", 0), handler)
    server.received = received
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def with_teams(command):
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    major, minor = re.search(r"version (\d+)\.(\d+)", said.stdout + said.stderr).groups()
    return (int(major), int(minor)) >= (0, 28)


def configuration(folder, hook, mail, teams):
    """The shipped file with its examples in force, sent to this machine and without waiting."""
    text = (PROMETHEUS / "alertmanager.yaml").read_text()
    text, count = re.subn(r"(?m)^    # (?=[a-z0-9]+_configs:|  )", "    ", text)
    assert count > 15, text
    config = yaml.safe_load(text)
    (folder / "slack-webhook").write_text(f"http://127.0.0.1:{hook}/slack")
    (folder / "teams-webhook").write_text(f"http://127.0.0.1:{hook}/teams")
    times = {"group_wait": "0s", "group_interval": "1s"}
    config["route"] |= times
    for route in config["route"]["routes"]:
        route |= times
    config["global"] = {"smtp_require_tls": False}
    translators, operators = config["receivers"]
    translators["email_configs"][0]["smarthost"] = f"127.0.0.1:{mail}"
    for receiver in (translators, operators):
        receiver.pop("webhook_configs", None)
    if not teams:
        translators.pop("msteamsv2_configs")
    operators |= {name: value for name, value in translators.items() if name != "name"}
    (folder / "alertmanager.yaml").write_text(yaml.safe_dump(config))
    shutil.copy(PROMETHEUS / "notifications.tmpl", folder)


def about(alert, repo, language, said, **annotations):
    translation = f"The translation of {repo} into {language}"
    return {
        "labels": {"alertname": alert, "job": "l10n", "severity": "warning", "repo": repo, "language": language},
        "annotations": {"summary": f"{translation} {said}", "description": f"{translation} is not ready.", "runbook_url": RUNBOOK}
        | annotations,
    }


def stalled(repo, language, **annotations):
    at = f"https://grafana.example.com/d/translation-repository?var-job=l10n&var-repo={repo.partition('/')[2]}"
    return about("TranslationStalled", repo, language, "has stalled", dashboard_url=at, **annotations)


STALLED = [
    stalled("acme/webshop", "de", link="https://translations.example.com/7"),
    stalled("acme/webshop", "pt-BR", link="https://translations.example.com/7"),
    # No link; a name that would address everybody in Slack and be a link in Teams.
    stalled("acme/<!channel>[x](y)", "es"),
]
STALLED_TITLE = "3 translations have stalled"
STALLED_TEXT = f"""\
The translation of acme/webshop into de is not ready. https://translations.example.com/7
The translation of acme/ !channel  x (y) into es is not ready.
The translation of acme/webshop into pt-BR is not ready. https://translations.example.com/7
Exporter: l10n
Dashboard: https://grafana.example.com/d/translation-progress?var-job=l10n
What to do: {RUNBOOK}
"""
MISSED = about("TranslationTargetMissed", "acme/app", "fr", "is overdue", dashboard_url="https://grafana.example.com/d/x")
MISSED_TITLE = "The translation of acme/app into fr is overdue"
MISSED_TEXT = f"""\
The translation of acme/app into fr is not ready.
Exporter: l10n
Dashboard: https://grafana.example.com/d/x
What to do: {RUNBOOK}
"""
MISSED_OVER = f"These are over, or no longer reported:\n{MISSED_TITLE}\nExporter: l10n\n"
STALE = {
    "labels": {"alertname": "TranslationDataStale", "job": "l10n", "namespace": "tools", "severity": "warning"},
    "annotations": {"summary": "Data are stale", "description": "7 of 12 repositories have not been read.", "runbook_url": RUNBOOK},
}
STALE_TEXT = f"7 of 12 repositories have not been read.\nExporter: l10n, namespace tools\nWhat to do: {RUNBOOK}\n"


def parts(message):
    """Title and text of a message, in whatever form it came."""
    kind, body = message
    if kind == "slack":
        (attachment,) = body["attachments"]
        assert attachment["mrkdwn_in"] == ["fallback"], attachment
        return attachment["title"], attachment["text"]
    if kind == "teams":
        (attachment,) = body["attachments"]
        title, text = (block["text"] for block in attachment["content"]["body"])
        return title, text
    head, _, text = body.replace("\r\n", "\n").partition("\n\n")
    # The part for plain text, without the encoding of =.
    text = re.search(r"(?s)Content-Type: text/plain.*?\n\n(.*?)\n--", text)[1].replace("=\n", "").replace("=3D", "=")
    return re.search(r"(?mi)^Subject: (.*)$", head)[1], text


def test_alertmanager_delivers_the_messages_of_the_templates(tmp_path):
    command = shutil.which("prometheus-alertmanager") or "alertmanager"
    teams, received = with_teams(command), []
    hook = serving(http.server.ThreadingHTTPServer, Hook, received)
    mail = serving(socketserver.ThreadingTCPServer, Mail, received)
    configuration(tmp_path, hook, mail, teams)
    kinds = {"slack", "mail"} | ({"teams"} if teams else set())
    log = tmp_path / "alertmanager.log"
    started = [
        command,
        "--config.file=alertmanager.yaml",
        "--storage.path=data",
        "--cluster.listen-address=",
        "--web.listen-address=127.0.0.1:0",
    ]
    with running(started, log, cwd=tmp_path) as process:
        at = address(process, log)

        def post(*alerts):
            body = json.dumps(alerts).encode()
            request = urllib.request.Request(f"http://{at}/api/v2/alerts", body, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=PATIENCE)

        def expect(title, text=None):
            def arrived():
                wanted = [one for one in received if parts(one)[0] == title and text in (None, parts(one)[1].strip() + "\n")]
                return {kind for kind, _ in wanted} >= kinds

            wait_for(f"by {', '.join(sorted(kinds))}: {title}", arrived)

        wait_for("Alertmanager is ready", lambda: urllib.request.urlopen(f"http://{at}/-/ready").status == 200)
        post(*STALLED, MISSED, STALE)
        expect(STALLED_TITLE, STALLED_TEXT)
        expect(MISSED_TITLE, MISSED_TEXT)
        expect("Data are stale", STALE_TEXT)
        # It has an end.
        post(MISSED | {"endsAt": "2026-01-01T00:00:00Z", "startsAt": "2025-12-31T00:00:00Z"})
        expect(f"Resolved: {MISSED_TITLE}", MISSED_OVER)
        # Of many, the worst come first.
        shares = {
            f"many/repository-{number:03}": share for number, share in enumerate([*["93.5%"] * 150, "8%", "100%", "an unknown share"])
        }
        post(*(stalled(repo, "de", description=f"{repo} is at {share} of 100%") for repo, share in shares.items()))
        first = [
            "many/repository-152 is at an unknown share of 100%",
            "many/repository-150 is at 8% of 100%",
            "many/repository-000 is at 93.5% of 100%",
        ]

        def worst_first():
            texts = [parts(one)[1].splitlines() for one in received if parts(one)[0] == "156 translations have stalled"]
            return [text for text in texts if text[:3] == first and text[20] == "and 136 more"]

        wait_for("messages about many begin with the worst", lambda: len(worst_first()) >= len(kinds))
