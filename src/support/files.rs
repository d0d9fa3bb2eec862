//! Files: reads that no pipe blocks, and replacement in one step.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Read as _, Write},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf, absolute},
};
use tempfile::Builder;

/// The memory that is reserved for a file: glibc returns more than 32 MiB to the system at once,
/// while a freed smaller piece raises the size from which it does (`mallopt(3)`,
/// `M_MMAP_THRESHOLD`), and later large buffers would then stay in its heap.
const BUFFER: usize = 33 << 20;

/// Reads a file of at most `mib` MiB; those of `/proc` hide their size. A pipe is an error: it could
/// block for ever.
pub fn read_file(path: &Path, mib: u64) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let (limit, mut bytes) = (mib << 20, Vec::with_capacity(BUFFER));
    let mut file = File::open(path)?.take(limit + 1);
    if file.read_to_end(&mut bytes)? as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {mib} MiB")));
    }
    Ok(bytes)
}

/// Replaces the content of the file at `path`: a reader sees the whole old one or the whole new one.
/// The file keeps its mode. Pipes and devices, such as `/dev/stdout`, are written to directly.
///
/// # Errors
/// Returns the errors of the disk. The old file then stays.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = follow(path)?;
    let found = fs::metadata(&path);
    if found.as_ref().is_ok_and(|found| !found.is_file()) {
        return File::options().write(true).open(path)?.write_all(content);
    }
    let mut temporary = Builder::new();
    temporary
        .prefix(".translation-exporter-")
        // The textfile collector may run as another user. The umask can still forbid reading.
        .permissions(Permissions::from_mode(0o666));
    replace_by_way_of(&temporary, &path, |file| {
        if let Ok(found) = found {
            file.set_permissions(found.permissions())?;
        }
        file.write_all(content)
    })
}

/// Returns the absolute path of a file to write. A symbolic link stays one: its target, which has
/// to exist, is replaced.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(_) if path.is_symlink() => Err(io::Error::other("the symbolic link leads to no file")),
        Err(_) => absolute(path),
        found => found,
    }
}

/// The files of a run: each by its device and inode, or by those of its folder and its name if it
/// does not exist yet.
pub type UsedFiles = HashSet<(u64, u64, Option<OsString>)>;

/// Adds a file. Fails if it is there already, however the two paths are spelt.
pub fn claim(used: &mut UsedFiles, path: &Path) -> io::Result<()> {
    let path = follow(path)?;
    let (found, name) = match fs::metadata(&path) {
        Ok(found) => (found, None),
        Err(_) => (fs::metadata(path.with_file_name(""))?, path.file_name()),
    };
    if used.insert((found.dev(), found.ino(), name.map(OsString::from))) {
        return Ok(());
    }
    let what = format!("another key or option names {}, too", path.display());
    Err(io::Error::other(what))
}

/// Checks that [`replace_file`] can write a file, and leaves none.
///
/// # Errors
/// Returns the error of the disk.
pub fn check_replace(path: &Path) -> io::Result<()> {
    let path = follow(path)?;
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(()),
        _ => tempfile::tempfile_in(path.with_file_name("")).map(drop),
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
    let folder = path.with_file_name("");
    let mut file = temporary.tempfile_in(&folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Some network and user-space filesystems cannot sync folders.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.prom");
        replace_file(&path, b"old").unwrap();
        let failed = replace_by_way_of(&Builder::new(), &path, |file| {
            file.write_all(b"new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_without_an_end_are_refused_whatever_size_they_claim() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(8 << 30).unwrap();
        for (path, why) in [
            (&*path, "it is larger than 1 MiB"),
            // It is larger than all memory, and says that it is empty.
            (Path::new("/proc/self/pagemap"), ""),
            (Path::new("/dev/zero"), "it is not a regular file"),
        ] {
            let error = read_file(path, 1).unwrap_err().to_string();
            assert!(error.contains(why), "{path:?}: {error}");
        }
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(read_file(&path, 1).unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_link_and_a_mode_stay_and_a_link_without_a_target_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for write in [check_replace, |path: &Path| replace_file(path, b"new")] {
            let error = write(&link).unwrap_err().to_string();
            assert_eq!(error, "the symbolic link leads to no file");
        }
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o602)).unwrap();
        replace_file(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o602);
    }

    #[test]
    fn a_file_is_known_by_each_of_its_paths_before_it_exists_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "").unwrap();
        fs::hard_link(at("old"), at("other name")).unwrap();
        std::os::unix::fs::symlink(at("old"), at("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("folder")).unwrap();
        for paths in [
            &["old", "./old", "folder/old", "other name", "link"][..],
            &["new", "./new", "folder/new"],
        ] {
            let mut used = UsedFiles::new();
            claim(&mut used, &at(paths[0])).unwrap();
            claim(&mut used, &at("third")).unwrap();
            for path in paths {
                assert!(claim(&mut used, &at(path)).is_err(), "{path}");
            }
        }
    }
}
