//! Configuration: figment layers become a raw form, the raw form becomes a valid [`Config`]; every error names its key
//! and its source.
//!
//! [`load`] may be called again at any time: it reads everything anew and touches nothing. No error, warning or
//! description holds the API key or a value that might be it, such as that of an unknown key.

mod describe;
mod error;
mod key;
mod keys;
mod layers;
mod reader;
mod sections;
mod syntax;
mod yaml;

use globset::GlobSet;
use secrecy::SecretString;
use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, time::Duration};

pub use describe::describe;
pub use error::{ConfigError, Mistake, Source};
pub use key::{KeyError, read_key};
pub use keys::{Flag, KEYS, Key, PREFIX, Takes};
pub use reader::Setting;

/// What the command line says of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--config.file`
    pub config_file: Option<PathBuf>,
    /// By the path of a key, what was typed for it, in order.
    pub flags: BTreeMap<&'static str, Vec<String>>,
}

/// A valid configuration.
#[derive(Debug, Clone)]
pub struct Config {
    pub api: ApiConfig,
    pub poll: PollConfig,
    pub filter: FilterConfig,
    /// `state.file`
    pub state_file: Option<PathBuf>,
    pub web: WebConfig,
    pub log: LogConfig,
}

/// How the API is asked.
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
    /// The longest Retry-After that is obeyed, at most 24 h; a longer one counts as this.
    pub max_retry_after: Duration,
    /// Bytes.
    pub max_response_size: u64,
    pub ca_file: Option<PathBuf>,
    /// Finite, at least 1.
    pub completion_scale: f64,
}

/// Where the API key comes from.
#[derive(Debug, Clone)]
pub enum KeySource {
    Inline(SecretString),
    File(PathBuf),
}

/// When is polled, and how long what was read is told.
#[derive(Debug, Clone)]
pub struct PollConfig {
    pub interval: Duration,
    pub stale_after: Duration,
}

/// Which repositories are polled.
#[derive(Debug, Clone)]
pub struct FilterConfig {
    /// `None` means all.
    pub include: Option<GlobSet>,
    pub exclude: GlobSet,
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
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Logfmt,
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logfmt => "logfmt",
            Self::Json => "json",
        })
    }
}

/// A configuration that was read, and where each value of it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// Every key once.
    pub settings: Vec<Setting>,
    /// What is valid and yet hardly meant; each is to be logged.
    pub warnings: Vec<String>,
}

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API key file is read
/// once, to tell early that it cannot be.
///
/// # Errors
/// All mistakes of one kind at once: first what is no key, then what is no valid value.
pub fn load<K, V>(options: &Options, environment: impl IntoIterator<Item = (K, V)>) -> Result<Loaded, ConfigError>
where
    K: Into<OsString>,
    V: Into<OsString>,
{
    valid(&layers::Layers::read(options, &owned(environment))?)
}

/// Like [`load`], with the demo's API in the place of a real one: `api.base_url` and `api.key` are given, any
/// `api.key_file` is left aside, and `poll.interval` is 5s unless it is set.
///
/// # Errors
/// As [`load`].
pub fn load_demo<K, V>(
    options: &Options,
    environment: impl IntoIterator<Item = (K, V)>,
    base_url: &str,
    key: &str,
) -> Result<Loaded, ConfigError>
where
    K: Into<OsString>,
    V: Into<OsString>,
{
    valid(&layers::Layers::read(options, &owned(environment))?.with_demo(base_url, key))
}

/// The key that the demo's API is to accept: `api.key`, where it is given and not empty. An `api.key_file` is left
/// aside, as the demo needs no file.
///
/// # Errors
/// As [`load`], as far as it concerns `api.key`.
pub fn demo_key<K, V>(
    options: &Options,
    environment: impl IntoIterator<Item = (K, V)>,
) -> Result<Option<SecretString>, ConfigError>
where
    K: Into<OsString>,
    V: Into<OsString>,
{
    let layers = layers::Layers::read(options, &owned(environment))?;
    let mut read = reader::Reader::new(&layers);
    let key = sections::demo_key(&mut read);
    if read.mistakes.is_empty() { Ok(key) } else { Err(ConfigError(read.mistakes)) }
}

/// The keys whose change a running process cannot follow, as far as they differ.
#[must_use]
pub fn restart_needed(old: &Config, new: &Config) -> Vec<&'static str> {
    [
        ("api.base_url", old.api.base_url != new.api.base_url),
        ("state.file", old.state_file != new.state_file),
        ("web.listen_addresses", old.web.listen_addresses != new.web.listen_addresses),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}

fn owned<K: Into<OsString>, V: Into<OsString>>(
    environment: impl IntoIterator<Item = (K, V)>,
) -> Vec<(OsString, OsString)> {
    environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn valid(layers: &layers::Layers) -> Result<Loaded, ConfigError> {
    let mut read = reader::Reader::new(layers);
    let api = sections::api(&mut read);
    let poll = sections::poll(&mut read);
    let filter = sections::filter(&mut read);
    let state_file = read.path("state.file");
    let web = sections::web(&mut read);
    let log = sections::log(&mut read);
    match (api, poll, filter, web, log) {
        (Some(api), Some(poll), Some(filter), Some(web), Some(log)) if read.mistakes.is_empty() => Ok(Loaded {
            config: Config { api, poll, filter, state_file, web, log },
            settings: read.settings,
            warnings: read.warnings,
        }),
        _ => Err(ConfigError(read.mistakes)),
    }
}

#[cfg(test)]
mod tests;
