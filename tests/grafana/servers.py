"""Starts the program's demo, an exporter that reads the demo API, and a Prometheus that scrapes it as two replicas."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from dashboards import RULES
from harness import Prometheus, address, get, running, wait_for
from prometheus_client.parser import text_string_to_metric_families

JOB = "translation-exporter"


def start(stack: ExitStack, program: str, folder: Path, command: str, **settings: str):
    """The program with one of its commands and these settings beside its defaults: where it listens, and its log."""
    log = folder / f"{command}.log"
    variables = {f"TRANSLATION_EXPORTER_{name.upper()}": value for name, value in settings.items()}
    arguments = [program, command, "--web.listen-address=127.0.0.1:0"]
    process = stack.enter_context(running(arguments, log, env=os.environ | variables))
    return address(process, log), log


def demo_api(stack: ExitStack, program: str, folder: Path, key: str) -> str:
    """`translation-exporter demo`: its API is what matters here, its own exporter polls no more than once."""
    _, log = start(stack, program, folder, "demo", api__key=key, poll__interval="1h")
    return wait_for("the demo's API", lambda: re.search(r"base_url=\"?(http://[\d.:]+/)", log.read_text()))[1]


class Exporter:
    """`translation-exporter serve`, which reads the API at this address every so many seconds."""

    def __init__(self, stack: ExitStack, program: str, folder: Path, api: str, interval: float, **settings: str):
        settings |= {"api__base_url": api, "poll__interval": f"{interval}s"}
        self.address, _ = start(stack, program, folder, "serve", **settings)
        self.port = int(self.address.rpartition(":")[2])
        read = "translation_exporter_last_success_timestamp_seconds"
        wait_for("the exporter's first whole poll", lambda: read in self.samples())

    def samples(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """What the exporter exposes now, by the name of the sample."""
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(get(f"http://{self.address}/metrics")):
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


@contextmanager
def scraped_as_two(exporter: Exporter, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes each of the exporter's two names once a second, as if they were two replicas."""
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
    with Prometheus.start(folder, "prometheus.yaml") as prometheus:
        yield prometheus
