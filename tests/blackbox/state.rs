//! The state file: progress clock and last good data survive every kind of end.

use crate::support::{
    Api, Exporter, Exposition, Reply, Repo, Setup, Target,
    api::KEY,
    repo,
    tls::{Certificate, identity},
    until,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};
use tempfile::TempDir;

const WRITES: &str = "translation_exporter_state_writes_total";
const WRITE_FAILURES: &str = "translation_exporter_state_write_failures_total";
const LAST_SUCCESS: &str = "translation_repository_last_success_timestamp_seconds";

/// A folder for a state file. It outlives the exporters that use it.
struct Kept {
    folder: TempDir,
    path: PathBuf,
}

impl Kept {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("state.json");
        Self { folder, path }
    }

    fn setup(&self, api: &Api) -> Setup {
        Setup::for_api(api).set("state.file", self.path.to_str().unwrap())
    }

    /// Returns the sorted names of the files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Waits until the folder holds only the state and its lock: a write of the next state can be
    /// under way.
    fn wait_until_nothing_else_is_there(&self) {
        until("the state and its lock are alone", || {
            self.names() == ["state.json", "state.json.lock"]
        });
    }

    /// Waits for the state that follows a complete poll.
    fn wait_until_a_poll_is_saved(&self) {
        self.wait_until_another_poll_is_saved(&Value::Null);
    }

    /// Waits for the state that follows a complete poll which ended at another time than
    /// `last_success`.
    fn wait_until_another_poll_is_saved(&self, last_success: &Value) {
        until("a poll is saved", || self.last_success() != *last_success);
    }

    /// Returns the saved end of the last complete poll; null without one.
    fn last_success(&self) -> Value {
        let state = fs::read(&self.path).unwrap_or_default();
        let state: Value = serde_json::from_slice(&state).unwrap_or_default();
        state["state"]["last_success_at"].clone()
    }
}

/// A gate that holds all responses of the API until it opens.
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn closed(api: &Api) -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&open);
        api.script(Target::Everything, move |_| {
            while !seen.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(2));
            }
            None
        });
        Self(open)
    }

    fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Opens the gate even if the test fails, so that no thread stays blocked.
impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

fn wait_until_written(exporter: &Exporter) -> Exposition {
    exporter.wait_for("the state is written", |metrics| {
        metrics.value(WRITES, &[]) > Some(0.0) && metrics.value(WRITE_FAILURES, &[]) == Some(0.0)
    })
}

