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
    pub flag: Option<&'static str>,
}

const fn key(path: &'static str, default: &'static str) -> Key {
    Key { path, default, flag: None }
}

const fn flagged(path: &'static str, default: &'static str, flag: &'static str) -> Key {
    Key { path, default, flag: Some(flag) }
}

/// Every key, in the order in which people are told of them.
pub const KEYS: &[Key] = &[
    flagged("api.base_url", "", "--api.base-url"),
    key("api.allow_http", "false"),
    key("api.key", ""),
    flagged("api.key_file", "", "--api.key-file"),
    key("api.page_size", "1000"),
    key("api.concurrency", "8"),
    key("api.requests_per_second", "10"),
    key("api.connect_timeout", "10s"),
    key("api.timeout", "30s"),
    key("api.max_attempts", "4"),
    key("api.max_response_size", "16MiB"),
    key("api.ca_file", ""),
    key("api.completion_scale", "100"),
    flagged("poll.interval", "5m", "--poll.interval"),
    key("poll.stale_after", ""),
    key("filter.include", ""),
    key("filter.exclude", ""),
    key("filter.private", "true"),
    flagged("state.file", "", "--state.file"),
    flagged("web.listen_addresses", ":10018", "--web.listen-address"),
    flagged("web.telemetry_path", "/metrics", "--web.telemetry-path"),
    flagged("web.config_file", "", "--web.config.file"),
    flagged("web.enable_lifecycle", "false", "--web.enable-lifecycle"),
    key("web.max_requests", "40"),
    flagged("log.level", "info", "--log.level"),
    flagged("log.format", "logfmt", "--log.format"),
];

impl Key {
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

    /// How it can be set, for the mend of an error.
    pub(super) fn ways(&self) -> String {
        let flag = self.flag.map(|flag| format!(" or by {flag}")).unwrap_or_default();
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
