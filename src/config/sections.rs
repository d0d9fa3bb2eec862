//! The sections of the configuration, apart from those of the domain.
//!
//! Variables, options with their help, suggestions and parsers come from the declarations, and so
//! do the JSON Schemas of the file and of the chart's values, and the table of keys in
//! docs/configuration.md, which `tests/generate.sh` writes.

use crate::{
    domain::{Thresholds, filter::Filter, links::Links, targets::TargetEntry},
    support::{
        keys::{Key, section},
        logging::Format,
        parsed::{Parsed, YEAR},
    },
};
use humantime::format_duration;
use secrecy::SecretString;
use serde::Deserialize;
use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};
use tracing::Level;
use url::Url;

/// All sections.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sections {
    pub api: ApiConfig,
    pub poll: PollConfig,
    pub filter: Filter,
    pub thresholds: Thresholds,
    pub links: Links,
    pub state: StateConfig,
    pub web: WebConfig,
    pub log: LogConfig,
    /// By the number of the entry.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub targets: BTreeMap<String, TargetEntry>,
}

/// Returns all keys, apart from those of `targets`, in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    [
        ApiConfig::KEYS,
        PollConfig::KEYS,
        Filter::KEYS,
        Thresholds::KEYS,
        Links::KEYS,
        StateConfig::KEYS,
        WebConfig::KEYS,
        LogConfig::KEYS,
    ]
    .into_iter()
    .flatten()
}

/// Returns the names of the keys of a section, or of all sections if it is empty.
pub fn names_of(section: &str) -> Vec<&'static str> {
    let mut names: Vec<_> = keys()
        .chain(TargetEntry::KEYS)
        .map(Key::names)
        .filter_map(|[of, name]| match section {
            "" => Some(of),
            _ => (of == section).then_some(name),
        })
        .collect();
    names.dedup();
    names
}

section! {
    /// The section `api`.
    api: ApiConfig {
        /// root of the API; https, or http if the host is loopback or `api.allow_http` is true; a
        /// path prefix is kept; no user, query or fragment
        base_url: Parsed<Option<Url>> = "", "--api.base-url=URL";
        /// allows the key to be sent unencrypted
        allow_http: Parsed<bool> = "false";
        /// the API key itself; exactly one of this and `api.key_file` is required
        key: Parsed<Option<SecretString>> = "";
        /// file that holds the API key; read again at each poll, so that a rotated key needs no
        /// restart
        key_file: Parsed<Option<PathBuf>> = "", "--api.key-file=FILE";
        /// number of repositories requested per page of the listing
        page_size: Parsed<u32, 1, 1000> = "1000";
        /// maximum number of requests in flight
        concurrency: Parsed<u32, 1, 1024> = "8";
        /// requests per second, retries included, or 0 for no limit; the exporter sends fewer
        /// while the API refuses requests
        requests_per_second: Parsed<f64, 0, 1_000_000> = "10";
        /// time limit of each request, including the complete response body; a connection has at
        /// most 10 s
        timeout: Parsed<Duration, 0, { 100 * YEAR }> = "30s";
        /// PEM file of certificate authorities trusted in addition to the system's, or of the
        /// self-signed certificate of the API's server; read again at each poll
        ca_file: Parsed<Option<PathBuf>> = "";
        /// `true` if the API leaves out fields whose value is 0 or false, as protobuf's JSON does:
        /// an absent completion is then 0, and an absent `private` false; an explicit null is
        /// always unknown
        omits_zeros: Parsed<bool> = "false";
        /// completion that means finished: the API does not say whether it reports 0 to 100 or 0
        /// to 1
        completion_scale: Parsed<f64, 1, 1_000_000_000> = "100";
    }
}

impl ApiConfig {
    /// Returns the root of the API: http or https, no user, query or fragment; its path ends with
    /// a slash.
    pub(crate) fn base_url(&self) -> &Url {
        let url = self.base_url.as_ref();
        url.expect("`Draft::finish` refuses a configuration without it")
    }

    /// Returns `None` if requests are not limited.
    pub(crate) fn requests_per_second(&self) -> Option<f64> {
        Some(*self.requests_per_second).filter(|rate| *rate > 0.0)
    }

    /// Notes keys that do not fit together, each with a predicate.
    pub fn check(&self, mut note: impl FnMut(&str, &str)) {
        match &*self.base_url {
            None => note(
                "api.base_url",
                "is required, but not set; set it in the configuration file, as \
                 TRANSLATION_EXPORTER_API__BASE_URL or with --api.base-url",
            ),
            Some(url) if url.scheme() == "http" && !*self.allow_http && !is_loopback(url) => note(
                "api.base_url",
                "would send the key unencrypted: http to a host that is not loopback; write \
                 https://, or set api.allow_http to true",
            ),
            Some(_) => {}
        }
        match (&*self.key, &*self.key_file) {
            (None, None) => note(
                "api.key",
                "is required, or api.key_file, but neither is set; set api.key_file to the file \
                 that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
            ),
            (Some(_), Some(_)) => {
                note(
                    "api.key",
                    "is given, and api.key_file too; remove one of the two",
                );
                note(
                    "api.key_file",
                    "is given, and api.key too; remove one of the two",
                );
            }
            _ => {}
        }
    }
}

/// Returns true for a URL that leads to this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

section! {
    /// The section `poll`.
    poll: PollConfig {
        /// time from the start of one poll to the start of the next
        interval: Parsed<Duration, 1, { 25 * YEAR }> = "5m", "--poll.interval=TIME";
        /// time for which the last good data of a repository are served while its reads fail; at
        /// least twice `poll.interval`
        stale_after: Parsed<Option<Duration>, 2, { 100 * YEAR }> = "";
    }
}

impl PollConfig {
    pub fn stale_after(&self) -> Duration {
        let hour = Duration::from_secs(3600);
        self.stale_after.unwrap_or(hour.max(*self.interval * 3))
    }

    /// Returns the problem of [`Self::stale_after`]: a predicate.
    pub fn problem(&self) -> Option<String> {
        let (stale_after, least) = (self.stale_after(), *self.interval * 2);
        (stale_after < least).then(|| {
            let [shown, least] = [stale_after, least].map(format_duration);
            format!(
                "is {shown}, less than twice poll.interval; give at least {least}, or shorten \
                 poll.interval"
            )
        })
    }
}

section! {
    /// The section `state`.
    state: StateConfig {
        /// file that keeps the progress clocks and the last good data across restarts; without it,
        /// each restart loses them
        file: Parsed<Option<PathBuf>> = "", "--state.file=FILE";
    }
}

section! {
    /// The section `web`.
    web: WebConfig {
        /// addresses to listen on, host:port; without a host, all IPv6 and IPv4 addresses, or all
        /// IPv4 addresses of a machine without IPv6
        listen_addresses: Parsed<Vec<String>> = ":10018", "--web.listen-address=ADDRESS";
        /// path of the metrics
        telemetry_path: Parsed<String> = "/metrics", "--web.telemetry-path=PATH";
        /// file with TLS, authentication, headers and rate limit; the format is the
        /// [exporter-toolkit's](https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)
        config_file: Parsed<Option<PathBuf>> = "", "--web.config.file=FILE";
    }
}

section! {
    /// The section `log`.
    log: LogConfig {
        /// lowest level of the lines on stderr: error, warn, info, debug or trace; `debug` adds a
        /// line for each request
        level: Parsed<Level> = "info", "--log.level=LEVEL";
        /// format of each line: logfmt or json
        format: Parsed<Format> = "logfmt", "--log.format=FORMAT";
    }
}
