//! What outlives the process: the progress clock and the last good data, whatever ended it.

use crate::support::{Api, Exporter, Exposition, Repo, Setup, Target, eventually};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};
use tempfile::TempDir;

const CLOCK: &str = "translation_last_progress_timestamp_seconds";
const WRITES: &str = "translation_exporter_state_writes_total";
const WRITE_FAILURES: &str = "translation_exporter_state_write_failures_total";
const DISCARDED: &str = "translation_exporter_state_discarded";
const LAST_SUCCESS: &str = "translation_repository_last_success_timestamp_seconds";

/// A folder for a state file, which outlives the exporters that use it.
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

    /// The names in the folder, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The state and its lock are all there is, save while the next state is written.
    fn holds_nothing_else(&self) {
        let is_all = || (self.names() == ["state.json", "state.json.lock"]).then_some(());
        eventually("the state and its lock are alone", is_all);
    }

    /// Runs an exporter until it has written its state, and ends it.
    fn fill(&self, api: &Api) {
        let mut exporter = self.setup(api).start();
        written(&exporter);
        exporter.terminate();
    }

    /// Changes the text of the state file, and its checksum with it.
    fn edit(&self, change: impl FnOnce(String) -> String) {
        const CHECKSUM: &str = "\n\"crc32\":\"";
        let text = change(fs::read_to_string(&self.path).unwrap());
        let (text, end) = text.rsplit_once(CHECKSUM).unwrap();
        let sum = crc32fast::hash(text.as_bytes());
        fs::write(&self.path, format!("{text}{CHECKSUM}{sum:08x}{}", &end[8..])).unwrap();
    }
}

