//! The sections of the configuration: one declaration of each key, which is the field of a struct,
//! its documentation and its default.
//!
//! Variables, options with their help, suggestions and parsers come from the declarations, and so
//! do the JSON Schemas of the file and of the chart's values, and the table of keys in
//! docs/configuration.md, which `tests/generate.sh` writes.

use super::text::{Format, Globs, HOUR, Parsed, YEAR};
use crate::{domain::links::Template, support::clock::Timestamp};
use secrecy::SecretString;
use serde::Deserialize;
use std::{path::PathBuf, time::Duration};
use tracing::Level;
use url::Url;

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The section and the name, joined by a dot.
    pub path: &'static str,
    /// The default as a user would write it; empty if there is none.
    pub default: &'static str,
    /// The meaning, in Markdown: the doc comment of the field.
    pub meaning: &'static str,
    /// The option that sets the key, with its dashes and the name of its value; empty if there is
    /// none.
    option: &'static str,
}

impl Key {
    /// Returns the option that sets the key, and the name of its value.
    pub fn option(&self) -> Option<(&'static str, &'static str)> {
        self.option.split_once('=')
    }

    /// Returns the name of the environment variable that sets the key.
    pub fn variable(&self) -> String {
        format!(
            "{PREFIX}{}",
            self.path.replace('.', "__").to_ascii_uppercase()
        )
    }

    /// Returns the section and the name within it.
    pub fn names(&self) -> [&'static str; 2] {
        self.path.split_once('.').unwrap_or_default().into()
    }
}

/// The path, for [`nearest`](crate::support::hint::nearest).
impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.path
    }
}

/// The prefix of every variable.
pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

/// Returns the names of the keys of a section, or of all sections if it is empty.
pub fn names_of(section: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().chain(TARGET_KEYS).map(Key::names);
    let names = keys.filter_map(|[of, name]| match section {
        "" => Some(of),
        _ => (of == section).then_some(name),
    });
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names
}

/// Declares sections, and the table of their keys: each with its meaning, its type, its default as
/// a user would write it, and its option. The value of a key whose name ends in `file` is a path.
macro_rules! sections {
    ($keys:ident: $($section:ident: $name:ident {
        $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:literal $(, $option:literal)?;)*
    })*) => {
        $(
            #[doc = concat!("The section `", stringify!($section), "`.")]
            #[derive(Debug, Clone, Deserialize)]
            #[cfg_attr(test, derive(schemars::JsonSchema))]
            pub struct $name {
                $($(#[doc = $doc])* pub $key: $type,)*
            }
        )*

        /// Keys, in the order of the documentation.
        pub const $keys: &[Key] = &[$($(Key {
            path: concat!(stringify!($section), ".", stringify!($key)),
            default: $default,
            meaning: concat!($($doc),*),
            option: concat!($($option)?),
        },)*)*];
    };
}

/// All sections.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sections {
    pub api: ApiConfig,
    pub poll: PollConfig,
    pub filter: FilterConfig,
    pub thresholds: ThresholdConfig,
    pub links: LinkConfig,
    pub state: StateConfig,
    pub web: WebConfig,
    pub log: LogConfig,
}

