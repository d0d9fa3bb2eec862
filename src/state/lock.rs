//! The lock beside the state file, and the identity of a file.

use super::MODE;
use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Which file it is, and which content it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Identity {
    pub(super) fn of_file(file: &File) -> Option<Self> {
        file.metadata().ok().as_ref().map(Self::from)
    }

    pub(super) fn of_path(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// A lock that is held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

/// Why the lock at a path is not held.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process holds it.
    Held(PathBuf),
    /// There can be no lock there now.
    Impossible(PathBuf, io::Error),
}

impl Lock {
    pub(super) fn take(path: &Path) -> Result<Self, LockError> {
        let impossible = |error| LockError::Impossible(path.to_owned(), error);
        // Network filesystems grant an exclusive lock only to who may write.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(MODE)
            .open(path)
            .map_err(impossible)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(impossible(error)),
        }
    }

    /// Whether the next process would meet this lock: false where somebody has removed or replaced its file.
    pub(super) fn is_in_place(&self) -> bool {
        let (Ok(ours), Ok(theirs)) = (self.file.metadata(), fs::metadata(&self.path)) else { return false };
        (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
    }
}
