"""Runs every comparison and prints its figures. compare.sh installs and builds the programs, and then starts this."""

import contextlib
import gzip
import json
import os
import pathlib
import platform
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from harness import FakeApi, address, get, running, wait_for

EXPORTER, TOOL, FAKE_API = sys.argv[1:4]
HERE = pathlib.Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
LANGUAGES = 30
SERIES_OF_REPOSITORY = 3 * LANGUAGES + 4
# After a second poll half of the languages have fallen, and two thirds of these have regressed.
SERIES_AFTER_FALLS = SERIES_OF_REPOSITORY + LANGUAGES // 2 + LANGUAGES // 3
# The number of rounds of each figure. Two sides of a comparison take turns, so that noise affects both; the median counts.
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SECONDS = os.environ.get("BENCH_SECONDS", "5")


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def environment(api, **settings):
    defaults = {"API__KEY": "bench", "API__REQUESTS_PER_SECOND": "0", "API__CONCURRENCY": "32"}
    settings = {"API__BASE_URL": api, **defaults, **settings}
    return {**os.environ, **{f"TRANSLATION_EXPORTER_{key}": value for key, value in settings.items()}}


@contextlib.contextmanager
def exporter(api, **settings):
    """Starts the exporter and waits for its first poll."""
    settings = {"POLL__INTERVAL": "1h", **settings}
    with tempfile.NamedTemporaryFile() as log:
        command = [EXPORTER, "--web.listen-address=127.0.0.1:0"]
        with running(command, log.name, env=environment(api, **settings)) as process:
            url = f"http://{address(process, log.name)}/metrics"
            wait_for("the exporter's first poll", lambda: has_polled(url), 300)
            yield process, url


def has_polled(url):
    """Returns whether a complete poll is published."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as response:
        return b"\ntranslation_exporter_last_success_timestamp_seconds " in gzip.decompress(response.read())


@contextlib.contextmanager
def api(series=None, repositories=None):
    repositories = repositories or series // SERIES_OF_REPOSITORY
    with FakeApi(FAKE_API) as server:
        server.command("fill", [repositories, LANGUAGES])
        server.command("key", "bench")
        yield server.url


def cpu_seconds(pid):
    """Returns the user and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid):
    """Returns the resident memory in MiB, now and at its peak."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return [int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]


def load(url, pid, *options):
    before = cpu_seconds(pid)
    figures = json.loads(subprocess.check_output([TOOL, "load", url, SECONDS, *options]))
    figures["cpu"] = (cpu_seconds(pid) - before) / (figures["requests"] + 1)
    return figures


def median(rounds, key):
    return statistics.median(figures[key] for figures in rounds)


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def table(*head):
    print(flush=True)
    row(*head)
    row(*["---"] * len(head))


def scrapes():
    encodings = {"gzip": ["gzip"], "uncompressed": []}
    with api(series=100_000) as root, exporter(root) as (process, url):
        peak_before = memory(process.pid)[1]
        results = {name: [] for name in encodings}
        for turn in range(ROUNDS):
            for name, options in encodings.items():
                say(f"scraping at 100,000 series, {turn + 1} of {ROUNDS}: {name}")
                results[name].append(load(url, process.pid, *options))
        growth = memory(process.pid)[1] - peak_before
    table("scrape of 100,000 series", "scrapes/s", "p50", "p99", "CPU a scrape", "bytes")
    for name, rounds in results.items():
        row(
            name,
            f"{median(rounds, 'rate'):,.1f}",
            *(f"{median(rounds, figure) * 1e3:.2f} ms" for figure in ("p50", "p99", "cpu")),
            f"{median(rounds, 'bytes'):,.0f}",
        )
    return [
        ("CPU of a gzip scrape, ms", median(results["gzip"], "cpu") * 1e3, "below 0.5"),
        ("CPU of an uncompressed scrape, ms", median(results["uncompressed"], "cpu") * 1e3, "below 10"),
        ("growth of the exporter's peak memory over these scrapes, MiB", growth, "at most 4"),
    ]


def scrape_during_polls():
    say("scraping at 100,000 series while polls run")
    settings = {"POLL__INTERVAL": "1s", "API__REQUESTS_PER_SECOND": "300"}
    with api(series=100_000) as root, exporter(root, **settings) as (process, url):
        rounds = [load(url, process.pid, "gzip") for _ in range(ROUNDS)]
    return [("p99 of a gzip scrape while polls run, ms", median(rounds, "p99") * 1e3, "below 5")]


def run_once(command, **options):
    """Runs a process and returns its CPU and wall time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, **options)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": seconds}


