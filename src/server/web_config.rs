//! The web configuration file, with the keys, defaults and meanings of Prometheus'
//! [exporter-toolkit].
//!
//! Loading is strict: an unknown key or value, or a feature that rustls lacks, is an error that
//! names the key, its line and what to do.
//!
//! [exporter-toolkit]:
//!     https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md

mod client;
mod files;
mod tls;
mod yaml;

use crate::{
    server::{auth::Users, limit::RateLimit},
    support::clock::Timestamp,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub use files::Files;
use serde_saphyr::Spanned;
use std::{
    borrow::Borrow,
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};
use tls::Tls;
use yaml::{RateLimitSection, TlsSection, invalid_at};

/// The failure to load a web configuration file, with file, line, key and hint.
#[derive(Debug, thiserror::Error)]
#[error("the web configuration file {}: {reason}", path.display())]
pub struct WebConfigError {
    path: PathBuf,
    reason: String,
}

/// A valid web configuration file with the contents of the files that it names. The default stands
/// for no file and protects nothing.
#[derive(Default)]
pub struct WebConfigFile {
    /// The files as they were read, to notice changes.
    pub(crate) files: Files,
    is_empty: bool,
    /// `None` serves without TLS.
    pub(crate) tls: Option<Tls>,
    pub headers: HeaderMap,
    pub(crate) users: Users,
    pub(crate) rate_limit: Option<RateLimit>,
    /// A summary for people, without secrets. Empty without a file.
    pub description: String,
}

/// Shows the description: the fields hold secrets.
impl fmt::Debug for WebConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl WebConfigFile {
    /// Reads and validates the file and the files that it names. Blocks on disk reads.
    pub fn load(config_file: Option<&Path>) -> Result<Self, WebConfigError> {
        let Some(path) = config_file else {
            return Ok(Self::default());
        };
        Self::read(path, &mut Files::default())
    }

    /// Reads the file like [`Self::load`], and adds every file it reads to `files`, even when it
    /// fails: the follower notices when the mistake is corrected.
    pub fn read(path: &Path, files: &mut Files) -> Result<Self, WebConfigError> {
        Self::parsed(path, files).map_err(|reason| WebConfigError {
            path: path.to_owned(),
            reason,
        })
    }

    /// Returns the file as the successor of `active`. An empty file replaces none with content: it
    /// may be half written.
    pub fn instead_of(self, active: &Self) -> Result<Self, WebConfigError> {
        match self.files.web_config() {
            Some(path) if self.is_empty && !active.is_empty => Err(WebConfigError {
                path: path.to_owned(),
                reason: "the file is empty; to serve without protection, set no file".to_owned(),
            }),
            _ => Ok(self),
        }
    }

    fn parsed(path: &Path, files: &mut Files) -> Result<Self, String> {
        let text = files
            .read(path.to_owned())
            .map_err(|error| format!("cannot read it: {error}; correct its path or its mode"))?;
        let is_empty = text.trim_ascii().is_empty();
        let sections = if is_empty {
            yaml::Sections::default()
        } else {
            yaml::parse(&text)?
        };
        let http = sections.http_server_config.unwrap_or_default();
        let section = sections.tls_server_config;
        // As in the exporter-toolkit, a section without values counts as absent.
        let section = section.filter(|section| section.value != TlsSection::default());
        let tls = match &section {
            Some(section) => Some(Tls::new(section, files)?),
            None => None,
        };
        let users = sections.basic_auth_users;
        let rate_limit = match sections.rate_limit {
            Some(section) => rate_limit(&section)?,
            None => None,
        };
        let headers = headers(http.headers)?;

        let mut description = match &tls {
            Some(tls) => vec![tls.description.clone()],
            None => vec!["no TLS: served unencrypted".to_owned()],
        };
        if users.is_empty() {
            description.push("no basic authentication".to_owned());
        } else {
            let names: Vec<&str> = users.keys().map(Borrow::borrow).collect();
            description.push(format!("basic authentication: {}", names.join(", ")));
        }
        if let Some(RateLimit { interval, burst }) = rate_limit {
            description.push(format!(
                "rate limit: a request every {interval:?}, bursts of {burst}"
            ));
        }
        if http.http2 == Some(true) {
            description.push(
                "http_server_config.http2: true has no effect, HTTP/2 is not offered".to_owned(),
            );
        }
        if !headers.is_empty() {
            let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
            description.push(format!("response headers: {}", names.join(", ")));
        }
        Ok(Self {
            files: files.clone(),
            is_empty,
            tls,
            headers,
            users,
            rate_limit,
            description: description.join("; "),
        })
    }

    /// Returns the expiry of the served certificate; `None` without one, or if it cannot be read.
    pub fn expires(&self) -> Option<Timestamp> {
        self.tls.as_ref().and_then(|tls| tls.expires)
    }

    /// Returns the scheme of the served URLs.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

fn rate_limit(section: &Spanned<RateLimitSection>) -> Result<Option<RateLimit>, String> {
    let message = match (&section.value.interval, section.value.burst) {
        (Some(Duration::ZERO), _) | (None, 0) => return Ok(None),
        (Some(interval), burst @ 1..) => {
            return Ok(Some(RateLimit {
                interval: *interval,
                burst,
            }));
        }
        (Some(_), 0) => "rate_limit.burst must be 1 or more: with 0 every request would be refused",
        (None, _) => {
            "rate_limit.burst limits nothing without rate_limit.interval; set it, such as 1s"
        }
    };
    Err(invalid_at(section, message))
}

fn headers(given: BTreeMap<String, Spanned<String>>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, text) in given {
        let invalid = |what: &str| {
            let message = format!("http_server_config.headers.{name} {what}");
            Err(invalid_at(&text, message))
        };
        match (&*name, &*text.value) {
            ("X-Frame-Options", "deny" | "sameorigin")
            | ("X-Content-Type-Options", "nosniff")
            | ("Content-Security-Policy" | "Strict-Transport-Security" | "X-XSS-Protection", _) => {
            }
            ("X-Frame-Options", _) => return invalid("must be deny or sameorigin"),
            ("X-Content-Type-Options", _) => return invalid("must be nosniff"),
            _ => {
                return invalid(
                    "cannot be set; only these can: Content-Security-Policy, \
                     Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options, \
                     X-XSS-Protection",
                );
            }
        }
        let (Ok(header), Ok(value)) = (
            HeaderName::try_from(&name),
            HeaderValue::try_from(&text.value),
        ) else {
            return invalid("must be one line of visible characters");
        };
        // The exporter-toolkit's documentation unsets a header with an empty value.
        if !value.is_empty() {
            headers.insert(header, value);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::Certificates;

    /// Copies `tests/web_config/files` into `folder`, with certificates and a hash made for this
    /// run.
    fn prepared(folder: &Path) -> Vec<PathBuf> {
        let hash = bcrypt::hash("correct", 4).unwrap();
        let (authority, other) = (Certificates::new(), Certificates::new());
        let server = authority.issue(&["localhost"]);
        std::fs::write(folder.join("ca.pem"), &authority.pem).unwrap();
        std::fs::write(folder.join("server.pem"), &server.pem).unwrap();
        std::fs::write(folder.join("server.key"), &server.key).unwrap();
        std::fs::write(folder.join("other.key"), other.issue(&["localhost"]).key).unwrap();
        let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        std::fs::write(folder.join("none.key"), no_key).unwrap();
        let chain = [&*authority.pem, &*server.pem].concat();
        std::fs::write(folder.join("misordered.pem"), chain).unwrap();
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
    fn good_files_load_and_bad_ones_are_refused_with_reason_and_line() {
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
    fn errors_about_keys_and_chains_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        prepared(folder.path());
        let message = |name: &str| {
            let file = folder.path().join(name);
            WebConfigFile::load(Some(&file)).unwrap_err().to_string()
        };
        for (name, expected) in [
            (
                "bad-key-is-none.yml",
                "none.key is of an unsupported kind; make one with: openssl ecparam -genkey -name \
                 prime256v1 -noout, or an RSA key of 2048 to 8192 bits",
            ),
            (
                "bad-cert-misordered.yml",
                "misordered.pem does not begin with the key's certificate; put that first, then \
                 the certificate that signed it, and so on",
            ),
            (
                "bad-key-of-another.yml",
                "server.pem is not the key's certificate; give two files that were made together",
            ),
        ] {
            assert!(message(name).ends_with(expected), "{}", message(name));
        }
    }

    #[test]
    fn an_empty_file_is_valid_but_replaces_none_with_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("web.yml");
        let load = |text| {
            std::fs::write(&file, text).unwrap();
            WebConfigFile::load(Some(&file)).unwrap()
        };
        for text in ["", " \n\n"] {
            let refused = load(text).instead_of(&load("basic_auth_users: {}\n"));
            let message = refused.unwrap_err().to_string();
            let hint = "web.yml: the file is empty; to serve without protection, set no file";
            assert!(message.ends_with(hint), "{message}");
            assert!(load(text).instead_of(&load("")).is_ok());
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
    fn descriptions_show_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        prepared(folder.path());
        let describe = |name: &str| {
            WebConfigFile::load(Some(&folder.path().join(name)))
                .unwrap()
                .description
        };
        assert_eq!(
            describe("good-empty-sections.yml"),
            "no TLS: served unencrypted; no basic authentication"
        );
        assert_eq!(
            describe("good-client-sans.yml"),
            "TLS 1.2 and 1.3, client certificates required and verified, only for \
             prometheus.example, 127.0.0.1; no basic authentication"
        );
        assert_eq!(
            describe("good-users-and-tls.yml"),
            "TLS 1.2 and 1.3, no client certificates; basic authentication: alice"
        );
        let http2 = describe("good-http2-yes.yml");
        assert!(
            http2.ends_with("http_server_config.http2: true has no effect, HTTP/2 is not offered"),
            "{http2}"
        );
        assert!(
            describe("good-rate-limit.yml")
                .ends_with("rate limit: a request every 1s, bursts of 20")
        );
    }
}
