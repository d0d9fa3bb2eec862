//! The sections of the configuration: their values, and the rules that tie keys together.
//!
//! A section exists only if all its values are valid.

use super::{
    Config, ConfigError, KeySource,
    api_key::read_key,
    mistake::Source,
    reader::Reader,
    values::{
        addresses, base_url, globs, is, is_json, items, link, number, optional, rate, ratio,
        repository_globs, size, switch, telemetry_path, time,
    },
};
use crate::{
    domain::{
        filter::{Filter, LanguageFilter},
        links::{Links, Template},
        targets::{Target, TargetEntry, Targets, globs_in_words, parse_due},
    },
    support::logging::LogSettings,
};
use globset::GlobSet;
use std::{mem, path::PathBuf, sync::Arc, time::Duration};
use url::{Host, Url};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// 100 years. Beyond it, arithmetic on clocks would overflow.
const LONGEST: Duration = Duration::from_secs(100 * 31_557_600);

/// The limits, timeouts and identity of requests to the API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Root of the API: http or https, no user, query or fragment; its path ends with a slash.
    pub base_url: Url,
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
    /// Set if the API leaves out fields whose value is 0 or false.
    pub omits_zeros: bool,
}

/// The times of polling, and of showing its data.
#[derive(Debug, Clone)]
pub struct PollConfig {
    pub interval: Duration,
    pub stale_after: Duration,
}

/// The addresses, paths and limits of the server.
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

/// Builds a struct from fields that are `None` after a mistake. All of them are read before the
/// first `None` ends the function, so that every mistake is noted. A field hides a function of its
/// name from the fields below it.
macro_rules! all {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        $(let $field = $value;)*
        Some($name { $($field: $field?),* })
    }};
}

/// Returns the configuration if it has no mistake.
pub fn config(mut read: Reader) -> Result<Config, ConfigError> {
    match sections(&mut read) {
        Some(config) if read.mistakes.is_empty() => Ok(config),
        _ => Err(ConfigError(read.mistakes)),
    }
}

fn sections(read: &mut Reader) -> Option<Config> {
    all!(Config {
        api: api(read),
        poll: poll(read),
        filter: filter(read),
        excluded_languages: read
            .get("filter.exclude_languages", globs)
            .map(LanguageFilter),
        links: links(read).map(Arc::new),
        state_file: Some(read.file("state.file")),
        web: web(read),
        log: log(read),
        targets: targets(read).map(Arc::new),
        settings: Some(read.settings()),
    })
}

fn api(read: &mut Reader) -> Option<ApiConfig> {
    all!(ApiConfig {
        base_url: root(read),
        key: key(read),
        page_size: read.get("api.page_size", number(1..=1000)),
        concurrency: read.get("api.concurrency", number(1..=1024)),
        requests_per_second: read.get("api.requests_per_second", rate),
        connect_timeout: read.get("api.connect_timeout", time(MILLISECOND..=LONGEST)),
        timeout: read.get("api.timeout", time(MILLISECOND..=LONGEST)),
        max_attempts: read.get("api.max_attempts", number(1..=10)),
        max_retry_after: read.get("api.max_retry_after", time(SECOND..=HOUR * 24)),
        max_response_size: read.get("api.max_response_size", size),
        max_repositories: read.get("api.max_repositories", number(1..=10_000_000)),
        ca_file: Some(read.file("api.ca_file")),
        completion_scale: read.get("api.completion_scale", number(1.0..=f64::MAX)),
        omits_zeros: read.get("api.omits_zeros", switch),
    })
}

/// Returns the root of the API, unless the key would be sent there in the clear.
fn root(read: &mut Reader) -> Option<Url> {
    const PATH: &str = "api.base_url";
    let allow_http = read.get("api.allow_http", switch);
    if read.text(PATH).is_empty() {
        let hint = "set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by \
                    --api.base-url";
        read.missing(PATH, "is required, but not set", hint);
        return None;
    }
    let url = read.get(PATH, base_url)?;
    if url.scheme() == "http" && !allow_http? && !is_loopback(&url) {
        let what = "would send the key in the clear: http to a host that is not loopback";
        read.mistake(PATH, what, "write https://, or set api.allow_http to true");
        return None;
    }
    // As it is used, so that another spelling is no change.
    read.put(PATH, url.as_str().trim_end_matches('/'), read.source(PATH));
    Some(url)
}

