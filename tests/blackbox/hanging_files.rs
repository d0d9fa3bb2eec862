//! Files that never respond, such as a pipe without a writer or a file on a lost network disk.
//! Signals still end a start.

use crate::support::{Setup, eventually};
use std::{fs::File, os::unix::fs::OpenOptionsExt, path::Path, process::Command};

const O_NONBLOCK: i32 = 0o4000;

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits until the exporter reads from a pipe. The pipe has no end until the returned writer is
/// dropped.
fn wait_until_it_hangs(pipe: &Path) -> File {
    // With this flag, opening fails as long as the pipe has no reader.
    let opened = || {
        File::options()
            .write(true)
            .custom_flags(O_NONBLOCK)
            .open(pipe)
            .ok()
    };
    eventually("the exporter reads from the pipe", opened)
}

#[test]
fn a_signal_ends_a_start_that_hangs() {
    for signal in ["TERM", "INT", "HUP"] {
        for command in ["serve", "demo"] {
            let setup =
                Setup::for_url("https://127.0.0.1:1").arguments(&[command, "--config.file=pipe"]);
            make_pipe(&setup.folder.path().join("pipe"));
            let mut exporter = setup.spawn();
            let _pipe = wait_until_it_hangs(&exporter.folder.path().join("pipe"));
            exporter.end(signal);
        }
    }
}
