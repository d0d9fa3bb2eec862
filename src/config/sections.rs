//! The sections of the configuration, made of what the reader reads: bounds, and the rules that tie keys together.

use super::{
    ApiConfig, FilterConfig, KeySource, LogConfig, LogFormat, PollConfig, WebConfig,
    error::{Mistake, Source, quoted, short},
    key::read_key,
    reader::{Reader, kind},
    syntax,
};
use bytesize::ByteSize;
use figment::value::Value;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use secrecy::SecretString;
use std::{path::PathBuf, time::Duration};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) fn api(read: &mut Reader<'_>) -> Option<ApiConfig> {
    let base_url = base_url(read);
    let allow_http = read.switch("api.allow_http");
    if let (Some(url), Some(false)) = (&base_url, allow_http)
        && url.scheme() == "http"
        && !syntax::is_loopback(url)
    {
        let problem = "would send the key in the clear: http to a host that is not loopback";
        let source = read.source("api.base_url");
        read.mistake("api.base_url", source, problem, "write https://, or set api.allow_http to true");
    }
    let key = key(read);
    let page_size = read.whole("api.page_size", 1..=1000);
    let concurrency = read.whole("api.concurrency", 1..=1024);
    let rate = read.number("api.requests_per_second", "give 0 for no limit, or 0.001 to 1000000", |rate| {
        rate == 0.0 || (0.001..=1_000_000.0).contains(&rate)
    });
    let connect_timeout = read.duration("api.connect_timeout", MILLISECOND);
    let timeout = read.duration("api.timeout", MILLISECOND);
    let max_attempts = read.whole("api.max_attempts", 1..=10);
    let max_retry_after = max_retry_after(read);
    let max_response_size = read.parsed("api.max_response_size", "give at least 1B, such as 512KiB or 16MiB", |text| {
        match text.parse::<ByteSize>() {
            Ok(ByteSize(0)) => Err(format!("{} is too small", short(text))),
            Ok(ByteSize(bytes)) => Ok(syntax::Size(bytes)),
            Err(_) => Err(format!("{} is no size", short(text))),
        }
    });
    let ca_file = read.path("api.ca_file");
    let hint = "give the completion that means finished, a number of at least 1";
    let completion_scale = read.number("api.completion_scale", hint, |scale| scale.is_finite() && scale >= 1.0);
    Some(ApiConfig {
        base_url: base_url?,
        key: key?,
        page_size: page_size?,
        concurrency: concurrency?,
        requests_per_second: rate.map(|rate| (rate > 0.0).then_some(rate))?,
        connect_timeout: connect_timeout?,
        timeout: timeout?,
        max_attempts: max_attempts?,
        max_retry_after: max_retry_after?,
        max_response_size: max_response_size?.0,
        ca_file,
        completion_scale: completion_scale?,
    })
}

fn max_retry_after(read: &mut Reader<'_>) -> Option<Duration> {
    const PATH: &str = "api.max_retry_after";
    let longest = read.duration(PATH, SECOND)?;
    if longest <= DAY {
        return Some(longest);
    }
    let problem = format!("{} is too long", humantime::format_duration(longest));
    let source = read.source(PATH);
    read.mistake(PATH, source, problem, "give at most 24h");
    None
}

fn base_url(read: &mut Reader<'_>) -> Option<url::Url> {
    let hint = "give the root of the API, such as https://api.example.com";
    if read.get("api.base_url").is_none() {
        read.missing("api.base_url");
        return None;
    }
    read.parsed("api.base_url", hint, syntax::base_url)
}

fn key(read: &mut Reader<'_>) -> Option<KeySource> {
    let inline = read.get("api.key");
    let file = read.get("api.key_file").filter(|(_, source)| *source != Source::Demo);
    match (inline, file) {
        (Some((_, inline)), Some((_, file))) => {
            let both = format!("api.key ({inline}) and api.key_file ({file})");
            read.mistakes.push(Mistake::of(&both, None, "only one of them may be given", "remove one of the two"));
            None
        }
        (None, None) => {
            let hint =
                "set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key";
            let both = "api.key, api.key_file";
            read.mistakes.push(Mistake::of(both, None, "one of them is required, and neither is given", hint));
            None
        }
        (Some((value, source)), None) => inline_key(read, &value, source),
        (None, Some((_, source))) => {
            let path = key_file(read)?;
            checked(read, "api.key_file", KeySource::File(path), source)
        }
    }
}

