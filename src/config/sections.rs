//! The sections of the configuration: bounds, what single values must look like, and the rules that tie keys together. A
//! message quotes a value only if that can hold no secret.

use super::{
    ApiConfig, Config, ConfigError, FilterConfig, KeySource, LogConfig, PollConfig, WebConfig,
    entry::Entry,
    key::read_key,
    reader::{Reader, quoted, short},
};
use bytesize::ByteSize;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::{net::Ipv6Addr, sync::Arc, time::Duration};
use tracing::Level;
use url::{Host, Url};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// No duration is longer: beyond it, arithmetic on clocks would overflow.
const LONGEST: Duration = Duration::from_secs(100 * 31_557_600);

/// The configuration, if nothing is wrong with it.
pub(super) fn config(mut read: Reader) -> Result<Config, ConfigError> {
    let (api, poll) = (api(&mut read), poll(&mut read));
    let filter = FilterConfig {
        include: Some(globs(&mut read, "filter.include")).filter(|globs| !globs.is_empty()),
        exclude: globs(&mut read, "filter.exclude"),
        private: read.switch("filter.private"),
    };
    let (state_file, web, log) = (read.path("state.file"), web(&mut read), log(&mut read));
    let (api, settings) = (read.finish(api)?, read.settings());
    Ok(Config {
        api,
        poll,
        filter,
        targets: Arc::default(),
        state_file,
        web,
        log,
        settings,
        warnings: read.warnings,
    })
}

/// `None` if something is wrong that leaves no value at all.
fn api(read: &mut Reader) -> Option<ApiConfig> {
    let (base_url, key) = (base_url(read), key(read));
    let rate = "0 for no limit, or 0.001 to 1000000";
    let is_rate = |rate: &f64| *rate == 0.0 || (0.001..=1_000_000.0).contains(rate);
    let size = "a size of at least 1B, such as 512KiB or 16MiB";
    let scale = "the completion that means finished, a number of at least 1";
    Some(ApiConfig {
        page_size: read.whole("api.page_size", 1..=1000),
        concurrency: read.whole("api.concurrency", 1..=1024),
        requests_per_second: Some(read.number("api.requests_per_second", rate, is_rate))
            .filter(|rate| *rate > 0.0),
        connect_timeout: read.duration("api.connect_timeout", MILLISECOND..=LONGEST),
        timeout: read.duration("api.timeout", MILLISECOND..=LONGEST),
        max_attempts: read.whole("api.max_attempts", 1..=10),
        max_retry_after: read.duration("api.max_retry_after", SECOND..=HOUR * 24),
        max_response_size: read
            .number("api.max_response_size", size, |size: &ByteSize| size.0 > 0)
            .0,
        ca_file: read.path("api.ca_file"),
        completion_scale: read.number("api.completion_scale", scale, |scale| {
            (1.0..=f64::MAX).contains(scale)
        }),
        base_url: base_url?,
        key: key?,
    })
}

/// Its path ends with a slash. The value may hold a secret in the wrong place: no message quotes it.
fn base_url(read: &mut Reader) -> Option<Url> {
    const PATH: &str = "api.base_url";
    let hint = "set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url";
    read.require(&[PATH], hint);
    let allow_http = read.switch("api.allow_http");
    let expected = "the root of the API, such as https://api.example.com";
    let text = read.text(PATH, expected)?;
    let neither = || format!("is neither an https nor an http URL; give {expected}");
    let problem = match Url::parse(&text) {
        // The standard of URLs would supply missing slashes.
        _ if !text.contains("://") => neither(),
        Err(error) => format!("is not a URL: {error}; give {expected}"),
        Ok(url) if holds_more_than_a_root(&url) => {
            let parts = "a user, a password, a query (from \"?\" on) or a fragment (from \"#\" on)";
            format!("holds {parts}, which is not allowed; give {expected}")
        }
        Ok(mut url)
            if url.scheme() == "https"
                || url.scheme() == "http" && (allow_http || is_loopback(&url)) =>
        {
            url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
            return Some(url);
        }
        Ok(url) if url.scheme() == "http" => {
            let hint = "write https://, or set api.allow_http to true";
            format!("would send the key in the clear: http to a host that is not loopback; {hint}")
        }
        Ok(_) => neither(),
    };
    read.mistake(PATH, problem);
    None
}

fn holds_more_than_a_root(url: &Url) -> bool {
    !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
}

/// Whether what is sent there stays on this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn key(read: &mut Reader) -> Option<KeySource> {
    let [key, file] = ["api.key", "api.key_file"];
    let hint = "set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key";
    read.require(&[key, file], hint);
    let inline = read.text(key, "the API key as one text in quotes");
    let (path, source) = match (inline, read.file(file)) {
        (Some(_), Some(_)) => {
            let [key, file] = [key, file].map(|path| format!("{path} ({})", read.source(path)));
            read.mistakes.push(format!(
                "{key} and {file}: only one of them may be given; remove one of the two"
            ));
            return None;
        }
        (None, None) => return None,
        (Some(inline), None) => (key, KeySource::Inline(inline.into())),
        (None, Some(found)) => (file, KeySource::file(found.original(), &found.relative())),
    };
    read_key(&source)
        .map_err(|error| read.mistake(path, error))
        .ok()?;
    Some(source)
}

