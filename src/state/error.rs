//! What can go wrong with the state file, and what to do about it.

use super::DecodeError;
use crate::support::escape::os_hint;
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Why there is no usable state file, or why it was not written. At the start, the program exits with it; later, the write
/// is tried again.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "state.file {path} is in use by another process, which holds the lock {path}.lock: end that process, or give each its own \
         state file; `once --state.file=` does without one",
        path = .0.display()
    )]
    Held(PathBuf),
    #[error("state.file {} is not a file: name a file in a folder that the exporter may write to", path.display())]
    NotAFile { path: PathBuf },
    /// The exporter does not start.
    #[error("cannot use the state file {}: {why}; {}", path.display(), why.hint())]
    LeftAlone { path: PathBuf, why: DecodeError },
    /// The exporter starts without it.
    #[error(
        "cannot use the state file {}: {why}; it was set aside as {}, and the exporter starts without it",
        path.display(), to.display()
    )]
    SetAside {
        path: PathBuf,
        to: PathBuf,
        why: DecodeError,
    },
    #[error("cannot {action} {}: {error}: {}", path.display(), hint(error))]
    Io {
        action: &'static str,
        path: PathBuf,
        error: io::Error,
    },
}

impl StateError {
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            error,
        }
    }
}

impl DecodeError {
    fn hint(&self) -> &'static str {
        match self {
            Self::Newer(_) => {
                "run the newer version of the exporter, or move the file away: the progress clocks begin anew then"
            }
            Self::OtherApi(_) | Self::Damaged(_) | Self::OtherFormat | Self::TooLarge(_) => {
                "set state.file to another file"
            }
        }
    }
}

/// What the operator can do about an error.
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
            "its filesystem is read-only: mount it writable, or set state.file to a file on another"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free up space, twice its size",
        ErrorKind::FileTooLarge => {
            "raise the limit on the size of files (ulimit -f, LimitFSIZE of the systemd unit); a state may have 256 MiB at most"
        }
        ErrorKind::ResourceBusy => "mount the folder of the state file, not the file alone",
        _ => {
            "check its folder and its filesystem, which must be able to lock files; the log of the kernel may say more"
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
            (Errno::ROFS, "read-only"),
            (Errno::NOLCK, "able to lock files"),
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
