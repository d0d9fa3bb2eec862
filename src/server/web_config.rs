//! The web configuration file, with the keys, defaults and meanings of Prometheus'
//! [exporter-toolkit].
//!
//! Loading is strict: an unknown key or value is an error that names the key, its line if the file
//! itself is wrong, and what to do. Lists of suites and curves have no effect: those of rustls are
//! secure.
//!
//! [exporter-toolkit]:
//!     https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md

mod client;
mod files;
mod section;
mod tls;
mod yaml;

use crate::{
    server::{auth::Users, limit::RateLimit},
    support::clock::Timestamp,
};
use anyhow::{anyhow, bail, ensure};
use axum::http::{HeaderMap, HeaderValue};
use files::Files;
use section::TlsSection;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    hash::Hasher as _,
    mem,
    path::{Path, PathBuf},
};
use tokio_rustls::TlsAcceptor;

/// The headers that the exporter-toolkit lets the file set, and the values that it takes: any
/// where there are none.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Content-Security-Policy", &[]),
    ("Strict-Transport-Security", &[]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-XSS-Protection", &[]),
];

/// A valid web configuration file with the contents of the files that it names. The default stands
/// for no file and protects nothing.
#[derive(Default)]
pub struct WebConfigFile {
    /// The path of the file and of each that it names; empty if there is no file.
    pub paths: Vec<PathBuf>,
    /// Tells whether the file, or one that it names, has changed.
    pub digest: u64,
    /// `None` serves without TLS.
    pub tls: Option<TlsAcceptor>,
    /// The expiry of the served certificate; `None` if it has none that can be read.
    pub expires: Option<Timestamp>,
    pub headers: HeaderMap,
    pub users: Users,
    pub rate_limit: Option<RateLimit>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WebConfigSections {
    tls_server_config: Option<TlsSection>,
    http_server_config: Option<HttpSection>,
    basic_auth_users: Users,
    rate_limit: Option<RateLimit>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct HttpSection {
    #[serde(rename = "http2")]
    _http2: bool,
    headers: BTreeMap<String, Option<String>>,
}

impl WebConfigFile {
    /// Reads and validates the file, if there is one, and the files that it names. Blocks on disk
    /// reads.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        path.map_or_else(|| Ok(Self::default()), |path| Self::read(path, true).1)
    }

    /// Reads the file like [`Self::load`]; an empty one only if it `may_be_empty`. The digest of
    /// the content changes when a mistake may have been corrected.
    pub fn read(path: &Path, may_be_empty: bool) -> (u64, anyhow::Result<Self>) {
        let mut files = Files::beside(path);
        let read = Self::parsed(path, &mut files, may_be_empty)
            .map_err(|error| anyhow!("the web configuration file {}: {error}", path.display()));
        (files.contents.finish(), read)
    }

    fn parsed(path: &Path, files: &mut Files, may_be_empty: bool) -> anyhow::Result<Self> {
        let text = files.read("it", path)?;
        let mut sections = WebConfigSections::default();
        if !text.trim_ascii().is_empty() {
            sections = yaml::parse(&text)?;
        } else if !may_be_empty {
            bail!("the file is empty; to serve without protection, set no file");
        }
        let mut headers = HeaderMap::new();
        for (name, value) in sections.http_server_config.unwrap_or_default().headers {
            // A blank header is not set.
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                continue;
            };
            let Some((known, values)) = HEADERS.iter().find(|(known, _)| *known == name) else {
                let known = HEADERS.map(|(known, _)| known).join(", ");
                bail!("http_server_config.headers.{name} cannot be set; only these can: {known}");
            };
            ensure!(
                values.is_empty() || values.contains(&&*value),
                "http_server_config.headers.{name} is {value:?}; give {}",
                values.join(" or ")
            );
            let value = HeaderValue::try_from(value).map_err(|_| {
                anyhow!(
                    "http_server_config.headers.{name} is not one line of visible characters; \
                     correct it"
                )
            })?;
            headers.insert(*known, value);
        }
        let (tls, expires) = sections
            .tls_server_config
            .map(|section| tls::acceptor(&section, files))
            .transpose()?
            .unzip();
        Ok(Self {
            paths: mem::take(&mut files.paths),
            digest: files.contents.finish(),
            tls,
            expires: expires.flatten(),
            headers,
            users: sections.basic_auth_users,
            rate_limit: sections.rate_limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing;

    /// Copies `tests/web/files` into `folder`, with certificates and a hash made for this
    /// run.
    fn prepared(folder: &Path) -> Vec<PathBuf> {
        let hash = bcrypt::hash("correct", 4).unwrap();
        let authority = testing::authority();
        let (server, key) = testing::issue(&authority, "localhost");
        let (_, other) = testing::issue(&authority, "localhost");
        std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
        std::fs::write(folder.join("server.pem"), &server).unwrap();
        std::fs::write(folder.join("server.key"), key).unwrap();
        std::fs::write(folder.join("other.key"), other).unwrap();
        let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        std::fs::write(folder.join("none.key"), no_key).unwrap();
        let chain = authority.pem() + &server;
        std::fs::write(folder.join("misordered.pem"), chain).unwrap();
        std::fs::write(folder.join("none.pem"), "nothing in here\n").unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/files");
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
        assert!(files.len() >= 35);
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
    fn a_file_that_cannot_be_read_is_named_with_the_reason() {
        for (path, why) in [
            ("absent/web.yml", "No such file or directory"),
            ("/dev/null", "it is not a regular file"),
        ] {
            let refused = WebConfigFile::load(Some(Path::new(path)));
            let message = refused.err().unwrap().to_string();
            let named = format!("the web configuration file {path}: cannot read it: {why}");
            assert!(message.starts_with(&named), "{message}");
        }
    }
}
