//! The format of the state file, and bytes that are no state file.

use super::*;
use crate::{
    domain::{Language, history::History},
    testing,
};
use proptest::{collection, option, prelude::*};

fn decode(bytes: &[u8]) -> Result<SavedState, FormatError> {
    format::decode(bytes, API)
}

#[test]
fn the_format_and_the_seed_of_the_fuzzer_are_generated_from_the_types_of_the_ledger() {
    let mut saved = small();
    let mut repositories = saved.repositories.values_mut();
    repositories.next().unwrap().failing_since = Some(time(16));
    let path = "tests/fuzz/corpus/state_file/whole";
    testing::assert_generated(path, &String::from_utf8(encoded(&saved)).unwrap());
    assert_eq!(decode(&encoded(&saved)).unwrap(), saved);
}

/// From its release on, the stored file of a version is read for ever, and never changes.
#[test]
fn the_stored_file_of_each_version_is_read() {
    let stored = include_bytes!("version_8.json");
    assert_eq!(decode(stored).unwrap(), small());
    assert_eq!(encoded(&small()), stored.trim_ascii_end());
}

#[test]
fn a_repository_may_have_150_000_languages() {
    let name = "one of more than a client keeps";
    let languages = (0..150_000)
        .map(|n| unknown(&format!("{n:06}"), name))
        .collect();
    let saved = SavedState {
        repositories: [kept(7, "owner/repo", Some(languages))].into(),
        ..SavedState::default()
    };
    assert_eq!(decode(&encoded(&saved)).unwrap(), saved);
}

fn is_damaged<T>(decoded: Result<T, FormatError>) -> bool {
    decoded.is_err_and(|error| matches!(error, FormatError::Damaged(_)))
}

#[test]
fn a_truncated_or_continued_file_is_damaged() {
    let whole = encoded(&small());
    for length in r#"{"version":"#.len()..whole.len() {
        assert!(is_damaged(decode(&whole[..length])), "cut to {length}");
    }
    assert!(is_damaged(decode(&[&whole[..], b"}"].concat())));
    assert!(is_damaged(decode(&[&whole[..], &whole[..]].concat())));
}

/// Decodes the text of [`small`] with `from` replaced by `to`.
fn with(from: &str, to: &str) -> Result<SavedState, FormatError> {
    let text = String::from_utf8(encoded(&small())).unwrap();
    assert!(text.contains(from), "{from}");
    decode(text.replace(from, to).as_bytes())
}

#[test]
fn unknown_fields_are_ignored() {
    let new = r#""new":[[{"id":0}]],"missed""#;
    assert_eq!(with(r#""missed""#, new).unwrap(), small());
}

#[test]
fn an_impossible_value_is_damage() {
    for (from, to) in [
        (r#""id":7"#, r#""id":0"#),
        (r#""id":7"#, r#""id":-1"#),
        (r#""id":7"#, r#""id":9223372036854775808"#),
        ("[7]", "[18446744073709551615]"),
        (r#""id":7"#, r#""id":1.5"#),
        (r#""id":7"#, r#""id":"7""#),
        (r#""id":7,"#, ""),
        (r#""id":7"#, r#""id":7,"id":7"#),
        (r#""code":"nl","#, ""),
        ("50.5", "1e400"),
        ("50.5", "NaN"),
        ("50.5", r#""1""#),
        (r#""history":{"completion":50.5,"#, r#""history":{"#),
        ("1650000000000", "1e3"),
        (r#""left_at":4"#, r#""left_at":"4""#),
        (r#"{"9":"#, r#"{"0":"#),
        (r#"{"9":"#, r#"{"18446744073709551615":"#),
    ] {
        assert!(is_damaged(with(from, to)), "{from} {to}");
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

fn any_past() -> impl Strategy<Value = Past> {
    let seen = (any_completion(), any_time());
    let seen = seen.prop_map(|(completion, until)| Seen { completion, until });
    let day = (any_completion(), 0.0..1000.0).prop_map(|(end, gained)| Day { end, gained });
    let past = (
        prop::array::uniform4(seen),
        any_time(),
        collection::vec(day, 0..4),
    );
    past.prop_map(|(seen, date, days)| Past { seen, date, days })
}

fn any_history() -> impl Strategy<Value = History> {
    let past = option::of(any_past().prop_map(Arc::new).boxed());
    (any_completion(), any_time(), option::of(any_time()), past).prop_map(
        |(completion, progress_at, unready_since, past)| History {
            completion,
            progress_at,
            unready_since,
            past,
        },
    )
}

fn any_record() -> impl Strategy<Value = Record> {
    (
        any::<String>(),
        option::of(any_completion()),
        option::of(any_history()),
        option::of(any_time()),
    )
        .prop_map(|(name, reported, history, left_at)| Record {
            reported,
            history,
            left_at,
            ..unknown("", &name)
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

fn any_records() -> impl Strategy<Value = Arc<[Record]>> {
    let records = collection::btree_map(any_text(), any_record().boxed(), 0..6);
    records.prop_map(|records| {
        let records = records.into_iter();
        records.map(|(code, record)| coded(&code, record)).collect()
    })
}

fn any_id() -> impl Strategy<Value = RepositoryId> {
    (1..=RepositoryId::MAX).prop_map(|id| RepositoryId::new(id).unwrap())
}

fn any_repository() -> impl Strategy<Value = KeptRepository> {
    let private = prop_oneof![Just(Some(false)), Just(Some(true)), Just(None)];
    let repository = (any_id(), any_text(), private, option::of(any_time())).prop_map(
        |(id, name, private, created_at)| Repository {
            id,
            name: name.into(),
            private,
            created_at,
        },
    );
    let times = [(); 2].map(|()| option::of(any_time()));
    (repository, any::<u64>(), times, any_records()).prop_map(
        |(repository, last_attempt, [failing_since, read_at], records)| KeptRepository {
            last_attempt,
            failing_since,
            read_at,
            records,
            ..KeptRepository::new(Arc::new(repository))
        },
    )
}

fn any_state() -> impl Strategy<Value = SavedState> {
    let any_repositories = || collection::btree_map(any_id(), any_repository().boxed(), 0..5);
    let missed = collection::btree_set(any_id(), 0..5);
    let times = (option::of(any_time()), any::<bool>());
    (times, any_repositories(), missed, any_repositories()).prop_map(
        |((last_success_at, has_zeros), repositories, missed, gone)| SavedState {
            last_success_at,
            repositories,
            missed,
            gone,
            has_zeros,
            attempts: 7,
        },
    )
}

proptest! {
    #![proptest_config(testing::cases(256))]

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
