//! The state file, which carries the exporter's [`SavedState`] across restarts.
//!
//! # Writing
//!
//! Each write is atomic: the exporter writes a new file beside the old one, syncs it to the disk
//! and renames it over the old one. A full disk, or a kill at any instant, leaves the last good
//! file.
//!
//! # Files that cannot be used
//!
//! A damaged file, a foreign file and the file of an older version are set aside under another name;
//! the exporter never removes them. An unreadable file, an oversized file, the file of a newer
//! version and the state of another API stay where they are, and the exporter does not start.
//!
//! # Names
//!
//! Beside the state file `NAME` these names belong to the exporter:
//!
//! | name | content |
//! |---|---|
//! | `NAME.lock` | the lock of the running process; never removed, because removal would race |
//! | `NAME.tmp` | the next state file during a write; a start removes that of a killed process |
//! | `NAME.set-aside-TIME` | a file that could not be used, and the time of its discovery |
//!
//! A symbolic link to a state file stays in place, and all names belong to its target. Two
//! processes that use one file through two links therefore share one lock.
//!
//! All functions here block.

mod format;

pub use format::FormatError;

use crate::{
    domain::{RepositoryId, record::SavedRepository},
    support::{clock::Timestamp, files::replace_by_way_of, hint::SetupError},
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use tempfile::Builder;

/// The mode of new files: only the user that runs the exporter can read them.
const MODE: u32 = 0o600;

/// The size limit of a state file to read, in bytes: a million languages take about 250 MiB.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Everything that survives a restart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SavedState {
    /// The end of the last poll that read everything, apart from a few repositories.
    pub last_success_at: Option<Timestamp>,
    /// The polled repositories, each id once.
    pub repositories: Vec<SavedRepository>,
    /// Repositories that the last complete listing lacked. The next listing confirms their
    /// removal.
    pub missed: BTreeSet<RepositoryId>,
    /// The departed repositories, with their records.
    pub gone: BTreeMap<RepositoryId, SavedRepository>,
}

/// The base URL under which a demo saves its state, because the port of the demo API differs at
/// each start. A demo never sets a file aside.
pub const DEMO: &str = "demo";

/// The state file of this process. Dropping it releases the lock.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    base_url: Box<str>,
    _lock: File,
}

impl StateFile {
    /// Locks the state file at `path` and reads the state of the last process, if it left one.
    /// Sets a damaged or outdated file aside under a name that contains `now`, and returns the
    /// message about it in the place of the state.
    ///
    /// # Errors
    ///
    /// An error leaves the file unchanged, and the operator must fix it before the exporter can
    /// run:
    ///
    /// - `path` cannot name a file, or the file cannot be locked, read or set aside.
    /// - Another process holds the lock.
    /// - The file is too large, a newer version of the exporter wrote it, or it is the state of
    ///   another API than `base_url`.
    /// - The file cannot be used, and `base_url` is [`DEMO`].
    pub fn open(
        path: &Path,
        base_url: &str,
        now: Timestamp,
    ) -> Result<(Self, Result<Option<SavedState>, String>), SetupError> {
        let path = locate(path)?;
        let file = Self {
            _lock: take_lock(&path)?,
            path,
            base_url: base_url.into(),
        };
        let path = &file.path;
        // The lock proves that the writer of a temporary file is gone. The first write reports a
        // file that cannot be removed.
        let _ = fs::remove_file(sibling(path, ".tmp"));
        let saved = match read(path, Some(base_url))? {
            Ok(saved) => Ok(saved),
            Err(why) => Err(set_aside(path, &why, now)?),
        };
        Ok((file, saved))
    }

    /// Checks that [`Self::open`] can use the file at `path`, of the API at `base_url` or of any,
    /// whoever holds its lock. Changes nothing.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::open`], except those about the lock and about setting the
    /// file aside.
    pub fn check(path: &Path, base_url: Option<&str>) -> Result<(), SetupError> {
        let path = locate(path)?;
        // The temporary file has no name, or loses it at once. Taking the lock instead could stop
        // an exporter that starts at the same time, or leave a lock that belongs to another user.
        tempfile::tempfile_in(path.with_file_name("")).map_err(|error| folder(&path, &error))?;
        read(&path, base_url).map(drop)
    }

