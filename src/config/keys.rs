//! The keys of the configuration: one definition each.
//!
//! Variables, options, help, suggestions, parsers and hints come from the definitions, and so do
//! the JSON Schemas of the file and of the chart's values, and the table of keys in
//! docs/configuration.md, which `tests/generate.sh` writes.

use super::values::{
    LANGUAGES, RATIO, REPOSITORIES,
    Takes::{self, Choice, File, List, Number, Secret, Size, Switch, Text, Time, Whole},
    items,
};
use serde_json::json;

/// The prefix of every variable.
pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The section and the name, joined by a dot.
    pub path: &'static str,
    /// The type of the values, with its bounds.
    pub takes: Takes,
    /// The default as a user would write it; empty if there is none.
    pub default: &'static str,
    /// The meaning, in the Markdown of docs/configuration.md, which adds the bounds.
    pub meaning: &'static str,
    /// The option that sets the key, with its dashes; empty if there is none.
    pub flag: &'static str,
    /// The help of the option: one line, to which the help adds the default if there is one.
    pub help: &'static str,
}

/// All keys, in the order of the documentation.
pub const KEYS: &[Key] = &[
    key(
        "api.base_url",
        Text("the root of the API, such as https://api.example.com"),
        "",
        "root of the API; https, or http if the host is loopback or `api.allow_http` is true; a \
         path prefix is kept; no user, query or fragment",
    )
    .flag("--api.base-url", "Root of the API, https://…"),
    key(
        "api.allow_http",
        Switch,
        "false",
        "allows the key to be sent unencrypted",
    ),
    key(
        "api.key",
        Secret,
        "",
        "the API key itself; exactly one of this and `api.key_file` is required",
    ),
    key(
        "api.key_file",
        File,
        "",
        "file that holds the API key; read again at each poll, so that a rotated key needs no \
         restart",
    )
    .flag("--api.key-file", "File that holds the API key"),
    key(
        "api.page_size",
        Whole(1..=1000),
        "1000",
        "number of repositories requested per page of the listing",
    ),
    key(
        "api.concurrency",
        Whole(1..=1024),
        "8",
        "maximum number of requests in flight",
    ),
    key(
        "api.requests_per_second",
        Number(0.0..=1_000_000.0, "0 for no limit, or a rate up to 1000000"),
        "10",
        "requests per second, retries included; the exporter sends fewer while the API refuses \
         requests",
    ),
    key(
        "api.connect_timeout",
        Time("1ms", "100 years"),
        "10s",
        "time limit of each connection attempt",
    ),
    key(
        "api.timeout",
        Time("1ms", "100 years"),
        "30s",
        "time limit of each request, including the complete response body",
    ),
    key(
        "api.max_attempts",
        Whole(1..=10),
        "4",
        "maximum number of attempts per request, including the first",
    ),
    key(
        "api.max_retry_after",
        Time("1s", "24h"),
        "1h",
        "longest Retry-After that is obeyed; a longer one is shortened to this",
    ),
    key(
        "api.max_response_size",
        Size(1024),
        "16MiB",
        "maximum size of a page of the listing after decompression; a larger one is rejected without \
         being kept in memory. The languages of a repository have at most 1 MiB",
    ),
    key(
        "api.max_repositories",
        Whole(1..=10_000_000),
        "200000",
        "maximum number of repositories in a listing; a listing with more of them fails (reason \
         `too_large`), so that a listing that never ends is bounded",
    ),
    key(
        "api.ca_file",
        File,
        "",
        "PEM file of certificate authorities trusted in addition to the system's, or of the \
         self-signed certificate of the API's server; read again at each poll",
    ),
    key(
        "api.omits_zeros",
        Switch,
        "false",
        "`true` if the API leaves out fields whose value is 0 or false, as protobuf's JSON does: \
         an absent completion is then 0, and an absent `private` false; an explicit null is \
         always unknown",
    ),
    key(
        "api.completion_scale",
        Number(
            1.0..=f64::MAX,
            "the completion that means finished, a number of at least 1",
        ),
        "100",
        "scale of the completions: the API does not say whether it reports 0 to 100 or 0 to 1",
    ),
    key(
        "poll.interval",
        Time("1s", "25 years"),
        "5m",
        "time from the start of one poll to the start of the next",
    )
    .flag("--poll.interval", "Time from poll to poll; 5s in a demo"),
    key(
        "poll.stale_after",
        Time("2s", "100 years"),
        "",
        "time for which the last good data of a repository are served while its reads fail; at \
         least twice `poll.interval`",
    ),
    key(
        "filter.include",
        REPOSITORIES,
        "",
        "globs on owner/repo, each with a slash or `**`; `*` stays within a segment; empty \
         means all",
    ),
    key(
        "filter.exclude",
        REPOSITORIES,
        "",
        "globs on owner/repo; wins over `filter.include`",
    ),
    key(
        "filter.exclude_languages",
        LANGUAGES,
        "",
        "globs on language codes, for example of a pseudo-locale or the source language; an \
         excluded language appears nowhere, and its progress clock is kept for 30 days",
    ),
    key(
        "filter.private",
        Switch,
        "true",
        "`false` leaves out private repositories, and repositories of unknown visibility",
    ),
    key(
        "thresholds.stalled_after",
        Time("1h", "100 years"),
        "7d",
        "time without progress after which a translation that is not ready has stalled",
    ),
    key(
        "thresholds.regressed_by",
        Number(
            f64::MIN_POSITIVE..=1.0,
            "a ratio above 0, at most 1, such as 0.2",
        ),
        "0.2",
        "a translation has regressed if its ratio is at least this much below the ratio before a \
         fall of the last 7 days",
    ),
    key(
        "thresholds.at_risk_within",
        Time("1h", "100 years"),
        "14d",
        "time before its date from which a translation is at risk if it will not be ready by then \
         at its recent rate",
    ),
    key(
        "links.repository",
        Text(
            "an https or http URL, such as https://translate.example.com/{owner}/{name}; the \
             placeholders are {id}, {repo}, {owner} and {name}",
        ),
        "",
        "URL template of the page where a repository is translated: see [below](#links)",
    ),
    key(
        "links.language",
        Text(
            "an https or http URL, such as https://translate.example.com/{owner}/{name}/{language}\
             ; the placeholders are {id}, {repo}, {owner}, {name} and {language}",
        ),
        "",
        "URL template of the page where a language of a repository is translated",
    ),
    key(
        "state.file",
        File,
        "",
        "file that keeps the progress clocks and the last good data across restarts; without it, \
         each restart loses them",
    )
    .flag(
        "--state.file",
        "Preserves progress across restarts [default: none]",
    ),
    key(
        "web.listen_addresses",
        List("host:port, such as :10018 or 127.0.0.1:10018,[::1]:10018"),
        ":10018",
        "addresses to listen on; without a host, all IPv6 and IPv4 addresses, or all IPv4 \
         addresses of a machine without IPv6",
    )
    .flag("--web.listen-address", "host:port; repeatable"),
    key(
        "web.telemetry_path",
        Text("a path such as /metrics, of letters, digits and -._~/"),
        "/metrics",
        "path of the metrics",
    )
    .flag("--web.telemetry-path", "Path of the metrics"),
    key(
        "web.config_file",
        File,
        "",
        "file with TLS, authentication, headers and rate limit, in the [exporter-toolkit's format]\
         (https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)",
    )
    .flag(
        "--web.config.file",
        "TLS and authentication [default: none]",
    ),
    key(
        "log.level",
        Choice(&["error", "warn", "info", "debug", "trace"]),
        "info",
        "lowest level of the lines on stderr; `debug` adds a line for each request",
    )
    .flag("--log.level", "error, warn, info, debug, trace"),
    key(
        "log.format",
        Choice(&["logfmt", "json"]),
        "logfmt",
        "format of each line",
    )
    .flag("--log.format", "logfmt or json"),
];

