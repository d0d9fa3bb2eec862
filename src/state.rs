//! The state file: what outlives a restart.
//!
//! It is replaced whole or not at all: a new file is written beside it, brought to the disk and renamed over it, so
//! that a kill at any instant and a full disk leave the last good one. What lies at its path and is no state file of
//! ours is moved aside, never overwritten and never removed.
//!
//! Beside the state file `NAME` these names belong to the exporter:
//!
//! | name | what it is |
//! |---|---|
//! | `NAME.lock` | locked by the process that uses the state file; stays when it ends, since removing it would race |
//! | `NAME.tmp` | the next state file while it is written; what a killed process left of it is removed |
//! | `NAME.damaged-TIME`, `NAME.other-TIME` | what was set aside, and when the process began that did so |
//!
//! Where the path is a symbolic link, all of this goes for the file that the link names: the link stays, and two
//! processes that reach one file by two links meet at one lock.
//!
//! A folder that is missing or cannot be written is no reason not to start: the state is read if it can be, and each
//! write tries anew. Nothing is ever written or moved without the lock.
//!
//! Everything here blocks.

mod check;
mod format;
mod lock;
mod trouble;

pub use format::{DecodeError, Decoded, VERSION, decode};
pub use trouble::{OpenError, Problem, Unusable, WriteError};

use crate::{
    model::{Repository, RepositoryId, Timestamp},
    progress::Progress,
    snapshot::Languages,
};
use lock::{Identity, Lock, LockError};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Only the user that runs the exporter may read what it writes.
const MODE: u32 = 0o600;

/// No state file is longer, in bytes: room for more than ten million languages.
const MAX_LENGTH: u64 = 1 << 30;

/// Everything that outlives a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// How long the last poll took that read everything it wanted.
    pub last_full_poll: Option<Duration>,
    /// What a listing has shown and the filters let through, in the order of the ids.
    pub repositories: Vec<Remembered>,
    /// The clocks of what left, in the order of id and code.
    pub departed: Vec<Departed>,
}

/// A repository, with its languages if they were ever read; also those that are too old to be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub repository: Arc<Repository>,
    pub languages: Option<Arc<Languages>>,
}

/// The clock of a language that left, or whose repository left.
#[derive(Debug, Clone, PartialEq)]
pub struct Departed {
    pub repository: RepositoryId,
    pub code: Arc<str>,
    pub progress: Progress,
    pub left_at: Timestamp,
}

/// What was found when the state file was opened.
#[derive(Debug)]
pub struct Opened {
    /// What the last process kept; `None` is a fresh start.
    pub memory: Option<Memory>,
    /// What is wrong, each to be logged as an error. None of it keeps the exporter from going on.
    pub problems: Vec<Problem>,
}

/// The state file of this process. Dropping it lets the next process have it.
#[derive(Debug)]
pub struct StateFile {
    /// As the configuration spells it.
    configured: PathBuf,
    /// Where its symbolic links lead.
    path: PathBuf,
    base_url: Box<str>,
    opened_at: Timestamp,
    /// `None` while it could not be had, as in a folder that is missing.
    lock: Option<Lock>,
    /// The file that was last read or written here.
    seen: Option<Identity>,
    /// Why what lies at `path` must be set aside before anything is written there.
    in_the_way: Option<Unusable>,
}

impl StateFile {
    /// Locks the state file at `path` and reads it. What is damaged, is not ours, or tells of another API than
    /// `base_url` is set aside under a name that bears `now`.
    ///
    /// # Errors
    ///
    /// Where another process uses the file, or where `path` cannot name a file: both are for the operator to fix
    /// before the exporter can run.
    pub fn open(path: &Path, base_url: &str, now: Timestamp) -> Result<(Self, Opened), OpenError> {
        let mut state = Self {
            configured: path.to_owned(),
            path: follow_links(path),
            base_url: base_url.into(),
            opened_at: now,
            lock: None,
            seen: None,
            in_the_way: None,
        };
        state.refuse_what_is_no_file()?;
        let mut problems = Vec::new();
        match Lock::take(&sibling(&state.path, ".lock")) {
            Ok(lock) => state.lock = Some(lock),
            Err(LockError::Held(lock)) => return Err(OpenError::Held { path: path.to_owned(), lock }),
            Err(LockError::Impossible(lock, error)) => {
                problems.push(Problem::Unlocked { path: state.path.clone(), lock, error });
            }
        }
        if state.lock.is_some() {
            // The lock proves that whoever began it is gone. Where it cannot be removed, the first write will tell.
            let _ = fs::remove_file(state.temporary());
        }
        let memory = match state.read() {
            Ok(memory) => memory,
            Err(unusable) => {
                state.in_the_way = Some(unusable);
                problems.push(state.clear_the_way().unwrap_or_else(Problem::InTheWay));
                None
            }
        };
        Ok((state, Opened { memory, problems }))
    }

    /// Where the state is kept, symbolic links followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the state file by one that holds `memory`, and returns when it is on the disk.
    ///
    /// # Errors
    ///
    /// Whatever the error, the last good file is untouched, nothing half-written is left, and a later call may succeed.
    pub fn write(&mut self, memory: &Memory) -> Result<(), WriteError> {
        check::check(memory).map_err(WriteError::Impossible)?;
        self.hold_the_lock()?;
        if self.in_the_way.is_some() && matches!(fs::symlink_metadata(&self.path), Err(error) if is_absence(&error)) {
            // Somebody has moved it already.
            self.in_the_way = None;
        }
        if self.in_the_way.is_some() {
            let moved = self.clear_the_way().map_err(WriteError::InTheWay)?;
            tracing::error!("{moved}");
        }
        self.replace(memory).map_err(|(doing, path, error)| WriteError::Io { doing, path, error })
    }

