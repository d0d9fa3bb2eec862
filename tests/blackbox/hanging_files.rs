//! A file that never gives an answer, as a pipe without a writer or a lost network disk: signals end the program all the
//! same, at the start and in a reload.

use crate::support::{Api, Exporter, Repo, Setup, eventually, http};
use std::{
    fs::{self, File},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(5);
const O_NONBLOCK: i32 = 0o4000;

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits until the exporter reads from a pipe. As long as what this returns lives, nothing is written and no end comes.
fn wait_until_it_hangs(pipe: &Path) -> File {
    // Opened so, a pipe without a reader is an error.
    let opened = || File::options().write(true).custom_flags(O_NONBLOCK).open(pipe).ok();
    eventually("the exporter reads from the pipe", opened)
}

fn ends_in_time(exporter: &mut Exporter, signal: &str, what: &str) {
    let begin = Instant::now();
    exporter.signal(signal);
    let status = exporter.wait();
    assert_eq!(status.code(), Some(0), "{what}, SIG{signal}");
    assert!(begin.elapsed() < LIMIT, "{what}, SIG{signal}: {:?}", begin.elapsed());
}

#[test]
fn signals_end_a_start_that_hangs() {
    for signal in ["TERM", "INT"] {
        for (what, arguments) in [
            ("the configuration", ["serve", "--config.file=pipe"]),
            ("the configuration of a demo", ["demo", "--config.file=pipe"]),
        ] {
            let setup = Setup::for_url("http://127.0.0.1:1");
            make_pipe(&setup.folder.path().join("pipe"));
            let mut exporter = setup.argument(arguments[0]).argument(arguments[1]).spawn();
            let _pipe = wait_until_it_hangs(&exporter.folder.path().join("pipe"));
            ends_in_time(&mut exporter, signal, what);
        }
        let setup = Setup::for_url("https://127.0.0.1:1").set("api.ca_file", "pipe");
        make_pipe(&setup.folder.path().join("pipe"));
        let mut exporter = setup.spawn();
        let _pipe = wait_until_it_hangs(&exporter.folder.path().join("pipe"));
        ends_in_time(&mut exporter, signal, "the certificates");
    }
}

#[test]
fn signals_end_a_reload_that_hangs() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    for signal in ["TERM", "INT"] {
        for by_http in [false, true] {
            let setup = Setup::for_api(&api).set("web.enable_lifecycle", "true");
            let config = setup.file("config.yaml", "{}\n");
            let mut exporter = setup.argument("--config.file").argument(&config).start();
            let path = exporter.folder.path().join("config.yaml");
            fs::remove_file(&path).unwrap();
            make_pipe(&path);
            let address = exporter.address;
            if by_http {
                thread::spawn(move || http::request("POST", address, "/-/reload", &[]));
            } else {
                exporter.signal("HUP");
            }
            let _pipe = wait_until_it_hangs(&path);
            assert_eq!(exporter.status("/-/healthy"), 200, "it serves meanwhile");
            ends_in_time(&mut exporter, signal, "a reload");
        }
    }
}

#[test]
fn a_key_file_and_a_web_configuration_file_that_are_pipes_are_refused() {
    for (key, instead_of) in [("api.key_file", "api.key"), ("web.config_file", "")] {
        let setup = Setup::for_url("http://127.0.0.1:1").unset(instead_of).set(key, "./pipe");
        make_pipe(&setup.folder.path().join("pipe"));
        let output = setup.run();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(key) && error.contains("not a regular file"), "{error}");
    }
}
