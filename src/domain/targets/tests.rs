use super::*;
use crate::{domain::Completion, testing};

/// Makes globs.
pub fn globs<const OF_REPOSITORIES: bool>(
    patterns: &[impl AsRef<str>],
) -> Parsed<Globs<OF_REPOSITORIES>> {
    let patterns: Vec<_> = patterns.iter().map(AsRef::as_ref).collect();
    Parsed::parse_bounded(&patterns.join(",")).unwrap()
}

/// Makes an entry from globs on repositories and on languages; no glob matches everything.
pub fn entry(repositories: &[&str], languages: &[&str], ratio: f64, due: &str) -> Arc<TargetEntry> {
    Arc::new(TargetEntry {
        repositories: globs(repositories),
        languages: globs(languages),
        ratio: Parsed(Some(ratio)),
        due: Parsed(parse_due(due)),
        ..TargetEntry::default()
    })
}

#[test]
fn the_first_entry_that_matches_counts() {
    let targets = Targets(vec![
        entry(&["acme/web*"], &["de", "pt-*"], 0.95, ""),
        entry(&[], &["eo"], 0.0, ""),
        entry(&["acme/*"], &[], 0.8, ""),
    ]);
    for (repository, language, expected) in [
        ("acme/webshop", "de", Some(0.95)),
        ("acme/webshop", "pt-BR", Some(0.95)),
        ("acme/webshop", "pt", Some(0.8)),
        ("acme/webshop", "eo", Some(0.0)),
        ("other/app", "eo", Some(0.0)),
        ("other/app", "de", None),
        ("acme/a/b", "de", None),
    ] {
        let targets = targets.of_repository(repository);
        let ratio = targets.entry(language).map(|entry| entry.ratio());
        assert_eq!(ratio, expected, "{language} of {repository}");
    }
}

#[test]
fn an_entry_is_named_by_its_globs() {
    for (repositories, languages, expected) in [
        (
            &["acme/web*", "acme/docs"][..],
            &["de", "pt-*"][..],
            "de, pt-* of acme/web*, acme/docs",
        ),
        (&["acme/*"], &[], "all languages of acme/*"),
        (&[], &["eo"], "eo"),
        (&[], &[], "all languages"),
    ] {
        assert_eq!(entry(repositories, languages, 1.0, "").globs(), expected);
    }
}

#[test]
fn a_language_at_exactly_its_target_is_ready_despite_binary_fractions() {
    let scale = testing::settings().scale;
    for hundredths in 1..=10_000 {
        let (whole, decimals) = (hundredths / 100, hundredths % 100);
        let reported: f64 = format!("{whole}.{decimals:02}").parse().unwrap();
        let ratio: f64 = format!("{hundredths}e-4").parse().unwrap();
        let completion = Completion::new(reported).unwrap();
        assert!(
            scale.ratio(completion) >= Some(ratio),
            "{reported} of {ratio}"
        );
    }
}

#[test]
fn a_ratio_lies_between_0_and_1_to_a_millionth_and_has_12_decimals() {
    let scale = testing::settings().scale;
    for (completion, ratio) in [
        (92.3, Some(0.923)),
        (99.999_999_999_999_99, Some(1.0)),
        (99.999_999_999, Some(0.999_999_999_99)),
        (-1e-300, Some(0.0)),
        (-0.000_09, Some(0.0)),
        (-0.000_11, None),
        (100.000_09, Some(1.0)),
        (100.000_11, None),
        (1e300, None),
    ] {
        let completion = Completion::new(completion).unwrap();
        assert_eq!(scale.ratio(completion), ratio, "{completion:?}");
    }
}

#[test]
fn a_date_means_its_end_in_utc_and_a_time_needs_an_offset() {
    for (text, expected) in [
        ("2026-12-24", Some("2026-12-24T23:59:59Z")),
        ("2026-12-24T18:00:00Z", Some("2026-12-24T18:00:00Z")),
        ("2026-12-24T18:00:00+01:00", Some("2026-12-24T17:00:00Z")),
        ("2026-12-24T18:00:00", None),
        ("9998-12-31", Some("9998-12-31T23:59:59Z")),
        ("9999-12-31", Some("9999-12-29T23:59:59Z")),
        ("9999-12-31blah", None),
        ("9999-12-31T23:59:59", None),
        ("2026-02-29", None),
        ("24.12.2026", None),
        ("tomorrow", None),
        ("", None),
    ] {
        let due = parse_due(text).map(|due| due.to_string());
        assert_eq!(due.as_deref(), expected, "{text}");
    }
}
