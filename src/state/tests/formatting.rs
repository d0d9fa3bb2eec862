//! The format of the state file, and bytes that are no state file.

use super::*;
use crate::domain::{
    Language,
    record::{Known, Past},
};
use proptest::{collection, option, prelude::*};

fn decode(bytes: &[u8]) -> Result<SavedState, FormatError> {
    format::decode(bytes, API)
}

/// Returns a state with the fields that all versions of the file have.
fn documented() -> SavedState {
    SavedState {
        repositories: vec![
            SavedRepository {
                last_attempt: 5,
                ..saved_repository(
                    7,
                    "owner/repo",
                    Some(vec![record("de", "German", 50.5, 17)]),
                )
            },
            saved_repository(8, "owner/b", None),
        ],
        missed: [RepositoryId::new(8).unwrap()].into(),
        departed: departed(7, record("fr", "", 12.0, 3)),
        ..SavedState::default()
    }
}

/// Returns [`documented`] with failures and a fall.
fn with_a_fall() -> SavedState {
    let german = fallen(record("de", "German", 50.5, 17));
    let read = SavedRepository {
        last_attempt: 5,
        failures: 3,
        failing_since: Some(time(16)),
        ..saved_repository(7, "owner/repo", Some(vec![german]))
    };
    let documented = documented();
    SavedState {
        repositories: vec![read, documented.repositories[1].clone()],
        ..documented
    }
}

#[test]
fn the_documented_format_is_written_and_read() {
    let mut saved = with_a_fall();
    saved.last_success_at = Some(time(18));
    saved.last_well_at = Some(time(19));
    let read = Arc::get_mut(saved.repositories[0].languages.as_mut().unwrap()).unwrap();
    let records = Arc::get_mut(&mut read.records).unwrap();
    let past = records[0].past.as_mut().unwrap();
    past.latest = Some(earlier(40.0, 15));
    past.previous = Some(earlier(30.0, 14));
    let expected = concat!(
        r#"{"format":"translation-exporter state","version":2,"#,
        r#""base_url":"https://api.example.com/","last_success_at":18,"last_well_at":19,"#,
        r#""repositories":["#,
        r#"{"id":7,"name":"owner/repo","private":true,"created_at":1600000000000,"attempt":5,"#,
        r#""failures":3,"failing_since":16,"read":{"at":1700000000000,"languages":["#,
        r#"{"code":"de","name":"German","completion":50.5,"clock":17,"#,
        r#""latest":{"completion":40.0,"at":15},"previous":{"completion":30.0,"at":14},"#,
        r#""fall":{"from":80.0,"at":5}}]}},"#,
        r#"{"id":8,"name":"owner/b","private":true,"created_at":1600000000000,"attempt":0,"#,
        r#""failures":0,"read":null}],"#,
        r#""missed":[8],"#,
        r#""departed":[{"id":7,"code":"fr","name":"","completion":12.0,"clock":3,"left_at":4}]}"#,
    );
    assert_eq!(String::from_utf8(encoded(&saved)).unwrap(), expected);
    assert_eq!(decode(expected.as_bytes()).unwrap(), saved);
}

#[test]
fn a_file_of_version_1_is_read() {
    let written_by_0_1_0 = concat!(
        r#"{"format":"translation-exporter state","version":1,"#,
        r#""base_url":"https://api.example.com/","last_full_poll_ns":900,"#,
        "\n\"repositories\":[\n",
        r#"{"id":7,"name":"owner/repo","private":true,"created_at":1600000000000,"attempt":5,"#,
        r#""read":{"at":1700000000000,"#,
        r#""languages":[{"code":"de","name":"German","completion":50.5,"clock":17}]}},"#,
        "\n",
        r#"{"id":8,"name":"owner/b","private":true,"created_at":1600000000000}"#,
        "\n],\n\"missed\":[8],\n\"departed\":[\n",
        r#"{"id":7,"code":"fr","completion":12.0,"clock":3,"left_at":4}"#,
        "\n],\n\"crc32\":\"ddcdcaf9\"}\n"
    );
    assert_eq!(decode(written_by_0_1_0.as_bytes()).unwrap(), documented());
}

