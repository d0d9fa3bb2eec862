//! The sections of the configuration: bounds, and the rules that tie keys together.

use super::{
    ApiConfig, Config, FilterConfig, KeySource, LogConfig, LogFormat, PollConfig, WebConfig, error::quoted,
    key::read_key, keys::Key, layers::Entry, reader::Reader, syntax,
};
use bytesize::ByteSize;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use secrecy::SecretString;
use std::time::Duration;
use tracing::Level;

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// No duration is longer: beyond it, arithmetic on clocks would overflow.
const LONGEST: Duration = Duration::from_secs(100 * 31_557_600);

/// `None` if something is wrong that leaves no value at all.
pub(super) fn config(read: &mut Reader) -> Option<Config> {
    let api = api(read);
    Some(Config {
        poll: poll(read),
        filter: FilterConfig {
            include: Some(globs(read, "filter.include")).filter(|globs| !globs.is_empty()),
            exclude: globs(read, "filter.exclude"),
            private: read.switch("filter.private"),
        },
        state_file: read.path("state.file"),
        web: web(read),
        log: log(read),
        api: api?,
    })
}

fn api(read: &mut Reader) -> Option<ApiConfig> {
    let (base_url, key) = (base_url(read), key(read));
    Some(ApiConfig {
        page_size: read.whole("api.page_size", 1..=1000),
        concurrency: read.whole("api.concurrency", 1..=1024),
        requests_per_second: Some(read.number(
            "api.requests_per_second",
            "0 for no limit, or 0.001 to 1000000",
            |rate| *rate == 0.0 || (0.001..=1_000_000.0).contains(rate),
        ))
        .filter(|rate| *rate > 0.0),
        connect_timeout: read.duration("api.connect_timeout", MILLISECOND..=LONGEST),
        timeout: read.duration("api.timeout", MILLISECOND..=LONGEST),
        max_attempts: read.whole("api.max_attempts", 1..=10),
        max_retry_after: read.duration("api.max_retry_after", SECOND..=HOUR * 24),
        max_response_size: read
            .number("api.max_response_size", "a size of at least 1B, such as 512KiB or 16MiB", |size: &ByteSize| {
                size.0 > 0
            })
            .0,
        ca_file: read.path("api.ca_file"),
        completion_scale: read.number(
            "api.completion_scale",
            "the completion that means finished, a number of at least 1",
            |scale: &f64| scale.is_finite() && *scale >= 1.0,
        ),
        base_url: base_url?,
        key: key?,
    })
}

fn base_url(read: &mut Reader) -> Option<url::Url> {
    const PATH: &str = "api.base_url";
    let variable = Key::find(PATH).map(Key::variable).unwrap_or_default();
    read.require(&[PATH], format!("set it in the configuration file, as {variable} or by --api.base-url"));
    let allow_http = read.switch("api.allow_http");
    let expected = "the root of the API, such as https://api.example.com";
    let text = read.text(PATH, expected)?;
    let problem = match syntax::base_url(&text) {
        Ok(url) if url.scheme() == "https" || allow_http || syntax::is_loopback(&url) => return Some(url),
        Ok(_) => "would send the key in the clear: http to a host that is not loopback; write https://, or set \
             api.allow_http to true"
            .to_owned(),
        Err(problem) => format!("{problem}; give {expected}"),
    };
    read.mistake(PATH, problem);
    None
}

fn key(read: &mut Reader) -> Option<KeySource> {
    const PATHS: [&str; 2] = ["api.key", "api.key_file"];
    let hint = "set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key";
    read.require(&PATHS, hint);
    let inline = read.text("api.key", "the API key as one text in quotes");
    let file = read.written_path("api.key_file");
    let (path, key) = match (inline, file) {
        (Some(_), Some(_)) => {
            let [key, file] = PATHS.map(|path| format!("{path} ({})", read.source(path)));
            read.mistakes.push(format!("{key} and {file}: only one of them may be given; remove one of the two"));
            return None;
        }
        (None, None) => return None,
        (Some(inline), None) => ("api.key", KeySource::Inline(SecretString::from(inline))),
        (None, Some((written, path))) => ("api.key_file", KeySource::file(&written, &path)),
    };
    read_key(&key).map_err(|error| read.mistake(path, error)).ok()?;
    Some(key)
}

