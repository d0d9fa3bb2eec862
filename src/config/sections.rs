//! The sections of the configuration: bounds, what single values must look like, and the rules that tie keys together. A
//! message quotes a value only if that can hold no secret.

use super::{
    Config, ConfigError, KeySource,
    api_key::read_key,
    mistake::Source,
    reader::{Reader, is_plain, short},
};
use crate::domain::{
    filter::{Filter, LanguageFilter},
    links::{Links, Template, TemplateError},
    targets::{Entry, Target, Targets, globs_in_words, parse_due},
    twelve_decimals,
};
use std::{
    net::{Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tracing::Level;
use url::{Host, ParseError, Position, Url};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// No duration is longer: beyond it, arithmetic on clocks would overflow.
const LONGEST: Duration = Duration::from_secs(100 * 31_557_600);

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
    /// Whether the API leaves out fields whose value is 0 or false.
    pub omits_zeros: bool,
}

/// When the API is polled, and how long data are shown.
#[derive(Debug, Clone)]
pub struct PollConfig {
    pub interval: Duration,
    pub stale_after: Duration,
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

/// The configuration, if nothing is wrong with it.
pub fn config(mut read: Reader) -> Result<Config, ConfigError> {
    let (api, poll) = (api(&mut read), poll(&mut read));
    let filter = Filter {
        include: read.globs("filter.include"),
        exclude: read.globs("filter.exclude"),
        private: read.switch("filter.private"),
    };
    let excluded_languages = LanguageFilter(read.globs("filter.exclude_languages"));
    let links = Links {
        repository: link(&mut read, "links.repository", Template::of_repository),
        language: link(&mut read, "links.language", Template::of_language),
    };
    let web = WebConfig {
        listen_addresses: listen_addresses(&mut read),
        telemetry_path: telemetry_path(&mut read),
        config_file: read.file("web.config_file"),
        enable_lifecycle: read.switch("web.enable_lifecycle"),
        max_requests: read.number("web.max_requests", 1..=1_000_000),
    };
    let log = log(&mut read);
    let targets = targets(&mut read);
    match api {
        Some(api) if read.mistakes.is_empty() => Ok(Config {
            api,
            poll,
            filter,
            excluded_languages,
            links: Arc::new(links),
            state_file: read.file("state.file"),
            web,
            log,
            settings: read.settings(),
            targets: Arc::new(targets),
        }),
        _ => Err(ConfigError(read.mistakes)),
    }
}

/// `None` if something is wrong that leaves no value at all.
fn api(read: &mut Reader) -> Option<ApiConfig> {
    let (base_url, key) = (base_url(read), key(read));
    let rate = read.parsed("api.requests_per_second", |text| {
        let is_rate = |rate: &f64| *rate == 0.0 || (0.001..=1_000_000.0).contains(rate);
        text.parse().ok().filter(is_rate)
    });
    Some(ApiConfig {
        page_size: read.number("api.page_size", 1..=1000),
        concurrency: read.number("api.concurrency", 1..=1024),
        requests_per_second: (rate > 0.0).then_some(rate),
        connect_timeout: read.duration("api.connect_timeout", MILLISECOND..=LONGEST),
        timeout: read.duration("api.timeout", MILLISECOND..=LONGEST),
        max_attempts: read.number("api.max_attempts", 1..=10),
        max_retry_after: read.duration("api.max_retry_after", SECOND..=HOUR * 24),
        max_response_size: read.parsed("api.max_response_size", size),
        max_repositories: read.number("api.max_repositories", 1..=10_000_000),
        ca_file: read.file("api.ca_file"),
        completion_scale: read.number("api.completion_scale", 1.0..=f64::MAX),
        omits_zeros: read.switch("api.omits_zeros"),
        base_url: base_url?,
        key: key?,
    })
}

/// Bytes, at least 1.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match text[digits.len()..].trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    let size = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    (size > 0).then_some(size)
}

/// Its path ends with a slash. The value may hold a secret in the wrong place: no message quotes it.
fn base_url(read: &mut Reader) -> Option<Url> {
    const PATH: &str = "api.base_url";
    let allow_http = read.switch("api.allow_http");
    let text = read.text(PATH);
    match Url::parse(&text) {
        _ if text.is_empty() && read.has_unknown => {}
        _ if text.is_empty() => read.mistake(
            PATH,
            "is required, but not set",
            "set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url",
        ),
        Err(ParseError::RelativeUrlWithoutBase) => {
            read.mistake(PATH, "does not begin with https://", "");
        }
        Err(error) => read.mistake(PATH, format!("is not a URL: {error}"), ""),
        Ok(url) if holds_more_than_a_root(&url) => read.mistake(
            PATH,
            "holds a user, a password, a query (from \"?\" on) or a fragment (from \"#\" on), which is not allowed",
            "",
        ),
        Ok(mut url) => match url.scheme() {
            "http" if !allow_http && !is_loopback(&url) => read.mistake(
                PATH,
                "would send the key in the clear: http to a host that is not loopback",
                "write https://, or set api.allow_http to true",
            ),
            "http" | "https" => {
                url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
                // As it is used, so that another spelling is no change.
                read.put(PATH, url.as_str().trim_end_matches('/'), read.source(PATH));
                return Some(url);
            }
            _ => read.mistake(PATH, "is neither an https nor an http URL", ""),
        },
    }
    None
}

fn holds_more_than_a_root(url: &Url) -> bool {
    let user = &url[Position::BeforeUsername..Position::BeforeHost];
    !user.is_empty() || !url[Position::AfterPath..].is_empty()
}

/// Whether what is sent there stays on this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn key(read: &mut Reader) -> Option<KeySource> {
    let [key, file] = ["api.key", "api.key_file"];
    let inline = read.text(key);
    let (path, source) = match read.file(file) {
        Some(_) if !inline.is_empty() => {
            let what = format!("is given, and {file} ({}) too", read.source(file));
            read.mistake(key, what, "remove one of the two");
            return None;
        }
        Some(found) => (file, KeySource::file(&read.text(file), &found)),
        None if inline.is_empty() => {
            let what = "is required, or api.key_file, but neither is set";
            let hint = "set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key";
            if !read.has_unknown {
                read.mistake(key, what, hint);
            }
            return None;
        }
        None => (key, KeySource::Inline(inline.into())),
    };
    if let Err(error) = read_key(&source) {
        read.mistake(path, error.what, error.hint);
    }
    Some(source)
}

