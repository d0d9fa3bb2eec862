//! What can go wrong with the state file, in words that say what to do.

use super::DecodeError;
use std::{
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

/// Why the exporter cannot run with this state file.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "state.file {} is in use by another process, which holds the lock {}: end that process, or give each its own \
         state file",
        path.display(), lock.display()
    )]
    Held { path: PathBuf, lock: PathBuf },
    #[error("state.file {} names {what}: name a file in a folder that the exporter may write to", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
}

/// Why what lies at the path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
    #[error("it is {length} bytes long, more than any state file")]
    TooLong { length: u64 },
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("it is the state of {found}, while api.base_url is {wanted}")]
    OtherBaseUrl { found: Box<str>, wanted: Box<str> },
    #[error("it appeared while this process could not lock it, so that this process does not know it")]
    Unread,
}

impl Unusable {
    /// What it is called when it is set aside.
    pub(super) fn suffix(&self) -> &'static str {
        match self {
            Self::Undecodable(DecodeError::Empty | DecodeError::Damaged(_))
            | Self::TooLong { .. }
            | Self::Unreadable(_) => "damaged",
            Self::Undecodable(DecodeError::Foreign | DecodeError::FutureVersion(_))
            | Self::OtherBaseUrl { .. }
            | Self::Unread => "other",
        }
    }
}

/// What is wrong with the state file, though the exporter goes on. To be logged as an error.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It was moved, and the exporter starts without it.
    #[error(
        "cannot use the state file {}: {why}; it was set aside as {}, and what it held is not known to this process",
        path.display(), to.display()
    )]
    SetAside { path: PathBuf, to: PathBuf, why: Unusable },
    /// It could not be moved: nothing is written until it can be.
    #[error(transparent)]
    InTheWay(InTheWay),
    /// There is no lock: nothing is written until there is.
    #[error("cannot lock the state file {} with {}: {error}; no state is kept until this can be done{}",
        path.display(), lock.display(), Hint(error))]
    Unlocked { path: PathBuf, lock: PathBuf, error: io::Error },
}

/// Something at the path cannot be used, and cannot be moved out of the way.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the state file {}: {why}; it could not be set aside: {error}; no state is kept until it can be{}",
    path.display(), Hint(error))]
pub struct InTheWay {
    pub path: PathBuf,
    pub why: String,
    pub error: io::Error,
}

/// Why the state was not written. The last good file is untouched, and the next write tries anew.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another process took the lock while this one did not have it.
    #[error(
        "cannot write the state file {}: another process holds its lock {}: end that process, or give each its own \
         state file",
        path.display(), lock.display()
    )]
    Held { path: PathBuf, lock: PathBuf },
    #[error("cannot write the state file {}: cannot lock {}: {error}{}", path.display(), lock.display(), Hint(error))]
    Unlocked { path: PathBuf, lock: PathBuf, error: io::Error },
    #[error(transparent)]
    InTheWay(InTheWay),
    #[error("cannot {doing} the state file {}: {error}{}", path.display(), Hint(error))]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    /// A mistake of the exporter's own: what it was given to write could not be read back.
    #[error("refused to write a state that could not be read back: {0}; please report this")]
    Impossible(String),
}

/// What the operator can do about an error, where there is something that helps.
struct Hint<'a>(&'a io::Error);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                ": make room for it, twice its size"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                ": let the user that runs the exporter write to its folder"
            }
            ErrorKind::NotFound | ErrorKind::NotADirectory => ": create its folder",
            ErrorKind::ResourceBusy => ": mount the folder of the state file, not the file alone",
            ErrorKind::Unsupported => ": put it on a filesystem that can lock files",
            _ => "",
        })
    }
}
