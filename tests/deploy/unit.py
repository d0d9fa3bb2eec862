#!/usr/bin/env python3
"""Runs what the systemd unit says, without systemd: unit.py PROGRAM SERVICE_FILE README FOLDER FAKE_API.

It plays the service manager: specifiers, credentials, the notification socket, and what README says of TLS. The system calls
that were made are listed in FOLDER/system-calls, for comparison with the unit's filter.
"""

import os
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import sys

import sandbox
from harness import PATIENCE, FakeApi, wait_for

import api as https_api

INSTALLED = "translation-exporter"
# Where the package has them, and systemd.
CONFIGURATION, CREDENTIALS = "/etc/translation-exporter", "/run/credentials/translation-exporter.service"
ROTATED = "the-key-after-a-rotation"


def settings(text):
    """Each setting's values, in order."""
    found = {}
    for name, value in re.findall(r"(?m)^ *(\w+)=(.*)$", text.replace("\\\n", " ")):
        found.setdefault(name, []).append(value)
    return found


class Manager:
    def __init__(self, program, service, folder):
        self.folder, self.program = pathlib.Path(folder), program
        self.service = settings(pathlib.Path(service).read_text())
        self.configuration, self.credentials, state = (self.folder / name for name in ("etc", "credentials", "state"))
        for made in (self.configuration, state / self.service["StateDirectory"][0]):
            made.mkdir(parents=True)
        self.paths = {
            CONFIGURATION: self.configuration,
            CREDENTIALS: self.credentials,
            "${CREDENTIALS_DIRECTORY}": self.credentials,
            "%S": state,
        }
        self.notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notifications.bind(str(self.folder / "notify"))
        self.notifications.settimeout(PATIENCE)

    def here(self, text):
        for path, instead in self.paths.items():
            text = text.replace(path, str(instead))
        return text

    def start(self):
        shutil.rmtree(self.credentials, ignore_errors=True)
        self.credentials.mkdir()
        for credential in self.service["LoadCredential"]:
            name, source = credential.split(":")
            shutil.copy(self.here(source), self.credentials / name)
        argv = [{INSTALLED: self.program}.get(word, word) for word in shlex.split(self.here(self.service["ExecStart"][0]))]
        assert argv[0] == self.program, argv
        env = {"NOTIFY_SOCKET": str(self.folder / "notify"), "CREDENTIALS_DIRECTORY": str(self.credentials)}
        env |= dict(self.here(one).split("=", 1) for one in self.service.get("Environment", []))
        return sandbox.subprocess.Popen(["strace", "-f", "-qq", "-o", str(self.folder / "strace"), "-DD", *argv], env=os.environ | env)

    def reload(self, process):
        sandbox.subprocess.run(["sh", "-c", self.service["ExecReload"][0]], env=os.environ | {"MAINPID": str(process.pid)}, check=True)

    def notified(self, wanted):
        """Reads notifications until one has that assignment, and returns all that one has."""
        while True:
            message = dict(line.split("=", 1) for line in self.notifications.recv(4096).decode().splitlines())
            if wanted in {f"{name}={value}" for name, value in message.items()}:
                return message


def main():
    program, service, readme, folder, fake_api = sys.argv[1:]
    sandbox.enter_own_namespaces()
    shutil.rmtree(folder, ignore_errors=True)
    manager = Manager(program, service, folder)
    (manager.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    sandbox.mount("--bind", manager.folder / "resolv.conf", pathlib.Path("/etc/resolv.conf").resolve())
    api = https_api.serve(fake_api, folder)
    assert manager.service["Type"] == ["notify"], manager.service
    grace = int(manager.service["TimeoutStopSec"][0].removesuffix("s"))
    config, key = manager.configuration / "config.yaml", manager.configuration / "api-key"
    key.write_text(FakeApi.KEY + "\n")

    def ready(url="http://127.0.0.1:10018", tls=None):
        wait_for("data", lambda: sandbox.get(f"{url}/-/ready", PATIENCE, tls)[0] == 200)

    config.write_text("api:\n  base_url: https://user@nonsense\n")
    with sandbox.killed_at_the_end(manager.start()) as process:
        code = process.wait(PATIENCE)
    assert code == int(manager.service["RestartPreventExitStatus"][0]), f"a wrong configuration ended with {code}"
    print("a wrong configuration is not restarted")

    config.write_text(f"api:\n  base_url: {api.url}\n  ca_file: {folder}/ca.pem\n")
    with sandbox.killed_at_the_end(manager.start()) as process:
        manager.notified("READY=1")
        ready()
        sandbox.get("http://127.0.0.1:10018/metrics", PATIENCE)
        manager.reload(process)
        assert "MONOTONIC_USEC" in manager.notified("RELOADING=1")
        manager.notified("READY=1")
        took = sandbox.stop(process, grace)
        manager.notified("STOPPING=1")
    assert api.keys() == {FakeApi.KEY} and (manager.folder / "state/translation-exporter/state.json").exists()
    print(f"start, data with the credential's key, reload and stop ({took:.2f} s) were reported")

    calls = set(re.findall(r"(?m)^\d+ +(\w+)\(", (manager.folder / "strace").read_text()))
    (manager.folder / "system-calls").write_text("\n".join(sorted(calls)) + "\n")

    # TLS as the README configures it, in the two blocks below that word.
    said = pathlib.Path(readme).read_text().partition("**TLS**")[2]
    unit, web = re.findall(r"(?s)```(?:ini|yaml)\n(.*?)```", said)[:2]
    for name, values in settings(unit).items():
        manager.service[name] = manager.service.get(name, []) + values
    (manager.configuration / "web.yaml").write_text(manager.here(web))
    shutil.copy(f"{folder}/api.pem", manager.configuration / "tls.crt")
    shutil.copy(f"{folder}/api.key", manager.configuration / "tls.key")
    key.write_text(ROTATED + "\n")
    api.command("key", ROTATED)
    with sandbox.killed_at_the_end(manager.start()) as process:
        ready("https://127.0.0.1:10018", ssl._create_unverified_context())
        wait_for("the rotated key", lambda: api.keys() >= {ROTATED})
        sandbox.stop(process, grace)
    print("after a restart, the rotated key is used, and TLS with a key file of root's is served as the README says")


if __name__ == "__main__":
    main()