/// Tells whether a URL leads to this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Returns the one source of the key, after it has given a key.
fn key(read: &mut Reader) -> Option<KeySource> {
    const KEY: &str = "api.key";
    const FILE: &str = "api.key_file";
    let inline = read.text(KEY);
    let (path, source) = match read.file(FILE) {
        Some(_) if !inline.is_empty() => {
            let what = format!("is given, and {FILE} ({}) too", read.source(FILE));
            read.mistake(KEY, what, "remove one of the two");
            return None;
        }
        Some(file) => (FILE, KeySource::file(&read.text(FILE), &file)),
        None if inline.is_empty() => {
            let what = "is required, or api.key_file, but neither is set";
            let hint = "set api.key_file to the file that holds the API key, or \
                        TRANSLATION_EXPORTER_API__KEY to the key";
            read.missing(KEY, what, hint);
            return None;
        }
        None => (KEY, KeySource::Inline(inline.into())),
    };
    let key = read_key(&source).map_err(|error| read.mistake(path, error.what, error.hint));
    key.ok().map(|_| source)
}

fn poll(read: &mut Reader) -> Option<PollConfig> {
    const INTERVAL: &str = "poll.interval";
    const STALE_AFTER: &str = "poll.stale_after";
    let interval = read.get(INTERVAL, time(SECOND..=LONGEST / 4));
    let given = read.get(STALE_AFTER, optional(time(MILLISECOND..=LONGEST)));
    let (interval, given) = (interval?, given?);
    let stale_after = given.unwrap_or(HOUR.max(interval * 3));
    let [shown, every, least] =
        [stale_after, interval, interval * 2].map(humantime::format_duration);
    if given.is_none() {
        read.put(STALE_AFTER, &shown.to_string(), Source::Default);
    }
    if stale_after < interval * 2 {
        let source = read.source(INTERVAL);
        let what = format!("is {shown}, less than twice {INTERVAL}, which is {every} ({source})");
        let hint = format!("give at least {least}, or shorten {INTERVAL}");
        read.mistake(STALE_AFTER, what, hint);
        return None;
    }
    Some(PollConfig {
        interval,
        stale_after,
    })
}

fn filter(read: &mut Reader) -> Option<Filter> {
    all!(Filter {
        include: read.get("filter.include", repository_globs),
        exclude: read.get("filter.exclude", repository_globs),
        private: read.get("filter.private", switch),
    })
}

fn links(read: &mut Reader) -> Option<Links> {
    all!(Links {
        repository: read.get("links.repository", link(Template::of_repository)),
        language: read.get("links.language", link(Template::of_language)),
    })
}

fn web(read: &mut Reader) -> Option<WebConfig> {
    all!(WebConfig {
        listen_addresses: read.get("web.listen_addresses", addresses),
        telemetry_path: read.get("web.telemetry_path", telemetry_path),
        config_file: Some(read.file("web.config_file")),
        enable_lifecycle: read.get("web.enable_lifecycle", switch),
        max_requests: read.get("web.max_requests", number(1..=1_000_000)),
    })
}

fn log(read: &mut Reader) -> Option<LogSettings> {
    all!(LogSettings {
        level: read.get("log.level", |text| text.parse().map_err(|_| is(text))),
        json: read.get("log.format", is_json),
    })
}

fn targets(read: &mut Reader) -> Option<Targets> {
    let mut entries = Vec::new();
    for (source, mut entry) in mem::take(&mut read.targets) {
        entries.push(target(&mut entry, &source));
        read.mistakes.append(&mut entry.mistakes);
    }
    entries.into_iter().collect::<Option<_>>().map(Targets)
}

fn target(read: &mut Reader, source: &Source) -> Option<TargetEntry> {
    let due = |text: &str| parse_due(text).ok_or_else(|| format!("is {text:?}"));
    let texts = ["targets.repositories", "targets.languages"].map(|path| read.text(path));
    let [repositories, languages] = texts.each_ref().map(|text| items(text));
    let words = globs_in_words(&repositories, &languages);
    all!(TargetEntry {
        source: Some(source.to_string()),
        repositories: target_globs(read, "targets.repositories", repository_globs),
        languages: target_globs(read, "targets.languages", globs),
        target: all!(Target {
            ratio: read.get("targets.ratio", ratio),
            due: read.get("targets.due", optional(due)),
        }),
        globs: Some(words),
    })
}

/// Returns the globs of a target. They match all if they are left out, so an empty list is a
/// mistake.
fn target_globs(
    read: &mut Reader,
    path: &str,
    parse: impl FnOnce(&str) -> Result<GlobSet, String>,
) -> Option<GlobSet> {
    if read.text(path).is_empty() && read.source(path) != Source::Default {
        read.mistake(path, "is empty, so that it matches nothing", "");
        return None;
    }
    read.get(path, parse)
}
