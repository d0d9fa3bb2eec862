//! The state file on the disk. Tests of its format are in [`formatting`].

mod formatting;

use super::*;
use crate::{
    domain::{
        Completion, Repository, RepositoryId,
        history::{Day, MOST_SEEN, Past, Seen},
        record::{KeptRepository, Record},
    },
    testing,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{os::unix::fs::PermissionsExt, sync::Arc};
use tempfile::TempDir;

const API: &str = "https://api.example.com/";
const NOW: Timestamp = Timestamp::from_millis(1_763_689_376_000);

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn unknown(code: &str, name: &str) -> Record {
    testing::record_of(code, name, None, time(0))
}

fn record(code: &str, name: &str, completion: f64, progress_at: i64) -> Record {
    testing::record_of(code, name, Some(completion), time(progress_at))
}

/// Makes a record whose last response had no completion.
fn unreported(code: &str, name: &str, completion: f64, progress_at: i64) -> Record {
    let mut record = record(code, name, completion, progress_at);
    testing::observe(&mut record, None, time(0));
    record
}

/// Adds a fall from 80 to a record.
fn fallen(mut record: Record) -> Record {
    let history = record.history.as_mut().unwrap();
    let higher = Completion::new(80.0).unwrap();
    history.past = Some(Arc::new(Past {
        seen: [Seen {
            completion: higher,
            until: time(1_649_900_000_000),
        }; MOST_SEEN],
        date: time(1_649_894_400_000),
        days: vec![Day {
            end: higher,
            gained: 7.5,
        }],
    }));
    record
}

fn kept(id: u64, name: &str, records: Option<Vec<Record>>) -> (RepositoryId, KeptRepository) {
    let repository = Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        private: Some(true),
        created_at: Some(time(1_600_000_000_000)),
    };
    let kept = KeptRepository {
        read_at: records.as_ref().map(|_| time(1_700_000_000_000)),
        records: records.unwrap_or_default().into(),
        ..KeptRepository::new(Arc::new(repository))
    };
    (kept.repository.id, kept)
}

/// Returns a state with every kind of entry.
fn small() -> SavedState {
    let languages = vec![
        fallen(record("de", "German", 50.5, 1_650_000_000_000)),
        unreported("fr", "", 12.0, 1),
        unknown("nl", "Dutch \u{0}\"\\\u{2028}\u{1f980}"),
    ];
    let left = Record {
        left_at: Some(time(4)),
        ..record("it", "Italian", 12.0, 3)
    };
    SavedState {
        last_success_at: Some(time(6)),
        repositories: [
            kept(7, "owner/repo", Some(languages)),
            kept(RepositoryId::MAX, "owner/b", None),
        ]
        .into(),
        missed: [RepositoryId::new(7).unwrap()].into(),
        gone: [kept(9, "owner/gone", Some(vec![left]))].into(),
        has_zeros: true,
        attempts: 7,
    }
}

fn encoded(saved: &SavedState) -> Vec<u8> {
    let mut bytes = Vec::new();
    format::encode(saved, API, &mut bytes).unwrap();
    bytes
}

type Opened = (StateFile, Result<Option<SavedState>, String>);

fn open(path: &Path) -> Result<Opened, Failure> {
    StateFile::open(path, API, NOW)
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
        open(&self.path("state")).unwrap()
    }
    fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

