//! The API key: read again whenever it is needed, so that it can be rotated without a restart. No
//! message shows it, even if a user pasted it in the place of a path.

use super::{sections::ApiConfig, text::fit};
use crate::support::{files::read_file, hint::Failure};
use secrecy::SecretString;
use std::path::Path;

/// Reads the key as it is sent, without trailing line breaks.
///
/// # Errors
/// The file is missing or cannot be read, or the key is empty or cannot be sent in a
/// header.
pub fn read_key(api: &ApiConfig) -> Result<SecretString, Failure> {
    match &*api.key {
        Some(key) => Ok(key.clone()),
        None => key_of(api.key_file.as_deref().unwrap_or(Path::new(""))),
    }
}

/// Reads the key from a file.
fn key_of(path: &Path) -> Result<SecretString, Failure> {
    let what = format!("the API key file {} ", path.display());
    let bytes = read_file(path, 1).map_err(|error| {
        let hint = "give api.key_file the path of a file that exists and that this user can read";
        Failure::new(format!("{what}cannot be read: {error}"), hint)
    })?;
    let hint = "write the API key, and nothing else, into the file";
    fit(&bytes).map_err(|problem| Failure::new(what + problem, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn from_file(content: &[u8]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        key_of(file.path())
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
        let source = file.path();
        for key in ["first", "second"] {
            std::fs::write(file.path(), key).unwrap();
            assert_eq!(key_of(source).unwrap().expose_secret(), key);
        }
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_refused_without_being_shown() {
        let unfit = "the API key file FILE contains a character that cannot be sent in a header \
                     (a line break, a space, or one that is not printable ASCII); write the API \
                     key, \
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
    fn an_empty_key_file_is_refused() {
        let expected =
            "the API key file FILE is empty; write the API key, and nothing else, into the file";
        assert_eq!(from_file(b"\n").unwrap_err(), expected);
    }

    #[test]
    fn a_missing_key_file_and_a_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = key_of(&folder.path().join("none")).unwrap_err().to_string();
        assert!(
            missing.contains("none cannot be read: No such file or directory"),
            "{missing}"
        );
        let folder = key_of(folder.path()).unwrap_err().to_string();
        assert!(
            folder.contains("cannot be read: it is not a regular file"),
            "{folder}"
        );
    }
}
