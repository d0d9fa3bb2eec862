//! The web configuration file: the format that every exporter built with Prometheus' exporter-toolkit reads, with the
//! same keys, defaults and meanings (<https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md>).
//!
//! Strict: an unknown key or value, and whatever rustls cannot do, is an error that names the key, its line and what to do.
//! Nothing is ever ignored silently.

mod client;
mod files;
mod tls;
mod yaml;

use super::{
    auth::{Users, check_hash},
    limit::{RateLimit, parse_interval},
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub(super) use files::Files;
use serde_saphyr::Spanned;
use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};
pub(super) use tls::Tls;
use yaml::{Invalid, Problem, RawHttp, RawRateLimit, choose};

/// Why a web configuration file cannot be used: the file, line and key, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("the web configuration file {}{}: {problem}", path.display(), in_line(*line))]
pub struct WebConfigError {
    path: PathBuf,
    line: Option<u64>,
    problem: Problem,
}

fn in_line(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// A valid web configuration file, with everything that it refers to. The default is that of no file: nothing is protected.
#[derive(Default)]
pub struct WebConfigFile {
    /// What was read of it.
    pub(super) files: Files,
    /// `None` means without TLS.
    pub(super) tls: Option<Tls>,
    pub(super) headers: HeaderMap,
    /// `None` means without passwords.
    pub(super) users: Option<Users>,
    pub(super) rate_limit: Option<RateLimit>,
    description: Vec<String>,
}

/// Holds secrets: shows only what is in force.
impl fmt::Debug for WebConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebConfigFile")
            .field(&self.description)
            .finish()
    }
}

impl WebConfigFile {
    /// Reads and validates the file and all that it refers to. Blocks for as long as its files do.
    pub fn load(config_file: Option<&Path>) -> Result<Self, WebConfigError> {
        let Some(path) = config_file else {
            return Ok(Self::default());
        };
        match Self::load_with_files(path) {
            // A certificate and its key may have been replaced between the two reads.
            (Err(_), files) if files.now() != files => Self::load_with_files(path).0,
            (loaded, _) => loaded,
        }
    }

    /// As [`Self::load`]; also returns what was read, so that a change of it can be noticed even after a failure.
    pub(super) fn load_with_files(path: &Path) -> (Result<Self, WebConfigError>, Files) {
        let mut files = Files::default();
        let loaded = match read(path, &mut files) {
            Ok(file) => Ok(Self {
                files: files.clone(),
                ..file
            }),
            Err(Invalid { line, problem }) => Err(WebConfigError {
                path: path.to_owned(),
                line,
                problem,
            }),
        };
        (loaded, files)
    }

    /// What is in force, one item each, for people; without secrets.
    #[must_use]
    pub fn description(&self) -> &[String] {
        &self.description
    }

    /// Of the URLs that are served.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The keys by which `next` would protect less than this.
    pub(super) fn weakened_by(&self, next: &Self) -> Vec<&'static str> {
        let mut weakened = match (&self.tls, &next.tls) {
            (Some(tls), Some(next)) => tls.weakened_by(next),
            (Some(_), None) => vec!["tls_server_config"],
            (None, _) => Vec::new(),
        };
        if self.users.is_some() && next.users.is_none() {
            weakened.push("basic_auth_users");
        }
        if self.rate_limit.is_some() && next.rate_limit.is_none() {
            weakened.push("rate_limit");
        }
        weakened
    }
}

fn read(path: &Path, files: &mut Files) -> Result<WebConfigFile, Invalid> {
    let text = files
        .read(path.to_owned())
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(|error| {
        Invalid::new(Problem::Unreadable {
            what: "it".to_owned(),
            correct: "web.config_file or the file's mode",
            error,
        })
    })?;
    let raw = yaml::parse(&text)?;
    let http = raw.http_server_config.unwrap_or_default();
    let tls = match raw.tls_server_config {
        Some(section) => Tls::new(&section, files, http.http2.unwrap_or(true))?,
        None => None,
    };
    let users = users(raw.basic_auth_users.unwrap_or_default())?;
    let rate_limit = rate_limit(raw.rate_limit.unwrap_or_default())?;
    let headers = headers(http)?;
    let mut description = vec![
        tls.as_ref()
            .map_or("no TLS: served in the clear", |tls| &tls.description)
            .to_owned(),
        match &users {
            Some(users) => format!("basic authentication: {}", join(users.keys())),
            None => "no basic authentication".to_owned(),
        },
    ];
    description.extend(rate_limit.as_ref().map(RateLimit::to_string));
    if !headers.is_empty() {
        description.push(format!("response headers: {}", join(headers.keys())));
    }
    Ok(WebConfigFile {
        tls,
        headers,
        users,
        rate_limit,
        description,
        ..WebConfigFile::default()
    })
}

fn users(raw: BTreeMap<String, Spanned<String>>) -> Result<Option<Users>, Invalid> {
    let mut hashes = Users::new();
    for (name, hash) in raw {
        if name.contains(':') {
            let message = format!(
                "basic_auth_users: the user name {name:?} has a colon, which no client can send; choose another name"
            );
            return Err(Invalid::at(&hash, message));
        }
        check_hash(&hash.value)
            .map_err(|reason| Invalid::at(&hash, format!("basic_auth_users.{name}: {reason}")))?;
        hashes.insert(name, hash.value.into());
    }
    Ok(Some(hashes).filter(|hashes| !hashes.is_empty()))
}

