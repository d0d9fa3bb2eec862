//! The web configuration file: the format that every exporter built with Prometheus' exporter-toolkit reads, with the
//! same keys, defaults and meanings (<https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md>).
//!
//! Strict: an unknown key or value, and whatever rustls cannot do, is an error that names the line and the hint. Nothing
//! that is asked for is ever left out silently.

mod yaml;

use super::{
    auth::Users,
    limit::{Limiter, parse_interval},
    tls,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use rustls::ServerConfig;
use serde_saphyr::Spanned;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};
pub(super) use yaml::RawTls;
use yaml::{RawHttp, RawRateLimit};

/// Why a web configuration file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the web configuration file {}{}: {message}", path.display(), Line(*line))]
pub struct Error {
    path: PathBuf,
    line: Option<u64>,
    message: String,
}

struct Line(Option<u64>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// What is wrong in the file, and in which line of it.
#[derive(Debug)]
pub(super) struct Problem {
    pub line: Option<u64>,
    pub message: String,
}

impl Problem {
    /// About the whole file, or about something that is not in it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }

    pub fn at<T>(place: &Spanned<T>, message: impl Into<String>) -> Self {
        Self { line: Some(place.referenced.line()).filter(|line| *line > 0), message: message.into() }
    }
}

/// A valid file, with all that it refers to.
#[derive(Default)]
pub struct WebFile {
    /// `None` serves in the clear.
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) headers: HeaderMap,
    /// `None` asks nobody for a password.
    pub(super) users: Option<Users>,
    pub(super) limiter: Option<Limiter>,
    description: Vec<String>,
}

/// Holds secrets: says only what is in force.
impl fmt::Debug for WebFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebFile").field(&self.description).finish()
    }
}

impl WebFile {
    /// What is in force, for people, an item each; without any secret.
    #[must_use]
    pub fn description(&self) -> &[String] {
        &self.description
    }
}

/// Validates the file and all that it refers to.
pub fn check(path: &Path) -> Result<WebFile, Error> {
    load(path).0
}

/// As [`check`]; also tells which files were looked at, so that a change of them can be noticed even after a failure.
pub(super) fn load(path: &Path) -> (Result<WebFile, Error>, Vec<PathBuf>) {
    let mut sources = vec![path.to_owned()];
    let result =
        read(path, &mut sources).map_err(|Problem { line, message }| Error { path: path.to_owned(), line, message });
    (result, sources)
}

fn read(path: &Path, sources: &mut Vec<PathBuf>) -> Result<WebFile, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::new(format!("cannot read it: {error}; correct web.config_file or the file's mode"))
    })?;
    let raw = yaml::parse(&text)?;
    let http = raw.http_server_config.unwrap_or_default();
    let http2 = http.http2.as_ref().is_none_or(|http2| http2.value);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut description = Vec::new();
    let tls = match raw.tls_server_config {
        Some(raw) => tls::server_config(&raw, &mut tls::Files { folder, sources }, http2)?,
        None => None,
    };
    description.push(match &tls {
        Some((_, in_force)) => format!("{in_force}, {}", if http2 { "HTTP/2 and HTTP/1.1" } else { "HTTP/1.1 only" }),
        None => "no TLS: served in the clear".to_owned(),
    });
    let users = users(raw.basic_auth_users.unwrap_or_default())?;
    description.push(match &users {
        Some(users) => format!("basic authentication: {}", users.names().collect::<Vec<_>>().join(", ")),
        None => "no basic authentication".to_owned(),
    });
    let limiter = limiter(raw.rate_limit.unwrap_or_default())?;
    description.extend(limiter.as_ref().map(Limiter::to_string));
    let headers = headers(http)?;
    if !headers.is_empty() {
        let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        description.push(format!("response headers: {}", names.join(", ")));
    }
    Ok(WebFile { tls: tls.map(|(tls, _)| Arc::new(tls)), headers, users, limiter, description })
}

fn users(raw: BTreeMap<String, Spanned<String>>) -> Result<Option<Users>, Problem> {
    let mut hashes = Vec::with_capacity(raw.len());
    for (name, hash) in raw {
        if name.contains(':') {
            let message = format!("basic_auth_users: the user name {name:?} has a colon, which no client can send");
            return Err(Problem::at(&hash, message));
        }
        if let Err(reason) = Users::check_hash(&hash.value) {
            let message = format!(
                "basic_auth_users.{name}: not a bcrypt hash ({reason}); make one with: htpasswd -nBC 10 \"\" | tr -d ':\\n'"
            );
            return Err(Problem::at(&hash, message));
        }
        hashes.push((name, hash.value));
    }
    if hashes.is_empty() {
        return Ok(None);
    }
    Users::new(hashes).map(Some).map_err(|_| Problem::new("the system gives no random numbers; see to getrandom(2)"))
}

