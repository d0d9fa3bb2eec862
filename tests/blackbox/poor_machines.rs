//! Machines that lack something: IPv6, /proc, time of the processor, a fast disk.

use crate::support::{Api, Setup, until};
use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Makes each socket of IPv6 fail with `EAFNOSUPPORT`, as a kernel without IPv6 does, and then runs
/// the program in its arguments. Without a library for seccomp, this is its filter in bytes.
const NO_IPV6: &str = r#"
import ctypes, os, struct, sys
SOCKET = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
AF_INET6, ERRNO, ALLOW = 10, 0x00050000 | 97, 0x7FFF0000
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
filter = [(LOAD, 0, 0, 0), (EQUALS, 0, 3, SOCKET), (LOAD, 0, 0, 16), (EQUALS, 0, 1, AF_INET6),
          (RETURN, 0, 0, ERRNO), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in filter))
program = struct.pack("HxxxxxxP", len(filter), ctypes.addressof(code))
prctl = ctypes.CDLL(None, use_errno=True).prctl
NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 38, 22, 2
if prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or prctl(SECCOMP, BY_FILTER, ctypes.c_char_p(program)):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
#[ignore = "needs python3 and root: tests/run.sh installs the one"]
fn without_ipv6_and_proc_only_the_metrics_of_the_process_are_missing() {
    let api = Api::of(2);
    let setup = Setup::for_api(&api).set("web.listen_addresses", ":0");
    let python = setup.file("no_ipv6.py", NO_IPV6);
    let mut exporter = setup
        .after(&format!(
            "exec unshare --mount sh -c \
             'mount -t tmpfs none /proc && exec python3 {python} \"$0\" \"$@\"' \"$0\" \"$@\""
        ))
        .start();
    assert!(exporter.address.is_ipv4(), "{}", exporter.address);
    exporter.address.set_ip([127, 0, 0, 1].into());
    let metrics = exporter.wait_until_fresh(2);
    assert_eq!(metrics.value("process_resident_memory_bytes", &[]), None);
    assert_eq!(exporter.status("/"), 200);
    exporter.end("TERM");
}

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
            let begin = Instant::now();
            assert_eq!(exporter.metrics().up(), Some(1.0));
            let took = begin.elapsed();
            assert!(took < Duration::from_secs(10), "a scrape took {took:?}");
        }
        ends.store(true, Ordering::Relaxed);
    });
    exporter.signal("CONT");
    exporter.end("TERM");
}

/// Imitates a disk that takes ten seconds for each write. Under strace the process itself ends only
/// with the write.
#[test]
#[ignore = "needs strace: tests/run.sh installs it"]
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
