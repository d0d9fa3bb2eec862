//! The parsers of bytes from outside, one function for each.
//!
//! The fuzz targets call these functions with invented bytes, `main.rs` with the committed corpus.
//! A function panics only if a parser breaks a promise.

use std::{collections::BTreeMap, fs};
use translation_exporter::{
    api::wire,
    config::{self, Draft, Options},
    domain::Next,
    state::StateFile,
    support::clock::Timestamp,
};

/// Decodes a page of the listing.
pub fn decode_page(bytes: &[u8]) {
    let Ok(listing) = wire::decode_page(bytes, false) else {
        return;
    };
    for repository in listing.repositories.values() {
        assert!(!repository.name.is_empty());
        assert!((1..=i64::MAX.unsigned_abs()).contains(&repository.id.get()));
    }
    assert!(listing.bad.0.values().all(|found| found.count > 0));
    if let Next::After(next) = listing.next {
        assert!(listing.repositories.contains_key(&next) || listing.nameless.contains(&next));
    }
}

/// Decodes the languages of a repository.
pub fn decode_languages(bytes: &[u8]) {
    let Ok(list) = wire::decode_languages(bytes, false) else {
        return;
    };
    assert!(
        list.languages
            .is_sorted_by(|a, b| a.language.code < b.language.code),
        "the languages must be sorted by code, each code once"
    );
    for target in &list.languages {
        assert!(!target.language.code.is_empty());
        assert!(
            target
                .completion
                .is_none_or(|completion| completion.get().is_finite())
        );
    }
}

/// Loads a configuration file.
pub fn configuration(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.yaml");
    fs::write(&file, bytes).expect("a file");
    let options = Options::from([("config.file", file.display().to_string())]);
    match config::read(&options, &BTreeMap::new()).and_then(Draft::finish) {
        Ok(config) => assert!(config.settings.stale_after >= 2 * config.settings.interval),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Opens a state file. Whatever its content, the exporter either leaves the file alone or starts,
/// and reads back the state that it then writes.
pub fn state_file(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.json");
    fs::write(&path, bytes).expect("a file");
    let now = Timestamp::from_millis(1_800_000_000_000);
    let open = || StateFile::open(&path, "https://api.example.com/", now);
    let (file, saved) = match open() {
        Ok(opened) => opened,
        Err(error) => {
            assert!(error.what.starts_with("cannot use the state file "));
            return assert_eq!(fs::read(&path).expect("it is there"), bytes);
        }
    };
    assert_eq!(
        saved == Ok(None),
        bytes.is_empty(),
        "a file without a state must be set aside"
    );
    let saved = saved.ok().flatten().unwrap_or_default();
    file.write(&saved).expect("the folder is there");
    drop(file);
    let (_file, again) = open().expect("it was just written");
    assert_eq!(again, Ok(Some(saved)));
}
