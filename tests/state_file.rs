//! The state file of a process that lacks permissions.
//!
//! The process is this test program itself, which runs [`the_child`] when its environment names a state file; it answers
//! on stderr, since the test harness keeps stdout.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests; clippy.toml excuses only what is marked #[test]")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::Arc,
};
use tempfile::TempDir;
use translation_exporter::{
    model::{Completion, Language, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Languages, Reading, Reported},
    state::{Memory, Opened, Remembered, StateFile},
};

const API: &str = "https://api.example.com/";
const NOW: Timestamp = Timestamp::from_millis(1_763_689_376_000);

/// The state of so many repositories with a language each.
fn memory(repositories: u64) -> Memory {
    let reported = Reported::Now(Progress { completion: Completion::new(50.0).unwrap(), at: NOW });
    let language = Arc::new(Language { code: "de".into(), name: "German".into() });
    let repository = |id| {
        let repository = Repository {
            id: RepositoryId::new(id).unwrap(),
            name: format!("owner/repository-{id}").into(),
            visibility: Visibility::Private,
            created_at: Some(NOW),
        };
        let readings = [Reading { language: language.clone(), reported }];
        let languages = Languages { read_at: NOW, readings: readings.into_iter().collect() };
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
        match file.write(&memory(line.unwrap().parse().unwrap())) {
            Ok(()) => eprintln!("written"),
            Err(error) => eprintln!("failed: {error}"),
        }
    }
}

struct Process {
    child: Child,
    says: BufReader<ChildStderr>,
}

impl Process {
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

    /// Has it write the state of so many repositories.
    fn asks(&mut self, repositories: u64) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{repositories}").unwrap();
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
    let failure = process.asks(4);
    for part in ["the state file", "is replaced", "let the user that runs the exporter read its folder"] {
        assert!(failure.contains(part), "{failure}");
    }
    process.end();
    set_mode(&place.folder, 0o755);
    assert_eq!(open(&place.path).memory, Some(memory(4)));
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
        open(&self.path).file.write(&memory(3)).unwrap();
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
