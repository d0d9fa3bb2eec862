//! The API key: read anew whenever it is asked for, so that it can be rotated without a restart. Nothing here ever
//! tells any part of it.

use super::KeySource;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// No key is longer; a larger file is not a key file.
const LARGEST: u64 = 16 * 1024;

/// Why there is no key to send. The display says what was attempted, on what, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{} {}; {}", self.place(), self.problem(), self.hint())]
pub struct KeyError {
    file: Option<PathBuf>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unreadable(io::Error),
    NotAFile,
    TooLarge,
    Empty,
    Unfit,
}

impl KeyError {
    /// What was looked at.
    #[must_use]
    pub fn place(&self) -> String {
        self.file.as_ref().map_or_else(|| "api.key".to_owned(), |file| format!("the API key file {}", file.display()))
    }

    /// What is wrong with it.
    #[must_use]
    pub fn problem(&self) -> String {
        match &self.kind {
            Kind::Unreadable(error) => format!("cannot be read: {error}"),
            Kind::NotAFile => "is no regular file, and could not be read anew at each poll".to_owned(),
            Kind::TooLarge => format!("is larger than {LARGEST} bytes, which no key is"),
            Kind::Empty => "is empty".to_owned(),
            Kind::Unfit => "holds a character that cannot be sent in a header (a line break, a blank, or one that is \
                            not printable ASCII)"
                .to_owned(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match (&self.kind, &self.file) {
            (Kind::Unreadable(_), _) => "see that the file exists and that this user may read it",
            (_, Some(_)) => "write the API key, and nothing else, into the file",
            (_, None) => "give the API key, and nothing else",
        }
    }
}

/// The key as it is sent, without trailing line breaks.
///
/// # Errors
/// Where the file is missing, cannot be read or is too large, and where the key is empty or cannot stand in a header.
pub fn read_key(source: &KeySource) -> Result<SecretString, KeyError> {
    let (file, secret) = match source {
        KeySource::Inline(secret) => (None, fit(secret.expose_secret().as_bytes())),
        KeySource::File(path) => (Some(path.clone()), read(path).and_then(|bytes| fit(&bytes))),
    };
    secret.map_err(|kind| KeyError { file, kind })
}

fn read(path: &Path) -> Result<Vec<u8>, Kind> {
    // A pipe could make the exporter wait for ever.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(Kind::NotAFile);
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(Kind::Unreadable(error)),
        Ok(length) if length as u64 > LARGEST => Err(Kind::TooLarge),
        Ok(_) => Ok(bytes),
    }
}

fn fit(bytes: &[u8]) -> Result<SecretString, Kind> {
    let text = std::str::from_utf8(bytes).map_err(|_| Kind::Unfit)?.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Kind::Empty);
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Kind::Unfit);
    }
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_file(content: &[u8]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        read_key(&KeySource::File(file.path().to_owned()))
            .map(|key| key.expose_secret().to_owned())
            .map_err(|error| error.to_string().replace(&file.path().display().to_string(), "FILE"))
    }

    #[test]
    fn trailing_line_breaks_of_a_key_file_are_dropped() {
        assert_eq!(from_file(b"k3y\r\n\n").as_deref(), Ok("k3y"));
    }

    #[test]
    fn a_key_file_is_read_anew_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = KeySource::File(file.path().to_owned());
        for key in ["first", "second"] {
            std::fs::write(file.path(), key).unwrap();
            assert_eq!(read_key(&source).unwrap().expose_secret(), key);
        }
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_refused_without_being_told() {
        let unfit = "the API key file FILE holds a character that cannot be sent in a header (a line break, a blank, or one \
                     that is not printable ASCII); write the API key, and nothing else, into the file";
        for content in [&b"se\ncret"[..], b"se cret", b" secret", b"s\xc3\xa9cret", b"se\xffcret", b"se\0cret"] {
            assert_eq!(from_file(content).unwrap_err(), unfit);
        }
    }

    #[test]
    fn an_empty_or_too_large_key_file_is_refused() {
        let rest = "write the API key, and nothing else, into the file";
        assert_eq!(from_file(b"\n").unwrap_err(), format!("the API key file FILE is empty; {rest}"));
        let large = "the API key file FILE is larger than 16384 bytes, which no key is";
        assert_eq!(from_file(&vec![b'a'; 16385]).unwrap_err(), format!("{large}; {rest}"));
        assert!(from_file(&vec![b'a'; 16384]).is_ok());
    }

    #[test]
    fn a_missing_key_file_and_a_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read_key(&KeySource::File(folder.path().join("none"))).unwrap_err().to_string();
        assert!(missing.contains("none cannot be read: No such file or directory"), "{missing}");
        let folder = read_key(&KeySource::File(folder.path().to_owned())).unwrap_err().to_string();
        assert!(folder.contains("cannot be read: Is a directory"), "{folder}");
    }
}
