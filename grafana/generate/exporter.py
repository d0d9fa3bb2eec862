"""The dashboard of the exporter itself, instance by instance."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, COUNTS, GOOD, NEUTRAL, NONE_WANTED, PER_HOUR, SECONDS, Json, Panel, Query, Row,
    colored, column, dashboard, fixed, lines, override, stat, table, to_dashboard, word_column, words,
)
from queries import (
    ACCOUNT, EXPORTER, INSTANCE, OUT_OF_SCALE, REACHABLE, SUSPECT, WITHOUT_DATA, fold, known, late, own, per_hour,
)
from shared import age
from variables import EXPORTERS

UP = known(fold("max", "up", INSTANCE))
INTERVAL = own("poll_interval_seconds")
STARTED = f"({known(fold('max', 'process_start_time_seconds', INSTANCE))})"
# When a poll last read everything; of an instance of which none did, when it started.
READ = f"(time() - ({own('last_success_timestamp_seconds')} > 0 or {STARTED}))"
OF_INSTANCE = "{{instance}} {{job}} {{cluster}}"


def figures() -> list[tuple[Panel, int]]:
    oldest = f"topk(1, {late(READ, INTERVAL)} * 1e9 + {READ})"
    return [
        (
            stat(
                "Instances",
                "How many of the chosen exporters Prometheus could scrape, and how many there are or were within a day.",
                Query(f"sum({UP})", "up"),
                Query(f"count({UP})", "in total"),
                **COUNT,
            ),
            3,
        ),
        (
            stat(
                "API",
                "Whether the last poll of every chosen instance could list the repositories, and whether that list reached its end. "
                "If it did not, nothing is removed.",
                Query(f"min({REACHABLE})", "it is"),
                Query(f"min({own('listing_complete')})", "its list was"),
                unit="none",
                mappings=words(("unreachable", BAD), ("reachable", GOOD)),
                overrides=[override("its list was", mappings=words(("incomplete", BAD), ("complete", GOOD)))],
            ),
            6,
        ),
        (
            age(
                "Last full poll",
                "How long ago a poll last read everything, for the instance that is furthest from doing so. One of which none ever "
                "did counts from its start.",
                f"max({READ} and {oldest})",
                f"max({late(READ, INTERVAL)})",
            ),
            5,
        ),
        (
            stat(
                "Repositories",
                "How many are served although their last read failed, and how many are not served, because their data are older "
                "than poll.stale_after or were not read yet.",
                Query(f'sum(max by ({ACCOUNT}) (translation_exporter_repositories{{{EXPORTER}, state="failing"}}))', "failing"),
                Query(WITHOUT_DATA, "without data"),
                **COUNT,
                **colored(NONE_WANTED),
            ),
            5,
        ),
        (
            stat(
                "Scale",
                "Suspect: something is above 0 and nothing above 1 although api.completion_scale is above 1, so that the API seems "
                "to report 0 to 1. And how many completions are below 0 or above the scale.",
                Query(f"max({SUSPECT})", "it is"),
                Query(f"sum({OUT_OF_SCALE})", "outside of it"),
                **COUNT,
                overrides=[
                    override("it is", mappings=words(("plausible", GOOD), ("suspect", BAD))),
                    override("outside of it", **colored(NONE_WANTED)),
                ],
            ),
            5,
        ),
    ]


def instances() -> Panel:
    return table(
        "Instances and their settings",
        "Each instance that was seen within a day, also one that is down: its version and settings, and whether its last "
        "configuration was accepted.",
        [
            Query(f"max by ({INSTANCE}, version) (last_over_time(translation_exporter_build_info{{{EXPORTER}}}[1d]))"),
            Query(UP),
            Query(f"time() - {STARTED}"),
            Query(READ),
            Query(INTERVAL),
            Query(own("completion_scale")),
            Query(own("languages")),
            Query(own("config_last_reload_successful")),
            Query(f"time() - {own('config_last_reload_success_timestamp_seconds')}"),
        ],
        [
            column("instance", "Instance", custom__minWidth=150),
            word_column("Value #B", "State", 70, ("down", BAD), ("up", GOOD)),
            column("version", "Version", 80),
            column("Value #C", "Up for", 95, **SECONDS),
            column("Value #D", "Read in full", 100, **SECONDS),
            column("Value #E", "Interval", 90, **SECONDS),
            column("Value #F", "Scale", 65),
            column("Value #G", "Languages", 95),
            word_column("Value #H", "Configuration", 115, ("refused", BAD), ("accepted", GOOD)),
            column("Value #I", "Of", 95, **SECONDS),
            *ACCOUNT_COLUMNS,
        ],
        sort="Instance",
    )


def polls() -> list[tuple[Panel, int]]:
    duration = f"{own('last_poll_duration_seconds')} / {INTERVAL}"
    used = lines(
        "Share of the interval that a poll takes",
        "Above 100 %, polls overrun: raise poll.interval or api.requests_per_second. The eight instances where it is highest.",
        Query(f"topk(8, {duration})", OF_INSTANCE),
        unit="percentunit",
        decimals=1,
        min=0,
    )
    ended = lines(
        "Polls per hour",
        "How many polls ended, how many of them did not read everything, by reason, and how many took longer than the interval.",
        Query(per_hour("translation_exporter_polls_total"), "ended"),
        Query(per_hour("translation_exporter_poll_failures_total", "reason"), "failed: {{reason}}"),
        Query(per_hour("translation_exporter_poll_overruns_total"), "overran"),
        overrides=[fixed("ended", GOOD), fixed("overran", "purple")],
        **PER_HOUR,
    )
    colors = {"fresh": "blue", "failing": "orange", "stale": "dark-red", "pending": "super-light-blue", "filtered": "text"}
    each = f"max by ({ACCOUNT}, state) (translation_exporter_repositories{{{EXPORTER}}})"
    states = lines(
        "Repositories by state",
        "Fresh: the last read succeeded. Failing: it failed, the last good data are served. Stale: the data are gone. Pending: not "
        "read yet. Filtered: left out by the configuration. A state that no repository is in is left out.",
        Query(f"sum by (state) ({each}) > 0", "{{state}}"),
        overrides=[fixed(name, color) for name, color in colors.items()],
        stacked=True,
        stepped=True,
        **COUNTS,
    )
    return [(used, 8), (ended, 8), (states, 8)]


def by_reason(title: str, description: str, metric: str) -> Panel:
    """How often something failed in an hour: in all, and for the most frequent reasons."""
    queries = Query(per_hour(metric), "all"), Query(f"topk(8, {per_hour(metric, 'reason')})", "{{reason}}")
    return lines(title, description, *queries, overrides=[fixed("all", NEUTRAL)], **PER_HOUR)


def api() -> list[tuple[Panel, int]]:
    requests = lines(
        "Requests to the API per hour",
        "Requests, retries included. The code is the HTTP status, or error if there was no answer.",
        Query(per_hour("translation_exporter_api_requests_total", "code"), "{{code}}"),
        Query(per_hour("translation_exporter_api_retries_total"), "of these, retries"),
        **PER_HOUR,
    )
    bucket = "translation_exporter_api_request_duration_seconds_bucket"
    buckets = f"sum by (operation, le) (rate({bucket}{{{EXPORTER}}}[$__rate_interval]))"
    duration = lines(
        "Request duration",
        "How long a request to the API takes, its body included: half of them, and 99 % of them, take no longer.",
        *(
            Query(f"histogram_quantile({quantile}, {buckets})", f"{{{{operation}}}} {name}")
            for quantile, name in (("0.5", "50 %"), ("0.99", "99 %"))
        ),
        unit="s",
        decimals=2,
        min=0,
    )
    failures = by_reason(
        "Failures per hour, by reason",
        "Requests to the API that failed, retries included. Unauthorized and forbidden: check the key. Rate_limited: lower "
        "api.requests_per_second. Decode, cursor and too_large: the API's answers have another shape.",
        "translation_exporter_api_request_failures_total",
    )
    return [(requests, 8), (duration, 8), (failures, 8)]


def process() -> list[list[tuple[Panel, int]]]:
    unusable = by_reason(
        "Unusable entries per hour",
        "Entries of the API's answers that could not be used, or only in part. Each affects only itself, and counts at every poll.",
        "translation_exporter_invalid_entries_total",
    )
    served = lines(
        "Requests served per hour",
        "Requests to the exporter, by path and status: the eight that are most frequent.",
        Query(f"topk(8, {per_hour('translation_exporter_http_requests_total', 'path, code')})", "{{path}} {{code}}"),
        **PER_HOUR,
    )
    own_failures = lines(
        "State and TLS per hour",
        "How often the state file was written, and what failed: writing it, and TLS handshakes with clients, by reason.",
        Query(per_hour("translation_exporter_state_writes_total"), "state written"),
        Query(per_hour("translation_exporter_state_write_failures_total"), "state not written"),
        Query(f"topk(6, {per_hour('translation_exporter_tls_handshake_failures_total', 'reason')})", "TLS: {{reason}}"),
        overrides=[fixed("state written", GOOD), fixed("state not written", BAD)],
        **PER_HOUR,
    )

    def of_process(title: str, description: str, expr: str, unit: str) -> Panel:
        most = Query(f"topk(8, {known(expr)})", OF_INSTANCE)
        return lines(title, f"{description} The eight instances that use most.", most, unit=unit, min=0)

    rate = f"max by ({INSTANCE}) (rate(process_cpu_seconds_total{{{EXPORTER}}}[$__rate_interval]))"
    files = f"{fold('max', 'process_open_fds', INSTANCE)} / {fold('max', 'process_max_fds', INSTANCE)}"
    return [
        [(unusable, 8), (served, 8), (own_failures, 8)],
        [
            (of_process("CPU", "CPU seconds used per second: 100 % is one core.", rate, "percentunit"), 8),
            (of_process("Memory", "Resident memory.", fold("max", "process_resident_memory_bytes", INSTANCE), "bytes"), 8),
            (of_process("Open files", "Open file descriptors, as a share of the maximum.", files, "percentunit"), 8),
        ],
    ]


def build() -> Json:
    rows = [
        Row("Does it work?", [(4, figures()), (6, [(instances(), 24)])]),
        Row("Does it poll in time?", [(8, polls())]),
        Row("How does the API answer?", [(8, api())]),
        Row("What does it serve, and what does it cost?", [(8, line) for line in process()]),
    ]
    return dashboard(
        "translation-exporter",
        "Translation exporter",
        "The exporter itself: its polls, the API's answers, the plausibility of the data, and the resources it uses.",
        EXPORTERS,
        rows,
        since="now-6h",
        links=[
            to_dashboard("Translation progress", "translation-progress"),
            to_dashboard("Translation of a repository", "translation-repository"),
        ],
    )