#[test]
fn a_file_of_version_2_without_falls_is_read() {
    // The last commit before falls wrote this file.
    let saved = decode(include_bytes!("version_2.json")).unwrap();
    let names: Vec<_> = saved
        .repositories
        .iter()
        .map(|kept| (&*kept.repository.name, kept.failures))
        .collect();
    assert_eq!(
        names,
        [("owner/repo", 0), ("owner/b", 0), ("owner/gone", 6)]
    );
    let languages = saved.repositories[0].languages.as_ref().unwrap();
    let expected = [
        record("de", "German", 50.5, 1_795_370_424_830),
        record("fr", "", 12.0, 1_795_370_423_846),
        unreported("nl", "Dutch", 3.0, 1_795_370_423_846),
    ];
    assert_eq!(*languages.records, expected);
    let mut left = record("it", "", 99.0, 1_795_370_423_846);
    left.leave(time(1_795_370_424_830));
    assert!(saved.departed.values().eq([&left]));
    assert_eq!(saved.last_well_at, None);
}

#[test]
fn a_repository_may_have_150_000_languages() {
    let name = "one of more than a client keeps";
    let languages = (0..150_000)
        .map(|n| unknown(&format!("{n:06}"), name))
        .collect();
    let saved = SavedState {
        repositories: vec![saved_repository(7, "owner/repo", Some(languages))],
        ..SavedState::default()
    };
    assert_eq!(decode(&encoded(&saved)).unwrap(), saved);
}

#[test]
fn an_empty_memory_is_a_state() {
    let nothing = SavedState::default();
    assert_eq!(decode(&encoded(&nothing)).unwrap(), nothing);
}

fn is_damaged<T>(decoded: Result<T, FormatError>) -> bool {
    decoded.is_err_and(|error| matches!(error, FormatError::Damaged(_)))
}

#[test]
fn a_truncated_or_continued_file_is_damaged() {
    let whole = encoded(&small());
    for length in 0..whole.len() {
        assert!(is_damaged(decode(&whole[..length])), "cut to {length}");
    }
    assert!(is_damaged(decode(&[&whole[..], b"}"].concat())));
    assert!(is_damaged(decode(&[&whole[..], &whole[..]].concat())));
    for foreign in ["{}", "root:x:0:0:root", "[", "\n"] {
        assert!(is_damaged(decode(foreign.as_bytes())), "{foreign}");
    }
}

#[test]
fn a_file_of_another_format_is_refused() {
    let bytes = String::from_utf8(encoded(&small())).unwrap();
    let other = bytes.replacen("translation-exporter state", "another state", 1);
    let refused = decode(other.as_bytes());
    assert!(matches!(refused, Err(FormatError::OtherFormat)));
    let newer = other.replacen("\"version\":2", "\"version\":3", 1);
    let refused = decode(newer.as_bytes());
    assert!(matches!(refused, Err(FormatError::OtherFormat)));
}

/// Decodes a file with these entries and `more` fields.
fn with(repositories: &str, departed: &str, more: &str) -> Result<SavedState, FormatError> {
    let text = format!(
        r#"{{"format":"translation-exporter state","version":2,"base_url":"{API}",{more}
        "repositories":[{repositories}],"departed":[{departed}]}}"#
    );
    decode(text.as_bytes())
}

fn with_repositories(entries: &str) -> Result<SavedState, FormatError> {
    with(entries, "", "")
}

fn with_languages(entries: &str) -> Result<SavedState, FormatError> {
    with_repositories(&format!(
        r#"{{"id":1,"name":"a/b","read":{{"at":1,"languages":[{entries}]}}}}"#
    ))
}

