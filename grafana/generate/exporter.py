"""The dashboard of the exporter itself, instance by instance."""

from blocks import BAD, GOOD, Json, Panel, Query, Row, column, dashboard, fields, lines, override, stat, table, words
from figures import age, api_reachable, counts, scale_plausible, six, unwanted, verdict
from queries import EXPORTER, rate
from variables import EXPORTERS

DASHED = {"fill": "dash", "dash": [10, 10]}
YES_NO = words({"0": ("no", BAD), "1": ("yes", GOOD)})


def own(metric: str) -> str:
    """A metric of the exporter's own, of each chosen instance."""
    return f"translation_exporter_{metric}{{{EXPORTER}}}"


def of_instance(expr: str, more: str = "") -> str:
    """A value for each instance, without the metric's name, which would prevent joining rows."""
    return f"max by (job, instance{more}) ({expr})"


def since(metric: str) -> tuple[str, str]:
    """The longest time since that, in seconds and in poll intervals."""
    return f"max(time() - {own(metric)})", f"max((time() - {own(metric)}) / {own('poll_interval_seconds')})"


def per_hour(title: str, description: str, legends: dict[str, str]) -> Panel:
    """Counters of each instance: {counter: legend}."""
    queries = [
        Query(f"3600 * {rate(f'translation_exporter_{name}_total', 'job, instance')}", f"{{{{instance}}}} ({{{{job}}}}) {legend}")
        for name, legend in legends.items()
    ]
    return lines(title, description, queries, fields(unit="short", min=0))


def working() -> list[tuple[int, list[tuple[Panel, int]]]]:
    figures = six(
        counts(
            "Instances up",
            "How many of the chosen instances Prometheus could scrape, and how many there are.",
            Query(f"sum(up{{{EXPORTER}}})", "up"),
            Query(f"count(up{{{EXPORTER}}})", "in total"),
        ),
        api_reachable("Whether the last poll of every chosen instance could list the repositories."),
        verdict(
            "Listing",
            "Whether the last listing of repositories reached its end. If it did not, nothing is removed.",
            f"min({own('listing_complete')})",
            no=("incomplete", BAD),
            yes=("complete", GOOD),
        ),
        age(
            "Last poll",
            "How long ago the last poll ended, for the instance where it is longest.",
            *since("last_poll_timestamp_seconds"),
        ),
        age(
            "Last full poll",
            "How long ago a poll last read everything, for the instance where it is longest.",
            *since("last_success_timestamp_seconds"),
            noValue="never",
        ),
        stat(
            "Interval used",
            "Share of poll.interval that the last poll took. Above 100 %, polls overrun: raise the interval or the rate.",
            [Query(f"max({own('last_poll_duration_seconds')} / {own('poll_interval_seconds')})")],
            fields(unit="percentunit", decimals=0, steps=[(None, GOOD), (0.8, "yellow"), (1, BAD)]),
        ),
    )
    instances = table(
        "Instances",
        "The version, uptime and settings of each instance, and whether its last configuration was accepted.",
        [
            Query(of_instance(own("build_info"), ", version, revision, rustc")),
            Query(f"time() - {of_instance(f'process_start_time_seconds{{{EXPORTER}}}')}"),
            Query(of_instance(own("poll_interval_seconds"))),
            Query(of_instance(own("completion_scale"))),
            Query(of_instance(own("languages"))),
            Query(of_instance(own("config_last_reload_successful"))),
            Query(f"{of_instance(own('config_last_reload_success_timestamp_seconds'))} * 1000"),
        ],
        [
            column("job", "Job"),
            column("instance", "Instance"),
            column("version", "Version"),
            column("revision", "Revision"),
            column("rustc", "Rust"),
            column("Value #B", "Up for", unit="s", decimals=1),
            column("Value #C", "Poll interval", unit="s"),
            column("Value #D", "Completion scale", unit="none"),
            column("Value #E", "Languages"),
            column("Value #F", "Configuration accepted", mappings=YES_NO, custom__cellOptions={"type": "color-text"}),
            column("Value #G", "Configuration of", unit="dateTimeAsIso", custom__minWidth=170),
        ],
        sort="Instance",
    )
    return [(4, figures), (5, [(instances, 24)])]


def polls() -> list[tuple[int, list[tuple[Panel, int]]]]:
    ended = per_hour(
        "Polls per hour",
        "How many polls ended, how many of them did not read everything, and how many took longer than the interval.",
        {"polls": "polls", "poll_failures": "failed", "poll_overruns": "overran"},
    )
    duration = lines(
        "Poll duration",
        "How long the last poll took, and the poll interval.",
        [
            Query(own("last_poll_duration_seconds"), "{{instance}} ({{job}}) duration"),
            Query(own("poll_interval_seconds"), "{{instance}} ({{job}}) interval"),
        ],
        fields(unit="s", min=0),
        overrides=[
            {
                "matcher": {"id": "byFrameRefID", "options": "B"},
                "properties": [{"id": "custom.lineStyle", "value": DASHED}],
            }
        ],
    )
    colors = {"fresh": GOOD, "failing": BAD, "stale": "dark-red", "pending": "super-light-blue", "filtered": "text"}
    states = lines(
        "Repositories by state",
        "Fresh: the last read succeeded. Failing: it failed, the last good data are served. Stale: the data are gone. Pending: not read yet. Filtered: left out by the configuration. With several instances, the largest number counts.",
        [Query(f"max by (state) ({own('repositories')})", "{{state}}")],
        fields(unit="short", min=0, decimals=0),
        overrides=[override(name, color={"mode": "fixed", "fixedColor": color}) for name, color in colors.items()],
        stacked=True,
        stepped=True,
    )
    return [(8, [(ended, 8), (duration, 8), (states, 8)])]


