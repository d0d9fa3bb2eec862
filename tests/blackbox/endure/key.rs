//! The key is revoked, replaced, or its file goes wrong.

use crate::support::{Api, Exporter, Reply, Repo, Setup, Target, api::KEY};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

struct WithKeyFile {
    api: Api,
    exporter: Exporter,
    file: String,
}

fn started() -> WithKeyFile {
    let api = Api::start((1..=20).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    let setup = Setup::for_api(&api).unset("api.key").set("api.concurrency", "1");
    let file = setup.file("key", KEY);
    let exporter = setup.set("api.key_file", &file).start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 19.0);
    WithKeyFile { api, exporter, file }
}

impl WithKeyFile {
    fn wait_for_up(&self, up: f64) {
        self.exporter.wait_for("up changes", |metrics| {
            assert_eq!(metrics.samples("translation_completion_ratio").count(), 20, "nothing is lost");
            metrics.value("translation_up", &[]) == Some(up)
        });
    }
}

#[test]
fn a_key_file_that_is_emptied_removed_or_unreadable_stops_the_polls_until_it_is_back() {
    let run = started();
    let breakages: [fn(&str); 3] = [
        |file| fs::write(file, "\n").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        // Whoever runs the tests may read any file, but nobody can read a folder as one.
        |file| fs::create_dir(file).unwrap(),
    ];
    for (number, breakage) in breakages.into_iter().enumerate() {
        breakage(&run.file);
        run.wait_for_up(0.0);
        run.api.forget();
        run.exporter.wait_for_polls(1.0);
        assert_eq!(run.api.requests(Target::Everything).len(), 0, "without a key nothing is asked");
        let log = run.exporter.log();
        assert!(log.contains(&run.file) || log.contains("api.key_file"), "breakage {number}");
        if fs::metadata(&run.file).is_ok_and(|file| file.is_dir()) {
            fs::remove_dir(&run.file).unwrap();
        }
        if number != 1 {
            fs::write(&run.file, KEY).unwrap();
            run.wait_for_up(1.0);
        }
    }
}

#[test]
fn a_key_that_is_replaced_in_the_middle_of_a_poll_is_used_at_once() {
    let run = started();
    let polls = |run: &WithKeyFile| {
        let metrics = run.exporter.metrics();
        let value = |name: &str| metrics.sum(name, &[]);
        (value("translation_exporter_polls_total"), value("translation_exporter_poll_failures_total"))
    };
    let file = run.file.clone();
    run.api.script(Target::Languages(7), move |request| {
        fs::write(&file, "the-key-after-that\n").unwrap();
        (request.authorization.as_deref() != Some("Bearer the-key-after-that")).then(|| Reply::status(401))
    });
    run.api.script(Target::Everything, |request| {
        // From then on the new one is good too.
        (request.authorization.as_deref() == Some("Bearer the-key-after-that") && request.repository().is_some())
            .then(|| Reply::json(r#"[{"code":"de","completion":80}]"#))
    });
    run.exporter.wait_for("the rest is read with the new key", |metrics| {
        metrics.samples("translation_completion_ratio").filter(|sample| sample.value > 0.79).count() > 10
    });
    assert_eq!(polls(&run).1, 0.0, "no poll failed");
}

#[test]
fn a_key_that_is_revoked_keeps_the_data_and_costs_one_request_a_poll() {
    let run = started();
    run.api.accept_key("another");
    run.wait_for_up(0.0);
    let polls = |run: &WithKeyFile| run.exporter.metrics().value("translation_exporter_polls_total", &[]).unwrap();
    run.api.forget();
    let begin = polls(&run);
    run.exporter.wait_for_polls(3.0);
    let (requests, polls) = (run.api.requests(Target::Everything).len(), polls(&run) - begin);
    assert!((3..=5).contains(&requests), "{requests} requests in {polls} polls");
    fs::write(&run.file, "another").unwrap();
    run.wait_for_up(1.0);
}

/// Makes opening a file hang for as long as this exists, or 45 s, as a disk that does not answer would.
struct Hanging(Child);

impl Hanging {
    fn on(file: &str) -> Self {
        let script = "import fcntl, signal, sys\n\
            signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
            file = open(sys.argv[1], 'r+')\n\
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('leased', flush=True)\n\
            sys.stdin.read()";
        let mut python = Command::new("python3");
        python.args(["-c", script, file]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "leased\n");
        Self(child)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs python3, which every system has that runs tests/run.sh"]
fn a_key_file_on_a_disk_that_hangs_costs_one_thread_and_does_not_delay_the_end() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let setup = Setup::for_api(&api).unset("api.key").set("api.timeout", "100ms");
    let file = setup.file("key", KEY);
    let mut exporter = setup.set("api.key_file", &file).start();
    exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    let hanging = Hanging::on(&file);
    exporter.wait_for("the key cannot be read", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
    let threads = exporter.threads();
    exporter.wait_for_polls(4.0);
    assert!(exporter.threads() <= threads + 1, "{threads} threads, then {}", exporter.threads());
    let (status, took) = exporter.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(!exporter.log().contains("in time; stopping"), "all ended by itself");
    drop(hanging);
}
