//! What the state file does on the disk; what it looks like is in [`formatting`].

mod formatting;

use super::*;
use crate::{
    model::{Completion, Language, Visibility},
    snapshot::{Reading, Reported},
};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const API: &str = "https://api.example.com/";
const NOW: Timestamp = Timestamp::from_millis(1_763_689_376_000);

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn clock(completion: f64, at: i64) -> Progress {
    Progress {
        completion: Completion::new(completion).unwrap(),
        at: time(at),
    }
}

fn reading(code: &str, name: &str, reported: Reported) -> Reading {
    Reading {
        language: Arc::new(Language {
            code: code.into(),
            name: name.into(),
        }),
        reported,
    }
}

fn remembered(id: u64, name: &str, languages: Option<Vec<Reading>>) -> Remembered {
    let repository = Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        visibility: Visibility::Private,
        created_at: Some(time(1_600_000_000_000)),
    };
    let languages = languages.map(|readings| {
        Arc::new(Languages {
            read_at: time(1_700_000_000_000),
            readings: readings.into(),
        })
    });
    Remembered {
        repository: Arc::new(repository),
        last_attempt: 0,
        failures: 0,
        languages,
    }
}

fn departed(id: u64, code: &str) -> BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)> {
    BTreeMap::from([(
        (RepositoryId::new(id).unwrap(), code.into()),
        (clock(12.0, 3), time(4)),
    )])
}

/// One of everything.
fn small() -> Memory {
    let languages = vec![
        reading(
            "de",
            "German",
            Reported::Now(clock(50.5, 1_650_000_000_000)),
        ),
        reading("fr", "", Reported::Before(clock(12.0, 1))),
        reading("nl", "Dutch \u{0}\"\\\u{2028}\u{1f980}", Reported::Never),
    ];
    Memory {
        last_full_poll: Some(Duration::new(3, 141_592_653)),
        repositories: vec![
            remembered(7, "owner/repo", Some(languages)),
            remembered(RepositoryId::MAX, "owner/b", None),
        ],
        missed: [RepositoryId::new(7).unwrap()].into(),
        departed: departed(7, "it"),
    }
}