    /// Makes sure of the lock. Where it was not held all the time since the file was read, what lies there now may
    /// be newer than what this process knows, and must not be overwritten.
    fn hold_the_lock(&mut self) -> Result<(), WriteError> {
        if self.lock.as_ref().is_some_and(Lock::is_in_place) {
            return Ok(());
        }
        self.lock = None;
        self.path = follow_links(&self.configured);
        let lock = Lock::take(&sibling(&self.path, ".lock")).map_err(|error| match error {
            LockError::Held(lock) => WriteError::Held { path: self.path.clone(), lock },
            LockError::Impossible(lock, error) => WriteError::Unlocked { path: self.path.clone(), lock, error },
        })?;
        self.lock = Some(lock);
        let found = Identity::of_path(&self.path);
        if found.is_some() && found != self.seen && self.in_the_way.is_none() {
            self.in_the_way = Some(Unusable::Unread);
        }
        Ok(())
    }

    /// Reads what lies at the path; `None` where there is nothing.
    fn read(&mut self) -> Result<Option<Memory>, Unusable> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(Unusable::Unreadable(error)),
        };
        let length = file.metadata().map_err(Unusable::Unreadable)?.len();
        self.seen = Identity::of_file(&file);
        let mut bytes = Vec::new();
        (&mut file).take(format::OPENING.len() as u64).read_to_end(&mut bytes).map_err(Unusable::Unreadable)?;
        if bytes == format::OPENING {
            if length > MAX_LENGTH {
                return Err(Unusable::TooLong { length });
            }
            bytes.reserve_exact(usize::try_from(length).unwrap_or(0).saturating_sub(bytes.len()));
            file.take(MAX_LENGTH).read_to_end(&mut bytes).map_err(Unusable::Unreadable)?;
        }
        let Decoded { base_url, memory } = decode(&bytes)?;
        if *base_url != *self.base_url {
            return Err(Unusable::OtherBaseUrl { found: base_url, wanted: self.base_url.clone() });
        }
        Ok(Some(memory))
    }

    /// Sets aside what is in the way, and says so. Calling it with nothing in the way is a mistake, yet harmless.
    fn clear_the_way(&mut self) -> Result<Problem, trouble::InTheWay> {
        let why = self.in_the_way.take().unwrap_or(Unusable::Unread);
        let moved = if self.lock.is_some() {
            self.set_aside(why.suffix())
        } else {
            Err(io::Error::other("the lock of the state file is not held"))
        };
        match moved {
            Ok(to) => {
                self.seen = None;
                Ok(Problem::SetAside { path: self.path.clone(), to, why })
            }
            Err(error) => {
                let report = trouble::InTheWay { path: self.path.clone(), why: why.to_string(), error };
                self.in_the_way = Some(why);
                Err(report)
            }
        }
    }

    /// Moves what lies at the path to a name that nothing bears.
    fn set_aside(&self, suffix: &str) -> io::Result<PathBuf> {
        let time: String = self.opened_at.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
        for attempt in 1..=1000 {
            let number = if attempt == 1 { String::new() } else { format!("-{attempt}") };
            let to = sibling(&self.path, &format!(".{suffix}-{time}{number}"));
            // A rename replaces what it meets: the name is reserved first, so that it meets an empty file of ours.
            match OpenOptions::new().write(true).create_new(true).mode(MODE).open(&to) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            if let Err(error) = fs::rename(&self.path, &to) {
                // Only an empty file of ours is lost with it, if even that.
                let _ = fs::remove_file(&to);
                return Err(error);
            }
            return sync_folder(&to).map(|()| to);
        }
        Err(io::Error::other(format!("a thousand files named .{suffix}-{time} lie there already")))
    }

    /// Writes the new file, brings it to the disk and renames it into place.
    fn replace(&mut self, memory: &Memory) -> Result<(), (&'static str, PathBuf, io::Error)> {
        let temporary = self.temporary();
        let written = self.write_new(&temporary, memory).map_err(|error| ("write", temporary.clone(), error));
        let renamed = written.and_then(|identity| {
            fs::rename(&temporary, &self.path).map_err(|error| ("replace", self.path.clone(), error))?;
            self.seen = identity;
            Ok(())
        });
        if let Err(error) = renamed {
            // It is of no use, and on a full disk it would take up the room. What matters is told already.
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        sync_folder(&self.path).map_err(|error| ("bring to the disk", self.path.clone(), error))
    }

    fn write_new(&self, temporary: &Path, memory: &Memory) -> io::Result<Option<Identity>> {
        match fs::remove_file(temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Only a new file is sure to have the mode, and to be no link that somebody put there.
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(temporary)?;
        format::encode(memory, &self.base_url, &file)?;
        file.sync_all()?;
        Ok(Identity::of_file(&file))
    }

    fn temporary(&self) -> PathBuf {
        sibling(&self.path, ".tmp")
    }

    fn refuse_what_is_no_file(&self) -> Result<(), OpenError> {
        let refuse = |what| Err(OpenError::NotAFile { path: self.configured.clone(), what });
        if self.path.file_name().is_none() {
            return refuse("no file name");
        }
        // Opening a pipe could wait for ever, and reading a device could do anything.
        match fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => refuse("a folder"),
            Ok(found) if !found.is_file() => refuse("something that is neither file nor folder"),
            _ => Ok(()),
        }
    }
}

/// Whether there is nothing at a path, rather than something that cannot be had.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The file beside `path` whose name has `suffix` appended.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Where `path` leads when it is a symbolic link, also one to a file that does not exist yet.
fn follow_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Brings the names in the folder of `path` to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match File::open(folder)?.sync_all() {
        // Some network and user-space filesystems have no such thing for folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests;
