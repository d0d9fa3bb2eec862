//! What can go wrong with the state file, and what to do about it.

use rustix::io::Errno;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why there is no usable state file, or why it was not written. At the start, the program exits with it; later, the write
/// is tried again.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "state.file {} is in use by another process, which holds the lock {}: end that process, or give each its own \
         state file",
        path.display(), lock.display()
    )]
    Held { path: PathBuf, lock: PathBuf },
    #[error("state.file {} is not a file: name a file in a folder that the exporter may write to", path.display())]
    NotAFile { path: PathBuf },
    /// The file at the path is untouched.
    #[error("cannot {action} {}: {error}: {hint}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        error: io::Error,
        hint: &'static str,
    },
    /// The new state is in place, but maybe not yet on the disk.
    #[error(
        "the state file {} is replaced, but its folder cannot be synced to the disk: {error}; until it can, a power \
         failure may bring back the previous state: {hint}",
        path.display()
    )]
    NotSynced {
        path: PathBuf,
        error: io::Error,
        hint: &'static str,
    },
}

impl StateError {
    /// `if_denied` is the hint if permission is missing.
    pub(super) fn io(
        action: &'static str,
        path: &Path,
        error: io::Error,
        if_denied: &'static str,
    ) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            hint: hint(&error, if_denied),
            error,
        }
    }

    pub(super) fn not_synced(path: &Path, error: io::Error) -> Self {
        let if_denied = "let the user that runs the exporter read its folder";
        Self::NotSynced {
            path: path.to_owned(),
            hint: hint(&error, if_denied),
            error,
        }
    }
}

/// The hint if an action must create or rename files.
pub(super) const WRITE_FOLDER: &str = "let the user that runs the exporter write to its folder";

/// What the operator can do about an error.
fn hint(error: &io::Error, if_denied: &'static str) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => if_denied,
        Some(Errno::MFILE | Errno::NFILE) => {
            "raise the limit on open files (ulimit -n, LimitNOFILE= of systemd)"
        }
        Some(Errno::NOENT | Errno::NOTDIR) => {
            "create its folder, or set state.file to a file in another one"
        }
        Some(Errno::ROFS) => {
            "its filesystem is read-only: mount it writable, or set state.file to a file on another"
        }
        Some(Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS) => {
            "its filesystem cannot lock files: set state.file to a file on one that can"
        }
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => "free up space, twice its size",
        None if error.kind() == io::ErrorKind::FileTooLarge => {
            "leave repositories out with filter.exclude"
        }
        Some(Errno::BUSY) => "mount the folder of the state file, not the file alone",
        _ => "check its folder and filesystem; the log of the kernel may say more",
    }
}

/// A file that was read, but cannot be used, and was moved: the exporter starts without it.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use the state file {}: {why}; it was set aside as {}, and the exporter starts without it",
    path.display(), to.display()
)]
pub struct SetAside {
    pub path: PathBuf,
    pub to: PathBuf,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_a_hint_of_its_own() {
        for (errno, part) in [
            (Errno::ACCESS, "if denied"),
            (Errno::MFILE, "open files"),
            (Errno::NOENT, "create its folder"),
            (Errno::ROFS, "read-only"),
            (Errno::NOLCK, "cannot lock files"),
            (Errno::OPNOTSUPP, "cannot lock files"),
            (Errno::NOSPC, "free up space"),
            (Errno::BUSY, "not the file alone"),
            (Errno::IO, "check its folder and filesystem"),
        ] {
            let error = StateError::io(
                "lock",
                Path::new("/folder/state"),
                errno.into(),
                "if denied",
            )
            .to_string();
            assert!(
                error.starts_with("cannot lock /folder/state: ") && error.contains(part),
                "{error}"
            );
        }
    }
}