#[test]
fn unknown_fields_are_ignored() {
    let entry = r#"{"id":1,"name":"a/b","new":[[{"id":0}]]}"#;
    let saved = with(entry, "", r#""new":[{}],"#).unwrap();
    assert_eq!(saved.repositories.len(), 1);
}

#[test]
fn an_impossible_value_is_damage() {
    let possible = r#"{"id":1,"name":"a/b"},{"id":9223372036854775807,"name":"c"}"#;
    assert!(with_repositories(possible).is_ok());
    let possible = r#"{"code":"de"},{"code":"fr","completion":1,"clock":1}"#;
    assert!(with_languages(possible).is_ok());
    for entry in [
        r#"{"id":0,"name":"a/b"}"#,
        r#"{"id":9223372036854775808,"name":"a/b"}"#,
        r#"{"id":-1,"name":"a/b"}"#,
        r#"{"id":1.5,"name":"a/b"}"#,
        r#"{"id":"1","name":"a/b"}"#,
        r#"{"id":1}"#,
        r#"{"id":1,"id":1,"name":"a/b"}"#,
        r#"{"id":1,"name":"\ud800"}"#,
        "null",
    ] {
        assert!(is_damaged(with_repositories(entry)), "{entry}");
    }
    for entry in [
        r#"{"name":"German"}"#,
        r#"{"code":"de"},{"code":"de"}"#,
        r#"{"code":"fr"},{"code":"de"}"#,
        r#"{"code":"de","completion":1e400}"#,
        r#"{"code":"de","completion":"1"}"#,
        r#"{"code":"de","completion":NaN}"#,
        r#"{"code":"de","clock":1}"#,
        r#"{"code":"de","completion":1,"clock_completion":1}"#,
        r#"{"code":"de","completion":1,"clock":1e3}"#,
        r#"{"code":"de","completion":1,"clock":1,"latest":{"completion":null,"at":1}}"#,
        r#"{"code":"de","completion":1,"clock":1,"fall":{"from":2}}"#,
    ] {
        assert!(is_damaged(with_languages(entry)), "{entry}");
    }
    for entry in [
        r#"{"id":0,"code":"de","completion":1,"clock":1,"left_at":1}"#,
        r#"{"id":1,"code":"de","completion":null,"clock":1,"left_at":1}"#,
        r#"{"id":1,"code":"de","completion":1,"clock":1}"#,
        r#"{"id":1,"code":"de","left_at":1}"#,
        r#"{"id":1,"code":"de","completion":1,"clock":1e3,"left_at":1}"#,
    ] {
        assert!(is_damaged(with("", entry, "")), "{entry}");
    }
    for fall in [r#"{"from":null,"at":1}"#, r#"{"from":1}"#] {
        let entry =
            format!(r#"{{"id":1,"code":"de","completion":1,"clock":1,"fall":{fall},"left_at":1}}"#);
        assert!(is_damaged(with("", &entry, "")), "{fall}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z]{2}(-[A-Z]{2})?"]
        .prop_filter("not empty", |text| !text.is_empty())
}

fn any_completion() -> impl Strategy<Value = Completion> {
    let any_bits =
        any::<u64>().prop_filter_map("finite", |bits| Completion::new(f64::from_bits(bits)));
    let usual = (0.0..=100.0).prop_filter_map("finite", Completion::new);
    prop_oneof![any_bits, usual, Just(Completion::new(-0.0).unwrap())]
}

fn any_time() -> impl Strategy<Value = Timestamp> {
    (-377_705_023_201_000..=253_402_207_200_999_i64).prop_map(Timestamp::from_millis)
}

fn any_earlier() -> impl Strategy<Value = Reading> {
    (any_completion(), any_time()).prop_map(|(completion, at)| Reading { completion, at })
}

fn any_past() -> impl Strategy<Value = Past> {
    let earlier = || option::of(any_earlier());
    (earlier(), earlier(), earlier()).prop_map(|(latest, previous, fall)| Past {
        latest,
        previous,
        fall: fall.map(|Reading { completion, at }| Fall {
            from: completion,
            at,
        }),
        left_at: None,
    })
}

fn any_record() -> impl Strategy<Value = Record> {
    let known = (any_completion(), any_time(), any::<bool>());
    let known = known.prop_map(|(completion, progress_at, is_reported)| Known {
        completion,
        progress_at,
        is_reported,
    });
    (any::<String>(), option::of(known), option::of(any_past())).prop_map(|(name, known, past)| {
        let past = past.filter(|past| *past != Past::default());
        Record {
            known,
            past: past.map(Box::new),
            ..unknown("", &name)
        }
    })
}

/// Gives a record the code under which it is kept.
fn coded(code: &str, record: Record) -> Record {
    let Language { name, .. } = (*record.language).clone();
    Record {
        language: unknown(code, &name).language,
        ..record
    }
}

fn any_languages() -> impl Strategy<Value = Arc<Languages>> {
    let records = collection::btree_map(any_text(), any_record(), 0..6);
    (any_time(), records).prop_map(|(read_at, records)| {
        let records = records.into_iter();
        Arc::new(Languages {
            read_at,
            records: records.map(|(code, record)| coded(&code, record)).collect(),
        })
    })
}

fn any_id() -> impl Strategy<Value = RepositoryId> {
    (1..=RepositoryId::MAX).prop_map(|id| RepositoryId::new(id).unwrap())
}

fn any_repository() -> impl Strategy<Value = SavedRepository> {
    let private = prop_oneof![Just(Some(false)), Just(Some(true)), Just(None)];
    let repository = (any_id(), any_text(), private, option::of(any_time())).prop_map(
        |(id, name, private, created_at)| Repository {
            id,
            name: name.into(),
            private,
            created_at,
        },
    );
    let languages = option::of(any_languages());
    let failures = (any::<u32>(), option::of(any_time()));
    (repository, any::<u64>(), failures, languages).prop_map(
        |(repository, last_attempt, (failures, failing_since), languages)| SavedRepository {
            repository: Arc::new(repository),
            last_attempt,
            failures,
            failing_since,
            languages,
        },
    )
}

fn any_state() -> impl Strategy<Value = SavedState> {
    let repositories = collection::vec(any_repository(), 0..5);
    let missed = collection::btree_set(any_id(), 0..5);
    let known = any_record().prop_filter("has a clock", |record| record.known.is_some());
    let departed = collection::btree_map((any_id(), any_text()), (known, any_time()), 0..5);
    let polls = (option::of(any_time()), option::of(any_time()));
    (polls, repositories, missed, departed).prop_map(
        |((last_success_at, last_well_at), repositories, missed, departed)| SavedState {
            last_success_at,
            last_well_at,
            repositories,
            missed,
            departed: departed
                .into_iter()
                .map(|((id, code), (record, left_at))| {
                    let mut record = coded(&code, record);
                    record.leave(left_at);
                    ((id, code.into()), record)
                })
                .collect(),
        },
    )
}

proptest! {
    #[test]
    fn any_memory_is_read_back_bit_for_bit(
        saved in any_state(),
        base_url in any::<String>(),
    ) {
        let mut bytes = Vec::new();
        format::encode(&saved, &base_url, &mut bytes).unwrap();
        let decoded = format::decode(&bytes, &base_url).unwrap();
        // Debug texts tell 0 from -0.
        prop_assert_eq!(format!("{:?}", decoded), format!("{saved:?}"));
    }
}

#[test]
fn a_full_disk_fails_the_encoding_with_its_reason() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(
        format::encode(&small(), API, full).unwrap_err().kind(),
        ErrorKind::StorageFull
    );
}

#[test]
fn equal_languages_share_one_allocation() {
    let repositories =
        (1..=2).map(|id| saved_repository(id, "a/b", Some(vec![unknown("de", "German")])));
    let saved = SavedState {
        repositories: repositories.collect(),
        ..SavedState::default()
    };
    let read = decode(&encoded(&saved)).unwrap();
    let of = |n: usize| &read.repositories[n].languages.as_ref().unwrap().records[0].language;
    assert!(Arc::ptr_eq(of(0), of(1)));
}