fn limiter(raw: RawRateLimit) -> Result<Option<Limiter>, Problem> {
    let Some(interval) = raw.interval else {
        return match raw.burst.filter(|burst| burst.value != 0) {
            Some(burst) => Err(Problem::at(
                &burst,
                "rate_limit.burst limits nothing without rate_limit.interval; set it, such as 1s",
            )),
            None => Ok(None),
        };
    };
    let duration = parse_interval(&interval.value)
        .map_err(|reason| Problem::at(&interval, format!("rate_limit.interval: {reason}")))?;
    if duration.is_zero() {
        return Ok(None);
    }
    let refused = "rate_limit.burst must be 1 to 4294967295: with 0 every request would be refused";
    let Some(burst) = raw.burst else { return Err(Problem::at(&interval, refused)) };
    match u32::try_from(burst.value) {
        Ok(number) if number > 0 => Ok(Some(Limiter::new(duration, number))),
        _ => Err(Problem::at(&burst, refused)),
    }
}

/// The headers that may be set, with the values that they may have where not all are allowed.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-XSS-Protection", &[]),
    ("Strict-Transport-Security", &[]),
];

fn headers(raw: RawHttp) -> Result<HeaderMap, Problem> {
    let mut headers = HeaderMap::new();
    for (name, value) in raw.headers.unwrap_or_default() {
        let key = format!("http_server_config.headers.{name}");
        let Some((_, values)) = HEADERS.iter().find(|(allowed, _)| *allowed == name) else {
            let allowed: Vec<_> = HEADERS.iter().map(|(name, _)| *name).collect();
            return Err(Problem::at(&value, format!("{key} cannot be set; only these can: {}", allowed.join(", "))));
        };
        if !values.is_empty() && !values.contains(&value.value.as_str()) {
            let message = format!("{key}: {:?} is not a value that it can have: {}", value.value, values.join(" or "));
            return Err(Problem::at(&value, message));
        }
        let (Ok(header), Ok(content)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value.value)) else {
            return Err(Problem::at(&value, format!("{key} must be one line of visible characters")));
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
            let mut text = std::fs::read_to_string(entry.path()).unwrap().replace("@bcrypt@", &hash);
            for pem in ["server.pem", "server.key", "ca.pem"] {
                let indented = std::fs::read_to_string(folder.join(pem)).unwrap().trim().replace('\n', "\n    ");
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
        let expected = text.lines().find_map(|line| line.strip_prefix("# expects: "));
        assert_eq!(name.starts_with("bad-"), expected.is_some(), "{name}");
        match (check(file).err().map(|error| error.to_string()), expected) {
            (None, None) => None,
            (None, Some(expected)) => Some(format!("{name} was taken; expected: {expected}")),
            (Some(error), None) => Some(format!("{name} was refused: {error}")),
            (Some(error), Some(expected)) => {
                let message = error.split_once(name).unwrap().1.trim_start_matches([',', ':', ' ']);
                let leaks = message.contains("BEGIN") || message.contains("$2");
                (leaks || !message.starts_with(expected)).then(|| format!("{name}: {message}\n  expected: {expected}"))
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_its_path() {
        let message = check(Path::new("absent/web.yml")).unwrap_err().to_string();
        assert!(message.starts_with("the web configuration file absent/web.yml: cannot read it: "), "{message}");
    }

    #[test]
    fn what_is_in_force_is_described_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        prepared(folder.path());
        let describe = |name: &str| check(&folder.path().join(name)).unwrap().description().join("; ");
        assert_eq!(describe("good-empty.yml"), "no TLS: served in the clear; no basic authentication");
        assert_eq!(
            describe("good-client-sans.yml"),
            "TLS 1.2 and 1.3, client certificates required, verified, of prometheus.example, 127.0.0.1, HTTP/2 and \
             HTTP/1.1; no basic authentication"
        );
        assert_eq!(
            describe("good-users-and-tls.yml"),
            "TLS 1.2 and 1.3, no client certificates, HTTP/2 and HTTP/1.1; basic authentication: alice"
        );
        assert!(describe("good-rate-limit.yml").ends_with("rate limit: a request every 1s, bursts of 20"));
    }
}
