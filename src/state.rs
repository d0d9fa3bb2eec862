//! The state file: what survives a restart.
//!
//! It is replaced atomically: a new file is written beside it, synced to the disk and renamed over it, so that a kill at
//! any instant and a full disk leave the last good one. A file at its path that can be read, but is damaged, not ours or
//! of another API, is set aside: never overwritten and never removed. One that cannot be read, is larger than any state
//! can be, or was written by a newer program stays where it is, and the exporter does not start.
//!
//! Beside the state file `NAME` these names belong to the exporter:
//!
//! | name | what it is |
//! |---|---|
//! | `NAME.lock` | locked by the process that uses the state file; stays when it ends, since removing it would race |
//! | `NAME.tmp` | the next state file while it is written; one left by a killed process is removed |
//! | `NAME.set-aside-TIME` | a file that could not be used, and when it was found |
//!
//! Where the path is a symbolic link to a file, all of this applies to that file: the link stays, and two processes that use
//! one file through two links share one lock.
//!
//! Everything here blocks.

mod error;
mod format;

pub use error::StateError;
pub use format::DecodeError;

use crate::{
    domain::{Repository, RepositoryId, falls::Falls, progress::Progress, snapshot::Languages},
    support::clock::Timestamp,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Only the user that runs the exporter can read what it writes.
const MODE: u32 = 0o600;

/// The largest state that is written, in bytes, and so the largest that can be: a million languages and
/// as many departed clocks take about 160 MiB.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Everything that survives a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// How long the last poll took that was not ended early.
    pub last_full_poll: Option<Duration>,
    /// Those that are polled, each id once.
    pub repositories: Vec<Remembered>,
    /// Those that the last complete listing lacked, and that the next has to confirm are gone.
    pub missed: BTreeSet<RepositoryId>,
    /// The clocks of languages that left, or whose repository left, and when they did.
    pub departed: BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>,
    /// The falls of languages that are in `repositories` or left.
    pub falls: Falls,
    pub problems: Problems,
}

/// When each problem that lasts began, by the value of the label `kind` that the metrics give it. A
/// kind that this program does not know, of another version, is kept out of the metrics by the
/// diagnosis.
pub type Problems = BTreeMap<Box<str>, Timestamp>;

/// A repository, with its languages if they were ever read, even if those are stale.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub repository: Arc<Repository>,
    /// Which attempt to read it was the last, counted over all repositories: larger is later; 0 where there was none.
    pub last_attempt: u64,
    /// How many attempts in a row have failed since the last success, as the ledger counts them.
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
    pub set_aside: Option<StateError>,
}

/// Stands for the base URL of the demo, whose port differs at each start. A demo leaves alone what is not its own.
pub const DEMO: &str = "demo";

/// The state file of this process. Dropping it releases it.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    base_url: Box<str>,
    _lock: File,
}

impl StateFile {
    /// Locks the state file at `path` and reads it. What is damaged, or of another API than `base_url`, is set aside under a
    /// name that contains `now`.
    ///
    /// # Errors
    ///
    /// Another process uses the file, it cannot be locked or read, it is too large, a newer program wrote it, `path` cannot
    /// name a file, or a [`DEMO`] would have to set it aside. The operator must fix this before the exporter can run. The file is unchanged.
    pub fn open(path: &Path, base_url: &str, now: Timestamp) -> Result<Opened, StateError> {
        // A link stays, and what it names is replaced.
        let named = fs::read_link(path).map_or(path.to_owned(), |to| path.with_file_name(to));
        let path = fs::canonicalize(path)
            .or_else(|_| std::path::absolute(named))
            .unwrap_or_default();
        // Opening a pipe could block forever, and reading a device could do anything.
        if path.file_name().is_none() || fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(StateError::NotAFile { path });
        }
        let file = Self {
            _lock: take_lock(&path)?,
            path,
            base_url: base_url.into(),
        };
        let path = &file.path;
        // The lock proves that its writer is gone. If it cannot be removed, the first write reports that.
        let _ = fs::remove_file(sibling(path, ".tmp"));
        if let Ok(found) = fs::metadata(path)
            && found.len() > MOST_BYTES
        {
            let why = DecodeError::TooLarge(found.len());
            let path = file.path;
            return Err(StateError::LeftAlone { path, why });
        }
        let (memory, set_aside) = match fs::read(path) {
            Ok(bytes) => match format::decode(&bytes, base_url) {
                Ok(memory) => (Some(memory), None),
                Err(why) if base_url == DEMO || matches!(why, DecodeError::Newer(_)) => {
                    let path = file.path;
                    return Err(StateError::LeftAlone { path, why });
                }
                Err(why) => (None, Some(set_aside(path, why, now)?)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => (None, None),
            Err(error) => return Err(StateError::io("read the state file", path, error)),
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
    /// Nothing half-written is left, and a later call may succeed. The last good file is untouched, except if only its folder
    /// could not be synced.
    pub fn write(&self, memory: &Memory) -> Result<(), StateError> {
        let temporary = sibling(&self.path, ".tmp");
        // Only a new file is sure to have the mode, and not to be a link that somebody put there.
        let _ = fs::remove_file(&temporary);
        let write = || {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(MODE)
                .open(&temporary)?;
            format::encode(memory, &self.base_url, &file)?;
            if file.metadata()?.len() > MOST_BYTES {
                return Err(ErrorKind::FileTooLarge.into());
            }
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        };
        write().map_err(|error| {
            // It is useless, and on a full disk it would take up space. What matters is in the error already.
            let _ = fs::remove_file(&temporary);
            StateError::io("write the state file", &self.path, error)
        })?;
        let action =
            "sync the folder (the state file is replaced, but a power failure may undo that) of";
        sync_folder(&self.path).map_err(|error| StateError::io(action, &self.path, error))
    }
}

/// Moves the file at the path to an unused name, and returns what to log of that. No other process can take that name in between, since this one holds the
/// lock.
fn set_aside(path: &Path, why: DecodeError, now: Timestamp) -> Result<StateError, StateError> {
    let first = format!(".set-aside-{}", now.to_string().replace(['-', ':'], ""));
    let mut to = sibling(path, &first);
    let mut number = 1;
    while to.exists() {
        number += 1;
        to = sibling(path, &format!("{first}-{number}"));
    }
    fs::rename(path, &to)
        .map_err(|error| StateError::io("set aside the state file", path, error))?;
    let path = path.to_owned();
    Ok(StateError::SetAside { path, to, why })
}

/// Takes the lock of the state file at `path`. It is held until the file is closed, however the process ends.
fn take_lock(path: &Path) -> Result<File, StateError> {
    let lock = sibling(path, ".lock");
    // Network filesystems grant an exclusive lock only on files opened for writing.
    let take = || {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE)
            .open(&lock)?;
        file.try_lock()?;
        Ok(file)
    };
    take().map_err(|error: io::Error| match error.kind() {
        ErrorKind::WouldBlock => StateError::Held(path.to_owned()),
        _ => StateError::io("lock the state file with", &lock, error),
    })
}

/// The file beside `path` whose name has `suffix` appended.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Syncs the names in the folder of `path` to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let synced = File::open(path.with_file_name(""))?.sync_all();
    match synced.as_ref().map_err(io::Error::kind) {
        // Some network and user-space filesystems cannot sync folders.
        Err(ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        _ => synced,
    }
}

#[cfg(test)]
mod tests;