/// Holds every answer of the API back until it is opened.
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn closed(api: &Api) -> Self {
        Self::closed_for(api, Target::Everything)
    }

    fn closed_for(api: &Api, target: Target) -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&open);
        api.script(target, move |_| {
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

/// A test that fails leaves nobody waiting.
impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

fn written(exporter: &Exporter) -> Exposition {
    exporter.wait_for("the state is written", |metrics| {
        metrics.value(WRITES, &[]) > Some(0.0) && metrics.value(WRITE_FAILURES, &[]) == Some(0.0)
    })
}

fn is_ready(exporter: &Exporter) {
    eventually("the exporter is ready", || (exporter.status("/-/ready") == 200).then_some(()));
}

fn clock(metrics: &Exposition, repo: &str, language: &str) -> Option<f64> {
    metrics.value(CLOCK, &[("repo", repo), ("language", language)])
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

fn errors(exporter: &Exporter) -> Vec<String> {
    let log = exporter.log();
    log.lines().filter(|line| line.contains("level=error")).map(str::to_owned).collect()
}

const REPOSITORIES: u64 = 60;
const LANGUAGES: [&str; 5] = ["ar", "de", "fr", "ja", "pt"];

/// What the API says in a session: every language moves in every third.
fn completion(session: u32, repository: u64, language: usize) -> f64 {
    let phase = u32::try_from(repository).unwrap() + u32::try_from(language).unwrap();
    f64::from((session + phase % 3) / 3)
}

fn repositories(session: u32) -> impl Iterator<Item = Repo> {
    (1..=REPOSITORIES).map(move |id| {
        let languages: Vec<_> =
            LANGUAGES.iter().enumerate().map(|(index, code)| (*code, completion(session, id, index))).collect();
        Repo::new(id, &name(id)).languages(&languages)
    })
}

fn name(id: u64) -> String {
    format!("owner/repo-{id:03}")
}

/// Completion and clock of each language.
fn clocks(metrics: &Exposition) -> BTreeMap<(u64, usize), (f64, f64)> {
    let all = (1..=REPOSITORIES).flat_map(|id| (0..LANGUAGES.len()).map(move |language| (id, language)));
    all.map(|(id, language)| {
        let (repo, code) = (name(id), LANGUAGES[language]);
        let known = metrics.ratio(&repo, code).zip(clock(metrics, &repo, code));
        let (ratio, clock) = known.unwrap_or_else(|| panic!("{repo} {code} is not served"));
        ((id, language), ((ratio * 100.0).round(), clock))
    })
    .collect()
}

/// 20 kills, or as many as the variable `STATE_KILLS` says.
#[test]
fn a_kill_at_any_instant_leaves_a_whole_state_and_every_clock_that_did_not_move() {
    let kills = std::env::var("STATE_KILLS").map_or(20, |kills| kills.parse().expect("STATE_KILLS is a number"));
    let mut random = fastrand::Rng::new();
    let seed = random.get_seed();
    let kept = Kept::new();
    let api = Api::start(repositories(0));
    let exporter = kept.setup(&api).start();
    let begin = Instant::now();
    written(&exporter);
    let usual = begin.elapsed();
    let mut before = clocks(&exporter.metrics());
    drop(exporter);

    let (mut saved, mut half_written) = (0, 0);
    let mut last = (0, now(), now());
    for session in 1..=kills + 1 {
        half_written += u32::from(kept.folder.path().join("state.json.tmp").exists());
        api.heal();
        api.forget();
        let gate = Gate::closed(&api);
        let exporter = kept.setup(&api).start();
        is_ready(&exporter);
        let served = clocks(&exporter.metrics());
        let at = format!("seed {seed}, session {session}");
        assert_eq!(errors(&exporter), [""; 0], "{at}");
        assert_eq!(kept.names(), ["state.json", "state.json.lock"], "{at}");

        let (previous, opened_at, killed_at) = last;
        let (mut kept_moves, mut all_moves) = (0, 0);
        for (key @ (id, language), (was, stood_at)) in &before {
            let told = completion(previous, *id, *language);
            let (is, stands_at) = served[key];
            let same = (is, stands_at) == (*was, *stood_at);
            if (told - was).abs() < 0.5 {
                assert!(
                    same,
                    "{at}: the clock of {key:?} went from {stood_at} to {stands_at}, though it stood at {was}"
                );
                continue;
            }
            all_moves += 1;
            kept_moves += u32::from(!same);
            let is_new = (is - told).abs() < 0.5 && (opened_at - 0.002..=killed_at).contains(&stands_at);
            assert!(same || is_new, "{at}: {key:?} went from {was} to {told}, and is {is} since {stands_at}");
        }
        assert!(kept_moves == 0 || kept_moves == all_moves, "{at}: {kept_moves} of {all_moves} moves are in the state");
        saved += u32::from(kept_moves > 0);
        before = served;

        api.put(repositories(session));
        let opened_at = now();
        gate.open();
        thread::sleep(usual.mul_f64(1.5 * random.f64()));
        drop(exporter);
        last = (session, opened_at, now());
    }
    println!("{kills} kills, {saved} after the new state was written, {half_written} while a file was half written");
    assert!(saved > 0, "no kill came after a write: nothing was tested");
}

#[test]
fn a_restart_is_ready_and_serves_its_data_before_the_api_answers() {
    let api = Api::start([Repo::new(1, "owner/one"), Repo::new(2, "owner/two")]);
    let kept = Kept::new();
    kept.fill(&api);
    let gate = Gate::closed(&api);
    let exporter = kept.setup(&api).start();
    is_ready(&exporter);
    let metrics = exporter.metrics();
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    assert_eq!(metrics.repositories("fresh"), 2.0);
    assert_eq!(metrics.samples(LAST_SUCCESS).count(), 2);
    assert_eq!(metrics.value("translation_up", &[]), None, "no poll has ended yet");
    gate.open();
    exporter.wait_for("it polls", |metrics| metrics.value("translation_up", &[]) == Some(1.0));
}

#[test]
fn sigterm_in_the_middle_of_a_poll_writes_what_was_read() {
    let api = Api::start([Repo::new(1, "owner/one"), Repo::new(2, "owner/two")]);
    let kept = Kept::new();
    let gate = Gate::closed_for(&api, Target::Languages(2));
    let mut exporter = kept.setup(&api).start();
    let metrics = exporter.wait_for("one is read", |metrics| metrics.ratio("owner/one", "de").is_some());
    assert!(!kept.path.exists());
    let (status, took) = exporter.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(gate);
    api.heal();
    let _gate = Gate::closed(&api);
    let exporter = kept.setup(&api).start();
    is_ready(&exporter);
    let served = exporter.metrics();
    assert_eq!(clock(&served, "owner/one", "de"), clock(&metrics, "owner/one", "de"));
    assert_eq!(served.repositories("pending"), 1.0);
}

#[test]
fn the_clock_of_what_left_survives_a_restart() {
    let two = |fr: bool| {
        let all = [("de", 50.0), ("fr", 50.0)];
        Repo::new(2, "owner/two").languages(if fr { &all } else { &all[..1] })
    };
    let api = Api::start([Repo::new(1, "owner/one"), two(true), Repo::new(3, "owner/three")]);
    let kept = Kept::new();
    let mut exporter = kept.setup(&api).start();
    let first = exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
    api.remove(3);
    api.put([two(false)]);
    exporter.wait_for("both have left", |metrics| metrics.samples(CLOCK).count() == 2);
    exporter.terminate();

    api.put([two(true), Repo::new(3, "owner/renamed")]);
    let exporter = kept.setup(&api).start();
    let back = exporter.wait_for("both are back", |metrics| metrics.samples(CLOCK).count() == 4);
    for (language, before, after) in [("fr", "owner/two", "owner/two"), ("de", "owner/three", "owner/renamed")] {
        assert_eq!(clock(&back, after, language), clock(&first, before, language), "{after}");
    }
}

#[test]
fn age_is_counted_across_restarts() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    kept.fill(&api);
    let _gate = Gate::closed(&api);
    let minutes_old = |minutes: f64| {
        kept.edit(|text| {
            let (before, after) = text.split_once("\"read\":{\"at\":").unwrap();
            let (_, after) = after.split_once(',').unwrap();
            format!("{before}\"read\":{{\"at\":{:.0},{after}", (now() - minutes * 60.0) * 1000.0)
        });
        let exporter = kept.setup(&api).set("poll.stale_after", "1h").start();
        is_ready(&exporter);
        let metrics = exporter.metrics();
        let unexpected: Vec<_> = errors(&exporter).into_iter().filter(|line| !line.contains("stale")).collect();
        assert_eq!(unexpected, [""; 0]);
        assert_eq!(metrics.samples(LAST_SUCCESS).count(), 1);
        (metrics.repositories("fresh"), metrics.repositories("stale"), metrics.ratio("owner/one", "de"))
    };
    assert_eq!(minutes_old(59.0), (1.0, 0.0, Some(0.5)));
    assert_eq!(minutes_old(61.0), (0.0, 1.0, None));
}

#[test]
fn without_a_state_file_the_log_says_that_the_clock_begins_anew() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let exporter = Setup::for_api(&api).start();
    eventually("the log says so", || {
        let log = exporter.log();
        (log.contains("state.file is not set") && log.contains("begins again")).then_some(())
    });
}

#[test]
fn what_is_no_state_of_this_api_is_set_aside_untouched() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let original = Kept::new();
    original.fill(&api);
    let good = fs::read(&original.path).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let mut flipped = good.clone();
    *flipped.iter_mut().rev().nth(90).unwrap() ^= 1;
    for (what, bytes, why) in [
        ("empty", Vec::new(), "empty"),
        ("truncated", good[..good.len() / 2].to_vec(), "damaged"),
        ("one bit flipped", flipped, "damaged"),
        ("zeros", vec![0; good.len()], "does not begin"),
        ("of the future", text.replacen("\"version\":1", "\"version\":2", 1).into(), "version 2"),
        ("foreign", b"{\"dear\":\"diary\"}\n".to_vec(), "does not begin"),
        ("of another API", text.replacen("127.0.0.1", "127.0.0.2", 1).into(), "127.0.0.2"),
    ] {
        let kept = Kept::new();
        fs::write(&kept.path, &bytes).unwrap();
        if what == "of another API" {
            kept.edit(|text| text);
        }
        let bytes = fs::read(&kept.path).unwrap();
        api.heal();
        let gate = Gate::closed(&api);
        let exporter = kept.setup(&api).start();
        assert_eq!(exporter.status("/-/ready"), 503, "{what}");
        let errors = errors(&exporter);
        let [error] = &errors[..] else { panic!("{what}: {errors:?}") };
        for part in [kept.path.to_str().unwrap(), "set aside", why] {
            assert!(error.contains(part), "{what}: {error}");
        }
        assert_eq!(exporter.metrics().value(DISCARDED, &[]), Some(1.0), "{what}");
        let aside = set_aside(&kept);
        assert!(aside.starts_with("state.json.set-aside-"), "{what}: {aside}");
        assert!(error.contains(&aside), "{what}: {error}");

        gate.open();
        written(&exporter);
        assert_eq!(fs::read(kept.folder.path().join(&aside)).unwrap(), bytes, "{what}");
        drop(exporter);
        let exporter = kept.setup(&api).start();
        is_ready(&exporter);
        assert_eq!(set_aside(&kept), aside, "{what}: the new state is good");
        assert_eq!(exporter.metrics().value(DISCARDED, &[]), Some(0.0), "{what}");
    }
}

