//! The keys: one table that provides the defaults, the names of variables and options, the help and
//! the suggestions.
//!
//! The JSON Schema of the file (deploy/config.schema.json) and the table of keys in
//! deploy/configuration.md are generated from it: a test compares both, and
//! `UPDATE=1 cargo test --lib of_the_keys` writes them.

/// The prefix of every variable.
pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

/// The only part of the file that is a list.
pub const TARGETS: &str = "targets";

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// section.key
    pub path: &'static str,
    pub takes: Takes,
    /// As a user would write it; empty if there is none.
    pub default: &'static str,
    /// The values that are valid, as the hint about one that is not.
    pub expected: &'static str,
    /// The meaning and bounds, in the Markdown of deploy/configuration.md.
    pub description: &'static str,
    /// The option that sets it, if there is one.
    pub flag: Option<Flag>,
}

/// The type of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Text. A bare number or boolean in the file is refused: YAML reads `010` as 10, and other
    /// programs read `no` as false.
    Text,
    /// Text that is never shown.
    Secret,
    /// The path of a file; in the configuration file, a relative one is relative to the folder of
    /// that file.
    File,
    /// A number, or text that begins with one: a duration, a size.
    Number,
    /// `true` or `false`; its option without a value means `true`.
    Switch,
    /// A list of texts, or one text that is split at commas. Its option may be repeated.
    List,
}

/// An option of the command line that sets a key.
#[derive(Debug)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    /// The placeholder for the value in the help.
    pub value_name: &'static str,
    /// One line, without the default, which the help adds if there is one.
    pub help: &'static str,
}

use Takes::{File, List, Number, Secret, Switch, Text};

const FILE: &str = "the path of a file in quotes";
const SWITCH: &str = "true or false";
const TIME: &str = "a time from 1ms to 100 years with its unit, such as 30s, 5m or 1h 30m";
const GLOBS: &str = "a list of globs on owner/repo in quotes, such as [\"acme/*\"]";

/// Every key, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key(
        "api.base_url",
        Text,
        "",
        "the root of the API, such as https://api.example.com",
        "root of the API; https, or http if the host is loopback or `api.allow_http` is true; a \
         path prefix is kept; no user, query or fragment",
    )
    .flag("--api.base-url", "URL", "Root of the API, https://…"),
    key(
        "api.allow_http",
        Switch,
        "false",
        SWITCH,
        "allow sending the key in the clear",
    ),
    key(
        "api.key",
        Secret,
        "",
        "the API key as one text in quotes",
        "the API key itself; exactly one of this and `api.key_file` is required",
    ),
    key(
        "api.key_file",
        File,
        "",
        FILE,
        "a file that holds the API key; read again at each poll and after a 401, so that \
         rotation needs no restart",
    )
    .flag("--api.key-file", "FILE", "File that holds the API key"),
    key(
        "api.page_size",
        Number,
        "1000",
        "a whole number from 1 to 1000",
        "repositories requested per page of the listing, 1 to 1000",
    ),
    key(
        "api.concurrency",
        Number,
        "8",
        "a whole number from 1 to 1024",
        "requests in flight at once, 1 to 1024",
    ),
    key(
        "api.requests_per_second",
        Number,
        "10",
        "0 for no limit, or 0.001 to 1000000",
        "steady rate over all requests, retries counted, 0.001 to 1000000; 0 is unlimited; the \
         exporter slows down by itself when the API asks it to",
    ),
    key("api.connect_timeout", Number, "10s", TIME, "per connection"),
    key(
        "api.timeout",
        Number,
        "30s",
        TIME,
        "per request, including its complete body",
    ),
    key(
        "api.max_attempts",
        Number,
        "4",
        "a whole number from 1 to 10",
        "attempts per request, including the first, 1 to 10",
    ),
    key(
        "api.max_retry_after",
        Number,
        "1h",
        "a time from 1s to 24h with its unit, such as 10m",
        "longest Retry-After that is obeyed, up to 24h; a longer one counts as this",
    ),
    key(
        "api.max_response_size",
        Number,
        "16MiB",
        "a size of at least 1B, such as 512KiB or 16MiB",
        "a larger body, by its decompressed size, is rejected without being kept in memory",
    ),
    key(
        "api.max_repositories",
        Number,
        "200000",
        "a whole number from 1 to 10000000",
        "a listing that shows more, or names of more than 84 bytes on average for so many, is \
         not read any further and counts as failed (reason `too_large`), so that a listing that \
         never ends is bounded; 1 to 10000000",
    ),
    key(
        "api.ca_file",
        File,
        "",
        FILE,
        "PEM roots trusted in addition to the system's; a certificate that is itself in the file \
         is trusted as it is; read again at each poll",
    ),
    key(
        "api.omits_zeros",
        Switch,
        "false",
        SWITCH,
        "set it to `true` if the API leaves out fields whose value is 0 or false, as protobuf's \
         JSON does: then an absent completion is 0 and an absent `private` is false; an explicit \
         null is unknown in any case",
    ),
    key(
        "api.completion_scale",
        Number,
        "100",
        "the completion that means finished, a number of at least 1",
        "the completion value that means finished, finite and at least 1; the API does not say \
         whether it reports 0 to 100 or 0 to 1",
    ),
    key(
        "poll.interval",
        Number,
        "5m",
        "a time from 1s to 25 years with its unit, such as 30s, 5m or 1h 30m",
        "from the start of one poll to that of the next, at least 1s",
    )
    .flag("--poll.interval", "TIME", "Time from poll to poll"),
    key(
        "poll.stale_after",
        Number,
        "",
        "a time with its unit, such as 30m or 1h 30m, from twice poll.interval to 100 years",
        "how long a repository's last good data are served while its reads fail; at least 2 × \
         `poll.interval`; stretched to twice the length of a poll if polls take longer",
    ),
    key(
        "filter.include",
        List,
        "",
        GLOBS,
        "globs on owner/repo, each with a slash or `**`; `*` stays within a segment; empty means \
         all",
    ),
    key(
        "filter.exclude",
        List,
        "",
        GLOBS,
        "globs on owner/repo; wins over `filter.include`",
    ),
    key(
        "filter.exclude_languages",
        List,
        "",
        "a list of globs on language codes in quotes, such as [\"en\", \"x-*\"]",
        "globs on language codes, such as a pseudo-locale or the source language: such a \
         language appears nowhere; its progress clock is kept like that of a deleted language",
    ),
    key(
        "filter.private",
        Switch,
        "true",
        SWITCH,
        "`false` leaves private repositories out; one of unknown visibility counts as private",
    ),
    key(
        "links.repository",
        Text,
        "",
        "an https or http URL, such as https://translate.example.com/{owner}/{name}; the \
         placeholders are {id}, {repo}, {owner} and {name}",
        "where a repository is translated: a URL template, see [below](#links)",
    ),
    key(
        "links.language",
        Text,
        "",
        "an https or http URL, such as https://translate.example.com/{owner}/{name}/{language}; \
         the placeholders are {id}, {repo}, {owner}, {name} and {language}",
        "where a language of a repository is translated: likewise",
    ),
    key(
        "state.file",
        File,
        "",
        FILE,
        "keeps the progress clock and the last good data across restarts; without it they begin \
         again at each start",
    )
    .flag(
        "--state.file",
        "FILE",
        "Keeps progress across restarts [default: none]",
    ),
    key(
        "web.listen_addresses",
        List,
        ":10018",
        "a list of host:port in quotes, such as [\":10018\"], [\"127.0.0.1:10018\"] or \
         [\"[::1]:10018\"]",
        "host:port; without a host all addresses, IPv6 and IPv4, or IPv4 if there is no IPv6",
    )
    .flag("--web.listen-address", "ADDR", "Repeatable"),
    key(
        "web.telemetry_path",
        Text,
        "/metrics",
        "a path such as /metrics: one slash, then letters, digits and -._~/, no part . or .., \
         and not a path of the exporter itself",
        "path of the metrics",
    )
    .flag("--web.telemetry-path", "PATH", "Path of the metrics"),
    key(
        "web.config_file",
        File,
        "",
        FILE,
        "TLS, authentication, headers, rate limit, in the [exporter-toolkit's format]\
         (https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)",
    )
    .flag(
        "--web.config.file",
        "FILE",
        "TLS and authentication [default: none]",
    ),
    key(
        "web.enable_lifecycle",
        Switch,
        "false",
        SWITCH,
        "allow PUT and POST `/-/reload`",
    )
    .flag("--web.enable-lifecycle", "ON", "Allow /-/reload"),
    key(
        "web.max_requests",
        Number,
        "40",
        "a whole number from 1 to 1000000",
        "bodies of scrapes made at once, 1 to 1000000; more wait for up to a second, then get \
         503; how long one takes to be sent does not count",
    ),
    key(
        "log.level",
        Text,
        "info",
        "error, warn, info, debug or trace",
        "error, warn, info, debug or trace; logs go to stderr; debug has a line for each request",
    )
    .flag("--log.level", "LEVEL", "error, warn, info, debug, trace"),
    key(
        "log.format",
        Text,
        "logfmt",
        "logfmt or json",
        "logfmt or json",
    )
    .flag("--log.format", "FORMAT", "logfmt or json"),
];

