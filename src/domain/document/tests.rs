use super::*;
use crate::{
    domain::{
        record::Record,
        targets::{Targets, tests::entry},
    },
    support::glob::glob,
    testing::{self, Condition, Languages, Snapshot},
};
use std::{collections::BTreeMap, time::Duration};

mod judgement;

const NOW: Timestamp = testing::NOW;
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn judged(snapshot: &Snapshot) -> Document {
    snapshot.judge(testing::status(), None)
}

/// Returns a row for each repository, with its codes.
fn named(document: &Document) -> Vec<String> {
    let rows = document.rows.iter();
    let named = rows.map(|row| {
        let codes = row.translations().iter().map(|one| {
            let mark = if one.is_missing { "?" } else { "" };
            format!("{}{mark}", one.code())
        });
        format!("{}: {}", row.name(), codes.collect::<Vec<_>>().join(" "))
    });
    named.collect()
}

fn account() -> Snapshot {
    testing::snapshot(vec![
        testing::read(1, "acme/app", &[("de", Some(1.0)), ("pt-BR", None)]),
        testing::read(2, "beta/app", &[("fr", Some(100.0))]),
        testing::failed(3, "beta/gone", "status 404", "wait"),
    ])
}

#[test]
fn globs_choose_repositories_and_languages() {
    let chosen = |repositories: &[&str], languages: &[&str]| {
        let [repositories, languages] = [repositories, languages].map(|globs| {
            let globs = globs.iter().map(|text| glob(text).unwrap());
            globs.collect::<Vec<_>>()
        });
        let selection = Selection::new(&repositories, &languages).unwrap();
        let all = judged(&account());
        let document = all.select(&selection);
        (named(&document), document.totals.counted())
    };
    let all = ["acme/app: de pt-BR", "beta/app: fr", "beta/gone: "].map(str::to_owned);
    assert_eq!(chosen(&[], &[]), (all.to_vec(), 3));
    // A choice of languages leaves out no repository.
    let one = ["acme/app: pt-BR", "beta/app: "].map(str::to_owned);
    assert_eq!(chosen(&["*/app"], &["pt-*"]), (one.to_vec(), 1));
    let (rows, _) = chosen(&["beta/*"], &["fr"]);
    assert_eq!(rows, ["beta/app: fr", "beta/gone: "]);
}

#[test]
fn a_pair_that_its_entry_names_is_required() {
    let mut snapshot = account();
    for (repository, language, ratio, is_required) in [
        ("acme/app", "sv", 0.9, true),
        ("acme/app", "sv", 0.0, false),
        ("acme/*", "sv", 0.9, false),
        ("acme/app", "s[v]", 0.9, false),
        ("acme/app", "de", 0.9, false),
        ("beta/gone", "sv", 0.9, false),
    ] {
        snapshot.settings.targets = Targets(vec![
            entry(&[], &["xx"], 0.5, ""),
            entry(&[repository], &[language, "xx"], ratio, ""),
        ]);
        let document = judged(&snapshot);
        let row = format!(
            "acme/app: de pt-BR{}",
            if is_required { " sv?" } else { "" }
        );
        let rows = named(&document);
        assert_eq!(rows[0], row, "{repository} {language} {ratio}");
        let missing = document.rows[0].translation("sv");
        let readiness = missing.map(|one| one.readiness);
        assert_eq!(readiness, is_required.then_some(Readiness::Unknown));
        assert_eq!(document.rows[0].listed(), Some(2));
        assert!(!document.language_names().contains_key("sv"));
    }
}

#[test]
fn a_required_translation_that_is_missing_uses_its_entry() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![
        entry(&["acme/app"], &["sv"], 0.9, ""),
        entry(&["acme/app"], &["de"], 0.9, ""),
        entry(&["acme/app"], &["x*"], 0.9, ""),
    ]);
    let unread = judged(&snapshot).unused_targets();
    assert_eq!(
        unread, [""; 0],
        "the languages of one repository are unknown"
    );
    snapshot.repositories.pop();
    let document = judged(&snapshot);
    assert_eq!(document.unused_targets(), ["x* of acme/app"]);
    snapshot.repositories.clear();
    snapshot.settings.targets = Targets::everything_at(0.95);
    let unused = judged(&snapshot).unused_targets();
    assert_eq!(unused, [""; 0], "the target of --require");
}

#[test]
fn resting_translations_are_counted_apart() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![entry(&["acme/*"], &[], 0.0, "")]);
    let totals = judged(&snapshot).totals;
    let counts = (totals.ready(), totals.counted(), totals.resting());
    assert_eq!(counts, (1, 1, 2));
    assert_eq!(totals.tone(), Tone::Ready);
}

#[test]
fn dates_of_one_day_are_one_and_no_date_is_last() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["de"], 1.0, "2026-12-24"),
        entry(&["acme/*"], &[], 1.0, "2026-12-24T08:00:00Z"),
    ]);
    let document = judged(&snapshot);
    let document = &document;
    let dates = document.dates().map(|(day, totals)| {
        let day = day.map(|day| day.to_string());
        (day, totals.counted())
    });
    let christmas = Some("2026-12-24T00:00:00Z".to_owned());
    assert_eq!(dates.collect::<Vec<_>>(), [(christmas, 2), (None, 1)]);
}

#[test]
fn a_document_shares_what_is_as_before() {
    let snapshot = account();
    let first = judged(&snapshot);
    let mut snapshot = Snapshot {
        taken_at: NOW.saturating_add(HOUR),
        ..snapshot
    };
    snapshot.repositories[1] = testing::read(2, "beta/app", &[("fr", Some(99.0))]);
    let second = snapshot.judge(testing::status(), Some(&first));
    let shared = [0, 1].map(|index| {
        let [one, other] = [&first, &second].map(|document| document.rows[index].translations());
        std::ptr::eq(one, other)
    });
    assert_eq!(shared, [true, false]);
}

#[test]
fn a_record_that_is_judged_has_at_most_176_bytes() {
    let size = size_of::<Translation>();
    assert!(size <= 176, "{size}");
    assert!(size_of::<Record>() < size_of::<Translation>());
}
