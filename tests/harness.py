"""What the tests that are scripts share: the fake API, servers that are started and ended, and waiting for a condition."""

import contextlib
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 60  # seconds: far longer than anything here should take


def wait_for(what, condition, patience=PATIENCE):
    """What `condition` returns as soon as that is true; its errors of the network count as not yet."""
    deadline = time.monotonic() + patience
    while True:
        with contextlib.suppress(OSError, urllib.error.URLError):
            if value := condition():
                return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience} s: {what}")
        time.sleep(0.1)


def get(url, headers=None):
    """The body of a GET that is answered with 200."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=20) as response:
        return response.read().decode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def running(command, log, **options):
    """A process that is ended, and waited for, at the end; its output goes to the file `log`."""
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class FakeApi:
    """The program of tests/support/program.rs, which lists the commands."""

    KEY = "key-of-the-black-box-tests"

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)

    def command(self, name, value):
        """Sends one command, and returns the answer to it."""
        self.process.stdin.write(json.dumps({name: value}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer.startswith("error"):
            raise ValueError(answer)
        return answer

    def put(self, *repositories):
        """Adds repositories of the form (id, name, {code: completion})."""
        self.command("put", [{"id": id, "name": name, "languages": languages} for id, name, languages in repositories])