def compare_polls():
    repositories = 10_000
    with api(repositories=repositories) as root:
        once = [EXPORTER, "once", "--output", "badge", "--log.level=error"]
        subjects = {
            "exporter": (once, {"env": environment(root)}),
            "bare reqwest": ([TOOL, "poll", root, "32"], {}),
        }
        results = {name: [] for name in subjects}
        for turn in range(ROUNDS):
            for name, (command, options) in subjects.items():
                say(f"polling {repositories:,} repositories, {turn + 1} of {ROUNDS}: {name}")
                results[name].append(run_once(command, **options))
        rate = 2000
        say(f"polling {repositories:,} repositories at {rate:,} requests a second")
        limited = run_once(once, env=environment(root, API__REQUESTS_PER_SECOND=str(rate)))
    table("poll of 10,000 repositories at concurrency 32", "repositories/s", "CPU a repository")
    for name, rounds in results.items():
        row(
            name,
            f"{repositories / median(rounds, 'wall'):,.0f}",
            f"{median(rounds, 'cpu') / repositories * 1e6:.0f} µs",
        )
    cpu = {name: median(rounds, "cpu") for name, rounds in results.items()}
    least = (repositories + 11) / rate
    return [
        ("CPU of a polled repository, times that of bare reqwest", cpu["exporter"] / cpu["bare reqwest"], "at most 2.9"),
        ("time of a poll, times the least its rate allows", limited["wall"] / least, "at most 1.1"),
    ]


