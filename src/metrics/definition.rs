//! The definition of each metric: name, type, labels and meaning.
//!
//! A definition supplies HELP and TYPE, its row in `deploy/metrics.md`, and the lists of the tests
//! that compare the running program with docs and dashboards. `tests/generate.sh` writes the
//! tables.

use prometheus_client::metrics::MetricType;

/// The definition of a metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricDefinition {
    /// The full name, as Prometheus stores it.
    pub name: &'static str,
    pub kind: MetricType,
    pub labels: &'static [&'static str],
    /// A sentence without its full stop, quotes and backslashes.
    pub meaning: &'static str,
    /// True for the metrics that change only with a read of the API.
    pub is_read_from_api: bool,
    /// The only situation in which the metric is exposed; a healthy exporter omits it.
    pub only: Option<&'static str>,
    /// The reason why no dashboard and no alert reads the metric.
    pub unused: Option<&'static str>,
}

const fn metric(
    kind: MetricType,
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> MetricDefinition {
    MetricDefinition {
        name,
        kind,
        labels,
        meaning,
        is_read_from_api: false,
        only: None,
        unused: None,
    }
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> MetricDefinition {
    metric(MetricType::Gauge, name, labels, meaning)
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> MetricDefinition {
    metric(MetricType::Counter, name, labels, meaning)
}

const fn translation(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> MetricDefinition {
    MetricDefinition {
        is_read_from_api: true,
        ..gauge(name, labels, meaning)
    }
}

impl MetricDefinition {
    const fn only(self, situation: &'static str) -> Self {
        Self {
            only: Some(situation),
            ..self
        }
    }

    const fn unused(self, reason: &'static str) -> Self {
        Self {
            unused: Some(reason),
            ..self
        }
    }

    /// Returns HELP without its full stop.
    pub fn help(&self) -> String {
        let source = if self.is_read_from_api {
            "; read from the API every poll.interval, not at the scrape"
        } else {
            ""
        };
        format!("{}{source}", self.meaning)
    }
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $list:ident { $($name:ident = $metric:expr;)+ })+) => {
        $(
            $(pub const $name: MetricDefinition = $metric;)+
            $(#[$doc])*
            pub const $list: &[MetricDefinition] = &[$($name),+];
        )+
        #[cfg(test)]
        const NAMES: &[&str] = &[$($(stringify!($name)),+),+];
    };
}

metrics! {
    /// The metrics of repositories and languages, which are read from the API at each poll.
    TRANSLATIONS {
        COMPLETION_RATIO = translation(
            "translation_completion_ratio",
            &["repo", "language"],
            "Reported completion of a language divided by api.completion_scale, not clamped",
        );
        READY = translation(
            "translation_ready",
            &["repo", "language"],
            "1 if a language is at or above its target, 0 if it is below or its completion is \
             unknown; absent for a target of 0 and while the completion scale is suspect",
        );
        LAST_PROGRESS = translation(
            "translation_last_progress_timestamp_seconds",
            &["repo", "language"],
            "Time at which completion last rose, was first seen, or fell from complete, whichever \
             came last",
        );
        FALLEN_FROM_RATIO = translation(
            "translation_fallen_from_ratio",
            &["repo", "language"],
            "Completion ratio before a fall (before several, the highest); absent once it is \
             reached again, or 7 days after the last fall",
        )
        .only("after a fall");
        TRANSLATION_PROBLEM = translation(
            "translation_problem_timestamp_seconds",
            &["repo", "language", "kind"],
            "Time of a language's problem: its last progress (stalled), its fall (regressed) \
             or its date (overdue, at_risk); kept for a day after the last good read of a \
             repository that cannot be read",
        )
        .only("for a language with a problem");
        ESTIMATED_READY = translation(
            "translation_estimated_ready_timestamp_seconds",
            &["repo", "language"],
            "Time at which a language will be ready at its rate of the last 7 to 14 days",
        )
        .only("for a language that is not ready and is progressing");
        TARGET_RATIO = translation(
            "translation_target_ratio",
            &["repo", "language"],
            "Completion ratio at which a language is ready, from its entry of targets",
        )
        .only("with such an entry");
        TARGET_DUE = translation(
            "translation_target_due_timestamp_seconds",
            &["repo", "language"],
            "Time at which a language must be ready, from its entry of targets",
        )
        .only("with such an entry that has a date");
        LANGUAGE_INFO = translation(
            "translation_language_info",
            &["language", "name"],
            "Most frequent name of a language, empty if it has none; always 1",
        );
        REPOSITORY_INFO = translation(
            "translation_repository_info",
            &["repo", "id", "private", "url"],
            "Id of a repository, private (true, false or unknown) and, with links.repository, url; \
             always 1",
        );
        REPOSITORY_CREATED = translation(
            "translation_repository_created_timestamp_seconds",
            &["repo"],
            "Time at which a repository was created",
        );
        REPOSITORY_LANGUAGES = translation(
            "translation_repository_languages",
            &["repo"],
            "Target languages configured for a repository",
        );
        REPOSITORY_LAST_SUCCESS = translation(
            "translation_repository_last_success_timestamp_seconds",
            &["repo"],
            "Time at which the languages of a repository were last read in full",
        );
    }

    /// The exporter's own metrics.
    EXPORTER {
        UP = gauge(
            "translation_up",
            &[],
            "1 if the last poll could list all repositories, 0 if not",
        );
        BUILD_INFO = gauge(
            "translation_exporter_build_info",
            &["version", "revision", "rustc"],
            "Version, source revision and compiler of this exporter; always 1",
        );
        START_TIME = gauge(
            "translation_exporter_start_time_seconds",
            &[],
            "Time at which this exporter started",
        );
        POLLS = counter(
            "translation_exporter_polls_total",
            &[],
            "Polls of the API that have ended",
        );
        POLL_FAILURES = counter(
            "translation_exporter_poll_failures_total",
            &["reason"],
            "Polls that did not read everything, by reason: key_file, unauthorized, held (by \
             Retry-After), unavailable (the API fails as a whole), listing, repositories",
        );
        POLL_OVERRUNS = counter(
            "translation_exporter_poll_overruns_total",
            &[],
            "Polls that took longer than poll.interval",
        );
        POLL_STARTED = gauge(
            "translation_exporter_poll_started_timestamp_seconds",
            &[],
            "Time at which the poll under way began",
        )
        .only("while there is one")
        .unused("the diagnosis says when a poll hangs, as the problem polls_failing");
        LAST_POLL = gauge(
            "translation_exporter_last_poll_timestamp_seconds",
            &[],
            "Time at which the last poll ended",
        )
        .unused("the diagnosis says so, as the problem polls_failing");
        LAST_SUCCESS = gauge(
            "translation_exporter_last_success_timestamp_seconds",
            &[],
            "Time at which a poll last read everything",
        );
        LAST_POLL_DURATION = gauge(
            "translation_exporter_last_poll_duration_seconds",
            &[],
            "Duration of the last poll",
        );
        POLL_INTERVAL = gauge(
            "translation_exporter_poll_interval_seconds",
            &[],
            "poll.interval: time from the start of a poll to the start of the next",
        );
        LISTING_COMPLETE = gauge(
            "translation_exporter_listing_complete",
            &[],
            "1 if the last listing of the repositories reached its end, 0 if not",
        );
        REPOSITORIES = gauge(
            "translation_exporter_repositories",
            &["state"],
            "Repositories of the listing, each in one state: filtered, pending (not read yet by \
             this process), fresh, failing (last read failed, data still served) or stale (data \
             gone)",
        );
        LANGUAGES = gauge(
            "translation_exporter_languages",
            &[],
            "Languages over all repositories",
        )
        .unused("translation_ready counts those that matter");
        PROBLEM = gauge(
            "translation_exporter_problem",
            &["kind", "severity"],
            "1 while the exporter finds a problem of this kind, 0 otherwise; judged at \
             least every 15 s",
        );
        API_REQUESTS = counter(
            "translation_exporter_api_requests_total",
            &["operation", "code"],
            "Requests to the API, retries included, by status or error",
        );
        API_REQUEST_FAILURES = counter(
            "translation_exporter_api_request_failures_total",
            &["operation", "reason"],
            "Requests to the API that failed, by reason: timeout, connect, tls, redirect, \
             unauthorized, forbidden, not_found, rate_limited, client_error, server_error, \
             too_large, truncated, decode, cursor",
        );
        API_REQUEST_DURATION = metric(
            MetricType::Histogram,
            "translation_exporter_api_request_duration_seconds",
            &["operation"],
            "Duration of API requests, bodies included",
        );
        API_RETRIES = counter(
            "translation_exporter_api_retries_total",
            &["operation"],
            "Requests to the API that were retries after a failure",
        );
        API_HELD_UNTIL = gauge(
            "translation_exporter_api_held_until_timestamp_seconds",
            &[],
            "Time at which a hold demanded by Retry-After ends",
        )
        .only("during a hold")
        .unused("the diagnosis says so, as the problem polls_failing");
        INVALID_ENTRIES = counter(
            "translation_exporter_invalid_entries_total",
            &["operation", "reason"],
            "Entries or fields in API responses that could not be used, by reason: not_an_object, \
             id, duplicate_id, name, code, completion, created_at, private, duplicate_name, \
             duplicate_code",
        );
        COMPLETION_SCALE = gauge(
            "translation_exporter_completion_scale",
            &[],
            "api.completion_scale: the reported completion that means finished",
        )
        .unused("the configuration says so");
        COMPLETION_OUT_OF_SCALE = gauge(
            "translation_exporter_completion_out_of_scale",
            &[],
            "Languages whose reported completion is below 0 or above api.completion_scale",
        );
        COMPLETION_SCALE_SUSPECT = gauge(
            "translation_exporter_completion_scale_suspect",
            &[],
            "1 while the largest reported completion is above 0 and at most 1, although \
             api.completion_scale is larger: the API may report 0 to 1",
        );
        STATE_WRITES = counter(
            "translation_exporter_state_writes_total",
            &[],
            "Attempts to write the state file",
        );
        STATE_WRITE_FAILURES = counter(
            "translation_exporter_state_write_failures_total",
            &[],
            "Attempts to write the state file that failed",
        );
        STATE_DISCARDED = gauge(
            "translation_exporter_state_discarded",
            &[],
            "1 if the state file was set aside at startup because it was damaged or belonged to \
             another API; 0 if not",
        )
        .unused("the diagnosis says so, as the problem state_discarded");
        LOG_LINES_DROPPED = counter(
            "translation_exporter_log_lines_dropped_total",
            &[],
            "Log lines that were dropped because stderr was not read",
        );
        TLS_HANDSHAKE_FAILURES = counter(
            "translation_exporter_tls_handshake_failures_total",
            &["reason"],
            "TLS handshakes with clients that failed, by reason: timeout, not_tls, protocol, \
             no_certificate, bad_certificate, closed",
        );
        TLS_CERTIFICATE_EXPIRY = gauge(
            "translation_exporter_tls_certificate_expiry_timestamp_seconds",
            &[],
            "Time at which the served TLS certificate expires",
        )
        .only("with TLS")
        .unused("the diagnosis says so, as the problem certificate");
        CONFIG_LAST_RELOAD_SUCCESSFUL = gauge(
            "translation_exporter_config_last_reload_successful",
            &[],
            "1 if the last configuration that was read is active, 0 if it was refused",
        );
        CONFIG_LAST_RELOAD_SUCCESS = gauge(
            "translation_exporter_config_last_reload_success_timestamp_seconds",
            &[],
            "Time at which the active configuration was loaded",
        );
        HTTP_REQUESTS = counter(
            "translation_exporter_http_requests_total",
            &["path", "code"],
            "Requests that this exporter answered, by path and status",
        );
    }

    /// The metrics of the process, under the names that the official client libraries use.
    PROCESS {
        PROCESS_CPU = counter(
            "process_cpu_seconds_total",
            &[],
            "Total user and system CPU time spent in seconds",
        );
        PROCESS_VIRTUAL_MEMORY = gauge(
            "process_virtual_memory_bytes",
            &[],
            "Virtual memory size in bytes",
        )
        .unused("says nothing about the memory that is used");
        PROCESS_RESIDENT_MEMORY = gauge(
            "process_resident_memory_bytes",
            &[],
            "Resident memory size in bytes",
        );
        PROCESS_THREADS = gauge("process_threads", &[], "Number of operating system threads")
            .unused("does not change");
        PROCESS_START_TIME = gauge(
            "process_start_time_seconds",
            &[],
            "Start time of the process since unix epoch in seconds",
        )
        .unused("translation_exporter_start_time_seconds says so, and other processes lack it");
        PROCESS_OPEN_FDS = gauge("process_open_fds", &[], "Number of open file descriptors")
        .unused("connections are bounded");
        PROCESS_MAX_FDS = gauge("process_max_fds", &[], "Maximum number of open file descriptors")
        .unused("connections are bounded");
        PROCESS_VIRTUAL_MEMORY_MAX = gauge(
            "process_virtual_memory_max_bytes",
            &[],
            "Maximum amount of virtual memory available in bytes",
        )
        .unused("a limit that is hardly ever set");
    }
}

#[cfg(test)]
mod tests;
