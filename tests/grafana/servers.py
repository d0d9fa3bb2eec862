"""Starts the program's demo, an exporter that reads the demo API, and a Prometheus that scrapes it as two replicas."""

import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml
from dashboards import RULES
from prometheus_client.parser import text_string_to_metric_families

JOB = "translation-exporter"


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def wait_for(what: str, seconds: float, condition):
    """The first true value of `condition`, which is asked again and again, for at most so many seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            if value := condition():
                return value
        except (urllib.error.URLError, ConnectionError):
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain for: {what}")
        time.sleep(0.2)


class Program:
    """The program with one of its commands, on a free port, with these settings beside its defaults."""

    def __init__(self, program: str, folder: Path, command: str, **settings: str):
        self.log = folder / f"{command}.log"
        variables = {f"TRANSLATION_EXPORTER_{name.upper()}": value for name, value in settings.items()}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [program, command, "--web.listen-address", "127.0.0.1:0"],
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stderr=log,
                stdout=subprocess.DEVNULL,
            )

    def logged(self, pattern: str) -> str:
        """What the log says by this pattern, sooner or later."""

        def find():
            if self.process.poll() is not None:
                raise RuntimeError(f"the program ended: {self.log.read_text()}")
            return re.search(pattern, self.log.read_text())

        return wait_for(f"{pattern} in the log", 20, find)[1]


class Demo(Program):
    """`translation-exporter demo`: its API is what matters here, its own exporter polls no more than once."""

    def __init__(self, program: str, folder: Path, key: str):
        super().__init__(program, folder, "demo", api__key=key, poll__interval="1h")
        self.api = self.logged(r"base_url=\"?(http://[\d.:]+/)")


class Exporter(Program):
    """`translation-exporter serve`, which reads the API at this address every so many seconds."""

    def __init__(self, program: str, folder: Path, api: str, interval: float, **settings: str):
        super().__init__(program, folder, "serve", api__base_url=api, poll__interval=f"{interval}s", **settings)
        self.port = int(self.logged(r"address=\"?127\.0\.0\.1:(\d+)"))
        wait_for("the exporter's first whole poll", 60, self.has_read_everything)

    def has_read_everything(self) -> bool:
        return "translation_exporter_last_success_timestamp_seconds" in self.samples()

    def samples(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """What the exporter exposes now, by the name of the sample."""
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(get(f"http://127.0.0.1:{self.port}/metrics")):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
        return found


# How far the shortened forecast looks back, in seconds.
FORECAST = 15


def shortened_rules() -> str:
    """The recording rules, evaluated each second, with a forecast that needs 15 seconds of history instead of an hour."""
    text = (RULES / "recording-rules.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("offset 1h", f"offset {FORECAST}s"),
        (") / 3600\n", f") / {FORECAST}\n"),
        ("interval: 2m", "interval: 1s"),
        ("interval: 4m", "interval: 1s"),
    ):
        if old not in text:
            raise ValueError(f"recording-rules.yaml has no {old!r} any more: shorten it in another way")
        text = text.replace(old, new)
    return text


class Prometheus:
    """Scrapes each of the exporter's two names once a second, as if they were two replicas."""

    def __init__(self, exporter: Exporter, folder: Path):
        (folder / "rules.yaml").write_text(shortened_rules())
        targets = [
            {"targets": [f"{host}:{exporter.port}"], "labels": {"pod": f"exporter-{at}"}}
            for at, host in enumerate(("127.0.0.1", "localhost"))
        ]
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": JOB, "static_configs": targets}],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with (folder / "prometheus.log").open("w") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={folder}/prometheus.yaml",
                    f"--storage.tsdb.path={folder}/tsdb",
                    f"--web.listen-address={self.url.removeprefix('http://')}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.started = time.time()
        wait_for("Prometheus", 30, lambda: get(f"{self.url}/-/ready"))

    def ask(self, path: str, **parameters):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}"
        try:
            answer = json.loads(get(url))
        except urllib.error.HTTPError as error:
            raise ValueError(f"{url}: {error.read().decode()}") from None
        return answer["data"]

    def now(self, expr: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
        found = self.ask("query", query=expr, time=at or time.time())["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]

    def range(self, expr: str) -> list[tuple[dict[str, str], list[float]]]:
        found = self.ask("query_range", query=expr, start=self.started, end=time.time(), step=1)["result"]
        return [(series["metric"], [float(value) for _, value in series["values"]]) for series in found]


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
