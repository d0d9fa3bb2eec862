"""The servers that tests in Python start, and waiting for a condition. conftest.py makes fixtures of them."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
NUMBERS = itertools.count()
PATIENCE = 120  # seconds: far longer than anything here should take


def wait_for(what, condition, patience=PATIENCE):
    """Returns the value of `condition` once that is true; network errors count as not yet true."""
    deadline = time.monotonic() + patience
    while True:
        with contextlib.suppress(OSError):
            if value := condition():
                return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience} s: {what}")
        time.sleep(0.1)


def get(url, headers=None):
    """The body of a GET that is answered with 200."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=PATIENCE) as response:
        return response.read().decode()


def replace(file, text):
    """Writes the file in one step."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.rename(file)


def fake_time(clock, monotonic=False):
    """The environment in which a program reads its wall clock through libfaketime, which the file `clock` sets, such as `+2h`. With
    `monotonic`, time also passes for its timers."""
    library = subprocess.run(["faketime", "-f", "+0", "printenv", "LD_PRELOAD"], check=True, capture_output=True, text=True).stdout.strip()
    wall_alone = {} if monotonic else {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"} | wall_alone


@contextlib.contextmanager
def running(command, log, **options):
    """A process that is stopped at the end; its output is appended to the file `log`."""
    with open(log, "a", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def address(process, log, host="127.0.0.1"):
    """The address of a server with port 0, as the exporter, Prometheus and Alertmanager log it."""

    def find():
        said = Path(log).read_text(encoding="utf-8")
        assert process.poll() is None, f"{process.args[0]} ended:\n{said}"
        return re.search(rf"(?i)listening.* address=\"?({re.escape(host)}:[1-9]\d*)", said)

    return wait_for(f"{log} says where {process.args[0]} listens", find)[1]


class Exporter:
    """The program while it runs."""

    def __init__(self, process, url, log):
        self.process, self.url, self.log_file = process, url, log

    @classmethod
    @contextlib.contextmanager
    def start(cls, folder, command, scheme="http", environment=None):
        log = folder / f"exporter-{next(NUMBERS)}.log"
        with running(command, log, cwd=folder, env=environment) as process:
            yield cls(process, f"{scheme}://localhost:{address(process, log).rpartition(':')[2]}", log)

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    @property
    def host(self):
        return self.url.partition("://")[2]

    def log(self):
        return self.log_file.read_text(encoding="utf-8")

    def get(self, path="/metrics", **headers):
        return get(f"{self.url}{path}", headers)

    def value(self, series):
        """The value of a series as the exposition spells it, or None."""
        found = re.search(f"^{re.escape(series)} (.*)$", self.get(), re.MULTILINE)
        return found and float(found[1])

    def wait_until(self, series, value):
        wait_for(f"{series} is {value}", lambda: self.value(series) == value)

    def wait_for_poll(self):
        """Waits until a poll has read everything."""
        wait_for("a whole poll", lambda: self.value("translation_exporter_last_success_timestamp_seconds"))
        return self


class Prometheus:
    """A Prometheus that is ready for queries."""

    def __init__(self, process, url):
        self.process, self.url = process, url
        wait_for("Prometheus is ready", lambda: get(f"{url}/-/ready"))

    @classmethod
    @contextlib.contextmanager
    def start(cls, folder, config, *options):
        """`config` is a file in the folder, which also holds the data and the log."""
        log = folder / "prometheus.log"
        command = ["prometheus", f"--config.file={config}", "--storage.tsdb.path=tsdb", "--web.listen-address=127.0.0.1:0", *options]
        with running(command, log, cwd=folder) as process:
            yield cls(process, f"http://{address(process, log)}")

    def ask(self, path, **parameters):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}"
        try:
            return json.loads(get(url))["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{url}: {error.read().decode()}") from None

    def now(self, expr, at=None):
        """Labels and value of each series at a time."""
        found = self.ask("query", query=expr, time=at or time.time())["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]


class FakeApi:
    """The API of tests/support/program.rs, which lists its arguments and commands."""

    KEY = "key-of-the-black-box-tests"

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

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

    def keys(self):
        """The keys that were sent to it."""
        return set(json.loads(self.command("keys", True)))
