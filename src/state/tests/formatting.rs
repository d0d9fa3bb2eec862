//! What a state file looks like, and what is none.

use super::*;
use proptest::{collection, option, prelude::*};

/// What the bytes hold, however late the timestamps are.
fn decode(bytes: &[u8]) -> Result<Memory, DecodeError> {
    format::decode(bytes, API)
}

/// A memory, as a file of its version has it, up to what differs from version to version.
fn documented() -> Memory {
    let languages = vec![reading("de", "German", Reported::Now(clock(50.5, 17)))];
    Memory {
        last_full_poll: Some(Duration::from_nanos(900)),
        repositories: vec![
            Remembered {
                last_attempt: 5,
                ..remembered(7, "owner/repo", Some(languages))
            },
            remembered(8, "owner/b", None),
        ],
        missed: [RepositoryId::new(8).unwrap()].into(),
        departed: departed(7, "fr"),
        falls: Falls::default(),
        problems: Problems::new(),
    }
}

#[test]
fn a_file_is_written_as_the_documentation_says_and_read_again() {
    let mut memory = documented();
    memory.repositories[0].failures = 3;
    memory.falls = fallen(7, "de");
    memory.problems = [("polls_failing".into(), time(17))].into();
    let expected = concat!(
        r#"{"format":"translation-exporter state","version":2,"base_url":"https://api.example.com/","#,
        r#""last_full_poll_ns":900,"repositories":["#,
        r#"{"id":7,"name":"owner/repo","private":true,"created_at":1600000000000,"attempt":5,"failures":3,"#,
        r#""read":{"at":1700000000000,"scale":100.0,"languages":["#,
        r#"{"code":"de","name":"German","completion":50.5,"clock":17}]}},"#,
        r#"{"id":8,"name":"owner/b","private":true,"created_at":1600000000000,"attempt":0,"failures":0,"read":null}],"#,
        r#""missed":[8],"departed":[{"id":7,"code":"fr","completion":12.0,"clock":3,"left_at":4}],"#,
        r#""falls":[{"id":7,"code":"de","from":80.0,"at":5}],"problems":{"polls_failing":17}}"#,
    );
    assert_eq!(String::from_utf8(encoded(&memory)).unwrap(), expected);
    assert_eq!(decode(expected.as_bytes()).unwrap(), memory);
}

#[test]
fn a_file_of_version_1_is_read() {
    let written_by_0_1_0 = concat!(
        r#"{"format":"translation-exporter state","version":1,"base_url":"https://api.example.com/","#,
        r#""last_full_poll_ns":900,"#,
        "\n\"repositories\":[\n",
        r#"{"id":7,"name":"owner/repo","private":true,"created_at":1600000000000,"attempt":5,"read":{"at":1700000000000,"#,
        r#""languages":[{"code":"de","name":"German","completion":50.5,"clock":17}]}},"#,
        "\n",
        r#"{"id":8,"name":"owner/b","private":true,"created_at":1600000000000}"#,
        "\n],\n\"missed\":[8],\n\"departed\":[\n",
        r#"{"id":7,"code":"fr","completion":12.0,"clock":3,"left_at":4}"#,
        "\n],\n\"crc32\":\"ddcdcaf9\"}\n"
    );
    assert_eq!(decode(written_by_0_1_0.as_bytes()).unwrap(), documented());
}

/// Written by the last program that kept neither falls nor problems.
#[test]
fn a_file_of_version_2_without_falls_and_problems_is_read() {
    let memory = decode(include_bytes!("version_2.json")).unwrap();
    let names: Vec<_> = memory
        .repositories
        .iter()
        .map(|kept| (&*kept.repository.name, kept.failures))
        .collect();
    assert_eq!(
        names,
        [("owner/repo", 0), ("owner/b", 0), ("owner/gone", 6)]
    );
    let languages = memory.repositories[0].languages.as_ref().unwrap();
    let reported: Vec<_> = languages.readings.iter().map(|one| one.reported).collect();
    let expected = [
        Reported::Now(clock(50.5, 1_795_370_424_830)),
        Reported::Now(clock(12.0, 1_795_370_423_846)),
        Reported::Before(clock(3.0, 1_795_370_423_846)),
    ];
    assert_eq!(reported, expected);
    let left = [(clock(99.0, 1_795_370_423_846), time(1_795_370_424_830))];
    assert!(memory.departed.values().eq(&left));
    assert_eq!(memory.falls, Falls::default());
    assert_eq!(memory.problems, Problems::new());
}

