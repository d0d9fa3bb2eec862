//! Configuration: figment layers become a raw form, the raw form becomes a valid [`Config`]; every error names its key
//! and its source.

use globset::GlobSet;
use secrecy::SecretString;
use std::{path::PathBuf, time::Duration};

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
    pub base_url: reqwest::Url,
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

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[error("no key")]
pub struct KeyError;

pub fn read_key(source: &KeySource) -> Result<SecretString, KeyError> {
    match source {
        KeySource::Inline(key) => Ok(key.clone()),
        KeySource::File(path) => std::fs::read_to_string(path).map(|key| key.trim_end().into()).map_err(|_| KeyError),
    }
}