fn inline_key(read: &mut Reader<'_>, value: &Value, source: Source) -> Option<KeySource> {
    let text = match (value, value.as_str()) {
        (_, Some(text)) => text,
        (Value::Empty(..), _) => "",
        (value, None) => {
            let problem = format!("is {}, not text", kind(value));
            read.mistake("api.key", source, problem, "give the API key as one text in quotes");
            return None;
        }
    };
    read.note("api.key", "<hidden>", source.clone());
    read.note("api.key_file", "", Source::Default);
    checked(read, "api.key", KeySource::Inline(SecretString::from(text)), source)
}

/// The key that the demo's API is to accept, where one is given.
pub(super) fn demo_key(read: &mut Reader<'_>) -> Option<SecretString> {
    let is_empty = |value: &Value| matches!(value, Value::Empty(..)) || value.as_str() == Some("");
    let (value, source) = read.get("api.key").filter(|(value, _)| !is_empty(value))?;
    let key = inline_key(read, &value, source)?;
    read_key(&key).ok()
}

fn key_file(read: &mut Reader<'_>) -> Option<PathBuf> {
    read.note("api.key", "", Source::Default);
    let before = read.mistakes.len();
    let path = read.path("api.key_file");
    if path.is_none() && read.mistakes.len() == before {
        let source = read.source("api.key_file");
        read.mistake("api.key_file", source, "is empty", "give the path of the file that holds the API key");
    }
    path
}

fn checked(read: &mut Reader<'_>, path: &'static str, key: KeySource, source: Source) -> Option<KeySource> {
    let Err(error) = read_key(&key) else { return Some(key) };
    let place = match key {
        KeySource::Inline(_) => String::new(),
        KeySource::File(_)
            if read.get(path).is_some_and(|(value, _)| may_be_key(value.as_str().unwrap_or_default())) =>
        {
            "the file (not named here, for it might be the key itself) ".to_owned()
        }
        KeySource::File(_) => format!("{} ", error.place()),
    };
    read.mistake(path, source, format!("{place}{}", error.problem()), error.hint());
    None
}

/// Whether what stands where a file should be named looks more like the key than like a file.
fn may_be_key(name: &str) -> bool {
    name.len() >= 16 && !name.contains(['/', '.'])
}

pub(super) fn poll(read: &mut Reader<'_>) -> Option<PollConfig> {
    let interval = read.duration("poll.interval", SECOND);
    if read.get("poll.stale_after").is_none() {
        let interval = interval?;
        let stale_after = HOUR.max(interval.saturating_mul(3));
        read.note("poll.stale_after", humantime::format_duration(stale_after), Source::Default);
        return Some(PollConfig { interval, stale_after });
    }
    let stale_after = read.duration("poll.stale_after", SECOND);
    let (interval, stale_after) = (interval?, stale_after?);
    let least = interval.saturating_mul(2);
    if stale_after < least {
        let problem = format!(
            "{} is less than twice poll.interval, which is {} ({})",
            humantime::format_duration(stale_after),
            humantime::format_duration(interval),
            read.source("poll.interval"),
        );
        let hint = format!("give at least {}, or shorten poll.interval", humantime::format_duration(least));
        let source = read.source("poll.stale_after");
        read.mistake("poll.stale_after", source, problem, hint);
    }
    Some(PollConfig { interval, stale_after })
}

pub(super) fn filter(read: &mut Reader<'_>) -> Option<FilterConfig> {
    let include = globs(read, "filter.include");
    let exclude = globs(read, "filter.exclude");
    let private = read.switch("filter.private");
    Some(FilterConfig {
        include: include.map(|set| (!set.is_empty()).then_some(set))?,
        exclude: exclude?,
        private: private?,
    })
}