/// The one file that was set aside.
fn set_aside(kept: &Kept) -> String {
    let names: Vec<_> = kept.names().into_iter().filter(|name| name.contains("set-aside")).collect();
    let [name] = &names[..] else { panic!("{names:?}") };
    name.clone()
}

#[test]
fn a_second_process_on_one_state_file_exits_with_2_and_names_it() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    let first = kept.setup(&api).start();
    written(&first);
    let refused = kept.setup(&api).run();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains(kept.path.to_str().unwrap()) && message.contains("another process"), "{message}");
    first.wait_for_polls(1.0);
    assert_eq!(errors(&first), [""; 0]);
    kept.holds_nothing_else();
}

#[test]
fn a_state_file_that_cannot_be_locked_or_read_is_left_alone_and_the_exporter_exits_with_2() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    // Nobody can read a link to itself, not even root.
    symlink("state.json", &kept.path).unwrap();
    let missing = kept.folder.path().join("missing/state.json");
    for (path, action, hint) in [(&kept.path, "read", "check"), (&missing, "lock", "create its folder")] {
        let refused = kept.setup(&api).set("state.file", path.to_str().unwrap()).run();
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{message}");
        for part in [path.to_str().unwrap(), action, hint] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(kept.names(), ["state.json", "state.json.lock"]);
    assert!(kept.path.is_symlink());
    assert_eq!(api.requests(Target::Everything).len(), 0);
}

