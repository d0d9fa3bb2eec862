"""Series with known values, as Prometheus has them: two accounts in two clusters, and what else a Prometheus scrapes."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

NOW = int(time.time())
MINUTE, HOUR, DAY = 60, 3600, 86400
# The series end later than the tests.
END = NOW + HOUR

Value = float | Callable[[int], float | None]
Labels = dict[str, str]
Series = tuple[str, Labels, Value, int]

ACME = {"cluster": "east", "namespace": "l10n", "job": "acme"}
UMBRELLA = {"cluster": "west", "namespace": "l10n", "job": "umbrella"}
REPLICAS = [ACME | {"instance": f"acme-{n}:1", "pod": f"acme-{n}"} for n in (1, 2)]
DOWN = ACME | {"instance": "acme-3:1", "pod": "acme-3"}
NEVER_READ = UMBRELLA | {"instance": "umbrella-1:1", "pod": "umbrella-1"}
OTHER = {"job": "node", "instance": "other:9100"}

# (repository, language): completion or None, seconds since it rose, target, seconds until it is due, seconds until it is ready
Known = dict[tuple[str, str], tuple[Value | None, float, float | None, float | None, float | None]]
OF_ACME: Known = {
    ("acme/app.web", "de"): (1, 20 * DAY, None, None, None),
    ("acme/app.web", "fr"): (lambda at: 0.96 if at > NOW - HOUR else 0.94, 50 * HOUR, 0.95, 5.02 * DAY, None),
    ("acme/app.web", "es"): (0.5, 35.5 * HOUR, 0.9, -2.02 * DAY, None),
    ("acme/app.web", "ja"): (None, 0, 0.9, 3.02 * DAY, None),
    ("acme/app-web", "de"): (0.2, 9 * DAY, None, None, None),
    ("acme/app-web", "fr"): (0.99999, 7.5 * DAY, None, None, None),
    ("acme/c++", "de"): (1, 20 * DAY, None, None, None),
    ("acme/c++", "eo"): (0.1, 30 * DAY, 0, None, None),
}
OF_UMBRELLA: Known = {
    ("acme/c++", "de"): (0.7, DAY, 1, 20.02 * DAY, 10 * DAY),
    ("acme/c++", "it"): (0.4, DAY, 0.8, 10.02 * DAY, 30 * DAY),
}


KINDS = {"api_key": "warning", "polls_failing": "warning", "data_stale": "warning", "polls_overrun": "info"}
URL = "https://l10n.example/"


def counter(per_hour: float) -> Callable[[int], float]:
    return lambda at: per_hour * (at - NOW + 3 * HOUR) / HOUR


def now(value: Value, at: int) -> float | None:
    return value(at) if callable(value) else value


def problems(ratio: Value | None, idle: float, target: float, due: float | None, ready: float | None) -> Iterator[tuple[str, float]]:
    """The kinds that the exporter finds in these worlds, each with the time that it is about."""
    if target == 0 or ratio is not None and now(ratio, NOW) >= target:
        return
    if ratio is not None and idle > 8 * DAY:
        yield "stalled", NOW - idle
    if due is not None and due < 0:
        yield "overdue", NOW + due
    elif due is not None and ready is not None and due < min(ready, 14 * DAY):
        yield "at_risk", NOW + due


def mean(ratios: list[Value]) -> Value:
    return lambda at: sum(min(1, now(ratio, at)) for ratio in ratios) / len(ratios)


def translations(known: Known, exporters: list[Labels], read: dict[str, float], url: str = "") -> Iterator[Series]:
    """What exporters expose of an account; `read` is how long ago repositories were, if not just now."""
    start = NOW - 2 * HOUR
    by_repository: dict[str, list[tuple[Value | None, float]]] = {}
    ratios: dict[tuple[str, str], list[Value]] = {}
    for (repo, language), (ratio, idle, target, due, ready) in known.items():
        goal = 1 if target is None else target
        by_repository.setdefault(repo, []).append((ratio, goal))
        of = {"repo": repo, "language": language}
        exposed: dict[str, Value | None] = {
            "completion_ratio": ratio,
            "last_progress_timestamp_seconds": None if ratio is None else NOW - idle,
            "target_ratio": target,
            "target_due_timestamp_seconds": None if due is None else NOW + due,
            "estimated_ready_timestamp_seconds": None if ready is None else NOW + ready,
        }
        found = {kind: at for kind, at in problems(ratio, idle, goal, due, ready)}
        for exporter in exporters:
            yield from ((f"translation_{name}", exporter | of, value, start) for name, value in exposed.items() if value is not None)
            for kind, at in found.items():
                yield "translation_problem_timestamp_seconds", exporter | of | {"kind": kind}, at, start
        if ratio is not None:
            ratios.setdefault(("repo", repo), []).append(ratio)
            ratios.setdefault(("language", language), []).append(ratio)
    for exporter in exporters:
        for (label, of_which), values in ratios.items():
            name = "repository" if label == "repo" else "language"
            yield f"translation_{name}_completion_ratio", exporter | {label: of_which}, mean(values), start
    for repo, judged in by_repository.items():

        def ready(at: int, judged: list[tuple[Value | None, float]] = judged) -> float:
            return sum(goal == 0 or ratio is not None and now(ratio, at) >= goal for ratio, goal in judged)

        values: dict[str, Value] = {
            "created_timestamp_seconds": NOW - 400 * DAY,
            "languages": len(judged),
            "languages_ready": ready,
            "last_success_timestamp_seconds": NOW - read.get(repo, MINUTE),
        }
        for exporter in exporters:
            of_repo = exporter | {"repo": repo}
            link = {"url": url + repo} if url else {}
            yield "translation_repository_info", of_repo | {"id": "7", "private": "true"} | link, 1, start
            yield from ((f"translation_repository_{name}", of_repo, value, start) for name, value in values.items())
    for exporter in exporters:
        for code in {code for _, code in known}:
            yield "translation_language_info", exporter | {"language": code, "name": f"Name of {code}"}, 1, start


def process(of: Labels) -> Iterator[Series]:
    for name, value in {"open_fds": 12, "max_fds": 1024, "resident_memory_bytes": 3e7}.items():
        yield f"process_{name}", of, value, NOW - 2 * HOUR
    yield "process_start_time_seconds", of, NOW - 5 * DAY, NOW - 2 * HOUR
    yield "process_cpu_seconds_total", of, counter(36), NOW - 2 * HOUR
    yield "up", of, 1, NOW - 2 * HOUR


def exporter(of: Labels, read: float, states: dict[str, int]) -> Iterator[Series]:
    """What an exporter exposes of itself; `read` is when a poll last read everything, 0 if none did."""
    gauges = {
        "poll_interval_seconds": 300,
        "last_poll_duration_seconds": 150,
        "last_poll_timestamp_seconds": NOW - MINUTE,
        "last_success_timestamp_seconds": read,
        "listing_complete": 1,
        "completion_scale": 100,
        "completion_scale_suspect": 0,
        "completion_out_of_scale": 0,
        "languages": 7,
        "config_last_reload_successful": 1,
        "config_last_reload_success_timestamp_seconds": NOW - 5 * HOUR,
    }
    counters: list[tuple[str, Labels, float]] = [
        ("polls", {}, 12),
        ("poll_failures", {"reason": "repositories"}, 6),
        ("poll_failures", {"reason": "key_file"}, 0),
        ("poll_overruns", {}, 0),
        ("api_requests", {"operation": "list_languages", "code": "200"}, 120),
        ("api_requests", {"operation": "list_languages", "code": "503"}, 60),
        ("api_request_failures", {"operation": "list_languages", "reason": "server_error"}, 60),
        ("api_request_failures", {"operation": "list_languages", "reason": "timeout"}, 0),
        ("api_retries", {"operation": "list_languages"}, 60),
        ("invalid_entries", {"operation": "list_languages", "reason": "code"}, 0),
        ("state_writes", {}, 12),
        ("state_write_failures", {}, 0),
        ("tls_handshake_failures", {"reason": "timeout"}, 0),
        ("log_lines_dropped", {}, 0),
        ("http_requests", {"path": "/metrics", "code": "200"}, 60),
    ]
    start = NOW - 2 * HOUR
    yield from process(of)
    yield "translation_exporter_build_info", of | {"version": "1.0.0", "revision": "1", "rustc": "1"}, 1, start
    yield "translation_up", of, 1, start
    yield from ((f"translation_exporter_{name}", of, value, start) for name, value in gauges.items())
    yield from ((f"translation_exporter_{name}_total", of | labels, counter(rate), start) for name, labels, rate in counters)
    yield from (("translation_exporter_repositories", of | {"state": state}, count, start) for state, count in states.items())
    for kind, severity in KINDS.items():
        value = int({"polls_overrun": True, "polls_failing": not read, "data_stale": states.get("stale", 0)}.get(kind, 0) > 0)
        yield "translation_exporter_problem", of | {"kind": kind, "severity": severity}, value, start
    for le in ("0.1", "1", "+Inf"):
        labels = {"operation": "list_languages", "le": le}
        yield "translation_exporter_api_request_duration_seconds_bucket", of | labels, counter(120), start


def full() -> list[Series]:
    """Two replicas, an exporter that is down, an account of which no poll read everything, another job."""
    states = {"fresh": 2, "failing": 1, "stale": 1, "pending": 0, "filtered": 7}
    found = [*translations(OF_ACME, REPLICAS, {"acme/app-web": 3 * DAY}, URL)]
    found += translations(OF_UMBRELLA, [NEVER_READ], {})
    for replica in REPLICAS:
        found += exporter(replica, NOW - MINUTE, states)
        gone = replica | {"repo": "acme/gone"}
        found.append(("translation_repository_last_success_timestamp_seconds", gone, NOW - 4 * DAY, NOW - 2 * HOUR))
        found.append(("translation_repository_info", gone | {"id": "9", "private": "true"}, 1, NOW - 2 * HOUR))
        fallen = replica | {"repo": "acme/app.web", "language": "es", "kind": "regressed"}
        found.append(("translation_problem_timestamp_seconds", fallen, NOW - 2 * DAY, NOW - 2 * HOUR))
    found += exporter(NEVER_READ, 0, {"fresh": 1})
    found += process(OTHER)
    found.append(("up", DOWN, 0, NOW - 2 * HOUR))
    # A day is not over since it was last seen.
    found.append(("translation_exporter_build_info", DOWN | {"version": "1.0.0", "revision": "1", "rustc": "1"}, 1, -HOUR))
    limit = {"cluster": "east", "namespace": "l10n", "pod": "acme-1", "container": "exporter", "resource": "memory"}
    found.append(("kube_pod_container_resource_limits", limit | OTHER, 134217728, NOW - 2 * HOUR))
    return found


def everything_ready() -> list[Series]:
    repositories = ("acme/app", "acme/c++", "acme/r&d", "acme/x", "acme/x#y", "acme/50%")
    known: Known = {(repo, code): (1, DAY, 0.9, 5 * DAY, None) for repo in repositories for code in ("de", "fr")}
    of = REPLICAS[0]
    found = [*translations(known, [of], {}, URL), *exporter(of, NOW - MINUTE, {"fresh": len(repositories)})]
    return [(name, labels, 0 if name == "translation_exporter_problem" else value, start) for name, labels, value, start in found]


# One of two accounts is without data for eight hours.
OUTAGE = NOW - 16 * HOUR, NOW - 8 * HOUR
LOST: Known = {
    (f"umbrella/{repo}", code): (0.3, 9 * DAY, 0.9, 30 * DAY, 40 * DAY) for repo in ("app", "site", "docs") for code in ("de", "fr", "it")
}


def outage(*, down: bool) -> list[Series]:
    """The API of an account cannot be reached, or its exporter is down; the other account goes on."""
    read = {"acme/app-web": MINUTE}
    found = [*translations(OF_ACME, REPLICAS[:1], read, URL), *exporter(REPLICAS[0], NOW - MINUTE, {"fresh": 3})]
    states = {"fresh": 3, "failing": 0, "stale": 0, "pending": 0, "filtered": 0}
    umbrella = [*translations(LOST, [NEVER_READ], {}), *exporter(NEVER_READ, NOW - MINUTE, states)]
    umbrella = [(name, labels, lost(name, labels, value, down), start) for name, labels, value, start in umbrella]
    return [(name, labels, value, NOW - DAY) for name, labels, value, _ in [*found, *umbrella]]


def lost(name: str, labels: Labels, value: Value, down: bool) -> Value:
    """What becomes of a series in the outage: an hour after its begin, data are stale, one repository after the other."""
    begin, end = OUTAGE
    order = [f"umbrella/{repo}" for repo in ("app", "site", "docs")]
    # The mean of a language is there as long as one repository is.
    at_place = order.index(labels["repo"]) * MINUTE if "repo" in labels else 2 * MINUTE
    stale = begin + HOUR + 5 * at_place, end + at_place
    of_translations = "repo" in labels or name == "translation_language_completion_ratio"
    gone = (lambda at: begin <= at < end) if down else (lambda at: of_translations and stale[0] <= at < stale[1])
    kept = ("translation_repository_info", "translation_repository_created", "translation_repository_last_success", "translation_problem")

    def without_data(at: int) -> float | None:
        now = value(at) if callable(value) else value
        if down or name.startswith(kept) or not begin <= at < end + 3 * MINUTE:
            stopped = begin <= at < end and name.startswith("translation_repository_last_success")
            return begin if stopped and not down else 0 if name == "up" and gone(at) else None if down and gone(at) else now
        if name == "translation_up" or labels.get("kind") == "polls_failing":
            return int(name != "translation_up")
        if state := labels.get("state"):
            count = sum(begin + HOUR + 5 * n * MINUTE <= at < end + n * MINUTE for n in range(3))
            return {"stale": count, "fresh": 3 - count if at >= end else 0, "failing": 3 - count if at < end else 0}.get(state, 0)
        return None if gone(at) else now

    return without_data


def nothing_read() -> list[Series]:
    """An exporter that could read nothing since its start."""
    found = exporter(NEVER_READ, 0, dict.fromkeys(("fresh", "failing", "stale", "pending", "filtered"), 0))
    return [(name, labels, 0 if name == "translation_up" else value, start) for name, labels, value, start in found]


def large() -> list[Series]:
    """200 repositories with 32 languages; one translation is not ready."""
    codes = [f"l{n:02}" for n in range(32)]
    known: Known = {(f"acme/repository-{n:03}", code): (1, DAY, None, None, None) for n in range(200) for code in codes}
    known["acme/repository-123", "l31"] = (0.4, DAY, None, None, None)
    found = [*translations(known, [REPLICAS[0]], {}, URL), *exporter(REPLICAS[0], NOW - MINUTE, {"fresh": 200})]
    return [(name, labels, value, NOW - 10 * MINUTE) for name, labels, value, _ in found]


def write(series: list[Series], folder: Path, *, every: int = MINUTE) -> None:
    """Makes blocks of a Prometheus of them."""
    lines: list[str] = []
    for name, labels, value, start in series:
        text = ",".join(f'{label}="{one}"' for label, one in labels.items())
        # One that started before 1970 ended so long ago.
        times = range(NOW + 2 * start, NOW + start, every) if start < 0 else range(start, END, every)
        values = ((value(at) if callable(value) else value, at) for at in times)
        lines += [f"{name}{{{text}}} {one} {at}" for one, at in values if one is not None]
    lines.append("# EOF\n")
    (folder / "series.txt").write_text("\n".join(lines))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", "series.txt", "tsdb"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
