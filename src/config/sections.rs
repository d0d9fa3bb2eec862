//! The sections of the configuration: their values, and the rules that tie keys together.
//!
//! A section exists only if all its values are valid.

use super::{
    Config, ConfigError, HIDDEN, KeySource,
    api_key::read_key,
    reader::{DEFAULT, Reader},
    values::{addresses, base_url, globs, is, items, repository_globs, telemetry_path},
};
use crate::{
    domain::{
        Thresholds,
        filter::Filter,
        links::{Links, Template},
        targets::{Named, Target, TargetEntry, Targets, globs_in_words, parse_due},
    },
    support::logging::LogSettings,
};
use std::{mem, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};
use url::Url;

/// The shortest default of `poll.stale_after`.
const HOUR: Duration = Duration::from_secs(3600);

/// The limits, timeouts and identity of requests to the API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Root of the API: http or https, no user, query or fragment; its path ends with a slash.
    pub(crate) base_url: Url,
    pub(crate) key: KeySource,
    /// 1 to 1000.
    pub(crate) page_size: u16,
    /// 1 to 1024.
    pub(crate) concurrency: usize,
    /// `None` is unlimited; otherwise finite and above 0.
    pub(crate) requests_per_second: Option<f64>,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    /// 1 to 10.
    pub(crate) max_attempts: u32,
    /// The longest Retry-After that is obeyed: 1 second to 24 hours.
    pub(crate) max_retry_after: Duration,
    /// In bytes.
    pub(crate) max_response_size: u64,
    /// 1 to 10,000,000.
    pub(crate) max_repositories: usize,
    pub(crate) ca_file: Option<PathBuf>,
    /// Finite, at least 1.
    pub(crate) completion_scale: f64,
    /// True if a layer above the defaults sets `completion_scale`, which then is never suspect.
    pub(crate) is_scale_chosen: bool,
    /// True if the API omits fields whose value is 0 or false.
    pub(crate) omits_zeros: bool,
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
    pub(crate) listen_addresses: Vec<String>,
    pub(crate) telemetry_path: String,
}

/// Builds a struct from fields that are `None` after a mistake. Reads all fields before the first
/// `None` ends it, so that every mistake is noted. A field shadows a function of its name in the
/// fields below it.
macro_rules! all {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        $(let $field = $value;)*
        build(|| Some($name { $($field: $field?),* }))
    }};
}

/// Limits the question marks of `all!` to one struct, so that structs can be fields of each other.
fn build<T>(build: impl FnOnce() -> Option<T>) -> Option<T> {
    build()
}

/// Returns the configuration if it has no mistake. Calls `check` with each value without a mistake
/// so far, even if other values have one.
pub fn config(
    mut read: Reader,
    mut check: impl FnMut(&str, &str) -> anyhow::Result<()>,
) -> Result<Config, ConfigError> {
    let config = sections(&mut read);
    for setting in &mut read.settings {
        if setting.mistake.is_none()
            && !setting.value.is_empty()
            && let Err(error) = check(setting.key.path, &setting.value)
        {
            setting.mistake(error);
        }
    }
    let mistakes = read.mistakes();
    let config = config.filter(|_| mistakes.is_empty());
    config.ok_or(ConfigError(mistakes))
}

fn sections(read: &mut Reader) -> Option<Config> {
    all!(Config {
        api: api(read),
        poll: poll(read),
        filter: all!(Filter {
            include: read.parse("filter.include", repository_globs),
            exclude: read.parse("filter.exclude", repository_globs),
            private: read.get("filter.private"),
        }),
        excluded_languages: read.parse("filter.exclude_languages", globs),
        thresholds: all!(Thresholds {
            stalled_after: read.get("thresholds.stalled_after"),
            regressed_by: read.get("thresholds.regressed_by"),
            at_risk_within: read.get("thresholds.at_risk_within"),
        }),
        links: all!(Links {
            repository: read.parse("links.repository", optional(Template::of_repository)),
            language: read.parse("links.language", optional(Template::of_language)),
        })
        .map(Arc::new),
        state_file: Some(read.file("state.file")),
        web: {
            // The server loads the file.
            read.file("web.config_file");
            all!(WebConfig {
                listen_addresses: read.parse("web.listen_addresses", addresses),
                telemetry_path: read.parse("web.telemetry_path", telemetry_path),
            })
        },
        log: all!(LogSettings {
            level: read
                .get("log.level")
                .and_then(|level: String| level.parse().ok()),
            json: read
                .get("log.format")
                .map(|format: String| format == "json"),
        }),
        targets: targets(read).map(Arc::new),
        settings: Some(read.settings.clone()),
    })
}

