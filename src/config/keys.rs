//! The keys: one table that provides the defaults, the names of variables and options, the help and the suggestions.

/// The prefix of every variable.
pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// section.key
    pub path: &'static str,
    pub takes: Takes,
    /// As a user would write it; empty if there is none.
    pub default: &'static str,
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

/// Every key, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key("api.base_url", Text, "").flag("--api.base-url", "URL", "Root of the API, https://…"),
    key("api.allow_http", Switch, "false"),
    key("api.key", Secret, ""),
    key("api.key_file", File, "").flag("--api.key-file", "FILE", "File that holds the API key"),
    key("api.page_size", Number, "1000"),
    key("api.concurrency", Number, "8"),
    key("api.requests_per_second", Number, "10"),
    key("api.connect_timeout", Number, "10s"),
    key("api.timeout", Number, "30s"),
    key("api.max_attempts", Number, "4"),
    key("api.max_retry_after", Number, "1h"),
    key("api.max_response_size", Number, "16MiB"),
    key("api.ca_file", File, ""),
    key("api.completion_scale", Number, "100"),
    key("poll.interval", Number, "5m").flag("--poll.interval", "TIME", "Time from poll to poll"),
    key("poll.stale_after", Number, ""),
    key("filter.include", List, ""),
    key("filter.exclude", List, ""),
    key("filter.private", Switch, "true"),
    key("state.file", File, "").flag(
        "--state.file",
        "FILE",
        "Keeps progress across restarts [default: none]",
    ),
    key("web.listen_addresses", List, ":10018").flag("--web.listen-address", "ADDR", "Repeatable"),
    key("web.telemetry_path", Text, "/metrics").flag(
        "--web.telemetry-path",
        "PATH",
        "Path of the metrics",
    ),
    key("web.config_file", File, "").flag(
        "--web.config.file",
        "FILE",
        "TLS and authentication [default: none]",
    ),
    key("web.enable_lifecycle", Switch, "false").flag(
        "--web.enable-lifecycle",
        "ON",
        "Allow /-/reload",
    ),
    key("web.max_requests", Number, "40"),
    key("log.level", Text, "info").flag("--log.level", "LEVEL", "error, warn, info, debug, trace"),
    key("log.format", Text, "logfmt").flag("--log.format", "FORMAT", "logfmt or json"),
];

const fn key(path: &'static str, takes: Takes, default: &'static str) -> Key {
    Key {
        path,
        takes,
        default,
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

    /// The key of this path.
    pub(crate) fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    pub(crate) fn section(&self) -> &'static str {
        self.path.split_once('.').map_or("", |(section, _)| section)
    }

    /// The variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!(
            "{PREFIX}{}",
            self.path.replace('.', "__").to_ascii_uppercase()
        )
    }
}

/// The sections, in the order of the table.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(Key::section).collect();
    sections.dedup();
    sections
}