fn poll(read: &mut Reader) -> PollConfig {
    const STALE_AFTER: &str = "poll.stale_after";
    let interval = read.duration("poll.interval", SECOND..=LONGEST / 4);
    let least = interval * 2;
    if read.are_unset(&[STALE_AFTER]) {
        let default = humantime::format_duration(HOUR.max(interval * 3)).to_string();
        read.figment =
            read.figment
                .clone()
                .merge(Entry::new(STALE_AFTER, default.into(), "default"));
    }
    let stale_after = read.duration(STALE_AFTER, SECOND..=LONGEST);
    if stale_after < least && !stale_after.is_zero() {
        let [given, interval, least] =
            [stale_after, interval, least].map(humantime::format_duration);
        let problem = format!(
            "{given} is less than twice poll.interval, which is {interval} ({})",
            read.source("poll.interval")
        );
        read.mistake(
            STALE_AFTER,
            format!("{problem}; give at least {least}, or shorten poll.interval"),
        );
    }
    PollConfig {
        interval,
        stale_after,
    }
}

fn globs(read: &mut Reader, path: &str) -> GlobSet {
    let expected = "a list of globs on owner/repo, such as [\"acme/*\"]";
    let mut set = GlobSetBuilder::new();
    for glob in read
        .extract::<Vec<String>>(path, expected)
        .unwrap_or_default()
    {
        let shown = quoted(&glob);
        match GlobBuilder::new(&glob).literal_separator(true).build() {
            _ if glob.is_empty() => {
                read.mistake(path, format!("holds an empty glob; give {expected}"));
            }
            Ok(built) => drop(set.add(built)),
            Err(error) => {
                read.mistake(
                    path,
                    format!(
                        "the glob {shown} does not parse: {}; give {expected}",
                        error.kind()
                    ),
                );
            }
        }
        if !glob.contains('/') && !glob.contains("**") {
            let hint = "append /* to match all repositories of an owner";
            read.warning(
                path,
                format!("the glob {shown} contains no slash, so it matches no owner/repo; {hint}"),
            );
        }
    }
    set.build().unwrap_or_else(|error| {
        read.mistake(
            path,
            format!("is too large: {}; give fewer globs", error.kind()),
        );
        GlobSet::empty()
    })
}

fn web(read: &mut Reader) -> WebConfig {
    WebConfig {
        listen_addresses: listen_addresses(read),
        telemetry_path: telemetry_path(read).unwrap_or_default(),
        config_file: read.path("web.config_file"),
        enable_lifecycle: read.switch("web.enable_lifecycle"),
        max_requests: read.whole("web.max_requests", 1..=1_000_000),
    }
}

pub(super) fn listen_addresses(read: &mut Reader) -> Vec<String> {
    const PATH: &str = "web.listen_addresses";
    let expected =
        "a list of host:port in quotes, such as [\":10018\", \"127.0.0.1:10018\", \"[::1]:10018\"]";
    let Some(addresses) = read.extract::<Vec<String>>(PATH, expected) else {
        return Vec::new();
    };
    if addresses.is_empty() {
        read.mistake(PATH, format!("is empty; give {expected}"));
    }
    for (index, address) in addresses.iter().enumerate() {
        let shown = quoted(address);
        if let Err(problem) = check_address(address) {
            let port = address
                .parse()
                .map(|port: u16| format!("write \":{port}\""));
            let hint = port.unwrap_or_else(|_| format!("give {expected}"));
            read.mistake(PATH, format!("{shown} {problem}; {hint}"));
        } else if addresses[..index].contains(address) && !address.ends_with(":0") {
            read.mistake(
                PATH,
                format!("{shown} is given twice; remove one of the two"),
            );
        }
    }
    addresses
}

/// Whether it is host:port; the host may be missing, an IPv6 address is in brackets.
fn check_address(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    match host {
        _ if text.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok() => {
            Err("holds an IPv6 address without brackets")
        }
        _ if port.starts_with('+') || port.parse::<u16>().is_err() => {
            Err("has a port that is not a number from 0 to 65535")
        }
        _ if host.starts_with('[') && Host::parse(host).is_ok() => Ok(()),
        // For names, the standard of URLs is too lenient: it would decode a percent sign, and take an asterisk.
        _ if host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) =>
        {
            Ok(())
        }
        _ => Err("has a host that is neither a name nor an address"),
    }
}

/// A path at which the metrics can be served: not that of the status page, and none that begins like the exporter's own.
fn telemetry_path(read: &mut Reader) -> Option<String> {
    const PATH: &str = "web.telemetry_path";
    let hint = "a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths";
    let path: String = read.extract(PATH, hint)?;
    let problem = match path.as_str() {
        path if !path.starts_with('/') => "does not begin with a slash",
        path if path == "/" || path.starts_with("/-/") => "is already a path of the exporter",
        path if !path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte)) =>
        {
            "contains a character that is not allowed in it"
        }
        _ => return Some(path),
    };
    read.mistake(PATH, format!("{} {problem}; give {hint}", short(&path)));
    None
}

fn log(read: &mut Reader) -> LogConfig {
    let words = "error, warn, info, debug or trace";
    let levels = [
        Level::INFO,
        Level::ERROR,
        Level::WARN,
        Level::DEBUG,
        Level::TRACE,
    ];
    LogConfig {
        level: read.choice(
            "log.level",
            words,
            &levels.map(|level| (level.as_str(), level)),
        ),
        json: read.choice(
            "log.format",
            "logfmt or json",
            &[("logfmt", false), ("json", true)],
        ),
    }
}