fn rate_limit(raw: RawRateLimit) -> Result<Option<RateLimit>, Invalid> {
    let burst = raw.burst.filter(|burst| burst.value > 0);
    let Some(interval) = raw.interval.0 else {
        let message =
            "rate_limit.burst limits nothing without rate_limit.interval; set it, such as 1s";
        return burst.map_or(Ok(None), |burst| Err(Invalid::at(&burst, message)));
    };
    let duration = parse_interval(&interval.value)
        .map_err(|reason| Invalid::at(&interval, format!("rate_limit.interval: {reason}")))?;
    if duration.is_zero() {
        return Ok(None);
    }
    let Some(burst) = burst else {
        let message =
            "rate_limit.burst must be 1 to 4294967295: with 0 every request would be refused";
        return Err(Invalid::at(&interval, message));
    };
    Ok(Some(RateLimit {
        interval: duration,
        burst: burst.value,
    }))
}

fn join(names: impl Iterator<Item = impl ToString>) -> String {
    names
        .map(|name| name.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The headers that may be set, with the allowed values if not all are.
const HEADERS: [(&str, &[(&str, ())]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &[("deny", ()), ("sameorigin", ())]),
    ("X-Content-Type-Options", &[("nosniff", ())]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];

fn headers(raw: RawHttp) -> Result<HeaderMap, Invalid> {
    let mut headers = HeaderMap::new();
    for (name, value) in raw.headers.unwrap_or_default() {
        let key = format!("http_server_config.headers.{name}");
        let Some((_, values)) = HEADERS.iter().find(|(allowed, _)| *allowed == name) else {
            let allowed = join(HEADERS.iter().map(|(name, _)| name));
            return Err(Invalid::at(
                &value,
                format!("{key} cannot be set; only these can: {allowed}"),
            ));
        };
        if !values.is_empty() {
            choose(&key, &value, values)?;
        }
        let (Ok(header), Ok(content)) = (
            name.parse::<HeaderName>(),
            HeaderValue::from_str(&value.value),
        ) else {
            return Err(Invalid::at(
                &value,
                format!("{key} must be one line of visible characters"),
            ));
        };
        // The format's documentation: unset if blank.
        if !content.is_empty() {
            headers.insert(header, content);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Certificates;
    use super::*;

    /// The files of `tests/web_config/files`, with certificates and a hash made for this run.
    fn prepared(folder: &Path) -> Vec<PathBuf> {
        let hash = bcrypt::hash("correct", 4).unwrap();
        let (authority, other) = (Certificates::new(), Certificates::new());
        let server = authority.issue(&["localhost"]);
        std::fs::write(folder.join("ca.pem"), &authority.pem).unwrap();
        std::fs::write(folder.join("server.pem"), &server.pem).unwrap();
        std::fs::write(folder.join("server.key"), &server.key).unwrap();
        std::fs::write(folder.join("other.key"), other.issue(&["localhost"]).key).unwrap();
        std::fs::write(folder.join("none.pem"), "nothing in here\n").unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web_config/files");
        let mut files = Vec::new();
        for entry in from.read_dir().unwrap() {
            let entry = entry.unwrap();
            let mut text = std::fs::read_to_string(entry.path())
                .unwrap()
                .replace("@bcrypt@", &hash);
            for pem in ["server.pem", "server.key", "ca.pem"] {
                let indented = std::fs::read_to_string(folder.join(pem))
                    .unwrap()
                    .trim()
                    .replace('\n', "\n    ");
                text = text.replace(&format!("@{pem}@"), &indented);
            }
            files.push(folder.join(entry.file_name()));
            std::fs::write(files.last().unwrap(), text).unwrap();
        }
        files
    }

    #[test]
    fn good_files_are_taken_and_bad_ones_refused_with_the_reason_and_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let files = prepared(folder.path());
        assert!(files.len() >= 40);
        let wrong: Vec<String> = files.iter().filter_map(|file| wrong_about(file)).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn wrong_about(file: &Path) -> Option<String> {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let expected = text
            .lines()
            .find_map(|line| line.strip_prefix("# expects: "));
        assert_eq!(name.starts_with("bad-"), expected.is_some(), "{name}");
        match (
            WebConfigFile::load(Some(file))
                .err()
                .map(|error| error.to_string()),
            expected,
        ) {
            (None, None) => None,
            (None, Some(expected)) => Some(format!("{name} was taken; expected: {expected}")),
            (Some(error), None) => Some(format!("{name} was refused: {error}")),
            (Some(error), Some(expected)) => {
                let message = error
                    .split_once(name)
                    .unwrap()
                    .1
                    .trim_start_matches([',', ':', ' ']);
                let leaks = message.contains("BEGIN") || message.contains("$2");
                (leaks || !message.starts_with(expected))
                    .then(|| format!("{name}: {message}\n  expected: {expected}"))
            }
        }
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let message = WebConfigFile::load(Some(Path::new("absent/web.yml")))
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("the web configuration file absent/web.yml: cannot read it: "),
            "{message}"
        );
    }

    #[test]
    fn what_is_in_force_is_described_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        prepared(folder.path());
        let describe = |name: &str| {
            WebConfigFile::load(Some(&folder.path().join(name)))
                .unwrap()
                .description()
                .join("; ")
        };
        assert_eq!(
            describe("good-empty.yml"),
            "no TLS: served in the clear; no basic authentication"
        );
        assert_eq!(
            describe("good-client-sans.yml"),
            "TLS 1.2 and 1.3, client certificates required, verified, of prometheus.example, 127.0.0.1, HTTP/2 and \
             HTTP/1.1; no basic authentication"
        );
        assert_eq!(
            describe("good-users-and-tls.yml"),
            "TLS 1.2 and 1.3, no client certificates, HTTP/2 and HTTP/1.1; basic authentication: alice"
        );
        assert!(
            describe("good-rate-limit.yml")
                .ends_with("rate limit: a request every 1s, bursts of 20")
        );
    }
}
