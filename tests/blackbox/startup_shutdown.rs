//! Start and shutdown: systemd, and a stderr that nobody reads.

use crate::support::{Api, PATIENCE, Setup, until};
use std::os::unix::net::UnixDatagram;

/// Without a watchdog, systemd ignores the same messages.
#[test]
fn systemd_is_notified_and_its_watchdog_is_fed() {
    let setup = Setup::for_url("http://127.0.0.1:1");
    let path = setup.folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut exporter = setup
        .variable("NOTIFY_SOCKET", path.to_str().unwrap())
        .start();
    let notified = |wanted: &str| {
        let mut buffer = [0; 500];
        until(wanted, || {
            let length = socket.recv(&mut buffer).unwrap();
            let text = String::from_utf8_lossy(&buffer[..length]);
            text.lines().next() == Some(wanted)
        });
    };
    notified("READY=1");
    // The watchdog is fed repeatedly.
    notified("WATCHDOG=1");
    notified("WATCHDOG=1");
    exporter.end("HUP");
    notified("STOPPING=1");
}

/// Imitates a hung log driver, `less` or Ctrl-S. Stdout stalls together with stderr.
#[test]
fn a_stderr_that_nobody_reads_stops_neither_polls_nor_the_end() {
    const DROPPED: &str = "translation_exporter_log_lines_dropped_total";
    let api = Api::of(500);
    // Reads the first lines, and holds the pipe open while the exporter runs.
    let stalled = "mkfifo pipe; \
        { sed -u /listening/q >&2; exec tail --pid=$$ -f /dev/null; } < pipe & exec > pipe 2>&1";
    let mut exporter = Setup::for_api(&api)
        .set("log.level", "debug")
        .after(stalled)
        .start();
    assert_eq!(exporter.metrics().value(DROPPED, &[]), Some(0.0));
    exporter.wait_for("lines are dropped", |metrics| {
        metrics.value(DROPPED, &[]) > Some(0.0)
    });
    exporter.wait_for_polls(2.0);
    assert_eq!(exporter.status("/-/healthy"), 200);
    exporter.end("TERM");
}
