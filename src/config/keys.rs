//! The keys: one table from which come the defaults, the names of variables and flags, and the suggestions.

/// The prefix of every variable.
pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// section.key
    pub path: &'static str,
    /// As one would write it; empty where there is none.
    pub default: &'static str,
    /// The option that sets it, if there is one.
    pub flag: Option<Flag>,
}

/// An option of the command line that sets a key.
#[derive(Debug)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    pub takes: Takes,
    /// What stands for the value in the help.
    pub value_name: &'static str,
    /// One line, without the default, which the help tells by itself where there is one.
    pub help: &'static str,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One value.
    Value,
    /// A value each time that it is given.
    List,
    /// `true`, `false`, or nothing, which means `true`.
    Switch,
}

const fn key(path: &'static str, default: &'static str) -> Key {
    Key { path, default, flag: None }
}

/// Every key, in the order in which people are told of them.
pub const KEYS: &[Key] = &[
    key("api.base_url", "").flag("--api.base-url", "URL", "Root of the API, https://…"),
    key("api.allow_http", "false"),
    key("api.key", ""),
    key("api.key_file", "").flag("--api.key-file", "FILE", "File that holds the API key"),
    key("api.page_size", "1000"),
    key("api.concurrency", "8"),
    key("api.requests_per_second", "10"),
    key("api.connect_timeout", "10s"),
    key("api.timeout", "30s"),
    key("api.max_attempts", "4"),
    key("api.max_retry_after", "1h"),
    key("api.max_response_size", "16MiB"),
    key("api.ca_file", ""),
    key("api.completion_scale", "100"),
    key("poll.interval", "5m").flag("--poll.interval", "TIME", "From poll to poll"),
    key("poll.stale_after", ""),
    key("filter.include", ""),
    key("filter.exclude", ""),
    key("filter.private", "true"),
    key("state.file", "").flag("--state.file", "FILE", "Keeps progress over restarts [default: none]"),
    key("web.listen_addresses", ":10018").list("--web.listen-address", "ADDR", "Repeatable"),
    key("web.telemetry_path", "/metrics").flag("--web.telemetry-path", "PATH", "Path of the metrics"),
    key("web.config_file", "").flag("--web.config.file", "FILE", "TLS and authentication [default: none]"),
    key("web.enable_lifecycle", "false").switch("--web.enable-lifecycle", "ON", "Allow /-/reload"),
    key("web.max_requests", "40"),
    key("log.level", "info").flag("--log.level", "LEVEL", "error, warn, info, debug, trace"),
    key("log.format", "logfmt").flag("--log.format", "FORMAT", "logfmt or json"),
];

impl Key {
    const fn set_by(self, flag: Flag) -> Self {
        Self { flag: Some(flag), ..self }
    }

    const fn flag(self, name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        self.set_by(Flag { name, takes: Takes::Value, value_name, help })
    }

    const fn list(self, name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        self.set_by(Flag { name, takes: Takes::List, value_name, help })
    }

    const fn switch(self, name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        self.set_by(Flag { name, takes: Takes::Switch, value_name, help })
    }

    /// The key of this path.
    #[must_use]
    pub fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    #[must_use]
    pub fn section(&self) -> &'static str {
        self.path.split_once('.').map_or("", |(section, _)| section)
    }

    /// The key without its section.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.path.split_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.path.replace('.', "__").to_ascii_uppercase())
    }

    /// The variable that sets it, misspelt with one underscore between section and key.
    pub(super) fn variable_with_one_underscore(&self) -> String {
        format!("{PREFIX}{}", self.path.replace('.', "_").to_ascii_uppercase())
    }

    /// How it can be set, for the hint of an error.
    pub(super) fn ways(&self) -> String {
        let flag = self.flag.as_ref().map(|flag| format!(" or by {}", flag.name)).unwrap_or_default();
        format!("in the configuration file, as {}{flag}", self.variable())
    }
}

/// The sections, in the order of the table.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(Key::section).collect();
    sections.dedup();
    sections
}

/// The candidate that was most probably meant, if one is near enough.
pub(super) fn nearest<T: AsRef<str>>(typed: &str, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    let typed = normal(typed);
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&typed, &normal(candidate.as_ref())), candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// What spellings that mean the same to people have in common: `base-url`, `baseUrl`, `base_url`.
fn normal(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.')).flat_map(char::to_lowercase).collect()
}
