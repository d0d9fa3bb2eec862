//! The API key: read again whenever it is needed, so that it can be rotated without a restart. No
//! message shows it, even if a user pasted it in the place of a path.

use super::{sections::ApiConfig, text::sendable};
use crate::support::{files::read_file, hint::Failure};
use secrecy::SecretString;
use std::path::Path;

/// Reads the key as it is sent, without trailing line breaks, from `api.key` or from the file of
/// `api.key_file`: the configuration has one of them.
///
/// # Errors
/// The file is missing or cannot be read, or the key is empty or cannot be sent in a
/// header.
pub fn read_key(api: &ApiConfig) -> Result<SecretString, Failure> {
    if let Some(key) = &*api.key {
        return Ok(key.clone());
    }
    let path = api.key_file.as_deref().unwrap_or(Path::new(""));
    let what = format!("the API key file {} ", path.display());
    let bytes = read_file(path, 1).map_err(|error| {
        let hint = "give api.key_file the path of a file that exists and that this user can read";
        Failure::new(format!("{what}cannot be read: {error}"), hint)
    })?;
    let hint = "write the API key, and nothing else, into the file";
    sendable(&bytes).map_err(|problem| Failure::new(what + problem, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Options, read};
    use secrecy::ExposeSecret;
    use std::collections::BTreeMap;

    /// Reads the key from a file.
    fn key_of(path: &Path) -> Result<SecretString, Failure> {
        let options = Options::from([("api.key_file", path.display().to_string())]);
        read_key(&read(&options, &BTreeMap::new()).unwrap().sections.api)
    }

    #[test]
    fn a_key_file_is_read_anew_each_time_and_a_bad_key_is_not_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let unfit = "the API key file FILE contains a character that cannot be sent in a header \
                     (a line break, a space, or one that is not printable ASCII); write the API \
                     key, and nothing else, into the file";
        let empty =
            "the API key file FILE is empty; write the API key, and nothing else, into the file";
        for (content, outcome) in [
            (&b"first"[..], Ok("first")),
            (b"k3y\r\n\n", Ok("k3y")),
            (b"\n", Err(empty)),
            (b"se\ncret", Err(unfit)),
            (b"se cret", Err(unfit)),
            (b" secret", Err(unfit)),
            (b"s\xc3\xa9cret", Err(unfit)),
            (b"se\xffcret", Err(unfit)),
            (b"se\0cret", Err(unfit)),
        ] {
            std::fs::write(file.path(), content).unwrap();
            let path = file.path().display().to_string();
            let read =
                key_of(file.path()).map_err(|error| error.to_string().replace(&path, "FILE"));
            let read = read.as_ref().map(ExposeSecret::expose_secret);
            assert_eq!(read.map_err(String::as_str), outcome);
        }
    }

    #[test]
    fn a_missing_key_file_and_a_folder_are_refused() {
        for (path, why) in [
            ("/none", "/none cannot be read: No such file or directory"),
            ("/", "cannot be read: it is not a regular file"),
        ] {
            let error = key_of(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