#[test]
fn as_many_languages_as_were_known_can_be_read_again() {
    let name = "one of more than a client keeps";
    let languages = (0..150_000)
        .map(|n| reading(&format!("{n:06}"), name, Reported::Never))
        .collect();
    let memory = Memory {
        repositories: vec![remembered(7, "owner/repo", Some(languages))],
        ..Memory::default()
    };
    assert_eq!(decode(&encoded(&memory)).unwrap(), memory);
}

#[test]
fn nothing_known_is_a_state_too() {
    let nothing = Memory::default();
    assert_eq!(decode(&encoded(&nothing)).unwrap(), nothing);
}

fn is_damaged<T>(decoded: Result<T, DecodeError>) -> bool {
    decoded.is_err_and(|error| matches!(error, DecodeError::Damaged(_)))
}

#[test]
fn a_file_cut_short_anywhere_or_continued_is_damaged() {
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
    assert!(matches!(refused, Err(DecodeError::OtherFormat)));
    let newer = other.replacen("\"version\":2", "\"version\":3", 1);
    let refused = decode(newer.as_bytes());
    assert!(matches!(refused, Err(DecodeError::OtherFormat)));
}

/// A file with these entries.
fn with(repositories: &str, departed: &str) -> Result<Memory, DecodeError> {
    let text = format!(
        r#"{{"format":"translation-exporter state","version":2,"base_url":"{API}","new":[{{}}],"repositories":[{repositories}],"departed":[{departed}]}}"#
    );
    decode(text.as_bytes())
}