def measure_memory():
    table("resident memory at 100,000 series", "after a poll", "after polls and scrapes", "at peak")
    results = []
    for state in (False, True):
        name = "with a state file" if state else "without a state file"
        say(f"memory at 100,000 series, {name}")
        with api(repositories=100_000 // SERIES_AFTER_FALLS) as root, tempfile.TemporaryDirectory() as folder:
            settings = {"POLL__INTERVAL": "2s"}
            if state:
                settings["STATE__FILE"] = f"{folder}/state.json"
            with exporter(root, **settings) as (process, url):
                first = memory(process.pid)[0]
                for encoding in ("gzip", "identity") * 3:
                    download(url, encoding)
                wait_for("ten polls", lambda url=url: polls(url) >= 10, 300)
                now, peak = memory(process.pid)
        row(name, f"{first:.1f} MiB", f"{now:.1f} MiB", f"{peak:.1f} MiB")
        results.append((f"peak of resident memory {name}, MiB", peak, "at most 40"))
    return results


def polls(url):
    """Returns the number of polls so far."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=20) as response:
        return int(re.search(rb"\ntranslation_exporter_polls_total (\d+)", gzip.decompress(response.read()))[1])


def slow_clients():
    """Half read /metrics, half the JSON, uncompressed and 1 kB a second. A client that the server cuts off connects again."""
    say("128 slow clients through 60 publications at 100,000 series")
    clients, took = {}, []
    with api(repositories=100_000 // SERIES_AFTER_FALLS) as root, exporter(root, POLL__INTERVAL="1s") as (process, url):
        polled, began = memory(process.pid)[1], polls(url)
        host, port = url.split("/")[2].split(":")
        cut = 0
        while polls(url) < began + 60:
            for number in range(128):
                try:
                    if number not in clients:
                        clients[number] = client = socket.socket()
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                        client.settimeout(5)
                        client.connect((host, int(port)))
                        path = ("metrics", "translations.json")[number % 2]
                        client.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                        client.setblocking(False)
                    elif not clients[number].recv(1000):
                        raise ConnectionResetError
                except BlockingIOError:
                    pass
                except OSError:
                    clients.pop(number).close()
                    cut += 1
            time.sleep(0.8)
            took.append(download(url, "gzip")[0])
        now, peak = memory(process.pid)
        for client in clients.values():
            client.close()
    say(f"{cut} slow clients were cut off and came again; peak {polled:.1f} MiB before them, {now:.1f} MiB at their end")
    return [
        ("peak of resident memory with 128 slow clients through 60 publications, MiB", peak, "below 110"),
        (f"longest of {len(took)} scrapes meanwhile, one a second, s", max(took), "below 5"),
    ]


def download(url, encoding):
    """Seconds and bytes of a response, as it is on the wire."""
    began = time.monotonic()
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": encoding})) as response:
        size = sum(map(len, iter(lambda: response.read(1 << 20), b"")))
    return time.monotonic() - began, size


def stream_translations():
    readers = 16
    with api(series=100_000) as root, exporter(root) as (process, url):
        stream = url.removesuffix("metrics") + "translations.json"
        polled = memory(process.pid)[1]
        table("response at 100,000 series", "seconds", "MB", "memory now", "at peak")
        took = {}
        for name, address, encoding in (
            ("/metrics, gzip", url, "gzip"),
            ("/metrics", url, "identity"),
            ("/translations.json", stream, "identity"),
        ):
            say(f"downloading {name} at 100,000 series")
            took[name], size = download(address, encoding)
            row(name, f"{took[name]:.2f}", f"{size / 1e6:.1f}", *(f"{mib:.1f} MiB" for mib in memory(process.pid)))
        say(f"{readers} readers of /translations.json at 100,000 series pause")
        with contextlib.ExitStack() as stack:
            pausing = [stack.enter_context(urllib.request.urlopen(stream)) for _ in range(readers)]
            for reader in pausing:
                reader.read(1 << 16)
            # By then, the buffers of the sockets are full.
            time.sleep(3)
            now, peak = memory(process.pid)
            row(f"{readers} readers that pause", "", "", f"{now:.1f} MiB", f"{peak:.1f} MiB")
    return [
        ("growth of peak memory by these downloads and by readers that pause, MiB", peak - polled, "at most 16"),
        ("/translations.json of 100,000 series, s", took["/translations.json"], "below 1"),
    ]


def large_responses():
    """Eight responses of 1 MiB at once, the most that the languages of a repository may have, full of what takes memory."""
    say("large responses")
    long = "n" * 990
    peaks = []
    for entry in ('{{"code":"{0}","completion":1}}', f'{{{{"code":"{{0}}{long}","name":"{{0}}{long}"}}}}', "[[[]]]"):
        count = 2**20 // (len(entry.format(99999)) + 1)
        body = f"[{','.join(entry.format(number) for number in range(count))}]"
        with FakeApi(FAKE_API) as server:
            server.put(*((id, f"owner/{id}", {"de": 1}) for id in range(1, 9)))
            with exporter(server.url, API__KEY=FakeApi.KEY, API__CONCURRENCY="8", POLL__INTERVAL="1s") as (process, url):
                server.command("put", [{"id": id, "name": f"owner/{id}", "answer": body} for id in range(1, 9)])
                before = polls(url)
                wait_for("two polls of large responses", lambda: polls(url) >= before + 2)  # noqa: B023
                peaks.append(memory(process.pid)[1])
    return [("peak memory with eight responses of 1 MiB at once, MiB", max(peaks), "below 128")]


def status_page():
    say("status page at 100,000 series")
    with api(series=100_000) as root, exporter(root) as (_, url):
        page = url.removesuffix("metrics")
        took = []
        for _ in range(20):
            began = time.monotonic()
            get(page)
            took.append(time.monotonic() - began)
    return [("status page at 100,000 series, ms", statistics.median(took) * 1e3, "below 50")]


def main():
    sections = {
        "scrapes": scrapes,
        "during-polls": scrape_during_polls,
        "polls": compare_polls,
        "memory": measure_memory,
        "translations": stream_translations,
        "slow-clients": slow_clients,
        "large-responses": large_responses,
        "page": status_page,
    }
    cores = os.cpu_count()
    version = subprocess.check_output([EXPORTER, "--version"], text=True).splitlines()[0]
    print(f"{version}; {platform.machine()}, {cores} cores, Linux {platform.release().split('-')[0]}")
    figures = []
    for name in sys.argv[4:] or sections:
        figures += sections[name]()
    figures.append(("size of the binary, MiB", os.stat(EXPORTER).st_size / 2**20, "below 15"))
    table("figure", "measured", "target")
    for name, value, target in figures:
        row(name, f"{value:,.2f}" if value < 100 else f"{value:,.0f}", target)


main()
