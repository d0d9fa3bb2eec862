//! A process without permissions: its state file, and its memory, which nobody may dump.

use crate::support::{Api, Setup};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

/// Root may read and write any file. If the test runs as root, the program runs as the user nobody,
/// from a copy that this user can execute.
const AS_NOBODY: &str = "[ $(id -u) -ne 0 ] || { \
                         cp \"$0\" program; chmod 755 .; \
                         exec setpriv --reuid=65534 --regid=65534 \
                         --clear-groups ./program \"$@\"; }";

/// A runner of `once` with an existing state file, in a folder that belongs to its user.
struct Once {
    setup: Setup,
    folder: PathBuf,
    file: PathBuf,
}

impl Once {
    fn new(api: &Api) -> Self {
        let setup = Setup::for_api(api)
            .arguments(&["once", "--output=openmetrics"])
            .set("state.file", "state/state.json")
            .after(AS_NOBODY);
        let folder = setup.folder.path().join("state");
        fs::create_dir(&folder).unwrap();
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            chown(&folder, Some(65_534), Some(65_534)).unwrap();
        }
        let output = setup.run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        Self {
            setup,
            file: folder.join("state.json"),
            folder,
        }
    }

    fn lock(&self) -> PathBuf {
        self.folder.join("state.json.lock")
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn missing_permissions_are_refused_with_a_hint_and_no_change() {
    let api = Api::of(1);
    for (folder, file, lock, said) in [
        (0o555, 0o600, None, ["cannot use the state file", "/state/"]),
        (
            0o755,
            0o000,
            None,
            ["cannot read the state file", "state/state.json"],
        ),
        (
            0o755,
            0o600,
            Some(0o000),
            ["cannot lock the state file", "state/state.json"],
        ),
    ] {
        let once = Once::new(&api);
        let before = fs::read(&once.file).unwrap();
        match lock {
            Some(mode) => set_mode(&once.lock(), mode),
            None => fs::remove_file(once.lock()).unwrap(),
        }
        set_mode(&once.file, file);
        set_mode(&once.folder, folder);
        let output = once.setup.run();
        set_mode(&once.folder, 0o755);
        let hint = "that the exporter's user may write to";
        output.assert_failed(2, &[said[0], said[1], hint]);
        set_mode(&once.file, 0o600);
        assert_eq!(fs::read(&once.file).unwrap(), before);
        fs::remove_file(once.lock()).ok();
        assert_eq!(fs::read_dir(&once.folder).unwrap().count(), 1);
    }
}

#[test]
fn no_core_dump_and_no_other_program_shows_the_key() {
    let exporter = Setup::for_api(&Api::of(1)).after(AS_NOBODY).start();
    let file = format!("/proc/{}/status", exporter.id());
    let owner = fs::metadata(file).unwrap().uid();
    assert_eq!(
        owner, 0,
        "the user owns the files of a process that may be dumped"
    );
    let opened = exporter.metrics().value("process_open_fds", &[]);
    assert!(opened > Some(0.0), "its own metrics stay");
}