def api() -> list[tuple[int, list[tuple[Panel, int]]]]:
    requests = lines(
        "Requests by status",
        "Requests to the API, including retries. The code is the HTTP status, or error if there was no answer.",
        [Query(rate("translation_exporter_api_requests_total", "operation, code"), "{{operation}} {{code}}")],
        fields(unit="reqps", min=0),
    )
    buckets = rate("translation_exporter_api_request_duration_seconds_bucket", "operation, le")
    latency = lines(
        "Request duration",
        "Duration of a request to the API, including its body: half of the requests, 90 % and 99 % of them took no longer.",
        [
            Query(f"histogram_quantile({quantile}, {buckets})", f"{{{{operation}}}} {legend}")
            for quantile, legend in (("0.5", "50 %"), ("0.9", "90 %"), ("0.99", "99 %"))
        ],
        fields(unit="s", min=0),
    )
    mean = lines(
        "Request duration, mean",
        "Mean duration of a request to the API.",
        [
            Query(
                rate("translation_exporter_api_request_duration_seconds_sum", "operation")
                + " / "
                + rate("translation_exporter_api_request_duration_seconds_count", "operation"),
                "{{operation}}",
            )
        ],
        fields(unit="s", min=0),
    )
    failures = lines(
        "Failed requests by reason",
        "Requests that failed, including retries, by reason. Unauthorized and forbidden: check the key. Rate limited: lower api.requests_per_second. Decode, cursor and too large: the API's answers have another shape.",
        [
            Query(
                rate("translation_exporter_api_request_failures_total", "operation, reason"), "{{operation}} {{reason}}"
            )
        ],
        fields(unit="reqps", min=0),
        legend=("max", "lastNotNull"),
    )
    retries = lines(
        "Retries and rate limiting",
        "Requests that were retried, and requests that the API refused because there were too many.",
        [
            Query(rate("translation_exporter_api_retries_total", "operation"), "{{operation}} retries"),
            Query(
                rate("translation_exporter_api_request_failures_total", "operation", ', reason="rate_limited"'),
                "{{operation}} rate limited",
            ),
        ],
        fields(unit="reqps", min=0),
    )
    return [(8, [(requests, 8), (latency, 8), (mean, 8)]), (9, [(failures, 14), (retries, 10)])]


def data() -> list[tuple[int, list[tuple[Panel, int]]]]:
    invalid = lines(
        "Invalid entries by reason",
        "Entries sent by the API that could not be used, or only in part. Each affects only itself, and counts at every poll.",
        [
            Query(
                "3600 * " + rate("translation_exporter_invalid_entries_total", "operation, reason"),
                "{{operation}} {{reason}}",
            )
        ],
        fields(unit="short", min=0),
        legend=("max", "lastNotNull"),
    )
    suspect = scale_plausible(
        "Suspect: something is above 0 and nothing is above 1 although api.completion_scale is above 1, so the API seems to report 0 to 1."
    )
    out = unwanted(
        "Out of scale",
        "Languages whose completion is below 0 or above the scale, for the instance with the most.",
        f"max({own('completion_out_of_scale')})",
    )
    languages = lines(
        "Languages",
        "How many languages each instance serves.",
        [Query(own("languages"), "{{instance}} ({{job}})")],
        fields(unit="short", min=0, decimals=0),
        stepped=True,
    )
    return [(8, [(invalid, 10), (languages, 6), (suspect, 4), (out, 4)])]


def process() -> list[tuple[int, list[tuple[Panel, int]]]]:
    state = per_hour(
        "State writes per hour",
        "How often the state file was written, and how often that failed. 0 if no state.file is configured.",
        {"state_writes": "written", "state_write_failures": "failed"},
    )
    served = lines(
        "Requests served",
        "Requests to the exporter, by path and status.",
        [Query(rate("translation_exporter_http_requests_total", "path, code"), "{{path}} {{code}}")],
        fields(unit="reqps", min=0),
    )
    handshakes = lines(
        "Failed TLS handshakes per hour",
        "TLS handshakes with clients of the exporter that failed, by reason. 0 if it does not serve TLS.",
        [Query(f"3600 * {rate('translation_exporter_tls_handshake_failures_total', 'reason')}", "{{reason}}")],
        fields(unit="short", min=0),
    )
    memory = lines(
        "Memory",
        "Resident memory of each instance.",
        [Query(f"process_resident_memory_bytes{{{EXPORTER}}}", "{{instance}} ({{job}})")],
        fields(unit="bytes", min=0),
    )
    cpu = lines(
        "CPU",
        "CPU seconds used per second: 100 % is one core.",
        [Query(rate("process_cpu_seconds_total", "job, instance"), "{{instance}} ({{job}})")],
        fields(unit="percentunit", min=0),
    )
    descriptors = lines(
        "Open files",
        "Open file descriptors, as a share of the maximum.",
        [Query(f"process_open_fds{{{EXPORTER}}} / process_max_fds{{{EXPORTER}}}", "{{instance}} ({{job}})")],
        fields(unit="percentunit", min=0),
    )
    return [(8, [(state, 8), (served, 8), (handshakes, 8)]), (8, [(cpu, 8), (memory, 8), (descriptors, 8)])]


def build() -> Json:
    rows = [
        Row("Does it work?", working()),
        Row("Does it poll in time?", polls()),
        Row("How does the API answer?", api()),
        Row("Are the data plausible?", data()),
        Row("What does it cost, and what does it serve?", process()),
    ]
    return dashboard(
        "translation-exporter",
        "Translation exporter",
        "The exporter itself: its polls, the API's answers, the plausibility of the data, and the resources it uses.",
        EXPORTERS,
        [],
        rows,
        since="now-6h",
    )
