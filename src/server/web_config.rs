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
use anyhow::{anyhow, bail};
use axum::http::HeaderMap;
pub use files::Digest;
use files::Files;
use section::TlsSection;
use serde::Deserialize;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use tokio_rustls::TlsAcceptor;

/// The headers that the exporter-toolkit lets the file set, with their values if only some are
/// taken.
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
    pub digest: Digest,
    pub is_empty: bool,
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
    headers: HashMap<String, Option<String>>,
}

impl WebConfigFile {
    /// Reads and validates the file, if there is one, and the files that it names. Blocks on disk
    /// reads.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        path.map_or_else(|| Ok(Self::default()), |path| Self::read(path).1)
    }

    /// Reads the file like [`Self::load`]. The digest of the content changes when a mistake may
    /// have been corrected.
    pub fn read(path: &Path) -> (Digest, anyhow::Result<Self>) {
        let mut files = Files::beside(path);
        let read = Self::parsed(path, &mut files);
        let digest = files.digest();
        let read = match read {
            Ok(file) => Ok(Self {
                paths: files.paths,
                digest: digest.clone(),
                ..file
            }),
            Err(error) => Err(anyhow!(
                "the web configuration file {}: {error}",
                path.display()
            )),
        };
        (digest, read)
    }

    fn parsed(path: &Path, files: &mut Files) -> anyhow::Result<Self> {
        let text = files
            .read(path)
            .map_err(|error| anyhow!("cannot read it: {error}; correct its path or its mode"))?;
        let is_empty = text.trim_ascii().is_empty();
        let sections = if is_empty {
            WebConfigSections::default()
        } else {
            yaml::parse(&text)?
        };
        let headers = sections.http_server_config.unwrap_or_default().headers;
        // A blank header is not set.
        let headers: HashMap<_, _> = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
            .collect();
        for (name, value) in &headers {
            let Some((_, values)) = HEADERS.iter().find(|(known, _)| known == name) else {
                let known = HEADERS.map(|(known, _)| known).join(", ");
                bail!("http_server_config.headers.{name} cannot be set; only these can: {known}");
            };
            if !values.is_empty() && !values.contains(&value.as_str()) {
                let values = values.join(" or ");
                bail!("http_server_config.headers.{name} is {value:?}; give {values}");
            }
        }
        let tls = sections.tls_server_config.as_ref();
        let tls = tls.map(|section| tls::acceptor(section, files));
        let (tls, expires) = tls.transpose()?.unzip();
        Ok(Self {
            is_empty,
            tls,
            expires: expires.flatten(),
            headers: HeaderMap::try_from(&headers).map_err(|_| {
                anyhow!(
                    "http_server_config.headers has a value that is not one line of visible \
                     characters; correct it"
                )
            })?,
            users: sections.basic_auth_users,
            rate_limit: sections.rate_limit,
            ..Self::default()
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
    fn an_error_about_a_file_that_is_named_says_which_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        prepared(folder.path());
        for name in [
            "bad-key-is-none",
            "bad-cert-misordered",
            "bad-key-of-another",
        ] {
            let file = folder.path().join(format!("{name}.yml"));
            let message = WebConfigFile::load(Some(&file)).err().unwrap().to_string();
            let hint = "P-256, P-384 or RSA of 2048 bits or more, and versions that fit together";
            assert!(message.ends_with(hint), "{message}");
        }
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