#[test]
fn a_file_larger_than_any_state_is_left_alone_without_being_read() {
    let folder = Folder::new();
    let path = folder.path("state");
    // A sparse file takes no space on the disk; reading a terabyte would take all memory.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let refused = open(&path).unwrap_err().to_string();
    let part = "it is larger than 256 MiB; ";
    assert!(refused.contains(part), "{refused}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 40);
}

#[test]
fn a_first_start_is_empty_and_the_next_one_remembers() {
    let folder = Folder::new();
    let (file, saved) = folder.open();
    assert_eq!(saved, Ok(None));
    file.write(&SavedState::default()).unwrap();
    file.write(&small()).unwrap();
    drop(file);
    let (_file, saved) = folder.open();
    assert_eq!(saved, Ok(Some(small())));
    assert_eq!(folder.names(), ["state", "state.lock"]);
}

#[test]
fn only_the_user_of_the_exporter_may_read_its_files() {
    let folder = Folder::new();
    fs::write(folder.path("state"), encoded(&small())).unwrap();
    fs::set_permissions(folder.path("state"), fs::Permissions::from_mode(0o666)).unwrap();
    folder.open().0.write(&small()).unwrap();
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
#[ignore = "slow: it encodes 256 MiB"]
fn a_larger_state_is_not_written_and_leaves_the_stored_one() {
    let folder = Folder::new();
    let file = folder.open().0;
    file.write(&small()).unwrap();
    let name = "x".repeat(1 << 20);
    let records = (0..256)
        .map(|code| unknown(&code.to_string(), &name))
        .collect();
    let refused = file.write(&SavedState {
        repositories: [kept(7, "owner/repo", Some(records))].into(),
        ..SavedState::default()
    });
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("file too large"), "{refused}");
    assert_eq!(folder.content("state"), encoded(&small()));
    assert_eq!(folder.names(), ["state", "state.lock"]);
}

#[test]
fn a_damaged_or_outdated_state_is_set_aside_and_never_overwritten() {
    let older = br#"{"version":2,"base_url":""}"#;
    for (bytes, reason) in [
        (
            &older[..],
            "it has version 2 of the format, and this program reads version 8",
        ),
        (
            br#"{"version":"s3cret"}"#,
            "it is damaged at line 1, column ",
        ),
        (
            &encoded(&small())[..100],
            "it is damaged at line 1, column ",
        ),
        (&[0; 100], "it is damaged at line 1, column 1"),
    ] {
        let folder = Folder::new();
        fs::write(folder.path("state"), bytes).unwrap();
        let (file, saved) = folder.open();
        let aside = "state.set-aside-20251121T014256Z";
        let message = saved.unwrap_err();
        assert!(
            message.contains(reason) && message.contains(aside) && !message.contains("s3cret"),
            "{message}"
        );
        assert!(!folder.path("state").exists());
        file.write(&small()).unwrap();
        assert_eq!(folder.content(aside), bytes);
        assert_eq!(folder.names().len(), 3);
    }
}

#[test]
fn any_other_file_stays_where_it_is_and_is_not_quoted() {
    let mut other_api = Vec::new();
    format::encode(&small(), "https://other.example.com/", &mut other_api).unwrap();
    for (bytes, reason) in [
        (
            &br#"{"version":9,"more":[{}]}"#[..],
            "it has version 9 of the format, and this program reads version 8; run the newer version",
        ),
        (
            &other_api,
            "it is the state of https://other.example.com/, not of api.base_url; set state.file to \
             another file; if this is the same API by another name, correct the base_url",
        ),
        (
            b"s3cret",
            "it is no state file; set state.file to another file",
        ),
        (b"\"s3cret\"", "it is no state file"),
        (b"-----BEGIN PRIVATE KEY-----s3cret", "it is no state file"),
        (b"api: {key: s3cret}", "it is no state file"),
        (b"\0\0s3cret", "it is no state file"),
        (
            br#"{ "version": 2, "of": "s3cret" }"#,
            "it is no state file",
        ),
    ] {
        let folder = Folder::new();
        fs::write(folder.path("state"), bytes).unwrap();
        let error = open(&folder.path("state")).unwrap_err();
        assert_eq!(
            StateFile::check_content(&folder.path("state"), API),
            Err(error.clone())
        );
        let error = error.to_string();
        assert!(
            error.contains(reason) && !error.contains("s3cret"),
            "{error}"
        );
        assert_eq!(folder.content("state"), bytes);
        assert_eq!(folder.names(), ["state", "state.lock"]);
    }
}

#[test]
fn a_link_that_leads_nowhere_stays_where_it_is() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("volume/state", folder.path("state")).unwrap();
    let error = open(&folder.path("state")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the symbolic link leads to no file"),
        "{error}"
    );
    assert_eq!(folder.names(), ["state"]);
}