/// Makes a parser whose result is `None` for an empty text.
fn optional<T>(
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> impl FnOnce(&str) -> Result<Option<T>, String> {
    |text| (!text.is_empty()).then(|| parse(text)).transpose()
}

fn api(read: &mut Reader) -> Option<ApiConfig> {
    all!(ApiConfig {
        base_url: root(read),
        key: key(read),
        page_size: read.get("api.page_size"),
        concurrency: read.get("api.concurrency"),
        requests_per_second: read
            .get("api.requests_per_second")
            .map(|rate: f64| (rate > 0.0).then_some(rate)),
        connect_timeout: read.get("api.connect_timeout"),
        timeout: read.get("api.timeout"),
        max_attempts: read.get("api.max_attempts"),
        max_retry_after: read.get("api.max_retry_after"),
        max_response_size: read.get("api.max_response_size"),
        max_repositories: read.get("api.max_repositories"),
        ca_file: Some(read.file("api.ca_file")),
        completion_scale: read.get("api.completion_scale"),
        is_scale_chosen: Some(read.setting("api.completion_scale").source != DEFAULT),
        omits_zeros: read.get("api.omits_zeros"),
    })
}

/// Returns the root of the API, unless the key would be sent there in the clear.
fn root(read: &mut Reader) -> Option<Url> {
    let allow_http: Option<bool> = read.get("api.allow_http");
    let setting = read.setting("api.base_url");
    if setting.value.is_empty() {
        setting.mistake(
            "is required, but not set; set it in the configuration file, as \
             TRANSLATION_EXPORTER_API__BASE_URL or with --api.base-url",
        );
    }
    let url = read.parse("api.base_url", base_url)?;
    let setting = read.setting("api.base_url");
    if url.scheme() == "http" && !allow_http? && !is_loopback(&url) {
        setting.mistake(
            "would send the key unencrypted: http to a host that is not loopback; write https://, \
             or set api.allow_http to true",
        );
    }
    // The setting shows the URL as it is used, so that another spelling is no change.
    url.as_str()
        .trim_end_matches('/')
        .clone_into(&mut setting.value);
    Some(url)
}

/// Returns true for a URL that leads to this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns the one source of the key, after it has given a key.
fn key(read: &mut Reader) -> Option<KeySource> {
    let (inline, file) = (read.text("api.key"), read.text("api.key_file"));
    let of_file = read.setting("api.key_file");
    let (path, source) = match (&*inline, &*file) {
        ("", "") if of_file.mistake.is_some() => return None,
        (_, "") => ("api.key", KeySource::Inline(inline.into())),
        ("", _) => ("api.key_file", KeySource::File(file.into())),
        _ => {
            let problem = format!(
                "is given, and api.key_file ({}) too; remove one of the two",
                of_file.source
            );
            read.setting("api.key").mistake(problem);
            return None;
        }
    };
    let setting = read.setting(path);
    if setting.value.is_empty() {
        setting.mistake(
            "is required, or api.key_file, but neither is set; set api.key_file to the file that \
             holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
        );
    } else if let Err(error) = read_key(&source) {
        setting.mistake(error);
    } else if let KeySource::Inline(_) = source {
        HIDDEN.clone_into(&mut setting.value);
    }
    Some(source)
}

fn poll(read: &mut Reader) -> Option<PollConfig> {
    let interval: Option<Duration> = read.get("poll.interval");
    let given: Option<Option<Duration>> = read.get("poll.stale_after");
    let (interval, given) = (interval?, given?);
    let source = read.setting("poll.interval").source.clone();
    let stale_after = given.unwrap_or(HOUR.max(interval * 3));
    let [shown, least] = [stale_after, interval * 2].map(humantime::format_duration);
    let setting = read.setting("poll.stale_after");
    if given.is_none() {
        setting.value = shown.to_string();
    }
    if stale_after < interval * 2 {
        setting.mistake(format_args!(
            "is {shown}, less than twice poll.interval ({source}); give at least {least}, or \
             shorten poll.interval"
        ));
    }
    Some(PollConfig {
        interval,
        stale_after,
    })
}

fn targets(read: &mut Reader) -> Option<Targets> {
    let mut entries = Vec::new();
    let excluded = globs(&read.text("filter.exclude_languages")).unwrap_or_default();
    for (place, mut entry) in mem::take(&mut read.targets) {
        let mut target = target(&mut entry, place);
        if let Some(target) = &mut target {
            let named = &mut target.named.languages;
            named.retain(|code| !excluded.is_match(code));
        }
        entries.push(target.map(Arc::new));
        read.mistakes.append(&mut entry.mistakes());
    }
    entries.into_iter().collect::<Option<_>>().map(Targets)
}

fn target(read: &mut Reader, source: String) -> Option<TargetEntry> {
    let texts = ["targets.repositories", "targets.languages"].map(|path| {
        let setting = read.setting(path);
        if setting.value.is_empty() && setting.source != DEFAULT {
            // It could mean none or all.
            setting.mistake("is empty; leave the key out to match all");
        }
        setting.value.clone()
    });
    let [repositories, languages] = texts.each_ref().map(|text| items(text));
    let words = globs_in_words(&repositories, &languages);
    let named = Named::of(&repositories, &languages);
    all!(TargetEntry {
        source: Some(source),
        repositories: read.parse("targets.repositories", repository_globs),
        languages: read.parse("targets.languages", globs),
        target: all!(Target {
            ratio: read.get("targets.ratio"),
            due: read.parse(
                "targets.due",
                optional(|text| { parse_due(text).ok_or_else(|| is(text)) })
            ),
            stalled_after: read.get("targets.stalled_after"),
        }),
        globs: Some(words),
        named: Some(named),
    })
}
