//! The web configuration file and the files that it names, as they were read.

use super::yaml::{Text, invalid_at};
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Maximum size of a file in bytes: far more than any list of authorities needs.
const MAX_SIZE: u64 = 4 << 20;

/// The web configuration file and then the files that it names, each with the SHA-256 of its
/// content, or `None` if the read failed. A digest keeps no copy of a private key.
#[derive(Default, Clone, PartialEq)]
pub struct Files(Vec<(PathBuf, Option<[u8; SHA256_OUTPUT_LEN]>)>);

impl Files {
    /// Reads a file and records its digest.
    pub fn read(&mut self, path: PathBuf) -> io::Result<Vec<u8>> {
        // A pipe could block forever, and could not be read a second time.
        let content = match fs::metadata(&path) {
            Ok(file) if !file.is_file() => Err(io::Error::other("it is not a regular file")),
            Ok(file) if file.len() > MAX_SIZE => Err(io::ErrorKind::FileTooLarge.into()),
            _ => fs::read(&path),
        };
        let digest = content.as_ref().ok().map(|content| {
            let digest = digest(&SHA256, content);
            digest.as_ref().try_into().expect("SHA-256 has this length")
        });
        self.0.push((path, digest));
        content
    }

    /// Returns the path of the web configuration file itself, if there is one.
    pub fn web_config(&self) -> Option<&Path> {
        self.0.first().map(|(path, _)| path.as_path())
    }

    /// Returns the PEM text of `key`: the `inline` text, or the content of `file`.
    pub fn pem(&mut self, key: &str, inline: &Text, file: &Text) -> Result<Option<Pem>, String> {
        let name = format!("tls_server_config.{key}");
        let (place, name, text) = match (&inline.0, &file.0) {
            (None, None) => return Ok(None),
            (Some(inline), Some(_)) => {
                let message = format!(
                    "tls_server_config has both {key} and {key}_file; leave one of them out"
                );
                return Err(invalid_at(inline, message));
            }
            (Some(inline), None) => (inline, name, inline.value.clone().into_bytes()),
            (None, Some(file)) => {
                let folder = self
                    .web_config()
                    .and_then(Path::parent)
                    .unwrap_or(Path::new("."));
                let path = folder.join(&file.value);
                let name = format!("{name}_file {}", path.display());
                let text = self.read(path).map_err(|error| {
                    let message =
                        format!("cannot read {name}: {error}; correct the path or its mode");
                    invalid_at(file, message)
                })?;
                (file, name, text)
            }
        };
        let line = place.referenced.line();
        Ok(Some(Pem { line, name, text }))
    }
}

/// PEM text with its origin, for messages.
pub struct Pem {
    line: u64,
    name: String,
    text: Vec<u8>,
}

impl Pem {
    /// Returns the certificates, at least one.
    // The parser's error stays hidden: it could quote a piece of the file.
    pub fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            _ => Err(self.invalid("contains no PEM certificate; add one")),
        }
    }

    /// Returns the first private key.
    pub fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let hint =
            "contains no PEM private key; add one that is not encrypted (PKCS#8, PKCS#1 or SEC1)";
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|_| self.invalid(hint))
    }

    /// Returns all certificates as authorities.
    pub fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots
                .add(certificate)
                .map_err(|error| self.unusable(&error))?;
        }
        Ok(roots)
    }

    pub fn unusable(&self, error: &rustls::Error) -> String {
        self.invalid(&format!("cannot be used ({error}); replace it, or its key"))
    }

    pub fn invalid(&self, what: &str) -> String {
        format!("line {}: {} {what}", self.line, self.name)
    }
}
