//! The files that the web configuration file names, and a digest of all that was read.

use crate::support::files::read_file;
use anyhow::{anyhow, ensure};
use rustls::pki_types::pem::PemObject;
use std::{
    hash::{DefaultHasher, Hash as _},
    path::{Path, PathBuf},
};

/// The reader of the files.
#[derive(Default)]
pub struct Files {
    /// The path of the web configuration file, beside which relative paths begin.
    path: PathBuf,
    /// Has the contents of all files. No copy of a private key is kept.
    pub contents: DefaultHasher,
    /// The paths of the files.
    pub paths: Vec<PathBuf>,
}

impl Files {
    /// Resolves relative paths in the folder of this file.
    pub fn beside(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ..Self::default()
        }
    }

    /// Reads a file, which an error calls `name`.
    pub fn read(&mut self, name: &str, path: &Path) -> anyhow::Result<Vec<u8>> {
        self.paths.push(path.to_owned());
        let content = read_file(path, 1).map_err(|error| {
            anyhow!("cannot read {name}: {error}; correct its path or its mode")
        })?;
        content.hash(&mut self.contents);
        Ok(content)
    }

    /// Returns what the PEM text of `key` holds, at least one: of the `inline` text, or of `file`.
    // The parser's error stays hidden: it could quote a piece of the file.
    pub fn pem<T: PemObject>(
        &mut self,
        key: &str,
        inline: &str,
        file: &str,
    ) -> anyhow::Result<Vec<T>> {
        let mut name = format!("tls_server_config.{key}");
        let mut text = inline.as_bytes().to_vec();
        ensure!(
            inline.is_empty() || file.is_empty(),
            "{name} and {name}_file are both set; leave one of them out"
        );
        if !file.is_empty() {
            let path = self.path.with_file_name(file);
            name = format!("{name}_file {}", path.display());
            text = self.read(&name, &path)?;
        }
        let found: Vec<T> = T::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .unwrap_or_default();
        ensure!(
            !found.is_empty(),
            "{name} has no certificate or unencrypted key in PEM; set it, or {key}_file"
        );
        Ok(found)
    }
}
