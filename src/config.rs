//! Configuration: figment merges the layers, the reader notes where each value came from, and the sections extract and validate
//! them into a [`Config`]. Every error names its key, its source and what to do.
//!
//! [`load`] may be called at any time: it reads everything again and changes nothing. No error, warning or description
//! holds the API key or a value that might be it, such as that of an unknown key.

mod file;
mod key;
mod keys;
mod layers;
mod mistake;
mod reader;
mod sections;
mod targets;

use crate::targets::Targets;
use globset::GlobSet;
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

pub use key::{KeyError, KeySource, read_key};
pub use keys::{Flag, KEYS, Key, PREFIX, Takes};
pub use mistake::{ConfigError, Mistake, Source};

/// What is set besides file and environment: by the options of the command line, and by the command itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--config.file`
    pub config_file: Option<PathBuf>,
    /// The value typed for each key, by its path; a list is separated by commas.
    pub flags: BTreeMap<&'static str, String>,
    /// Other defaults than those of the table of keys, as the text of a file.
    pub defaults: String,
}

/// A valid configuration, and where each of its values came from.
#[derive(Debug)]
pub struct Config {
    pub api: ApiConfig,
    pub poll: PollConfig,
    pub filter: FilterConfig,
    /// When each language is ready.
    pub targets: Arc<Targets>,
    /// `state.file`
    pub state_file: Option<PathBuf>,
    pub web: WebConfig,
    pub log: LogConfig,
    /// Every key once, in the order of [`KEYS`], and the targets.
    pub settings: Vec<Setting>,
}

/// How the API is called.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Root of the API: http or https, no user, query or fragment; its path ends with a slash.
    pub base_url: url::Url,
    pub key: KeySource,
    /// 1 to 1000.
    pub page_size: u16,
    /// 1 to 1024.
    pub concurrency: usize,
    /// `None` is unlimited; otherwise finite and above 0.
    pub requests_per_second: Option<f64>,
    pub connect_timeout: Duration,
    pub timeout: Duration,
    /// 1 to 10.
    pub max_attempts: u32,
    /// The longest Retry-After that is obeyed: 1 second to 24 hours.
    pub max_retry_after: Duration,
    /// Bytes.
    pub max_response_size: u64,
    /// 1 to 10,000,000.
    pub max_repositories: usize,
    pub ca_file: Option<PathBuf>,
    /// Finite, at least 1.
    pub completion_scale: f64,
}

/// When the API is polled, and how long data are shown.
#[derive(Debug, Clone)]
pub struct PollConfig {
    pub interval: Duration,
    pub stale_after: Duration,
}

/// Which repositories are polled.
#[derive(Debug, Clone)]
pub struct FilterConfig {
    /// Empty means all.
    pub include: GlobSet,
    pub exclude: GlobSet,
    /// On codes of languages, which then appear nowhere.
    pub exclude_languages: GlobSet,
    pub private: bool,
}

/// How the metrics are served.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// host:port each; without a host all addresses.
    pub listen_addresses: Vec<String>,
    pub telemetry_path: String,
    pub config_file: Option<PathBuf>,
    pub enable_lifecycle: bool,
    /// At least 1.
    pub max_requests: usize,
}

#[derive(Debug, Clone)]
pub struct LogConfig {
    pub level: tracing::Level,
    /// JSON instead of logfmt.
    pub json: bool,
}

/// A value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    /// As it was written, but paths and URLs as they are used; secrets hidden; empty if there is none.
    pub value: String,
    pub source: Source,
}

/// The keys that cannot change in a running process.
const FIXED: [&str; 3] = ["api.base_url", "state.file", "web.listen_addresses"];

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API key file is read
/// once, so that a failure shows early.
///
/// # Errors
/// All mistakes at once.
pub fn load(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Config, ConfigError> {
    sections::config(layers::merge(options, environment)?)
}

/// `web.listen_addresses` and `web.config_file`, whatever is wrong with other keys: for requests to a running exporter.
///
/// # Errors
/// The file cannot be read, or one of the two keys is wrong.
pub fn load_address(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<String>, Option<PathBuf>), ConfigError> {
    const KEYS: [&str; 2] = ["web.listen_addresses", "web.config_file"];
    let mut read = layers::merge(options, environment)?;
    let address = (sections::listen_addresses(&mut read), read.file(KEYS[1]));
    let is_of_address = |mistake: &Mistake| mistake.key.is_some_and(|key| KEYS.contains(&key.path));
    read.mistakes.retain(is_of_address);
    if !read.mistakes.is_empty() {
        return Err(ConfigError(read.mistakes));
    }
    Ok(address)
}

impl Config {
    /// A line for each key: the value in force and where it came from, secrets hidden.
    pub(crate) fn describe(&self) -> String {
        let row =
            |key: &str, value: &str, source: &str| format!("{key:23}  {value:28}  {source}\n");
        let mut table = row("KEY", "VALUE", "SOURCE");
        for Setting { key, value, source } in &self.settings {
            let value = if value.is_empty() { "-" } else { value };
            table += &row(key, value, &source.to_string());
        }
        table
    }

    /// The keys whose values differ in `new`, with both values; secrets hidden.
    pub(crate) fn changes(&self, new: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (old, new) in self.changed(new) {
            changes.push(format!("{} ({:?} -> {:?})", old.key, old.value, new.value));
        }
        // Its setting hides it.
        if self.api.key != new.api.key {
            changes.push("api.key".to_owned());
        }
        changes
    }

    /// The keys that differ in `new` but cannot change in a running process.
    pub(crate) fn restart_needed(&self, new: &Self) -> Vec<&'static str> {
        self.changed(new)
            .map(|(old, _)| old.key)
            .filter(|key| FIXED.contains(key))
            .collect()
    }

    fn changed<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = (&'a Setting, &'a Setting)> {
        self.settings
            .iter()
            .zip(&new.settings)
            .filter(|(old, new)| old.value != new.value)
    }
}

#[cfg(test)]
mod tests;
