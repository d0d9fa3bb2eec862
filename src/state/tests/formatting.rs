//! What a state file looks like, and what is none.

use super::*;
use crate::state::format::OPENING;
use proptest::{collection, option, prelude::*};

/// What the bytes hold, however late the timestamps are.
fn decode(bytes: &[u8]) -> Result<Memory, String> {
    format::decode(bytes, API)
}

/// The text with a checksum that fits, so that what is wrong with the content is found by reading it.
fn sealed(text: &str) -> Vec<u8> {
    format!(
        "{text}\n\"crc32\":\"{:08x}\"}}\n",
        crc32fast::hash(text.as_bytes())
    )
    .into_bytes()
}

#[test]
fn a_file_of_version_1_is_written_as_the_documentation_says_and_read_again() {
    let read = remembered(
        7,
        "owner/repo",
        Some(vec![reading(
            "de",
            "German",
            Reported::Now(clock(50.5, 17)),
        )]),
    );
    let memory = Memory {
        last_full_poll: Some(Duration::from_nanos(900)),
        repositories: vec![
            Remembered {
                last_attempt: 5,
                failures: 3,
                ..read
            },
            remembered(8, "owner/b", None),
        ],
        missed: [RepositoryId::new(8).unwrap()].into(),
        departed: departed(7, "fr"),
    };
    let expected = concat!(
        r#"{"format":"translation-exporter state","version":1,"base_url":"https://api.example.com/","#,
        r#""last_full_poll_ns":900,"#,
        "\n\"repositories\":[\n",
        r#"{"id":7,"name":"owner/repo","private":true,"created_at":1600000000000,"attempt":5,"failures":3,"read":{"at":1700000000000,"#,
        r#""languages":[{"code":"de","name":"German","completion":50.5,"clock":17}]}},"#,
        "\n",
        r#"{"id":8,"name":"owner/b","private":true,"created_at":1600000000000}"#,
        "\n],\n\"missed\":[8],\n\"departed\":[\n",
        r#"{"id":7,"code":"fr","completion":12.0,"clock":3,"left_at":4}"#,
        "\n],\n\"crc32\":\"2cd5c2de\"}\n"
    );
    assert_eq!(String::from_utf8(encoded(&memory)).unwrap(), expected);
    assert_eq!(decode(expected.as_bytes()), Ok(memory));
}

#[test]
fn nothing_known_is_a_state_too() {
    assert_eq!(decode(&encoded(&Memory::default())), Ok(Memory::default()));
}

#[test]
fn a_file_cut_short_anywhere_is_damaged() {
    let whole = encoded(&small());
    for length in 0..whole.len() {
        let error = decode(&whole[..length]).unwrap_err();
        assert!(
            error.starts_with("it is damaged"),
            "cut to {length}: {error}"
        );
    }
}

#[test]
fn a_single_wrong_bit_anywhere_is_noticed() {
    let mut bytes = encoded(&small());
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(decode(&bytes).is_ok());
}

#[test]
fn what_is_appended_or_doubled_is_noticed() {
    let whole = encoded(&small());
    assert!(is_damaged(decode(&[&whole[..], b"\n"].concat())));
    assert!(is_damaged(decode(&[&whole[..], &whole[..]].concat())));
}

#[test]
fn other_versions_and_other_programs_are_told_apart() {
    let version = |version: &str| decode(format!("{OPENING}{version}").as_bytes()).unwrap_err();
    for (later, number) in [
        ("2,\"anything\":[[[", "2"),
        ("18446744073709551615}", "18446744073709551615"),
    ] {
        let error = version(later);
        assert!(error.contains(&format!("version {number} ")), "{error}");
    }
    for wrong in [
        "0,",
        "\"1\",",
        "-1,",
        "99999999999999999999,",
        "1",
        "1,",
        "",
    ] {
        assert!(version(wrong).starts_with("it is damaged"), "{wrong}");
    }
    for foreign in ["{}", "root:x:0:0:root", "\u{feff}{\"format\"", "[", "\n"] {
        assert!(
            decode(foreign.as_bytes())
                .unwrap_err()
                .starts_with("it does not begin"),
            "{foreign}"
        );
    }
}

fn is_damaged<T: std::fmt::Debug>(decoded: Result<T, String>) -> bool {
    decoded.unwrap_err().starts_with("it is damaged")
}

/// A sealed file with these entries.
fn with(repositories: &str, departed: &str) -> Result<Memory, String> {
    let text = format!(
        r#"{OPENING}1,"base_url":"{API}","new":[{{}}],"repositories":[{repositories}],"departed":[{departed}],"#
    );
    decode(&sealed(&text))
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
        r#"{"id":1,"name":""}"#,
        r#"{"id":1}"#,
        r#"{"id":1,"id":1,"name":"a/b"}"#,
        r#"{"id":1,"name":"\ud800"}"#,
        "null",
    ] {
        assert!(is_damaged(with(entry, "")), "{entry}");
    }
    for entry in [
        r#"{"code":""}"#,
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
            readings: readings.collect(),
        })
    })
}

fn any_memory() -> impl Strategy<Value = Memory> {
    let visibility = prop_oneof![
        Just(Visibility::Public),
        Just(Visibility::Private),
        Just(Visibility::Unknown)
    ];
    let repository = (
        any_text(),
        visibility,
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
    (took, repositories, missed, departed).prop_map(
        |(last_full_poll, repositories, missed, departed)| Memory {
            last_full_poll,
            repositories: repositories
                .into_iter()
                .map(
                    |(id, (name, visibility, created_at, last_attempt, failures, languages))| {
                        let id = RepositoryId::new(id).unwrap();
                        let repository = Repository {
                            id,
                            name: name.into(),
                            visibility,
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

    #[test]
    fn no_bytes_make_reading_panic(bytes in collection::vec(any::<u8>(), 0..200), tail in ".*") {
        let _ = decode(&bytes);
        let _ = decode(format!("{OPENING}{tail}").as_bytes());
        let _ = decode(&sealed(&format!("{OPENING}1,{tail}")));
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