fn wait_until_ready(exporter: &Exporter) {
    until("the exporter is ready", || {
        exporter.status("/-/ready") == 200
    });
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

fn errors(exporter: &Exporter) -> Vec<String> {
    let log = exporter.log();
    log.lines()
        .filter(|line| line.contains("level=error"))
        .map(str::to_owned)
        .collect()
}

const REPOSITORIES: u64 = 300;

/// Returns the reported completion in a session: in every third, all completions rise. None is
/// small enough to make the scale suspect.
fn completion(session: u64, id: u64) -> f64 {
    f64::from(u32::try_from(10 + (session + id % 3) / 3).unwrap())
}

fn repositories(session: u64) -> impl Iterator<Item = Repo> {
    (1..=REPOSITORIES).map(move |id| repo(id).languages(&[("de", completion(session, id))]))
}

/// Returns completion and clock of each repository, by id.
fn clocks(metrics: &Exposition) -> Vec<(f64, f64)> {
    let clock = |id| {
        let repo = format!("owner/repo-{id}");
        let known = metrics.ratio(&repo, "de").zip(metrics.clock(&repo, "de"));
        let (ratio, clock) = known.unwrap_or_else(|| panic!("{repo} is not served"));
        ((ratio * 100.0).round(), clock)
    };
    (1..=REPOSITORIES).map(clock).collect()
}

#[test]
fn a_kill_at_any_instant_leaves_a_complete_state_and_keeps_clocks() {
    let seed = std::env::var("PROPTEST_RNG_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let kept = Kept::new();
    let api = Api::start(repositories(0));
    let exporter = kept.setup(&api).start();
    let begin = Instant::now();
    kept.wait_until_a_poll_is_saved();
    let usual = begin.elapsed();
    let mut before = clocks(&exporter.wait_until_fresh(300));
    drop(exporter);

    let mut saved = 0;
    let mut last = (0, now(), now());
    for session in 1..=10 {
        api.heal();
        api.forget();
        let gate = Gate::closed(&api);
        let exporter = kept.setup(&api).start();
        wait_until_ready(&exporter);
        let served = clocks(&exporter.metrics());
        let at = format!("seed {seed}, session {session}");
        assert_eq!(errors(&exporter), [""; 0], "{at}");
        kept.wait_until_nothing_else_is_there();

        let (previous, opened_at, killed_at) = last;
        let mut kept_moves = 0;
        for (id, (old, new)) in (1..).zip(before.iter().zip(&served)) {
            let reported = completion(previous, id);
            if reported == old.0 {
                assert_eq!(new, old, "{at}: {id} has not moved");
                continue;
            }
            kept_moves += u32::from(new != old);
            let is_new = new.0 == reported && (opened_at - 0.002..=killed_at).contains(&new.1);
            assert!(
                new == old || is_new,
                "{at}: {id} was {old:?}, {reported} was reported, and it is {new:?}"
            );
        }
        saved += u32::from(kept_moves > 0);
        before = served;

        api.put(repositories(session));
        let opened_at = now();
        let last_success = kept.last_success();
        gate.open();
        // On a busy machine every kill could come before the first write; not in these sessions.
        if session % 2 == 0 {
            kept.wait_until_another_poll_is_saved(&last_success);
        }
        thread::sleep(usual.mul_f64(1.5 * random.f64()));
        drop(exporter);
        last = (session, opened_at, now());
    }
    assert!(saved >= 4, "only {saved} kills came after a write");
}

#[test]
fn a_signal_during_a_poll_saves_its_reads_for_the_restart() {
    for signal in ["TERM", "INT"] {
        let api = Api::of(2);
        let kept = Kept::new();
        api.fault(Target::Languages(2), Reply::never());
        let mut exporter = kept.setup(&api).start();
        let metrics = exporter.wait_until_fresh(1);
        assert_eq!(
            (metrics.polls(), metrics.repositories("pending")),
            (0.0, 1.0),
            "the poll is still under way"
        );
        exporter.end(signal);
        api.heal();
        let gate = Gate::closed(&api);
        let exporter = kept.setup(&api).start();
        wait_until_ready(&exporter);
        let served = exporter.metrics();
        assert_eq!(served.up(), None, "no poll has ended yet");
        assert_eq!(served.ratio("owner/repo-1", "de"), Some(0.5));
        assert_eq!(
            served.clock("owner/repo-1", "de"),
            metrics.clock("owner/repo-1", "de")
        );
        assert_eq!(
            (served.count(LAST_SUCCESS), served.repositories("pending")),
            (1, 2.0),
            "what was restored is served, and not read yet"
        );
        gate.open();
        exporter.wait_until_fresh(2);
    }
}

#[test]
fn once_that_is_stopped_saves_and_prints_what_it_has_read() {
    for signal in ["TERM", "INT"] {
        let api = Api::of(2);
        let kept = Kept::new();
        api.fault(Target::Languages(2), Reply::never());
        // One request at a time: the order of two that are sent together is not fixed.
        let setup = || kept.setup(&api).set("api.concurrency", "1");
        let once = || setup().arguments(&["once", "--output=openmetrics"]);
        let mut process = once().spawn();
        until("what was read is in the state", || {
            fs::read_to_string(&kept.path).is_ok_and(|state| state.contains("\"history\":{"))
        });
        process.end_with(signal, 1);
        let printed = process.log();
        assert!(
            printed.contains("translation_completion_ratio{repo=\"owner/repo-1\""),
            "{printed}"
        );
        let said = format!("stopped by SIG{signal} before every repository was read");
        assert!(printed.contains(&said), "{printed}");

        api.heal();
        api.forget();
        assert_eq!(once().run().code, Some(0));
        let asked = api.requests(Target::Everything);
        let languages: Vec<_> = asked
            .iter()
            .filter_map(|request| request.repository())
            .collect();
        assert_eq!(languages, ["2", "1"], "the next run gets further");
    }
}

#[test]
fn once_that_is_stopped_claims_no_complete_poll() {
    for (silent, read, postponed) in [(Target::Listing, 0, 2), (Target::Languages(2), 1, 1)] {
        let ready = |id| Repo::new(id, &format!("a/{id}")).languages(&[("de", 100.0)]);
        let api = Api::start([1, 2].map(ready));
        let kept = Kept::new();
        // One after the other, so that the second run reads them in the same order.
        let setup = || {
            let setup = kept.setup(&api).set("api.concurrency", "1");
            setup.arguments(&["once", "--output=openmetrics"])
        };
        let once = setup().run();
        assert_eq!(once.code, Some(0), "{}", once.stderr);
        api.fault(silent, Reply::never());
        let path = |format| kept.folder.path().join(format);
        let output = |format| format!("--output={format}={}", path(format).display());
        let formats = ["json", "badge", "languages", "html"];
        let outputs = formats.map(output);
        // A stopped run waits 3 seconds for its disk, which may be busy.
        until("a stopped run prints its result", || {
            api.forget();
            let mut process = setup()
                .arguments(&outputs.each_ref().map(|output| &**output))
                .spawn();
            until("the request is sent", || !api.requests(silent).is_empty());
            process.end_with("TERM", 1);
            let gave_up = "stopped by SIGTERM while saving or printing";
            !process.log().contains(gave_up)
        });
        let [json, badge, languages, html] =
            formats.map(|format| fs::read_to_string(path(format)).unwrap());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["complete"], false);
        let poll = &json["poll"];
        let counts = ["read", "postponed"].map(|member| poll[member].as_u64());
        assert_eq!(counts, [Some(read), Some(postponed)], "{poll}");
        assert!(badge.contains("orange"), "{badge}");
        assert_eq!(languages, "");
        assert!(
            html.contains("Not known: 2 of 2 translations ready"),
            "{html}"
        );
    }
}

#[test]
fn a_stdout_that_nobody_reads_does_not_keep_once_from_being_stopped() {
    let api = Api::start((1..=300).map(repo));
    let stalled = "mkfifo pipe; tail --pid=$$ -f /dev/null < pipe & exec > pipe";
    let mut process = Setup::for_api(&api)
        .set("log.level", "debug")
        .arguments(&["once", "--output=openmetrics"])
        .after(stalled)
        .spawn();
    process.wait_for_line(&["poll ended"]);
    process.end_with("TERM", 1);
    process.wait_for_line(&["stopped by SIGTERM"]);
}

#[test]
fn without_a_state_file_the_log_says_that_restarts_reset_the_clock() {
    Setup::for_api(&Api::of(1))
        .start()
        .wait_for_line(&["without state.file, a run knows no earlier progress"]);
}

#[test]
fn check_config_and_serve_refuse_the_same_states_and_change_nothing() {
    let api = Api::of(1);
    let kept = Kept::new();
    let run = |command: &str| kept.setup(&api).arguments(&[command]).run();
    assert_eq!(run("check-config").code, Some(0), "no state yet");
    fs::write(&kept.path, [0]).unwrap();
    assert_eq!(run("check-config").code, Some(0), "it would be set aside");
    for (content, words) in [
        (r#"{"version":9,"more":[]}"#, "run the newer version"),
        (
            r#"{"version":8,"base_url":"https://other/","state":{}}"#,
            "the state of https://other/",
        ),
        (
            "api: {key: s3cret}",
            "it is no state file; set state.file to another file",
        ),
    ] {
        fs::write(&kept.path, content).unwrap();
        for command in ["check-config", "serve"] {
            let path = kept.path.to_str().unwrap();
            run(command).assert_failed(2, &[path, words]);
            assert_eq!(fs::read_to_string(&kept.path).unwrap(), content);
        }
    }
    let nowhere = kept.folder.path().join("link");
    symlink("absent/state.json", &nowhere).unwrap();
    for path in [
        "/nonexistent/state.json",
        "/dev/null",
        nowhere.to_str().unwrap(),
    ] {
        for command in ["check-config", "serve"] {
            let setup = kept.setup(&api).set("state.file", path);
            setup
                .arguments(&[command])
                .run()
                .assert_failed(2, &["cannot use the state file ", path]);
        }
    }
}

const KEYS: [&str; 4] = ["config", "key", "ca", "web"];

/// Returns each pair of the files of a run of which one is written, or each is named by a key.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let read = [&KEYS[..], &["cert", "cert.key"]].concat();
    let mut pairs: Vec<_> = read.iter().map(|file| (*file, "state")).collect();
    for (at, second) in KEYS.iter().enumerate() {
        pairs.extend(KEYS[..at].iter().map(|first| (*first, *second)));
    }
    let own = ["state", "state.lock", "state.tmp"];
    for name in &own[1..] {
        pairs.extend(read.iter().map(|file| (*name, *file)));
    }
    let of_once = KEYS[..3].iter().chain(&own).chain(&["output"]);
    pairs.extend(of_once.map(|file| (*file, "another output")));
    pairs
}

/// The second of each pair has the path of the first, in another spelling.
#[test]
fn no_file_of_a_run_has_two_uses() {
    let (_, [certificate, key]) = identity(Certificate::Good, "localhost");
    for (first, second) in pairs() {
        let path = |file: &str| match file {
            _ if file == second => format!("./folder/../{first}"),
            _ => file.to_owned(),
        };
        let (served, served_key) = (path("cert"), path("cert.key"));
        let web = format!("tls_server_config: {{cert_file: {served}, key_file: {served_key}}}");
        let contents = [
            ("config", "log: {level: warn}"),
            ("key", KEY),
            ("ca", &certificate),
        ];
        let contents = [
            &contents[..],
            &[("web", &web), ("cert", &certificate), ("cert.key", &key)],
        ];
        let setup = || {
            let setup = Setup::for_url("https://127.0.0.1:1").set("api.key", "");
            fs::create_dir(setup.folder.path().join("folder")).unwrap();
            for (file, content) in contents.concat() {
                setup.file(&path(file), content);
            }
            let setup = setup
                .set("api.key_file", &path("key"))
                .set("api.ca_file", &path("ca"));
            setup
                .set("web.config_file", &path("web"))
                .set("state.file", &path("state"))
        };
        let config = format!("--config.file={}", path("config"));
        let outputs =
            ["output", "another output"].map(|file| format!("--output=json={}", path(file)));
        let once = ["once", &config, &outputs[0], &outputs[1]];
        let serving = [["serve", &config], ["check-config", &config]];
        let commands: Vec<&[&str]> = match second {
            "another output" => vec![&once],
            _ => serving.iter().map(|words| &words[..]).collect(),
        };
        for command in commands {
            let setup = setup().arguments(command);
            let files = || {
                let names = fs::read_dir(setup.folder.path()).unwrap();
                let files = names
                    .map(|name| name.unwrap().path())
                    .filter(|path| path.is_file());
                files
                    .map(|path| (fs::read(&path).unwrap(), path))
                    .collect::<BTreeSet<_>>()
            };
            let (before, output) = (files(), setup.run());
            assert_eq!(output.code, Some(2), "{first}, {second}: {}", output.stderr);
            assert_eq!(files(), before, "{first}, {second}");
        }
    }
}

#[test]
fn a_full_disk_is_counted_and_logged_once_and_leaves_the_last_good_state() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    // Limits the size of files to 64 KiB, or 128 KiB in some shells. Unlike a full disk, this limit
    // (LimitFSIZE of systemd) also sends SIGXFSZ, which must not end the exporter.
    let exporter = kept.setup(&api).after("ulimit -f 128").start();
    wait_until_written(&exporter);
    let german = r#"{"code":"de","name":"German","completion":50}"#;
    let long = "long".repeat(200);
    let many: Vec<_> = (0..300)
        .map(|n| format!(r#",{{"code":"{n}","name":"{long}"}}"#))
        .collect();
    let many = many.concat();
    let one = || Repo::new(1, "owner/one");
    api.put([one().languages_json(&format!("[{german}{many}]"))]);
    let failed = |metrics: &Exposition| metrics.value(WRITE_FAILURES, &[]).unwrap();
    let metrics = exporter.wait_for("three writes fail", |metrics| failed(metrics) >= 3.0);
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    exporter.wait_for_line(&["The state cannot be saved"]);
    assert_eq!(
        exporter.log().matches("The state cannot be saved").count(),
        1
    );
    kept.wait_until_nothing_else_is_there();
    let left = fs::read_to_string(&kept.path).unwrap();
    assert!(
        left.contains("owner/one") && !left.contains("long") && left.ends_with('}'),
        "{left}"
    );

    api.put([one().languages_json(&format!("[{german}]"))]);
    exporter.wait_for_line(&["a problem has ended", "problem=state_not_saved"]);
    let before = exporter.metrics();
    let after = exporter.wait_for_polls(2.0);
    assert_eq!(failed(&after), failed(&before));
    assert!(fs::read_to_string(&kept.path).unwrap().contains("German"));
    kept.wait_until_nothing_else_is_there();
}