fn poll(read: &mut Reader) -> PollConfig {
    const STALE_AFTER: &str = "poll.stale_after";
    let interval = read.duration("poll.interval", SECOND..=LONGEST / 4);
    if read.text(STALE_AFTER).is_empty() {
        let default = humantime::format_duration(HOUR.max(interval * 3)).to_string();
        read.put(STALE_AFTER, &default, Source::Default);
    }
    let stale_after = read.duration(STALE_AFTER, MILLISECOND..=LONGEST);
    if stale_after < interval * 2 && !stale_after.is_zero() {
        let [given, interval, least] =
            [stale_after, interval, interval * 2].map(humantime::format_duration);
        let source = read.source("poll.interval");
        let what =
            format!("is {given}, less than twice poll.interval, which is {interval} ({source})");
        let hint = format!("give at least {least}, or shorten poll.interval");
        read.mistake(STALE_AFTER, what, hint);
    }
    PollConfig {
        interval,
        stale_after,
    }
}

/// A URL template; its text may hold a secret in the wrong place, and is not quoted.
fn link(
    read: &mut Reader,
    path: &str,
    parse: impl FnOnce(&str) -> Result<Template, TemplateError>,
) -> Option<Template> {
    let text = read.text(path);
    if text.is_empty() {
        return None;
    }
    let what = match parse(&text) {
        Ok(template) => return Some(template),
        Err(TemplateError::UnknownPlaceholder(name)) if is_plain(&name) => {
            format!("holds the unknown placeholder {{{name}}}")
        }
        Err(error) => error.to_string(),
    };
    read.mistake(path, what, "");
    None
}

fn targets(read: &mut Reader) -> Targets {
    let mut targets = Vec::new();
    for (source, entry) in &mut read.targets {
        // A percentage has a hint of its own.
        let ratio = entry.number("targets.ratio", 0.0..=100.0);
        if ratio > 1.0 {
            let hint = format!("write {}: it is a ratio, not a percentage", ratio / 100.0);
            entry.mistake("targets.ratio", format!("is {ratio}"), hint);
        }
        let text = entry.text("targets.due");
        let due = parse_due(&text);
        if due.is_none() && !text.is_empty() {
            entry.mistake("targets.due", format!("is {text:?}"), "");
        }
        targets.push(Entry {
            source: source.to_string(),
            globs: globs_in_words(
                &entry.list("targets.repositories"),
                &entry.list("targets.languages"),
            ),
            repositories: entry.globs("targets.repositories"),
            languages: entry.globs("targets.languages"),
            target: Target {
                ratio: twelve_decimals(ratio),
                due,
            },
        });
        read.mistakes.append(&mut entry.mistakes);
    }
    Targets(targets)
}

pub fn listen_addresses(read: &mut Reader) -> Vec<String> {
    const PATH: &str = "web.listen_addresses";
    let addresses = read.list(PATH);
    if addresses.is_empty() {
        read.mistake(PATH, "is empty", "");
    }
    for address in &addresses {
        if let Err(problem) = check_address(address) {
            let hint = match address.parse::<u16>() {
                Ok(port) => format!("write \":{port}\""),
                Err(_) => String::new(),
            };
            read.mistake(PATH, format!("{address:?} {problem}"), hint);
        }
    }
    addresses
}

/// Whether it is host:port; the host may be missing, an IPv6 address is in brackets.
fn check_address(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    if port.parse::<u16>().is_err() {
        return Err("has a port that is not a number from 0 to 65535");
    }
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if text.parse::<SocketAddr>().is_ok() || host.bytes().all(of_name) {
        return Ok(());
    }
    if host.parse::<Ipv6Addr>().is_ok() {
        return Err("holds an IPv6 address without brackets");
    }
    Err("has a host that is neither a name nor an address")
}

/// A path at which the metrics can be served: not that of the status page, and none that begins like the exporter's own.
fn telemetry_path(read: &mut Reader) -> String {
    const PATH: &str = "web.telemetry_path";
    let path = read.text(PATH);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let broken = if !path.starts_with('/') {
        "does not begin with a slash"
    } else if path.starts_with("//") {
        // A browser expects a host after them.
        "begins with two slashes"
    } else if path == "/" || path.starts_with("/-/") {
        "is a path of the exporter itself"
    } else if path.split('/').any(|part| part == "." || part == "..") {
        // Clients resolve it before they ask.
        "has a part . or .."
    } else if !path.bytes().all(is_allowed) {
        "holds a character that is not allowed"
    } else {
        return path;
    };
    read.mistake(PATH, format!("is {}, which {broken}", short(&path)), "");
    path
}

fn log(read: &mut Reader) -> LogConfig {
    let level = read.parsed("log.level", |text| text.parse().ok().map(Some));
    LogConfig {
        level: level.unwrap_or(Level::INFO),
        json: read.parsed("log.format", |text| match text {
            "logfmt" => Some(false),
            "json" => Some(true),
            _ => None,
        }),
    }
}