    /// Replaces the state file with one that holds `saved`, and returns once it is on the disk.
    ///
    /// # Errors
    ///
    /// A later call may succeed. A failed write leaves the last good file untouched.
    pub fn write(&self, saved: &SavedState) -> Result<(), SetupError> {
        let temporary = sibling(&self.path, ".tmp");
        // A new file is sure to have the mode, and is no symbolic link that another user left
        // here.
        let _ = fs::remove_file(&temporary);
        let mut builder = Builder::new();
        builder
            .prefix(temporary.file_name().unwrap_or_default())
            .rand_bytes(0)
            .permissions(Permissions::from_mode(MODE));
        let write = |file: &mut File| format::encode(saved, &self.base_url, file);
        replace_by_way_of(&builder, &self.path, write)
            .map_err(|error| failed("write the state file", &self.path, &error))
    }
}

/// Returns the absolute path of the state file. Writes replace the target of a symbolic link, so
/// that the link stays.
fn locate(path: &Path) -> Result<PathBuf, SetupError> {
    let path = fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_default();
    // Opening a pipe could block forever, and reading a device could do anything.
    if path.file_name().is_none() || fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(SetupError::new(
            format!("state.file {} is not a file", path.display()),
            "name a file in a folder that the exporter may write to",
        ));
    }
    Ok(path)
}

/// Reads the state file at `path`; `None` without a file. The inner error is the reason to set the
/// file aside.
fn read(
    path: &Path,
    base_url: Option<&str>,
) -> Result<Result<Option<SavedState>, FormatError>, SetupError> {
    let left_alone = |why: FormatError| {
        let what = format!("cannot use the state file {}: {why}", path.display());
        let remedy = why.remedy().unwrap_or("set state.file to another file");
        Err(SetupError::new(what, remedy))
    };
    if let Ok(found) = fs::metadata(path)
        && found.len() > MAX_BYTES
    {
        return left_alone(FormatError::TooLarge(found.len()));
    }
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Ok(Ok(None)),
        Ok(bytes) => match format::decode(&bytes, base_url) {
            Ok(saved) => Ok(Ok(Some(saved))),
            Err(why) if base_url == Some(DEMO) || why.remedy().is_some() => left_alone(why),
            Err(why) => Ok(Err(why)),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Ok(None)),
        Err(error) => Err(failed("read the state file", path, &error)),
    }
}

/// Moves the file at `path` to another name, and returns the message for the log.
fn set_aside(path: &Path, why: &FormatError, now: Timestamp) -> Result<String, SetupError> {
    let time = now.to_string().replace(['-', ':'], "");
    let to = sibling(path, &format!(".set-aside-{time}"));
    fs::rename(path, &to).map_err(|error| failed("set aside the state file", path, &error))?;
    Ok(format!(
        "cannot use the state file {}: {why}; it was set aside as {}, and the exporter starts \
         without it: all progress clocks begin anew",
        path.display(),
        to.display()
    ))
}

/// Locks the state file at `path`. The kernel releases the lock with the returned file, however
/// the process ends.
fn take_lock(path: &Path) -> Result<File, SetupError> {
    let lock = sibling(path, ".lock");
    // A link could lead anywhere, and a pipe would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let take = || {
        // Network filesystems grant an exclusive lock only on files opened for writing.
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE)
            .custom_flags(flags.bits().cast_signed())
            .open(&lock)?;
        file.try_lock()?;
        Ok(file)
    };
    take().map_err(|error: io::Error| match error.kind() {
        ErrorKind::WouldBlock => SetupError::new(
            format!(
                "state.file {path} is in use by another process, which holds the lock {path}.lock",
                path = path.display()
            ),
            "stop that process, or set state.file to another file; `once --state.file=` runs \
             without a state file",
        ),
        _ if fs::symlink_metadata(&lock).is_ok() => {
            failed("lock the state file with", &lock, &error)
        }
        _ => folder(path, &error),
    })
}

/// Returns the error of a folder in which no file can be made. It shows only the folder: the name
/// of a file that does not exist might be the API key, pasted there by mistake.
fn folder(file: &Path, error: &io::Error) -> SetupError {
    let folder = file.with_file_name("");
    failed("write the state file into", &folder, error)
}

/// Returns the error of an action on a file.
fn failed(action: &str, path: &Path, error: &io::Error) -> SetupError {
    SetupError::new(
        format!("cannot {action} {}: {error}", path.display()),
        "state.file and its lock need a folder that exists and that the exporter's user may write \
         to (not a file mounted alone), on a filesystem with locks and room for twice the state",
    )
}

/// Returns the path beside `path` whose name has `suffix` appended.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