#[test]
fn unknown_fields_are_ignored() {
    assert_eq!(
        with(r#"{"id":1,"name":"a/b","new":[[{"id":0}]]}"#, "")
            .unwrap()
            .repositories
            .len(),
        1
    );
}

#[test]
fn no_impossible_value_gets_in() {
    let language = |language: &str| {
        with(
            &format!(r#"{{"id":1,"name":"a/b","read":{{"at":1,"languages":[{language}]}}}}"#),
            "",
        )
    };
    assert!(
        with(
            r#"{"id":1,"name":"a/b"},{"id":9223372036854775807,"name":"c"}"#,
            ""
        )
        .is_ok()
    );
    assert!(language(r#"{"code":"de"},{"code":"fr","completion":1,"clock":1}"#).is_ok());
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
        assert!(is_damaged(with(entry, "")), "{entry}");
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
    ] {
        assert!(is_damaged(language(entry)), "{entry}");
    }
    for entry in [
        r#"{"id":0,"code":"de","completion":1,"clock":1,"left_at":1}"#,
        r#"{"id":1,"code":"de","completion":null,"clock":1,"left_at":1}"#,
        r#"{"id":1,"code":"de","completion":1,"clock":1}"#,
    ] {
        assert!(is_damaged(with("", entry)), "{entry}");
    }
    for entry in [
        r#"{"id":0,"code":"de","from":1,"at":1}"#,
        r#"{"id":1,"code":"de","from":null,"at":1}"#,
        r#"{"id":1,"code":"de","from":1}"#,
    ] {
        let text = format!(
            r#"{{"format":"translation-exporter state","version":2,"base_url":"{API}","repositories":[],"departed":[],"falls":[{entry}]}}"#
        );
        assert!(is_damaged(decode(text.as_bytes())), "{entry}");
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

fn any_progress() -> impl Strategy<Value = Progress> {
    (any_completion(), any_time()).prop_map(|(completion, at)| Progress { completion, at })
}

fn any_languages() -> impl Strategy<Value = Arc<Languages>> {
    let reported = prop_oneof![
        Just(Reported::Never),
        any_progress().prop_map(Reported::Before),
        any_progress().prop_map(Reported::Now)
    ];
    let fields = (any::<String>(), reported);
    let readings = collection::btree_map(any_text(), fields, 0..6);
    (any_time(), readings).prop_map(|(read_at, readings)| {
        let readings = readings
            .into_iter()
            .map(|(code, (name, reported))| super::reading(&code, &name, reported));
        Arc::new(Languages {
            read_at,
            scale: 100.0,
            readings: readings.collect(),
        })
    })
}

fn any_memory() -> impl Strategy<Value = Memory> {
    let private = prop_oneof![Just(Some(false)), Just(Some(true)), Just(None)];
    let repository = (
        any_text(),
        private,
        option::of(any_time()),
        any::<u64>(),
        any::<u32>(),
        option::of(any_languages()),
    );
    let repositories = collection::btree_map(1..=RepositoryId::MAX, repository, 0..5);
    let key = (1..=RepositoryId::MAX, any_text())
        .prop_map(|(id, code)| (RepositoryId::new(id).unwrap(), code.into()));
    let departed = collection::btree_map(key, (any_progress(), any_time()), 0..5);
    let took = option::of(any::<u64>().prop_map(Duration::from_nanos));
    let missed = collection::btree_set(
        (1..=RepositoryId::MAX).prop_map(|id| RepositoryId::new(id).unwrap()),
        0..5,
    );
    let problems = collection::btree_map(any_text().prop_map(Into::into), any_time(), 0..5);
    let falls = collection::vec((1..=RepositoryId::MAX, any_text(), any_progress()), 0..5)
        .prop_map(|entries| {
            let mut falls = Falls::default();
            for (
                id,
                code,
                Progress {
                    completion: from,
                    at,
                },
            ) in entries
            {
                falls.insert(
                    RepositoryId::new(id).unwrap(),
                    code.into(),
                    Fall { from, at },
                );
            }
            falls
        });
    (took, repositories, missed, departed, falls, problems).prop_map(
        |(last_full_poll, repositories, missed, departed, falls, problems)| Memory {
            last_full_poll,
            repositories: repositories
                .into_iter()
                .map(
                    |(id, (name, private, created_at, last_attempt, failures, languages))| {
                        let id = RepositoryId::new(id).unwrap();
                        let repository = Repository {
                            id,
                            name: name.into(),
                            private,
                            created_at,
                        };
                        Remembered {
                            repository: Arc::new(repository),
                            last_attempt,
                            failures,
                            languages,
                        }
                    },
                )
                .collect(),
            missed,
            departed,
            falls,
            problems,
        },
    )
}

proptest! {
    #[test]
    fn whatever_is_remembered_is_read_back_bit_for_bit(memory in any_memory(), base_url in any::<String>()) {
        let mut bytes = Vec::new();
        format::encode(&memory, &base_url, &mut bytes).unwrap();
        let decoded = format::decode(&bytes, &base_url).unwrap();
        // As text, in which 0 and -0 differ.
        prop_assert_eq!(format!("{:?}", decoded), format!("{memory:?}"));
    }
}

#[test]
fn a_write_that_fails_for_want_of_room_says_so() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(
        format::encode(&small(), API, full).unwrap_err().kind(),
        ErrorKind::StorageFull
    );
}

#[test]
fn languages_that_recur_are_kept_once() {
    let repositories = (1..=2).map(|id| {
        remembered(
            id,
            "a/b",
            Some(vec![reading("de", "German", Reported::Never)]),
        )
    });
    let memory = Memory {
        repositories: repositories.collect(),
        ..Memory::default()
    };
    let read = decode(&encoded(&memory)).unwrap();
    let of = |n: usize| &read.repositories[n].languages.as_ref().unwrap().readings[0].language;
    assert!(Arc::ptr_eq(of(0), of(1)));
}