fn globs(read: &mut Reader<'_>, path: &'static str) -> Option<GlobSet> {
    let hint = "give a list of globs on owner/repo, such as [\"acme/*\"]";
    let (globs, source) = read.list(path, hint, syntax::split_globs)?;
    let mut set = GlobSetBuilder::new();
    let before = read.mistakes.len();
    for glob in &globs {
        match GlobBuilder::new(glob).literal_separator(true).build() {
            _ if glob.is_empty() => read.mistake(path, source.clone(), "holds an empty glob", hint),
            Ok(built) => {
                set.add(built);
            }
            Err(error) => {
                let problem = format!("the glob {} does not parse: {}", quoted(glob), error.kind());
                read.mistake(path, source.clone(), problem, hint);
            }
        }
        if !glob.contains('/') && !glob.contains("**") {
            read.warnings.push(format!(
                "{path} ({source}): the glob {} holds no slash and so matches no owner/repo; write {} to mean all of an owner",
                quoted(glob),
                quoted(&format!("{glob}/*")),
            ));
        }
    }
    read.note(path, globs.join(", ").escape_debug(), source.clone());
    if read.mistakes.len() > before {
        return None;
    }
    set.build().map_err(|error| read.mistake(path, source, format!("is too large: {}", error.kind()), hint)).ok()
}

pub(super) fn web(read: &mut Reader<'_>) -> Option<WebConfig> {
    let listen_addresses = listen_addresses(read);
    let hint = "give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other \
                paths";
    let telemetry_path = read.parsed("web.telemetry_path", hint, syntax::telemetry_path);
    let config_file = read.path("web.config_file");
    let enable_lifecycle = read.switch("web.enable_lifecycle");
    let max_requests = read.whole("web.max_requests", 1..=1_000_000);
    Some(WebConfig {
        listen_addresses: listen_addresses?,
        telemetry_path: telemetry_path?,
        config_file,
        enable_lifecycle: enable_lifecycle?,
        max_requests: max_requests?,
    })
}

fn listen_addresses(read: &mut Reader<'_>) -> Option<Vec<String>> {
    const PATH: &str = "web.listen_addresses";
    let hint = "give a list of host:port, such as [\":10018\", \"127.0.0.1:10018\", \"[::1]:10018\"]";
    let (addresses, source) = read.list(PATH, hint, syntax::split_commas)?;
    let before = read.mistakes.len();
    if addresses.is_empty() {
        read.mistake(PATH, source.clone(), "is empty", hint);
    }
    for (index, address) in addresses.iter().enumerate() {
        if let Err(problem) = syntax::listen_address(address) {
            let port_alone = address.parse::<u16>().map(|port| format!("write \":{port}\""));
            let hint = port_alone.unwrap_or_else(|_| hint.to_owned());
            read.mistake(PATH, source.clone(), format!("{} {problem}", quoted(address)), hint);
        } else if addresses[..index].contains(address) && !address.ends_with(":0") {
            read.mistake(PATH, source.clone(), format!("{} is given twice", quoted(address)), "remove one of the two");
        }
    }
    read.note(PATH, addresses.join(", ").escape_debug(), source);
    (read.mistakes.len() == before).then_some(addresses)
}

pub(super) fn log(read: &mut Reader<'_>) -> Option<LogConfig> {
    let level = read.parsed("log.level", "write error, warn, info, debug or trace", |text| {
        let level = text.to_ascii_lowercase();
        let known = ["error", "warn", "info", "debug", "trace"].contains(&level.as_str());
        known.then_some(level).ok_or_else(|| format!("{} is no level", short(text)))
    });
    let format = read.parsed("log.format", "write logfmt or json", |text| match text {
        "logfmt" => Ok(LogFormat::Logfmt),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("{} is no format", short(text))),
    });
    Some(LogConfig { level: level?.parse().ok()?, format: format? })
}