/// The keys of an entry of [`TARGETS`]: in the file only, so that none has a variable or an option.
pub const TARGET_KEYS: &[Key] = &[
    key(
        "targets.repositories",
        List,
        "",
        "a list of globs on owner/repo in quotes, such as [\"acme/*\"]; leave it out to match all",
        "globs on owner/repo; all if left out",
    ),
    key(
        "targets.languages",
        List,
        "",
        "a list of globs on language codes in quotes, such as [\"de\", \"pt-*\"]; leave it out \
         to match all",
        "globs on codes; all if left out",
    ),
    key(
        "targets.ratio",
        Number,
        "1",
        "a ratio from 0 to 1, such as 0.95",
        "the ratio that is enough, 0 to 1; 1 if left out; 0 is always met",
    ),
    key(
        "targets.due",
        Text,
        "",
        "a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z",
        "a date, until 23:59:59 UTC, or an RFC 3339 time",
    ),
];

const fn key(
    path: &'static str,
    takes: Takes,
    default: &'static str,
    expected: &'static str,
    description: &'static str,
) -> Key {
    Key {
        path,
        takes,
        default,
        expected,
        description,
        flag: None,
    }
}

impl Key {
    const fn flag(self, name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        Self {
            flag: Some(Flag {
                name,
                value_name,
                help,
            }),
            ..self
        }
    }

    /// Returns the key at a path, also one of an entry of [`TARGETS`].
    pub fn find(path: &str) -> Option<&'static Self> {
        let mut keys = KEYS.iter().chain(TARGET_KEYS);
        keys.find(|key| key.path == path)
    }

    /// Returns its section, and its name there.
    pub fn split(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').unwrap_or_default()
    }

    /// Returns the variable that sets it.
    pub fn variable(&self) -> String {
        format!(
            "{PREFIX}{}",
            self.path.replace('.', "__").to_ascii_uppercase()
        )
    }
}

/// Returns the sections, in the order of the table.
pub fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.split().0).collect();
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
