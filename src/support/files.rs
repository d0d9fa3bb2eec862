//! Files: reads that no pipe blocks, and replacement in one step.

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use std::{
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Read as _, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};
use tempfile::Builder;

/// Reads a file of at most `mib` MiB; those of `/proc` hide their size. A pipe is an error: it could
/// block for ever.
pub fn read_file(path: &Path, mib: u64) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let (limit, mut bytes) = (mib << 20, Vec::new());
    let mut file = File::open(path)?.take(limit + 1);
    if file.read_to_end(&mut bytes)? as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {mib} MiB")));
    }
    Ok(bytes)
}

/// Replaces the file at `path` with the text that `write` writes: a reader sees the whole old text
/// or the whole new one. Pipes and devices, such as `/dev/stdout`, are written to directly.
///
/// # Errors
/// Returns the errors of the disk and of `write`. The old file then stays.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A symbolic link stays one: only its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return write(&mut File::options().write(true).open(path)?);
    }
    // The textfile collector may run as another user. The umask can still forbid reading.
    let others_may_read = Permissions::from_mode(0o666);
    let mut temporary = Builder::new();
    temporary
        .prefix(".translation-exporter-")
        .permissions(others_may_read);
    replace_by_way_of(&temporary, &path, |file| {
        let mut buffered = io::BufWriter::new(file);
        write(&mut buffered)?;
        buffered.flush()
    })
}

/// Returns whether two paths lead to one file, which need not exist, however they are spelt.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let located = |path: &Path| {
        let folder = fs::canonicalize(folder_of(path)).ok()?;
        fs::canonicalize(path)
            .ok()
            .or(Some(folder.join(path.file_name()?)))
    };
    located(one).is_some_and(|one| Some(one) == located(other))
}

/// Checks that [`replace_file`] can write a file, and leaves none.
///
/// # Errors
/// Returns the error of the disk.
pub fn check_replace(path: &Path) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(()),
        // A container can have a file mounted alone.
        Ok(_) if is_mounted(&path) => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "the file is mounted alone; mount its folder",
        )),
        _ => tempfile::tempfile_in(folder_of(&path)).map(drop),
    }
}

/// Replaces the file at `path` with a new one beside it, once that is on the disk. Until then the
/// new file has the name of `temporary`.
///
/// # Errors
/// Returns the errors of the disk and of `write`. The old file then stays, and the new one is
/// removed.
pub fn replace_by_way_of(
    temporary: &Builder<'_, '_>,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = temporary.tempfile_in(folder_of(path))?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Some network and user-space filesystems cannot sync folders.
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

fn is_mounted(path: &Path) -> bool {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.prom");
        replace_file(&path, |file| file.write_all(b"old")).unwrap();
        let failed = replace_file(&path, |file| {
            file.write_all(b"new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace_file(&link, |file| file.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
