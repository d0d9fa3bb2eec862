//! Errors of the state file, each with a hint for the operator.

use super::FormatError;
use crate::support::hint::os_hint;
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// A failure to open or write the state file. The program exits with an error of the start, and
/// repeats a failed write.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "state.file {path} is in use by another process, which holds the lock {path}.lock: end \
         that process, or set state.file to another file; `once --state.file=` runs without a \
         state file",
        path = .0.display()
    )]
    Held(PathBuf),
    #[error(
        "state.file {} is not a file: name a file in a folder that the exporter may write to",
        path.display()
    )]
    NotAFile { path: PathBuf },
    /// The exporter does not start.
    #[error("cannot use the state file {}: {why}; {}", path.display(), why.hint())]
    LeftAlone { path: PathBuf, why: FormatError },
    /// The exporter starts without it.
    #[error(
        "cannot use the state file {}: {why}; it was set aside as {}, and the exporter starts \
         without it",
        path.display(), to.display()
    )]
    SetAside {
        path: PathBuf,
        to: PathBuf,
        why: FormatError,
    },
    #[error("cannot {action} {}: {error}: {}", path.display(), hint(error))]
    Io {
        action: &'static str,
        path: PathBuf,
        error: io::Error,
    },
}

impl StateError {
    /// Makes the error of a folder in which no file can be made. It shows only the folder: the name
    /// of a file that does not exist might be the API key, pasted there by mistake.
    pub fn folder(file: &Path, error: io::Error) -> Self {
        let folder = file.with_file_name("");
        Self::io("write the state file into", &folder, error)
    }

    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            error,
        }
    }
}

impl FormatError {
    fn hint(&self) -> &'static str {
        match self {
            Self::Newer(_) => {
                "run the newer version of the exporter, or move the file away, which restarts all \
                 progress clocks"
            }
            Self::OtherApi(_) | Self::Damaged(_) | Self::OtherFormat | Self::TooLarge(_) => {
                "set state.file to another file"
            }
        }
    }
}

/// Returns what the operator can do about an I/O error.
fn hint(error: &io::Error) -> &'static str {
    if let Some(hint) = os_hint(error) {
        return hint;
    }
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
            let error = StateError::io("lock", Path::new("/folder/state"), errno.into());
            let error = error.to_string();
            assert!(
                error.starts_with("cannot lock /folder/state: ") && error.contains(part),
                "{error}"
            );
        }
    }
}
