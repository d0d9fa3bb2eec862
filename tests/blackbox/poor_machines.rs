//! Machines that are slow: a tenth of a core, a disk that takes seconds for a write.

use crate::support::{Api, Setup, until};
use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Lets the process run for 10 ms of each 100 ms until `ends` is set.
fn throttle(pid: u32, ends: &AtomicBool) {
    let script = format!(
        "while kill -STOP {pid} && sleep 0.09 && kill -CONT {pid}; do sleep 0.01; done 2>/dev/null"
    );
    let mut shell = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    while !ends.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(10));
    }
    shell.kill().unwrap();
    shell.wait().unwrap();
}

#[test]
fn a_tenth_of_a_core_is_enough_for_polls_scrapes_and_the_end() {
    let api = Api::of(200);
    let mut exporter = Setup::for_api(&api).start();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| throttle(exporter.id(), &ends));
        exporter.wait_until_fresh(200);
        exporter.wait_for_polls(1.0);
        for _ in 0..3 {
            assert_eq!(exporter.metrics().up(), Some(1.0));
        }
        ends.store(true, Ordering::Relaxed);
    });
    exporter.signal("CONT");
    exporter.end("TERM");
}

/// Imitates a disk that takes ten seconds for each write. Under strace the process itself ends only
/// with the write.
#[test]
#[ignore = "slow: needs strace"]
fn a_slow_disk_holds_up_neither_polls_nor_scrapes_nor_the_end() {
    let api = Api::of(2);
    let setup = Setup::for_api(&api).set("state.file", "state.json");
    let state = setup.folder.path().join("state.json");
    let strace = "exec strace -D -f -qq -o /dev/null -e trace=fsync \
                  -e inject=fsync:delay_enter=10000000 \"$0\" \"$@\"";
    let exporter = setup.after(strace).start();
    exporter.wait_for_polls(2.0);
    assert!(!state.exists(), "the polls waited for the disk");
    until("the state is saved", || state.exists());
    exporter.signal("TERM");
    exporter.wait_for_line(&["exiting anyway"]);
    let saved = fs::read_to_string(state).unwrap();
    assert!(saved.contains("owner/repo-2"), "{saved}");
}

#[test]
#[ignore = "slow: needs strace"]
fn a_slow_disk_does_not_keep_the_result_of_once_back() {
    let api = Api::of(2);
    let setup = Setup::for_api(&api).set("state.file", "state.json");
    let state = setup.folder.path().join("state.json");
    let strace = "exec strace -D -f -qq -o /dev/null -e trace=fsync \
                  -e inject=fsync:delay_enter=10000000 \"$0\" \"$@\"";
    let once = setup
        .arguments(&["once", "--output=openmetrics"])
        .after(strace)
        .spawn();
    once.wait_for_line(&["translation_completion_ratio{repo=\"owner/repo-2\""]);
    assert!(!state.exists(), "the result waited for the disk");
    until("the state is saved", || state.exists());
}
