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
//! A damaged state file and one of an older version are set aside under another name; the exporter
//! never removes them. Any other file, such as the state of another API, stays where it is, and the
//! exporter does not start.
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
    domain::record::SavedState,
    support::{
        clock::Timestamp,
        files::{UsedFiles, claim, follow, read_file, replace_by_way_of},
        hint::Failure,
    },
};
use rustix::fs::OFlags;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use tempfile::Builder;

/// The mode of new files: only the user that runs the exporter can read them.
const MODE: u32 = 0o600;

/// The size limit of a state file: a million languages take about 250 MiB.
const MAX_MIB: u64 = 256;

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
    /// Sets a damaged file, and one of an older version, aside under a name that contains `now`,
    /// and returns the message about it in the place of the state.
    ///
    /// # Errors
    ///
    /// An error leaves the file unchanged, and the operator must fix it before the exporter can
    /// run:
    ///
    /// - `path` cannot name a file, or the file cannot be locked, read or set aside.
    /// - Another process holds the lock.
    /// - The file is too large, of a newer version or of another API, or no state file.
    pub fn open(
        path: &Path,
        base_url: &str,
        now: Timestamp,
    ) -> Result<(Self, Result<Option<SavedState>, String>), Failure> {
        let [path, lock, temporary] = Self::names(path)?;
        let file = Self {
            _lock: take_lock(&lock)?,
            path,
            base_url: base_url.into(),
        };
        let path = &file.path;
        // The lock proves that the writer of a temporary file is gone. The first write reports a
        // file that cannot be removed.
        let _ = fs::remove_file(temporary);
        let saved = match read(path, base_url)? {
            Ok(saved) => Ok(saved),
            Err(why) => Err(set_aside(path, &why, now)?),
        };
        Ok((file, saved))
    }

    /// Returns the absolute paths of the state file, its lock and its temporary file.
    fn names(path: &Path) -> Result<[PathBuf; 3], Failure> {
        // Opening a pipe could block forever, and reading a device could do anything.
        let located = follow(path).and_then(|path| match fs::metadata(&path) {
            Ok(found) if !found.is_file() => Err(io::Error::other("it is not a file")),
            _ => Ok(path),
        });
        let path = located.map_err(|error| failed("use the state file", path, &error))?;
        let [lock, temporary] = [".lock", ".tmp"].map(|suffix| sibling(&path, suffix));
        Ok([path, lock, temporary])
    }

    /// Checks that a state can be kept at `path`, whoever holds its lock, and that its names have no
    /// other use. Changes nothing.
    pub fn check(path: &Path, used: &mut UsedFiles) -> Result<(), Failure> {
        let names = Self::names(path)?;
        let [path, lock, _] = &names;
        let mut check = || {
            names.iter().try_for_each(|name| claim(used, name))?;
            // The temporary file has no name, or loses it at once. Taking the lock instead could
            // stop an exporter that starts at the same time.
            Ok(tempfile::tempfile_in(path.with_file_name(""))?.try_lock()?)
        };
        check().map_err(|error| failed("use the state file", path, &error))?;
        if fs::symlink_metadata(lock).is_ok() {
            open_lock(lock)?;
        }
        Ok(())
    }

    /// Checks that [`Self::open`] would take the content of the file at `path`, or set it aside.
    pub fn check_content(path: &Path, base_url: &str) -> Result<(), Failure> {
        read(path, base_url).map(drop)
    }

    /// Replaces the state file with one that holds `saved`, and returns once it is on the disk.
    ///
    /// # Errors
    ///
    /// A later call may succeed. A failed write leaves the last good file untouched.
    pub fn write(&self, saved: &SavedState) -> Result<(), Failure> {
        let temporary = sibling(&self.path, ".tmp");
        // A new file is sure to have the mode, and is no symbolic link that another user left
        // here.
        let _ = fs::remove_file(&temporary);
        let mut builder = Builder::new();
        builder
            .prefix(temporary.file_name().unwrap_or_default())
            .rand_bytes(0)
            .permissions(Permissions::from_mode(MODE));
        let write = |file: &mut File| {
            format::encode(saved, &self.base_url, &mut *file)?;
            let is_small = file.metadata()?.len() <= MAX_MIB << 20;
            is_small.then_some(()).ok_or(ErrorKind::FileTooLarge.into())
        };
        replace_by_way_of(&builder, &self.path, write)
            .map_err(|error| failed("write the state file", &self.path, &error))
    }
}

/// Reads the state file at `path`; `None` without a file. The inner error is the reason to set the
/// file aside.
fn read(path: &Path, base_url: &str) -> Result<Result<Option<SavedState>, FormatError>, Failure> {
    let bytes = match read_file(path, MAX_MIB) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|error| failed("read the state file", path, &error))?,
    };
    if bytes.is_empty() {
        return Ok(Ok(None));
    }
    match format::decode(&bytes, base_url) {
        Ok(saved) => Ok(Ok(Some(saved))),
        Err(why) if why.is_lost() && base_url != DEMO => Ok(Err(why)),
        Err(why) => {
            let what = format!("cannot use the state file {}: {why}", path.display());
            Err(Failure::new(what, why.hint()))
        }
    }
}

/// Moves the file at `path` to another name, and returns the message for the log.
fn set_aside(path: &Path, why: &FormatError, now: Timestamp) -> Result<String, Failure> {
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

/// Takes the lock of a state file. The kernel releases it with the returned file, however the
/// process ends.
fn take_lock(lock: &Path) -> Result<File, Failure> {
    let file = open_lock(lock)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            format!(
                "state.file is in use by another process, which holds the lock {}",
                lock.display()
            ),
            "stop that process, or set state.file to another file; `once --state.file=` runs \
             without a state file",
        )),
        Err(TryLockError::Error(error)) => Err(failed("lock the state file with", lock, &error)),
    }
}

fn open_lock(lock: &Path) -> Result<File, Failure> {
    // A link could lead anywhere, and a pipe would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    // Network filesystems grant an exclusive lock only on files opened for writing.
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(MODE)
        .custom_flags(flags.bits().cast_signed())
        .open(lock);
    opened.map_err(|error| failed("lock the state file with", lock, &error))
}

/// Returns the error of an action on a file.
fn failed(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
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