sections! { KEYS:
    api: ApiConfig {
        /// root of the API; https, or http if the host is loopback or `api.allow_http` is true; a
        /// path prefix is kept; no user, query or fragment
        base_url: Option<Parsed<Url>> = "", "--api.base-url=URL";
        /// allows the key to be sent unencrypted
        allow_http: Parsed<bool> = "false";
        /// the API key itself; exactly one of this and `api.key_file` is required
        key: Option<Parsed<SecretString>> = "";
        /// file that holds the API key; read again at each poll, so that a rotated key needs no
        /// restart
        key_file: Option<Parsed<PathBuf>> = "", "--api.key-file=FILE";
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
        ca_file: Option<Parsed<PathBuf>> = "";
        /// `true` if the API leaves out fields whose value is 0 or false, as protobuf's JSON does:
        /// an absent completion is then 0, and an absent `private` false; an explicit null is
        /// always unknown
        omits_zeros: Parsed<bool> = "false";
        /// completion that means finished: the API does not say whether it reports 0 to 100 or 0
        /// to 1
        completion_scale: Parsed<f64, 1, 1_000_000_000> = "100";
    }
    poll: PollConfig {
        /// time from the start of one poll to the start of the next
        interval: Parsed<Duration, 1, { 25 * YEAR }> = "5m", "--poll.interval=TIME";
        /// time for which the last good data of a repository are served while its reads fail; at
        /// least twice `poll.interval`
        stale_after: Option<Parsed<Duration, 2, { 100 * YEAR }>> = "";
    }
    filter: FilterConfig {
        /// globs on owner/repo, each with a slash or `**`; `*` stays within a segment; empty means
        /// all
        include: Parsed<Globs<true>> = "";
        /// globs on owner/repo; wins over `filter.include`
        exclude: Parsed<Globs<true>> = "";
        /// globs on language codes, for example of a pseudo-locale or the source language; an
        /// excluded language appears nowhere, and its progress clock is kept for 30 days
        exclude_languages: Parsed<Globs<false>> = "";
        /// `false` leaves out private repositories, and repositories of unknown visibility
        private: Parsed<bool> = "true";
    }
    thresholds: ThresholdConfig {
        /// time without progress after which a translation that is not ready has stalled
        stalled_after: Parsed<Duration, HOUR, { 100 * YEAR }> = "7d";
        /// a translation has regressed if its ratio is at least this much below the ratio before a
        /// fall of the last 7 days
        regressed_by: Parsed<f64, 0, 1> = "0.2";
        /// time before its date from which a translation is at risk if it will not be ready by
        /// then at its recent rate
        at_risk_within: Parsed<Duration, HOUR, { 100 * YEAR }> = "14d";
    }
    links: LinkConfig {
        /// URL template of the page where a repository is translated: see [below](#links)
        repository: Option<Parsed<Template>> = "";
        /// URL template of the page where a language of a repository is translated
        language: Option<Parsed<Template>> = "";
    }
    state: StateConfig {
        /// file that keeps the progress clocks and the last good data across restarts; without it,
        /// each restart loses them
        file: Option<Parsed<PathBuf>> = "", "--state.file=FILE";
    }
    web: WebConfig {
        /// addresses to listen on, host:port; without a host, all IPv6 and IPv4 addresses, or all
        /// IPv4 addresses of a machine without IPv6
        listen_addresses: Parsed<Vec<String>> = ":10018", "--web.listen-address=ADDRESS";
        /// path of the metrics
        telemetry_path: Parsed<String> = "/metrics", "--web.telemetry-path=PATH";
        /// file with TLS, authentication, headers and rate limit; the format is the
        /// [exporter-toolkit's](https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)
        config_file: Option<Parsed<PathBuf>> = "", "--web.config.file=FILE";
    }
    log: LogConfig {
        /// lowest level of the lines on stderr: error, warn, info, debug or trace; `debug` adds a
        /// line for each request
        level: Parsed<Level> = "info", "--log.level=LEVEL";
        /// format of each line: logfmt or json
        format: Parsed<Format> = "logfmt", "--log.format=FORMAT";
    }
}

sections! { TARGET_KEYS:
    targets: TargetConfig {
        /// globs on owner/repo; all repositories if left out
        repositories: Parsed<Globs<true>> = "";
        /// globs on language codes; all languages if left out
        languages: Parsed<Globs<false>> = "";
        /// ratio at which a translation is ready; 0 is always met
        ratio: Parsed<f64, 0, 1> = "1";
        /// a date, until 23:59:59 UTC, or an RFC 3339 time
        due: Option<Parsed<Timestamp>> = "";
        /// the time without progress after which a translation has stalled;
        /// `thresholds.stalled_after` if left out
        stalled_after: Option<Parsed<Duration, HOUR, { 100 * YEAR }>> = "";
    }
}
