#!/usr/bin/env python3
"""Runs what the systemd units say, without systemd: unit.py PROGRAM SERVICE_FILE SOCKET_FILE FOLDER FAKE_API.

It plays the service manager: specifiers, the credential's file, the notification socket and the passed listening socket. The
system calls that were made are listed in FOLDER/system-calls, for comparison with the unit's filter.
"""

import os
import pathlib
import re
import shlex
import shutil
import socket
import sys

import api as https_api
import sandbox
from harness import FakeApi, wait_for

INSTALLED = "translation-exporter"
CONFIG = "/etc/translation-exporter/config.yaml"


def settings(file):
    text = pathlib.Path(file).read_text().replace("\\\n", " ")
    return dict(re.findall(r"(?m)^(\w+)=(.*)$", text))


class Manager:
    def __init__(self, program, service, folder):
        self.folder = pathlib.Path(folder)
        self.service, self.program = settings(service), program
        credentials, state = self.folder / "credentials", self.folder / "state"
        for made in (credentials, state / self.service["StateDirectory"]):
            made.mkdir(parents=True)
        name, _ = self.service["LoadCredential"].split(":")
        (credentials / name).write_text(FakeApi.KEY + "\n")
        self.credentials = str(credentials)
        self.specifiers = {"${CREDENTIALS_DIRECTORY}": self.credentials, "%S": str(state)}
        self.config = self.folder / "config.yaml"
        self.notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notifications.bind(str(self.folder / "notify"))
        self.notifications.settimeout(20)

    def start(self, listening=None):
        command = self.service["ExecStart"]
        for specifier, value in self.specifiers.items():
            command = command.replace(specifier, value)
        argv = [{INSTALLED: self.program}.get(word, word).replace(CONFIG, str(self.config)) for word in shlex.split(command)]
        assert argv[0] == self.program and str(self.config) in argv[1], argv
        env = {"NOTIFY_SOCKET": str(self.folder / "notify"), "CREDENTIALS_DIRECTORY": self.credentials}
        passed = ()
        if listening:
            passed = (listening.fileno(),)
            env |= {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "translation-exporter.socket"}
            # LISTEN_PID must be the program's own, and the socket its descriptor 3.
            argv = ["sh", "-c", f'LISTEN_PID=$$; export LISTEN_PID; exec "$@" 3<&{passed[0]}', "sh", *argv]
        else:
            argv = ["strace", "-f", "-qq", "-o", str(self.folder / "strace"), "-DD", *argv]
        return sandbox.subprocess.Popen(argv, env=os.environ | env, pass_fds=passed)

    def reload(self, process):
        sandbox.subprocess.run(["sh", "-c", self.service["ExecReload"]], env=os.environ | {"MAINPID": str(process.pid)}, check=True)

    def notified(self, wanted):
        """Reads notifications until one has that assignment, and returns all that one has."""
        while True:
            message = dict(line.split("=", 1) for line in self.notifications.recv(4096).decode().splitlines())
            if wanted in {f"{name}={value}" for name, value in message.items()}:
                return message


def main():
    program, service, socket_file, folder, fake_api = sys.argv[1:]
    sandbox.enter_own_namespaces()
    shutil.rmtree(folder, ignore_errors=True)
    manager = Manager(program, service, folder)
    (manager.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    sandbox.mount("--bind", manager.folder / "resolv.conf", pathlib.Path("/etc/resolv.conf").resolve())
    api = https_api.serve(fake_api, folder)
    assert manager.service["Type"] == "notify", manager.service
    grace = int(manager.service["TimeoutStopSec"].removesuffix("s"))

    manager.config.write_text("api:\n  base_url: https://user@nonsense\n")
    with sandbox.killed_at_the_end(manager.start()) as process:
        code = process.wait(20)
    assert code == int(manager.service["RestartPreventExitStatus"]), f"a wrong configuration ended with {code}"
    print("a wrong configuration is not restarted")

    manager.config.write_text(f"api:\n  base_url: {api.url}\n  ca_file: {folder}/ca.pem\n")
    with sandbox.killed_at_the_end(manager.start()) as process:
        manager.notified("READY=1")
        wait_for("data", lambda: sandbox.get("http://127.0.0.1:10018/-/ready", 1)[0] == 200, 20)
        sandbox.get("http://127.0.0.1:10018/metrics", 1)
        manager.reload(process)
        assert "MONOTONIC_USEC" in manager.notified("RELOADING=1")
        manager.notified("READY=1")
        took = sandbox.stop(process, grace)
        manager.notified("STOPPING=1")
    assert api.keys() == {FakeApi.KEY} and (manager.folder / "state/translation-exporter/state.json").exists()
    print(f"start, data with the credential's key, reload and stop ({took:.2f} s) were reported")

    calls = {call for call in re.findall(r"(?m)^\d+ +(\w+)\(", (manager.folder / "strace").read_text())}
    (manager.folder / "system-calls").write_text("\n".join(sorted(calls)) + "\n")

    with socket.create_server(("::", int(settings(socket_file)["ListenStream"])), family=socket.AF_INET6, dualstack_ipv6=True) as listening:
        early = socket.create_connection(("127.0.0.1", listening.getsockname()[1]))
        early.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
        with sandbox.killed_at_the_end(manager.start(listening)) as process:
            early.settimeout(20)
            assert early.recv(4096).startswith(b"HTTP/1.0 200"), "a connection from before the start was not served"
            manager.notified("READY=1")
            sandbox.stop(process, grace)
    print("a request from before the start was served through the socket unit's descriptor")


if __name__ == "__main__":
    main()