/// The only part of the file that is a list. No variable or option sets it.
pub static TARGETS: Key = key(
    "targets",
    Takes::Entries,
    "[]",
    "when a translation is ready; the first entry that matches a language counts",
);

/// The keys of an entry of [`TARGETS`]. No variable or option sets them.
pub const TARGET_KEYS: &[Key] = &[
    key(
        "targets.repositories",
        REPOSITORIES,
        "",
        "globs on owner/repo; all repositories if left out",
    ),
    key(
        "targets.languages",
        LANGUAGES,
        "",
        "globs on language codes; all languages if left out",
    ),
    key(
        "targets.ratio",
        RATIO,
        "1",
        "ratio at which a translation is ready; 0 is always met",
    ),
    key(
        "targets.due",
        Text("a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z"),
        "",
        "a date, until 23:59:59 UTC, or an RFC 3339 time",
    ),
    key(
        "targets.stalled_after",
        Time("1h", "100 years"),
        "",
        "the time without progress after which a translation has stalled; \
         `thresholds.stalled_after` if left out",
    ),
];

const fn key(
    path: &'static str,
    takes: Takes,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        path,
        takes,
        default,
        meaning,
        flag: "",
        help: "",
    }
}

impl Key {
    const fn flag(self, flag: &'static str, help: &'static str) -> Self {
        Self { flag, help, ..self }
    }

    /// Returns the key at a path, also one of an entry of [`TARGETS`].
    pub fn find(path: &str) -> Option<&'static Self> {
        let mut keys = KEYS.iter().chain(TARGET_KEYS);
        keys.find(|key| key.path == path)
    }

    /// Splits the path into the section and the name within it.
    pub fn split(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').unwrap_or((self.path, ""))
    }

    /// Returns a value as it is written in the file.
    pub fn yaml(&self, text: &str) -> String {
        match self.takes {
            _ if self.takes.is_bare() && !text.is_empty() => text.to_owned(),
            List(_) => json!(items(text)).to_string(),
            _ if text.is_empty() => "null".to_owned(),
            _ => json!(text).to_string(),
        }
    }

    /// Returns the name of the environment variable that sets the key.
    pub fn variable(&self) -> String {
        format!(
            "{PREFIX}{}",
            self.path.replace('.', "__").to_ascii_uppercase()
        )
    }
}

/// Returns the sections in the order of the table, and [`TARGETS`].
pub fn sections() -> Vec<&'static str> {
    let keys = KEYS.iter().chain([&TARGETS]);
    let mut sections: Vec<_> = keys.map(|key| key.split().0).collect();
    sections.dedup();
    sections
}

/// Returns the names of the keys of a section.
pub fn keys_of(section: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().chain(TARGET_KEYS).map(Key::split);
    keys.filter(|key| key.0 == section)
        .map(|key| key.1)
        .collect()
}

#[cfg(test)]
mod tests;