#[test]
fn timestamps_of_the_future_become_now_and_are_logged_once() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    kept.fill(&api);
    kept.edit(|text| {
        let of_the_future = ((now() + 7200.0) * 1000.0).round();
        let (before, after) = text.split_once("\"clock\":").unwrap();
        let (_, after) = after.split_once('}').unwrap();
        let text = format!("{before}\"clock\":{of_the_future}}}{after}");
        let (before, after) = text.split_once("\"read\":{\"at\":").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        format!("{before}\"read\":{{\"at\":{of_the_future},{after}")
    });
    let _gate = Gate::closed(&api);
    let exporter = kept.setup(&api).start();
    is_ready(&exporter);
    let metrics = exporter.metrics();
    let read_at = metrics.value(LAST_SUCCESS, &[("repo", "owner/one")]);
    assert!(clock(&metrics, "owner/one", "de") <= Some(now()) && read_at <= Some(now()), "{read_at:?}");
    let log = exporter.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("future")).collect();
    assert!(matches!(lines[..], [line] if line.contains("ahead")), "{log}");
}

#[test]
fn a_full_disk_is_counted_and_logged_once_and_leaves_the_last_good_state() {
    let api = Api::start([Repo::new(1, "owner/one")]);
    let kept = Kept::new();
    // No file may grow beyond so many blocks: 16 KiB, or 32 KiB where the shell counts so. The signal is ignored, since
    // a disk that is full sends none.
    let exporter = kept.setup(&api).after("trap '' XFSZ; ulimit -f 32").start();
    written(&exporter);
    let named = |name: &str| {
        Repo::new(1, "owner/one").languages_json(&format!(r#"[{{"code":"de","name":"{name}","completion":50}}]"#))
    };
    api.put([named(&"long".repeat(10_000))]);
    let metrics = exporter.wait_for("three writes fail", |metrics| metrics.value(WRITE_FAILURES, &[]) >= Some(3.0));
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    eventually("the log says it", || exporter.log().contains("The state cannot be saved").then_some(()));
    assert_eq!(exporter.log().matches("The state cannot be saved").count(), 1);
    kept.holds_nothing_else();
    let left = fs::read_to_string(&kept.path).unwrap();
    assert!(left.contains("owner/one") && !left.contains("long") && left.ends_with("\"}\n"), "{left}");
    api.put([named("German")]);
    succeeds_again(&exporter, &kept.path);
    kept.holds_nothing_else();
}

fn succeeds_again(exporter: &Exporter, path: &Path) {
    eventually("the log tells it", || exporter.log().contains("the state is saved again").then_some(()));
    let failures = |metrics: &Exposition| metrics.value(WRITE_FAILURES, &[]).unwrap();
    let before = failures(&exporter.metrics());
    let metrics = exporter.wait_for_polls(2.0);
    assert_eq!(failures(&metrics), before);
    assert!(metrics.value(WRITES, &[]).unwrap() > before);
    assert!(fs::read_to_string(path).unwrap().contains("owner/one"));
}
