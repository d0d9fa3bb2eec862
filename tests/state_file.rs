//! The state file among processes: two that want it, one that is killed while it writes, one whose disk is full, one that
//! lacks permissions.
//!
//! The processes are this test program itself, which runs [`the_child`] when its environment names a state file; they
//! answer on stderr, since the test harness keeps stdout.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests; clippy.toml excuses only what is marked #[test]")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use translation_exporter::{
    model::{Completion, Language, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Languages, Reading, Reported},
    state::{Memory, Opened, Remembered, StateError, StateFile},
};

const API: &str = "https://api.example.com/";
const NOW: Timestamp = Timestamp::from_millis(1_763_689_376_000);
const CODES: [&str; 10] = ["ar", "cs", "de", "es", "fr", "it", "ja", "ko", "nl", "pt"];
const NAMES: [&str; 10] =
    ["Arabic", "Czech", "German", "Spanish", "French", "Italian", "Japanese", "Korean", "Dutch", "Portuguese"];

/// The state of `repositories` with ten languages each, all of them at `generation`.
fn memory(repositories: u64, generation: u32) -> Memory {
    let completion = Completion::new(f64::from(generation)).unwrap();
    let at = Timestamp::from_millis(1_700_000_000_000 + i64::from(generation));
    let reported = Reported::Now(Progress { completion, at });
    let repository = |id| {
        let readings = CODES.iter().zip(NAMES).map(|(code, name)| Reading {
            language: Arc::new(Language { code: (*code).into(), name: name.into() }),
            reported,
        });
        let repository = Repository {
            id: RepositoryId::new(id).unwrap(),
            name: format!("owner/repository-{id}").into(),
            visibility: Visibility::Private,
            created_at: Some(NOW),
        };
        let languages = Languages { read_at: NOW, readings: readings.collect() };
        Remembered { repository: Arc::new(repository), last_attempt: 1, languages: Some(Arc::new(languages)) }
    };
    Memory {
        last_full_poll: None,
        repositories: (1..=repositories).map(repository).collect(),
        missed: BTreeSet::new(),
        departed: BTreeMap::new(),
    }
}

fn open(path: &Path) -> Opened {
    StateFile::open(path, API, NOW).unwrap()
}

/// Answers a line on stderr to each line on stdin.
#[test]
#[ignore = "what the child processes of the other tests do; does nothing without one of them"]
fn the_child() {
    let Ok(path) = std::env::var("STATE_FILE_OF_CHILD").map(PathBuf::from) else { return };
    let Opened { mut file, memory: found, set_aside, .. } = match StateFile::open(&path, API, NOW) {
        Ok(opened) => opened,
        Err(error) => return eprintln!("refused: {error}"),
    };
    assert!(set_aside.is_none(), "{set_aside:?}");
    eprintln!("opened: {:?}", found.map(|memory| memory.repositories.len()));
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (repositories, generation) = line.split_once(' ').unwrap();
        let (repositories, first) = (repositories.parse().unwrap(), generation.trim_end_matches('+').parse().unwrap());
        let last = if generation.ends_with('+') { u32::MAX } else { first };
        for generation in first..=last {
            match file.write(&memory(repositories, generation)) {
                Ok(()) => eprintln!("wrote: {generation}"),
                Err(error) => eprintln!("failed: {error}"),
            }
        }
    }
}

struct Process {
    child: Child,
    says: BufReader<ChildStderr>,
}

impl Process {
    fn start(path: &Path) -> Self {
        Self::spawn(path, Command::new(std::env::current_exe().unwrap()))
    }