fn poll(read: &mut Reader) -> PollConfig {
    const STALE_AFTER: &str = "poll.stale_after";
    let interval = read.duration("poll.interval", SECOND..=LONGEST / 4);
    let least = interval.saturating_mul(2);
    if read.are_unset(&[STALE_AFTER]) {
        let default = humantime::format_duration(HOUR.max(interval.saturating_mul(3))).to_string();
        read.figment = read.figment.clone().merge(Entry::new(STALE_AFTER, default.into(), "default"));
    }
    let stale_after = read.duration(STALE_AFTER, SECOND..=LONGEST);
    if stale_after < least && !stale_after.is_zero() {
        let [given, interval, least] = [stale_after, interval, least].map(humantime::format_duration);
        let problem =
            format!("{given} is less than twice poll.interval, which is {interval} ({})", read.source("poll.interval"));
        read.mistake(STALE_AFTER, format!("{problem}; give at least {least}, or shorten poll.interval"));
    }
    PollConfig { interval, stale_after }
}

fn globs(read: &mut Reader, path: &str) -> GlobSet {
    let expected = "a list of globs on owner/repo, such as [\"acme/*\"]";
    let mut set = GlobSetBuilder::new();
    for glob in read.extract::<Vec<String>>(path, expected).unwrap_or_default() {
        let shown = quoted(&glob);
        match GlobBuilder::new(&glob).literal_separator(true).build() {
            _ if glob.is_empty() => read.mistake(path, format!("holds an empty glob; give {expected}")),
            Ok(built) => {
                set.add(built);
            }
            Err(error) => {
                read.mistake(path, format!("the glob {shown} does not parse: {}; give {expected}", error.kind()));
            }
        }
        if !glob.contains('/') && !glob.contains("**") {
            let hint = "append /* to match all repositories of an owner";
            read.warning(path, format!("the glob {shown} contains no slash, so it matches no owner/repo; {hint}"));
        }
    }
    set.build().unwrap_or_else(|error| {
        read.mistake(path, format!("is too large: {}; give fewer globs", error.kind()));
        GlobSet::empty()
    })
}

fn web(read: &mut Reader) -> WebConfig {
    const PATH: &str = "web.telemetry_path";
    let hint =
        "a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths";
    let telemetry_path: Option<String> = read.extract(PATH, hint);
    if let Some(Err(problem)) = telemetry_path.as_deref().map(syntax::telemetry_path) {
        read.mistake(PATH, format!("{problem}; give {hint}"));
    }
    WebConfig {
        telemetry_path: telemetry_path.unwrap_or_default(),
        listen_addresses: listen_addresses(read),
        config_file: read.path("web.config_file"),
        enable_lifecycle: read.switch("web.enable_lifecycle"),
        max_requests: read.whole("web.max_requests", 1..=1_000_000),
    }
}

pub(super) fn listen_addresses(read: &mut Reader) -> Vec<String> {
    const PATH: &str = "web.listen_addresses";
    let expected = "a list of host:port in quotes, such as [\":10018\", \"127.0.0.1:10018\", \"[::1]:10018\"]";
    let addresses: Option<Vec<String>> = read.extract(PATH, expected);
    if addresses.as_ref().is_some_and(Vec::is_empty) {
        read.mistake(PATH, format!("is empty; give {expected}"));
    }
    let addresses = addresses.unwrap_or_default();
    for (index, address) in addresses.iter().enumerate() {
        if let Err(problem) = syntax::listen_address(address) {
            let hint = match address.parse::<u16>() {
                Ok(port) => format!("write \":{port}\""),
                Err(_) => format!("give {expected}"),
            };
            read.mistake(PATH, format!("{} {problem}; {hint}", quoted(address)));
        } else if addresses[..index].contains(address) && !address.ends_with(":0") {
            read.mistake(PATH, format!("{} is given twice; remove one of the two", quoted(address)));
        }
    }
    addresses
}

fn log(read: &mut Reader) -> LogConfig {
    let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
    let levels = levels.map(|level| (level.as_str(), level));
    LogConfig {
        level: read.choice("log.level", "error, warn, info, debug or trace", &levels),
        format: read.choice(
            "log.format",
            "logfmt or json",
            &[("logfmt", LogFormat::Logfmt), ("json", LogFormat::Json)],
        ),
    }
}