fn encoded(memory: &Memory) -> Vec<u8> {
    let mut bytes = Vec::new();
    format::encode(memory, API, &mut bytes).unwrap();
    bytes
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
    fn open(&self) -> Opened {
        StateFile::open(&self.path("state"), API, NOW).unwrap()
    }
    fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

#[test]
fn a_first_start_is_empty_and_the_next_one_remembers() {
    let folder = Folder::new();
    let mut opened = folder.open();
    assert!(opened.memory.is_none() && opened.set_aside.is_none());
    opened.file.write(&Memory::default()).unwrap();
    opened.file.write(&small()).unwrap();
    drop(opened);
    let opened = folder.open();
    assert_eq!(opened.memory, Some(small()));
    assert!(opened.set_aside.is_none());
    assert_eq!(folder.names(), ["state", "state.lock"]);
}

#[test]
fn only_the_user_of_the_exporter_may_read_its_files() {
    let folder = Folder::new();
    fs::write(folder.path("state"), encoded(&small())).unwrap();
    fs::set_permissions(folder.path("state"), fs::Permissions::from_mode(0o666)).unwrap();
    folder.open().file.write(&small()).unwrap();
    for name in folder.names() {
        assert_eq!(
            fs::metadata(folder.path(&name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600,
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_used_is_set_aside_and_never_overwritten() {
    let future = format!("{}2,\"more\":1}}", format::OPENING);
    let mut other_api = Vec::new();
    format::encode(&small(), "https://other.example.com/", &mut other_api).unwrap();
    for (bytes, reason) in [
        (&b""[..], "it is empty"),
        (&encoded(&small())[..100], "its end is missing"),
        (
            future.as_bytes(),
            "it has version 2 of the format, and this program reads up to version 1",
        ),
        (
            b"[1, 2, 3]",
            "it does not begin as a state file of translation-exporter does",
        ),
        (
            &other_api,
            "it is the state of https://other.example.com/, while api.base_url is",
        ),
    ] {
        let folder = Folder::new();
        for again in ["", "-2", "-3"] {
            fs::write(folder.path("state"), bytes).unwrap();
            let mut opened = folder.open();
            let aside = format!("state.set-aside-20251121T014256Z{again}");
            assert!(opened.memory.is_none());
            let message = opened.set_aside.unwrap().to_string();
            assert!(
                message.contains(reason) && message.contains(&aside),
                "{message}"
            );
            assert_eq!(folder.content(&aside), bytes);
            assert!(!folder.path("state").exists());
            opened.file.write(&small()).unwrap();
            assert_eq!(folder.content(&aside), bytes);
        }
        assert_eq!(folder.names().len(), 5);
    }
}

#[test]
fn a_huge_file_is_set_aside_without_being_read() {
    let folder = Folder::new();
    File::create(folder.path("state"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let message = folder.open().set_aside.unwrap().to_string();
    assert!(
        message.contains("it is 1099511627776 bytes long"),
        "{message}"
    );
}

#[test]
fn a_state_too_long_to_be_read_again_is_not_written() {
    let folder = Folder::new();
    let mut state = folder.open().file;
    state.write(&small()).unwrap();
    let long = Memory {
        repositories: vec![remembered(1, &"long".repeat(1 << 18), None)],
        ..Memory::default()
    };
    let error = state.write(&long).unwrap_err().to_string();
    assert!(
        error.contains("at most 1048576 are read: leave repositories out"),
        "{error}"
    );
    assert_eq!(folder.content("state"), encoded(&small()));
    assert_eq!(folder.names(), ["state", "state.lock"]);
}

#[test]
fn a_file_that_cannot_be_read_stays_where_it_is() {
    let folder = Folder::new();
    // Nobody can read a link to itself, not even root.
    std::os::unix::fs::symlink("state", folder.path("state")).unwrap();
    let error = StateFile::open(&folder.path("state"), API, NOW).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read the state file /"),
        "{error}"
    );
    assert_eq!(folder.names(), ["state", "state.lock"]);
}

#[test]
fn a_damaged_file_that_cannot_be_moved_stays_where_it_is() {
    let folder = Folder::new();
    // Nobody, not even root, can append to a name of 255 bytes; 250 leave room for the lock only.
    let name = "s".repeat(250);
    fs::write(folder.path(&name), "damaged").unwrap();
    let error = StateFile::open(&folder.path(&name), API, NOW).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot set aside the state file /"),
        "{error}"
    );
    assert_eq!(folder.content(&name), b"damaged");
}

#[test]
fn a_second_opening_is_refused_and_names_the_file() {
    let folder = Folder::new();
    let first = folder.open();
    let error = StateFile::open(&folder.path("state"), API, NOW).unwrap_err();
    assert!(matches!(error, StateError::Held { .. }));
    assert!(
        error
            .to_string()
            .contains(folder.path("state").to_str().unwrap()),
        "{error}"
    );
    drop(first);
    folder.open();
}

#[test]
fn a_path_that_cannot_name_a_file_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("state")).unwrap();
    for path in [
        folder.path("state"),
        PathBuf::from("/"),
        PathBuf::from(""),
        PathBuf::from("/dev/null"),
    ] {
        let error = StateFile::open(&path, API, NOW).unwrap_err();
        assert!(matches!(error, StateError::NotAFile { .. }), "{error}");
    }
    assert_eq!(folder.names(), ["state"]);
}

#[test]
fn what_a_killed_process_left_half_written_is_removed() {
    let folder = Folder::new();
    fs::write(folder.path("state"), encoded(&small())).unwrap();
    fs::write(folder.path("state.tmp"), "{\"format\":").unwrap();
    fs::write(folder.path("state.tmp.mine"), "not ours").unwrap();
    assert_eq!(folder.open().memory, Some(small()));
    assert_eq!(folder.names(), ["state", "state.lock", "state.tmp.mine"]);
}

#[test]
fn a_folder_that_is_missing_is_refused() {
    let folder = Folder::new();
    fs::write(folder.path("file"), "").unwrap();
    for path in [folder.path("folder/state"), folder.path("file/state")] {
        let error = StateFile::open(&path, API, NOW).unwrap_err().to_string();
        assert!(
            error.contains(path.to_str().unwrap()) && error.contains(": create its folder"),
            "{error}"
        );
    }
}

#[test]
fn a_lock_that_was_removed_is_taken_anew_or_found_held() {
    let folder = Folder::new();
    let mut first = folder.open().file;
    first.write(&small()).unwrap();
    fs::remove_file(folder.path("state.lock")).unwrap();
    first.write(&Memory::default()).unwrap();
    assert!(StateFile::open(&folder.path("state"), API, NOW).is_err());
    fs::remove_file(folder.path("state.lock")).unwrap();
    let mut second = folder.open().file;
    second.write(&small()).unwrap();
    assert!(matches!(
        first.write(&Memory::default()),
        Err(StateError::Held { .. })
    ));
    assert_eq!(folder.content("state"), encoded(&small()));
}

#[test]
fn a_symbolic_link_stays_and_its_target_is_replaced() {
    let folder = Folder::new();
    fs::create_dir(folder.path("real")).unwrap();
    std::os::unix::fs::symlink("hop", folder.path("state")).unwrap();
    std::os::unix::fs::symlink("real/target", folder.path("hop")).unwrap();
    let mut opened = folder.open();
    assert!(opened.set_aside.is_none());
    opened.file.write(&small()).unwrap();
    assert!(folder.path("state").is_symlink() && folder.path("hop").is_symlink());
    assert_eq!(folder.content("real/target"), encoded(&small()));
    let by_another_way = StateFile::open(&folder.path("real/target"), API, NOW);
    assert!(matches!(by_another_way, Err(StateError::Held { .. })));
}

#[test]
fn a_file_in_the_working_folder_needs_no_folder_in_its_path() {
    assert_eq!(sibling(Path::new("state"), ".tmp"), Path::new("state.tmp"));
    sync_folder(Path::new("state")).unwrap();
    assert_eq!(
        follow_links(Path::new("Cargo.toml")),
        Path::new("Cargo.toml")
    );
}