    fn spawn(path: &Path, mut program: Command) -> Self {
        program
            .args(["--exact", "the_child", "--ignored", "--nocapture"])
            .env("STATE_FILE_OF_CHILD", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = loop {
            match program.spawn() {
                // A process that another test starts holds the copy of the program open for writing, until its own exec.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                child => break child.unwrap(),
            }
        };
        let says = BufReader::new(child.stderr.take().unwrap());
        Self { child, says }
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Has it write so many repositories at this generation, or with a `+` at this and all that follow.
    fn order(&mut self, repositories: u64, generation: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{repositories} {generation}").unwrap();
    }

    fn asks(&mut self, repositories: u64, generation: &str) -> String {
        self.order(repositories, generation);
        self.hears()
    }

    /// Lets it end by itself.
    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn two_processes_cannot_share_a_state_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let mut first = Process::start(&path);
    assert_eq!(first.hears(), "opened: None");
    assert_eq!(first.asks(1, "1"), "wrote: 1");

    let refusal = Process::start(&path).hears();
    assert!(refusal.starts_with(&format!("refused: state.file {} is in use by another process", path.display())));
    assert!(matches!(StateFile::open(&path, API, NOW), Err(StateError::Held { .. })));

    first.end();
    assert_eq!(open(&path).memory, Some(memory(1, 1)));
}

#[test]
fn a_kill_at_any_instant_leaves_the_last_whole_state() {
    let kills = std::env::var("STATE_KILLS").map_or(20, |kills| kills.parse().expect("STATE_KILLS is a number"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let mut random = fastrand::Rng::new();
    let seed = random.get_seed();
    let mut last = 0;
    let mut unfinished = 0;
    for kill in 1..=kills {
        let mut process = Process::start(&path);
        assert!(process.hears().starts_with("opened: "));
        process.order(300, &format!("{}+", last + 1));
        assert_eq!(process.hears(), format!("wrote: {}", last + 1));
        // The one place where time is waited for: the instant of the kill is to be any.
        thread::sleep(Duration::from_micros(random.u64(0..20_000)));
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        let mut rest = String::new();
        process.says.read_to_string(&mut rest).unwrap();
        // The last line may be cut short, and then the write that it reports was finished all the same.
        let line = rest.split_inclusive('\n').rfind(|line| line.ends_with('\n'));
        let reported: u32 =
            line.map_or(last + 1, |line| line.trim_end().strip_prefix("wrote: ").unwrap().parse().unwrap());
        unfinished += u32::from(folder.path().join("state.json.tmp").exists());

        let opened = open(&path);
        assert!(opened.set_aside.is_none(), "seed {seed}, kill {kill}: {:?}", opened.set_aside);
        let found = opened.memory.unwrap();
        last = if found == memory(300, reported) { reported } else { reported + 1 };
        assert!(found == memory(300, last), "seed {seed}, kill {kill}: generation {reported} was written, not this");
        drop(opened.file);
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["state.json", "state.json.lock"], "seed {seed}, kill {kill}");
    }
    println!("{kills} kills, {unfinished} of them while a file was half written; {last} states written");
}

#[test]
fn a_full_disk_leaves_the_last_good_state_and_is_overcome_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let mut shell = Command::new("sh");
    // No file may grow beyond 64 blocks (32 KiB, or 64 KiB where the shell counts so); the signal is ignored, since on
    // a disk that is full there is none.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    let mut process = Process::spawn(&path, shell);
    assert_eq!(process.hears(), "opened: None");
    assert_eq!(process.asks(5, "1"), "wrote: 1");
    let good = fs::read(&path).unwrap();
    for _ in 0..3 {
        let failure = process.asks(1000, "2");
        let expected = format!("failed: cannot write the state file {}: File too large", path.display());
        assert!(failure.starts_with(&expected) && failure.ends_with("free up space, twice its size"), "{failure}");
        assert_eq!(fs::read(&path).unwrap(), good);
        assert!(!folder.path().join("state.json.tmp").exists());
    }
    assert_eq!(process.asks(5, "3"), "wrote: 3");
    process.end();
    assert_eq!(open(&path).memory, Some(memory(5, 3)));
}

#[test]
fn a_folder_or_file_without_permission_is_refused_with_a_hint_and_nothing_is_changed() {
    let place = Place::new();
    for (folder, file, lock, action, hint) in [
        (0o555, 0o600, None, "lock", "let the user that runs the exporter write to its folder"),
        (0o755, 0o000, None, "read", "let the user that runs the exporter read it"),
        (0o755, 0o600, Some(0o000), "lock", "another user created it: remove it"),
    ] {
        let before = place.fill(file, lock);
        set_mode(&place.folder, folder);
        let refusal = Process::spawn(&place.path, place.command()).hears();
        for part in [&format!("refused: cannot {action} the state file"), place.path.to_str().unwrap(), hint] {
            assert!(refusal.contains(part), "{refusal}");
        }
        set_mode(&place.folder, 0o755);
        set_mode(&place.path, 0o600);
        assert_eq!(fs::read(&place.path).unwrap(), before);
        fs::remove_file(place.folder.join("state.json.lock")).ok();
        assert_eq!(place.names(), ["state.json"]);
    }
}

#[test]
fn a_folder_that_cannot_be_synced_is_not_reported_as_if_the_state_before_were_still_there() {
    let place = Place::new();
    place.fill(0o600, None);
    // Who may write to a folder and not list it can replace a file there, and not open the folder to sync it.
    set_mode(&place.folder, 0o333);
    let mut process = Process::spawn(&place.path, place.command());
    assert_eq!(process.hears(), "opened: Some(3)");
    let failure = process.asks(4, "2");
    for part in ["the state file", "is replaced", "let the user that runs the exporter read its folder"] {
        assert!(failure.contains(part), "{failure}");
    }
    process.end();
    set_mode(&place.folder, 0o755);
    assert_eq!(open(&place.path).memory, Some(memory(4, 2)));
}

/// A folder with a state file, for a process without privileges.
struct Place {
    /// Where the program lies, so that nobody can start it.
    outer: TempDir,
    folder: PathBuf,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        set_mode(outer.path(), 0o755);
        fs::copy(std::env::current_exe().unwrap(), outer.path().join("program")).unwrap();
        let folder = outer.path().join("state");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("state.json");
        Self { outer, folder, path }
    }

    /// Makes a state of three repositories, gives all except the lock to the user that the command runs as, and returns
    /// the content of the file.
    fn fill(&self, mode: u32, lock_mode: Option<u32>) -> Vec<u8> {
        let _ = fs::remove_file(&self.path);
        open(&self.path).file.write(&memory(3, 1)).unwrap();
        let lock = self.folder.join("state.json.lock");
        match lock_mode {
            Some(mode) => set_mode(&lock, mode),
            None => fs::remove_file(lock).unwrap(),
        }
        if is_root() {
            chown(&self.path, Some(NOBODY), None).unwrap();
            chown(&self.folder, Some(NOBODY), None).unwrap();
        }
        let content = fs::read(&self.path).unwrap();
        set_mode(&self.path, mode);
        content
    }

    fn names(&self) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// Root may read and write anything; where this runs as root, the child runs as nobody.
    fn command(&self) -> Command {
        let mut command = Command::new(self.outer.path().join("program"));
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

const NOBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Run with `cargo test --release --test state_file measure -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a promise: prints time and memory of 300,000 languages"]
fn measure_300_000_languages() {
    /// Forgets the peak so far, and returns what is held now, in KiB.
    fn reset_peak() -> i64 {
        fs::write("/proc/self/clear_refs", "5").unwrap();
        status("VmRSS:")
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    // Another process writes it first, so that this one's memory is fresh when it reads.
    let mut writer = Process::start(&path);
    writer.hears();
    assert_eq!(writer.asks(30_000, "50"), "wrote: 50");
    writer.end();

    let before = reset_peak();
    let start = Instant::now();
    let Opened { mut file, memory, .. } = open(&path);
    let took = start.elapsed();
    println!(
        "read: {took:?}, {} KiB at its peak, {} KiB to stay",
        status("VmHWM:") - before,
        status("VmRSS:") - before
    );

    let memory = memory.unwrap();
    let before = reset_peak();
    let start = Instant::now();
    file.write(&memory).unwrap();
    let took = start.elapsed();
    let length = fs::metadata(&path).unwrap().len();
    println!("write: {took:?}, {} KiB at its peak, a file of {} KiB", status("VmHWM:") - before, length / 1024);
}

/// What this process holds, in KiB.
fn status(name: &str) -> i64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
