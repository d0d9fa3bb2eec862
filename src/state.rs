//! The state file: what survives a restart.
//!
//! It is replaced atomically: a new file is written beside it, synced to the disk and renamed over it, so that a kill at
//! any instant and a full disk leave the last good one. A file at its path that can be read, but is damaged, not ours or
//! of another API, is set aside: never overwritten and never removed. One that cannot be read stays where it is, and the
//! exporter does not start.
//!
//! Beside the state file `NAME` these names belong to the exporter:
//!
//! | name | what it is |
//! |---|---|
//! | `NAME.lock` | locked by the process that uses the state file; stays when it ends, since removing it would race |
//! | `NAME.tmp` | the next state file while it is written; one left by a killed process is removed |
//! | `NAME.set-aside-TIME` | a file that could not be used, and when it was found |
//!
//! Where the path is a symbolic link, all of this applies to the file that the link names: the link stays, and two
//! processes that use one file through two links share one lock.
//!
//! Everything here blocks.

mod error;
mod format;

pub use error::{SetAside, StateError};

use crate::{
    model::{Repository, RepositoryId, Timestamp},
    progress::Progress,
    snapshot::Languages,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Only the user that runs the exporter can read what it writes.
const MODE: u32 = 0o600;

/// The maximum length of a state file, in bytes: room for more than ten million languages.
const MAX_LENGTH: u64 = if cfg!(test) { 1 << 20 } else { 1 << 30 };

/// Everything that survives a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// How long the last full poll took.
    pub last_full_poll: Option<Duration>,
    /// The listed repositories that pass the filters, each id once.
    pub repositories: Vec<Remembered>,
    /// Those of them that the last complete listing lacked, and that the next has to confirm are gone.
    pub missed: BTreeSet<RepositoryId>,
    /// The clocks of languages that left, or whose repository left, and when they did.
    pub departed: BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>,
}

/// A repository, with its languages if they were ever read, even if those are stale.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub repository: Arc<Repository>,
    /// Which attempt to read it was the last, counted over all repositories: larger is later; 0 where there was none.
    pub last_attempt: u64,
    /// How many attempts in a row have failed since the last success.
    pub failures: u32,
    pub languages: Option<Arc<Languages>>,
}

/// The state file of this process, and what was found in it.
#[derive(Debug)]
pub struct Opened {
    pub file: StateFile,
    /// What the last process saved; `None` if there was no file, or it was set aside.
    pub memory: Option<Memory>,
    /// What was found but cannot be used, to be logged as an error.
    pub set_aside: Option<SetAside>,
}

/// The state file of this process. Dropping it releases it.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    base_url: Box<str>,
    lock: File,
}

