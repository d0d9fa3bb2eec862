//! Errors of the state file, each with a hint for the operator.

use super::FormatError;
use crate::support::hint::SetupError;
use std::{
    io::{self, ErrorKind},
    path::Path,
};

/// Returns the error of a folder in which no file can be made. It shows only the folder: the name
/// of a file that does not exist might be the API key, pasted there by mistake.
pub fn folder(file: &Path, error: &io::Error) -> SetupError {
    let folder = file.with_file_name("");
    failed("write the state file into", &folder, error)
}

/// Returns the error of an action on a file.
pub fn failed(action: &str, path: &Path, error: &io::Error) -> SetupError {
    SetupError::new(
        format!("cannot {action} {}: {error}", path.display()),
        hint(error),
    )
}

impl FormatError {
    pub(super) fn hint(&self) -> &'static str {
        if self.is_newer() {
            "run the newer version of the exporter, or move the file away, which restarts all \
             progress clocks"
        } else {
            "set state.file to another file"
        }
    }
}

/// Returns what the operator can do about an I/O error.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "let the user that runs the exporter read and write the file, its folder and its lock"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "create its folder, or set state.file to a file in another one"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "mount its filesystem writable, or set state.file to a file on another filesystem"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free up space: twice the size of the state file"
        }
        ErrorKind::FileTooLarge => {
            "raise the limit on file sizes (ulimit -f, LimitFSIZE= of the systemd unit); a state \
             file has at most 256 MiB"
        }
        ErrorKind::ResourceBusy => "mount the folder of the state file, not the file alone",
        _ => {
            "check its folder and its filesystem, which must support file locks; the kernel's log \
             may say more"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn each_error_has_a_hint_of_its_own() {
        for (errno, part) in [
            (Errno::ACCESS, "let the user that runs the exporter"),
            (Errno::MFILE, "open files"),
            (Errno::NOENT, "create its folder"),
            (Errno::ROFS, "mount its filesystem writable"),
            (Errno::NOLCK, "support file locks"),
            (Errno::NOSPC, "free up space"),
            (Errno::FBIG, "LimitFSIZE"),
            (Errno::BUSY, "not the file alone"),
        ] {
            let error = failed("lock", Path::new("/folder/state"), &errno.into());
            let error = error.to_string();
            assert!(
                error.starts_with("cannot lock /folder/state: ") && error.contains(part),
                "{error}"
            );
        }
    }
}
