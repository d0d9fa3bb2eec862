//! The keys: one table that provides the defaults, the names of variables and options, the help, the
//! suggestions, and the JSON Schema of the file (deploy/config.schema.json), which a test compares
//! with it.

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
    /// What a value must be: the hint about one that is not.
    pub expected: &'static str,
    /// The option that sets it, if there is one.
    pub flag: Option<Flag>,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Text: a bare number or boolean in the file is refused, because YAML may read it as something else.
    Text,
    /// Text that is never shown.
    Secret,
    /// The path of a file; in the configuration file, a relative one is relative to the folder of that file.
    File,
    /// A number, or text that begins with one: a duration, a size.
    Number,
    /// `true` or `false`; its option without a value means `true`.
    Switch,
    /// A list of texts, or one text that is split at commas; its option may be repeated.
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
    key("api.base_url", Text, "", "the root of the API, such as https://api.example.com")
        .flag("--api.base-url", "URL", "Root of the API, https://…"),
    key("api.allow_http", Switch, "false", SWITCH),
    key("api.key", Secret, "", "the API key as one text in quotes"),
    key("api.key_file", File, "", FILE).flag("--api.key-file", "FILE", "File that holds the API key"),
    key("api.page_size", Number, "1000", "a whole number from 1 to 1000"),
    key("api.concurrency", Number, "8", "a whole number from 1 to 1024"),
    key("api.requests_per_second", Number, "10", "0 for no limit, or 0.001 to 1000000"),
    key("api.connect_timeout", Number, "10s", TIME),
    key("api.timeout", Number, "30s", TIME),
    key("api.max_attempts", Number, "4", "a whole number from 1 to 10"),
    key("api.max_retry_after", Number, "1h", "a time from 1s to 24h with its unit, such as 10m"),
    key("api.max_response_size", Number, "16MiB", "a size of at least 1B, such as 512KiB or 16MiB"),
    key("api.max_repositories", Number, "200000", "a whole number from 1 to 10000000"),
    key("api.ca_file", File, "", FILE),
    key("api.omits_zeros", Switch, "false", SWITCH),
    key("api.completion_scale", Number, "100", "the completion that means finished, a number of at least 1"),
    key("poll.interval", Number, "5m", "a time from 1s to 25 years with its unit, such as 30s, 5m or 1h 30m")
        .flag("--poll.interval", "TIME", "Time from poll to poll"),
    key("poll.stale_after", Number, "", "a time with its unit, such as 30m or 1h 30m, from twice poll.interval to 100 years"),
    key("filter.include", List, "", GLOBS),
    key("filter.exclude", List, "", GLOBS),
    key(
        "filter.exclude_languages",
        List,
        "",
        "a list of globs on language codes in quotes, such as [\"en\", \"x-*\"]",
    ),
    key("filter.private", Switch, "true", SWITCH),
    key("links.repository", Text, "", "an https or http URL, such as https://translate.example.com/{owner}/{name}; the placeholders are {id}, {repo}, {owner} and {name}"),
    key("links.language", Text, "", "an https or http URL, such as https://translate.example.com/{owner}/{name}/{language}; the placeholders are {id}, {repo}, {owner}, {name} and {language}"),
    key("state.file", File, "", FILE).flag(
        "--state.file",
        "FILE",
        "Keeps progress across restarts [default: none]",
    ),
    key("web.listen_addresses", List, ":10018", "a list of host:port in quotes, such as [\":10018\"], [\"127.0.0.1:10018\"] or [\"[::1]:10018\"]")
        .flag("--web.listen-address", "ADDR", "Repeatable"),
    key("web.telemetry_path", Text, "/metrics", "a path such as /metrics: one slash, then letters, digits and -._~/, no part . or .., and not a path of the exporter itself")
        .flag(
        "--web.telemetry-path",
        "PATH",
        "Path of the metrics",
    ),
    key("web.config_file", File, "", FILE).flag(
        "--web.config.file",
        "FILE",
        "TLS and authentication [default: none]",
    ),
    key("web.enable_lifecycle", Switch, "false", SWITCH).flag(
        "--web.enable-lifecycle",
        "ON",
        "Allow /-/reload",
    ),
    key("web.max_requests", Number, "40", "a whole number from 1 to 1000000"),
    key("log.level", Text, "info", "error, warn, info, debug or trace").flag("--log.level", "LEVEL", "error, warn, info, debug, trace"),
    key("log.format", Text, "logfmt", "logfmt or json").flag("--log.format", "FORMAT", "logfmt or json"),
];

/// The keys of an entry of [`TARGETS`]: in the file only, so that none has a variable or an option.
pub const TARGET_KEYS: &[Key] = &[
    key(
        "targets.repositories",
        List,
        "",
        "a list of globs on owner/repo in quotes, such as [\"acme/*\"]; leave it out to match all",
    ),
    key(
        "targets.languages",
        List,
        "",
        "a list of globs on language codes in quotes, such as [\"de\", \"pt-*\"]; leave it out to match all",
    ),
    key(
        "targets.ratio",
        Number,
        "1",
        "a ratio from 0 to 1, such as 0.95",
    ),
    key(
        "targets.due",
        Text,
        "",
        "a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z",
    ),
];

const fn key(
    path: &'static str,
    takes: Takes,
    default: &'static str,
    expected: &'static str,
) -> Key {
    Key {
        path,
        takes,
        default,
        expected,
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

    /// The key of this path, also of those of a target.
    pub fn find(path: &str) -> Option<&'static Self> {
        let mut keys = KEYS.iter().chain(TARGET_KEYS);
        keys.find(|key| key.path == path)
    }

    /// Its section, and its name there.
    pub fn split(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').unwrap_or_default()
    }

    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!(
            "{PREFIX}{}",
            self.path.replace('.', "__").to_ascii_uppercase()
        )
    }
}

/// The sections, in the order of the table.
pub fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.split().0).collect();
    sections.dedup();
    sections
}

/// The names of the keys of a section.
pub fn keys_of(section: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().chain(TARGET_KEYS).map(Key::split);
    keys.filter(|key| key.0 == section)
        .map(|key| key.1)
        .collect()
}

#[cfg(test)]
mod tests;
