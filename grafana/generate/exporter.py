"""The dashboard of the exporter itself, instance by instance."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, COUNTS, GOOD, NEUTRAL, NONE_WANTED, SECONDS, Json, Panel, Query, Row, colored, column,
    dashboard, fixed, lines, link, override, side_by_side, stat, table, timeline, word_column, words,
)
from queries import ACCOUNT, EXPORTER, INSTANCE, KNOWN, REACHABLE, UP, WITHOUT_DATA, fold, in_state, known, own, per_hour
from shared import top
from variables import EXPORTERS

INTERVAL = own("poll_interval_seconds")
STARTED = f"({known(fold('max', 'process_start_time_seconds', INSTANCE))})"
# When a poll last read everything; of an instance of which none did, when it started.
READ = f"(time() - ({own('last_success_timestamp_seconds')} > 0 or {STARTED}))"
OF_INSTANCE = "{{instance}} {{job}} {{cluster}}"


def last_full_poll() -> Panel:
    return stat(
        "Last full poll",
        "The time since a poll last read everything, of the instance where that is longest. An instance that never read everything "
        "counts from its start.",
        Query(f"max({READ})", "ago"),
        **SECONDS,
    )


def figures() -> list[Panel]:
    instances = stat(
        "Instances",
        "The chosen exporters that Prometheus could scrape, and all that it scraped within a day.",
        Query(f"sum({UP})", "up"),
        Query(f"count({UP})", "in total"),
        **COUNT,
    )
    api = stat(
        "API",
        "Reachable: the last poll of every chosen instance could list the repositories. Complete: that list reached its end; "
        "otherwise no repository is removed.",
        Query(f"min({REACHABLE})", "it is"),
        Query(f"min({own('listing_complete')})", "its list was"),
        unit="none",
        mappings=words(("unreachable", BAD), ("reachable", GOOD)),
        overrides=[override("its list was", mappings=words(("incomplete", BAD), ("complete", GOOD)))],
    )
    repositories = stat(
        "Repositories",
        "Repositories that are served although their last read failed; and repositories that are not served, because their data "
        "are older than poll.stale_after or were not read yet.",
        Query(f"sum({in_state('failing')})", "failing"),
        Query(f"sum({WITHOUT_DATA})", "no data"),
        **COUNT,
        **colored(NONE_WANTED),
    )
    return [instances, api, repositories]


def problems() -> Panel:
    """The exporter's own diagnosis, which its page, log and alerts use too."""

    def found(matcher: str, function: str = "") -> str:
        series = f"translation_exporter_problem{{{EXPORTER}, {matcher}}}"
        return f"max by ({ACCOUNT}, kind) ({function.format(series) or series})"

    def shown(matcher: str, times: int) -> Query:
        at_times = found(matcher, "max_over_time({}[$__range] @ end())")
        return Query(f"{times} * ({found(matcher)} and {at_times} > 0)", "{{kind}} {{job}} {{cluster}}")

    alerted = 'severity="warning"'
    return timeline(
        "Problems",
        "The problems that the exporter itself found within the time range. Its page says what each is and what to do; problems for "
        "information have no alert.",
        Query(f"max({found(alerted)})", "any with an alert"),
        shown(alerted, 1),
        shown('severity!="warning"', 2),
        mapping=words(("none", NEUTRAL), ("found", BAD), ("for information", "orange")),
    )


def instances() -> Panel:
    return table(
        "Instances and their settings",
        "Each instance that was seen within a day, also one that is down: its version and settings, how often it was restarted "
        "within a day, and whether its last configuration was accepted. A click opens its status page at the address that "
        "Prometheus scrapes, if that can be reached from here.",
        [
            f"max by ({INSTANCE}, version) ({KNOWN})",
            UP,
            f"time() - {STARTED}",
            f"max by ({INSTANCE}) (changes(process_start_time_seconds{{{EXPORTER}}}[1d])) and {INTERVAL}",
            READ,
            INTERVAL,
            own("completion_scale"),
            own("languages"),
            own("config_last_reload_successful"),
            f"time() - {own('config_last_reload_success_timestamp_seconds')}",
        ],
        [
            column(
                "instance", "Instance", custom__minWidth=150,
                links=[link("Open the status page", "http://${__value.raw}/", away=True)],
            ),
            word_column("Value #B", "State", 70, ("down", BAD), ("up", GOOD)),
            column("version", "Version", 80),
            column("Value #C", "Up for", 95, **SECONDS),
            column("Value #D", "Restarts", 85),
            column("Value #E", "Read in full", 100, **SECONDS),
            column("Value #F", "Interval", 90, **SECONDS),
            column("Value #G", "Scale", 65),
            column("Value #H", "Languages", 95),
            word_column("Value #I", "Configuration", 115, ("refused", BAD), ("accepted", GOOD)),
            column("Value #J", "Of", 95, **SECONDS),
            *ACCOUNT_COLUMNS,
        ],
        sort="Instance",
    )


