//! The API key: read again whenever it is needed, so that it can be rotated without a restart. No
//! message shows any part of it, not even if it was set in place of the name of its file.

use crate::support::escape::os_hint;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// No key is longer; a larger file is not a key file.
const LARGEST: u64 = 16 * 1024;

/// The words in place of the name of a file that [`may_be_key`].
pub const HIDDEN: &str = "(its name is not shown, since it might be the key itself, unless it \
                          begins with / or ./)";

/// Returns true for the name of a file, as it is written, that may be the key itself, pasted there
/// by mistake.
pub fn may_be_key(written: &str) -> bool {
    let starts = [".", "..", "/"];
    !starts
        .iter()
        .any(|start| Path::new(written).starts_with(start))
}

/// The place of the API key.
#[derive(Debug, Clone)]
pub enum KeySource {
    Inline(SecretString),
    File {
        path: SecretString,
        /// The path as it may be shown.
        name: String,
    },
}

impl KeySource {
    /// Returns the file at `path`, which the configuration names as `written`: this may be the key
    /// itself, pasted there by mistake.
    pub fn file(written: &str, path: &Path) -> Self {
        let path = path.display().to_string();
        let name = if may_be_key(written) { HIDDEN } else { &path };
        Self::File {
            name: name.to_owned(),
            path: path.into(),
        }
    }
}

impl PartialEq for KeySource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Inline(one), Self::Inline(other))
            | (Self::File { path: one, .. }, Self::File { path: other, .. }) => {
                one.expose_secret() == other.expose_secret()
            }
            _ => false,
        }
    }
}

/// Why there is no key to send.
#[derive(Debug, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct KeyError {
    /// The problem, with the file if there is one.
    pub what: String,
    /// The remedy.
    pub hint: &'static str,
}

/// Reads the key as it is sent, without trailing line breaks.
///
/// # Errors
/// The file is missing, cannot be read or is too large, or the key is empty or cannot be sent in a
/// header.
pub fn read_key(source: &KeySource) -> Result<SecretString, KeyError> {
    let (bytes, what, hint) = match source {
        KeySource::Inline(key) => (
            key.expose_secret().as_bytes().to_vec(),
            String::new(),
            "set the API key, and nothing else",
        ),
        KeySource::File { path, name } => {
            let what = format!("the API key file {name} ");
            let bytes = read(Path::new(path.expose_secret())).map_err(|error| KeyError {
                what: format!("{what}cannot be read: {error}"),
                hint: os_hint(&error)
                    .unwrap_or("make sure that the file exists and that this user can read it"),
            })?;
            let hint = "write the API key, and nothing else, into the file";
            (bytes, what, hint)
        }
    };
    fit(&bytes).map_err(|problem| KeyError {
        what: what + problem,
        hint,
    })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe could make the exporter wait for ever.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(io::Error::other(
            "it is not a regular file, and could not be read again at each poll",
        ));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn fit(bytes: &[u8]) -> Result<SecretString, &'static str> {
    if bytes.len() as u64 > LARGEST {
        return Err("is larger than 16 KiB, too large for a key");
    }
    match std::str::from_utf8(bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
        Ok("") => Err("is empty"),
        Ok(text) if text.starts_with(['"', '\'']) => {
            Err("begins with a quote, which a tool left there")
        }
        Ok(text) if text.starts_with("${") => {
            Err("begins with ${, the start of a variable that a tool did not expand")
        }
        Ok(text) if text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(SecretString::from(text))
        }
        _ => Err(
            "holds a character that cannot be sent in a header (a line break, a blank, or one that \
             is not printable ASCII)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &Path) -> KeySource {
        KeySource::file(path.to_str().unwrap(), path)
    }

    fn from_file(content: &[u8]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        read_key(&named(file.path()))
            .map(|key| key.expose_secret().to_owned())
            .map_err(|error| {
                error
                    .to_string()
                    .replace(&file.path().display().to_string(), "FILE")
            })
    }

    #[test]
    fn trailing_line_breaks_of_a_key_file_are_dropped() {
        assert_eq!(from_file(b"k3y\r\n\n").as_deref(), Ok("k3y"));
    }

    #[test]
    fn a_key_file_is_read_anew_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = named(file.path());
        for key in ["first", "second"] {
            std::fs::write(file.path(), key).unwrap();
            assert_eq!(read_key(&source).unwrap().expose_secret(), key);
        }
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_refused_without_being_shown() {
        let unfit = "the API key file FILE holds a character that cannot be sent in a header (a \
                     line break, a blank, or one that is not printable ASCII); write the API key, \
                     and nothing else, into the file";
        for content in [
            &b"se\ncret"[..],
            b"se cret",
            b" secret",
            b"s\xc3\xa9cret",
            b"se\xffcret",
            b"se\0cret",
        ] {
            assert_eq!(from_file(content).unwrap_err(), unfit);
        }
    }

    #[test]
    fn an_empty_or_too_large_key_file_is_refused() {
        let rest = "write the API key, and nothing else, into the file";
        assert_eq!(
            from_file(b"\n").unwrap_err(),
            format!("the API key file FILE is empty; {rest}")
        );
        let large = "the API key file FILE is larger than 16 KiB, too large for a key";
        assert_eq!(
            from_file(&vec![b'a'; 16385]).unwrap_err(),
            format!("{large}; {rest}")
        );
        assert!(from_file(&vec![b'a'; 16384]).is_ok());
    }

    #[test]
    fn a_missing_key_file_and_a_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read_key(&named(&folder.path().join("none")))
            .unwrap_err()
            .to_string();
        assert!(
            missing.contains("none cannot be read: No such file or directory"),
            "{missing}"
        );
        let folder = read_key(&named(folder.path())).unwrap_err().to_string();
        assert!(
            folder.contains("cannot be read: Is a directory"),
            "{folder}"
        );
    }
    #[test]
    fn what_may_be_a_key_in_the_place_of_a_path_is_not_shown() {
        for written in [
            "s3cret",
            "s3cret.key",
            "a/s3cret",
            ".s3cret",
            "..s3cret",
            "~/s3cret",
        ] {
            let file = KeySource::file(written, &Path::new("/etc").join(written));
            let error = read_key(&file).unwrap_err().to_string();
            assert!(!format!("{error}{file:?}").contains("s3cret"), "{error}");
            assert!(
                error.contains("might be the key itself") && error.contains("./"),
                "{error}"
            );
        }
        for written in ["/s3cret", "./s3cret", "../s3cret"] {
            let file = KeySource::file(written, &Path::new("/none").join(written));
            assert!(
                read_key(&file).unwrap_err().to_string().contains("s3cret"),
                "{written}"
            );
        }
    }
}