#[test]
fn a_damaged_file_that_cannot_be_moved_stays_where_it_is() {
    let folder = Folder::new();
    // Nobody, not even root, can append to a name of 255 bytes; 250 leave room for the lock only.
    let name = "s".repeat(250);
    fs::write(folder.path(&name), [0]).unwrap();
    let error = open(&folder.path(&name)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot set aside the state file /"),
        "{error}"
    );
    assert_eq!(folder.content(&name), [0]);
}

#[test]
fn a_second_opening_is_refused_with_the_name_of_the_file() {
    let folder = Folder::new();
    let first = folder.open();
    let error = open(&folder.path("state")).unwrap_err();
    assert!(error.what.contains("is in use by another process"));
    assert!(
        error
            .to_string()
            .contains(folder.path("state").to_str().unwrap()),
        "{error}"
    );
    drop(first);
    drop(folder.open());
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
        let error = open(&path).unwrap_err();
        assert!(
            error.what.starts_with("cannot use the state file"),
            "{error}"
        );
    }
    assert_eq!(folder.names(), ["state"]);
}

#[test]
fn a_temporary_file_of_a_killed_process_is_removed() {
    let folder = Folder::new();
    fs::write(folder.path("state"), encoded(&small())).unwrap();
    fs::write(folder.path("state.tmp"), "{\"format\":").unwrap();
    fs::write(folder.path("state.tmp.mine"), "not ours").unwrap();
    assert_eq!(folder.open().1, Ok(Some(small())));
    assert_eq!(folder.names(), ["state", "state.lock", "state.tmp.mine"]);
}

#[test]
fn a_missing_folder_is_refused() {
    let folder = Folder::new();
    fs::write(folder.path("file"), "").unwrap();
    for path in [folder.path("folder/state"), folder.path("file/state")] {
        let error = open(&path).unwrap_err().to_string();
        assert!(
            error.contains(&*path.to_string_lossy()) && error.contains("need a folder that exists"),
            "{error}"
        );
    }
}

#[test]
fn a_symbolic_link_stays_and_its_target_is_replaced() {
    let folder = Folder::new();
    fs::create_dir(folder.path("real")).unwrap();
    fs::write(folder.path("real/target"), encoded(&small())).unwrap();
    std::os::unix::fs::symlink("hop", folder.path("state")).unwrap();
    std::os::unix::fs::symlink("real/target", folder.path("hop")).unwrap();
    let (file, saved) = folder.open();
    assert!(saved.is_ok());
    file.write(&small()).unwrap();
    assert!(folder.path("state").is_symlink() && folder.path("hop").is_symlink());
    assert_eq!(folder.content("real/target"), encoded(&small()));
    let by_another_way = open(&folder.path("real/target"));
    let held = by_another_way.unwrap_err();
    assert!(held.what.contains("is in use by another process"));
}

/// A pipe without a reader would block for ever, and a link could lead anywhere.
#[test]
fn a_lock_that_is_no_file_is_refused_at_once() {
    for kind in ["pipe", "link", "folder"] {
        let folder = Folder::new();
        let lock = folder.path("state.lock");
        match kind {
            // A process beside it would hold the locks of other tests until it starts.
            "pipe" => mknodat(CWD, &lock, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            "link" => std::os::unix::fs::symlink(folder.path("elsewhere"), &lock).unwrap(),
            _ => fs::create_dir(&lock).unwrap(),
        }
        let state = folder.path("state");
        let used = &mut UsedFiles::new();
        let checked = StateFile::check(&state, used).map(drop);
        for refused in [open(&state).map(drop), checked] {
            let error = refused.unwrap_err().to_string();
            assert!(
                error.contains("state.file and its lock need"),
                "{kind}: {error}"
            );
        }
        assert!(!folder.path("elsewhere").exists());
    }
}