def polls() -> list[Panel]:
    used = lines(
        "Share of the interval that a poll takes",
        "Above 100 %, polls overrun: raise poll.interval or api.requests_per_second. The eight instances where it is highest.",
        Query(f"topk(8, {own('last_poll_duration_seconds')} / {INTERVAL})", OF_INSTANCE),
        unit="percentunit",
        decimals=1,
        min=0,
    )
    ended = lines(
        "Polls per hour",
        "Polls that ended in the hour before, polls of these that did not read everything, by reason, and polls that took longer "
        "than the interval.",
        Query(per_hour("translation_exporter_polls_total"), "ended"),
        Query(per_hour("translation_exporter_poll_failures_total", "reason"), "failed: {{reason}}"),
        Query(per_hour("translation_exporter_poll_overruns_total"), "overran"),
        overrides=[fixed("ended", GOOD), fixed("overran", "purple")],
        **COUNTS,
    )
    states = {"failing": "orange", "stale": "dark-red", "pending": "super-light-blue"}
    not_fresh = lines(
        "Repositories that are not fresh",
        "Failing: the last read failed, the last good data are served. Stale: the data are gone. Pending: not read yet.",
        Query(f"sum by (state) ({in_state('|'.join(states))})", "{{state}}"),
        overrides=[fixed(name, color) for name, color in states.items()],
        stacked=True,
        stepped=True,
        **COUNTS,
    )
    return [used, ended, not_fresh]


def by_reason(title: str, description: str, metric: str) -> Panel:
    """How often something failed in an hour: in all, and for the most frequent reasons."""
    queries = Query(per_hour(metric), "all"), Query(f"topk(8, {per_hour(metric, 'reason')})", "{{reason}}")
    return lines(title, description, *queries, overrides=[fixed("all", NEUTRAL)], **COUNTS)


def api() -> list[Panel]:
    requests = lines(
        "Requests to the API per hour",
        "Requests, retries included. The code is the HTTP status, or error if there was no answer; those that failed have the "
        "axis on the right.",
        Query(per_hour("translation_exporter_api_requests_total", "code"), "{{code}}"),
        Query(per_hour("translation_exporter_api_retries_total"), "of these, retries"),
        overrides=[override("/^(error|[345]..)$/", custom__axisPlacement="right", custom__axisLabel="failed")],
        **COUNTS,
    )
    bucket = "translation_exporter_api_request_duration_seconds_bucket"
    buckets = f"sum by (operation, le) (rate({bucket}{{{EXPORTER}}}[$__rate_interval]))"
    duration = lines(
        "Request duration",
        "The duration of a request to the API, its body included: half of the requests, and 99 % of them, take no longer.",
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
    return [requests, duration, failures]


def served() -> list[Panel]:
    unusable = by_reason(
        "Unusable entries per hour",
        "Entries of the API's answers that could not be used, or only in part. Each affects only itself, and counts at every poll.",
        "translation_exporter_invalid_entries_total",
    )
    requests = lines(
        "Requests served per hour",
        "Requests to the exporter, by path and status: the eight that are most frequent.",
        Query(f"topk(8, {per_hour('translation_exporter_http_requests_total', 'path, code')})", "{{path}} {{code}}"),
        **COUNTS,
    )
    own_failures = lines(
        "State, TLS and log per hour",
        "Writes of the state file; and failures to write it, TLS handshakes that failed, by reason, and lines of the log that could "
        "not be written.",
        Query(per_hour("translation_exporter_state_writes_total"), "state written"),
        Query(per_hour("translation_exporter_state_write_failures_total"), "state not written"),
        Query(per_hour("translation_exporter_log_lines_dropped_total"), "log lines dropped"),
        Query(f"topk(5, {per_hour('translation_exporter_tls_handshake_failures_total', 'reason')})", "TLS: {{reason}}"),
        overrides=[fixed("state written", GOOD), fixed("state not written", BAD), fixed("log lines dropped", "purple")],
        **COUNTS,
    )
    return [unusable, requests, own_failures]


def process() -> list[Panel]:
    def most(title: str, description: str, expr: str, unit: str, *more: Query, **options: list[Json]) -> Panel:
        query = Query(f"topk(8, {known(expr)})", OF_INSTANCE)
        return lines(title, f"{description} The eight instances that use most.", query, *more, unit=unit, min=0, **options)

    rate = f"max by ({INSTANCE}) (rate(process_cpu_seconds_total{{{EXPORTER}}}[$__rate_interval]))"
    files = f"{fold('max', 'process_open_fds', INSTANCE)} / {fold('max', 'process_max_fds', INSTANCE)}"
    pods = fold("group", "translation_exporter_build_info", "cluster, namespace, pod")
    container = 'cluster=~"$cluster", namespace=~"$namespace", container="exporter"'
    limits = f'kube_pod_container_resource_limits{{{container}, resource="memory"}}'
    return [
        most("CPU", "CPU seconds used per second: 100 % is one core.", rate, "percentunit"),
        most(
            "Memory",
            "Resident memory, and the lowest limit of the pods, if kube-state-metrics tells it. A step down to little is a restart.",
            fold("max", "process_resident_memory_bytes", INSTANCE),
            "bytes",
            Query(f"min({limits} and on (cluster, namespace, pod) {pods})", "limit"),
            overrides=[fixed("limit", BAD, custom__lineStyle={"fill": "dash", "dash": [10, 10]})],
        ),
        most("Open files", "Open file descriptors, as a share of the maximum.", files, "percentunit"),
    ]


def build() -> Json:
    judged = fold("max", "translation_problem_timestamp_seconds", f"{ACCOUNT}, repo, language, kind")
    first = top(last_full_poll(), judged, *((panel, 8) for panel in figures()))
    rows = [
        Row("Does it work?", [*first, side_by_side(7, problems()), side_by_side(8, instances())]),
        Row("Does it poll in time?", [side_by_side(8, *polls())]),
        Row("How does the API answer?", [side_by_side(8, *api())]),
        Row("What does it serve, and what does it cost?", [side_by_side(8, *served()), side_by_side(8, *process())]),
    ]
    description = "The exporter itself: its polls, the API's answers, the plausibility of the data, and the resources it uses."
    return dashboard("translation-exporter", description, EXPORTERS, rows, since="now-6h")