impl StateFile {
    /// Locks the state file at `path` and reads it. What is damaged, not ours, or of another API than `base_url` is set
    /// aside under a name that contains `now`.
    ///
    /// # Errors
    ///
    /// Another process uses the file, it cannot be locked or read, or `path` cannot name a file. The operator must fix this
    /// before the exporter can run. The file is unchanged.
    pub fn open(path: &Path, base_url: &str, now: Timestamp) -> Result<Opened, StateError> {
        let path = follow_links(path);
        // Opening a pipe could block forever, and reading a device could do anything.
        if path.file_name().is_none() || fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(StateError::NotAFile { path });
        }
        let file = Self {
            lock: take_lock(&path)?,
            path,
            base_url: base_url.into(),
        };
        // The lock proves that its writer is gone. If it cannot be removed, the first write reports that.
        let _ = fs::remove_file(file.temporary());
        let (memory, set_aside) = match file.read()? {
            None => (None, None),
            Some(Ok(memory)) => (Some(memory), None),
            Some(Err(why)) => (None, Some(file.set_aside(why, now)?)),
        };
        Ok(Opened {
            file,
            memory,
            set_aside,
        })
    }

    /// Replaces the state file with one that holds `memory`, and returns once it is on the disk.
    ///
    /// # Errors
    ///
    /// The last good file is untouched, except after [`StateError::NotSynced`]. Nothing half-written is left, and a
    /// later call may succeed.
    pub fn write(&mut self, memory: &Memory) -> Result<(), StateError> {
        if !self.lock_is_in_place() {
            self.lock = take_lock(&self.path)?;
        }
        let temporary = self.temporary();
        let replaced = self
            .write_new(&temporary, memory)
            .and_then(|()| fs::rename(&temporary, &self.path));
        if replaced.is_err() {
            // It is useless, and on a full disk it would take up space. What matters is in the error already.
            let _ = fs::remove_file(&temporary);
        }
        replaced.map_err(|error| {
            StateError::io(
                "write the state file",
                &self.path,
                error,
                error::WRITE_FOLDER,
            )
        })?;
        sync_folder(&self.path).map_err(|error| StateError::not_synced(&self.path, error))
    }

    /// Reads the file at the path; `None` if there is none.
    fn read(&self) -> Result<Option<Result<Memory, String>>, StateError> {
        let read = || -> io::Result<_> {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            if length > MAX_LENGTH {
                return Ok(Err(format!(
                    "it is {length} bytes long, more than any state file"
                )));
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(format::decode(&bytes, &self.base_url))
        };
        match read() {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let if_denied = "let the user that runs the exporter read it, or move it away to start without it";
                Err(StateError::io(
                    "read the state file",
                    &self.path,
                    error,
                    if_denied,
                ))
            }
        }
    }

    /// Moves the file at the path to an unused name. No other process can take that name in between, since this one holds
    /// the lock.
    fn set_aside(&self, why: String, now: Timestamp) -> Result<SetAside, StateError> {
        let time: String = now
            .to_string()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let first = format!(".set-aside-{time}");
        let mut to = sibling(&self.path, &first);
        let mut number = 1;
        while fs::symlink_metadata(&to).is_ok() {
            number += 1;
            to = sibling(&self.path, &format!("{first}-{number}"));
        }
        match fs::rename(&self.path, &to) {
            Ok(()) => Ok(SetAside {
                path: self.path.clone(),
                to,
                why,
            }),
            Err(error) => Err(StateError::io(
                "set aside the state file",
                &self.path,
                error,
                error::WRITE_FOLDER,
            )),
        }
    }

    /// Writes a file that can replace the state file, and syncs it to the disk.
    fn write_new(&self, temporary: &Path, memory: &Memory) -> io::Result<()> {
        // Only a new file is sure to have the mode, and not to be a link that somebody put there.
        let _ = fs::remove_file(temporary);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(temporary)?;
        format::encode(memory, &self.base_url, &file)?;
        let length = file.metadata()?.len();
        if length > MAX_LENGTH {
            let what =
                format!("it would be {length} bytes long, and at most {MAX_LENGTH} are read");
            return Err(io::Error::new(ErrorKind::FileTooLarge, what));
        }
        file.sync_all()
    }

    /// Whether the next process would find this lock: false if somebody has removed or replaced its file.
    fn lock_is_in_place(&self) -> bool {
        let lock = fs::metadata(sibling(&self.path, ".lock"));
        let (Ok(ours), Ok(found)) = (self.lock.metadata(), lock) else {
            return false;
        };
        (ours.dev(), ours.ino()) == (found.dev(), found.ino())
    }

    fn temporary(&self) -> PathBuf {
        sibling(&self.path, ".tmp")
    }
}

/// Takes the lock of the state file at `path`. It is held until the file is closed, however the process ends.
fn take_lock(path: &Path) -> Result<File, StateError> {
    let lock = sibling(path, ".lock");
    // Network filesystems grant an exclusive lock only on files opened for writing.
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(MODE)
        .open(&lock);
    let locked = opened.and_then(|file| match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    });
    match locked {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(StateError::Held {
            path: path.to_owned(),
            lock,
        }),
        Err(error) => {
            let if_denied = if fs::symlink_metadata(&lock).is_ok() {
                "another user created it: remove it if no exporter of that user runs, or run the exporter as that user"
            } else {
                error::WRITE_FOLDER
            };
            Err(StateError::io(
                "lock the state file with",
                &lock,
                error,
                if_denied,
            ))
        }
    }
}

/// The file beside `path` whose name has `suffix` appended.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The target of `path` if it is a symbolic link, even to a file that does not exist yet.
fn follow_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Syncs the names in the folder of `path` to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match File::open(folder)?.sync_all() {
        // Some network and user-space filesystems cannot sync folders.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(test)]
mod tests;
