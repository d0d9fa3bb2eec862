//! The comparison with an earlier day in all outputs.

use super::*;
use crate::testing::observe;

/// Returns the time that many days before [`NOW`], 14 November at 22:13.
fn ago(days: u64) -> Timestamp {
    NOW.saturating_sub(Duration::from_secs(days * 86_400))
}

/// A repository whose languages had the first completion nine days ago, and got the second one
/// three days ago.
fn compared() -> Snapshot {
    let changed = |code: &str, before, after| {
        let mut record = record_of(code, code, Some(before), ago(9));
        observe(&mut record, after, ago(3));
        record
    };
    let mut records = vec![
        changed("de", 92.5, Some(100.0)),
        changed("fr", 60.0, Some(39.5)),
        changed("ko", 50.0, Some(62.3)),
        record("new", Some(100.0)),
        changed("pl", 100.0, Some(100.0)),
        changed("sv", 100.0, None),
        changed("tr", 100.0, Some(99.0)),
    ];
    records.sort_by(|one, other| one.language.code.cmp(&other.language.code));
    let languages = Languages {
        read_at: NOW,
        records: records.into(),
    };
    let condition = Condition::Fresh(languages);
    let mut snapshot = snapshot(vec![in_condition(repository(1, "acme/app"), condition)]);
    snapshot.departed = vec![Departed {
        repository: "acme/app".into(),
        language: "gone".into(),
        left_at: ago(2),
        was_met: true,
    }];
    snapshot
}

#[test]
fn changes_since_a_day_are_counted_by_kind_the_worst_first() {
    let (snapshot, poll) = (compared(), poll(0));
    let report = report(&snapshot, &poll);
    let changed = "Since 7 November: 2 no longer ready, 1 left, 1 fell, 1 became ready.";
    assert_eq!(report.answer().last().unwrap(), changed);
    let text = table(&report, 80, false);
    assert!(
        text.contains("fr 39%↓= -21") && text.contains("ko 62% +12"),
        "{text}"
    );
    assert!(markdown(&report).contains(changed));
    let later = Report {
        since: ago(1).day_start(),
        ..report
    };
    let nothing = "Since 13 November: 1 no longer ready.";
    assert_eq!(later.answer().last().unwrap(), nothing);
}

#[test]
fn csv_and_json_have_the_changes_as_well() {
    let (snapshot, poll) = (compared(), poll(0));
    let report = report(&snapshot, &poll);
    let text = csv_of(&report);
    let cells = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let ends: Vec<_> = cells
        .map(|cells| (cells[2], cells[15], cells[16], cells[17]))
        .collect();
    let expected = [
        ("language", "change", "became", "fell_from"),
        ("de", "0.075", "ready", ""),
        ("fr", "-0.205", "fell", "0.6"),
        ("ko", "0.123", "", ""),
        ("new", "0.0", "", ""),
        ("pl", "0.0", "", ""),
        ("sv", "", "unready", ""),
        ("tr", "-0.01", "unready", "1.0"),
    ];
    assert_eq!(ends, expected);
    let json: serde_json::Value = serde_json::from_str(&json_of(&report)).unwrap();
    let french = &json["repositories"][0]["languages"][1];
    assert_eq!(
        (&french["change"], &french["became"][0]),
        (&(-0.205).into(), &"fell".into())
    );
    assert_eq!(french["fell_at"], "2023-11-11T00:00:00Z");
}

#[test]
fn on_the_first_day_nothing_is_compared() {
    let snapshot = snapshot(vec![read(1, "acme/app", &[("de", Some(50.0))])]);
    assert_eq!(report(&snapshot, &poll(0)).answer().len(), 2);
}

#[test]
fn a_suspect_scale_compares_nothing() {
    let mut snapshot = compared();
    snapshot.settings.scale.finished = 1e6;
    let changed = report(&snapshot, &poll(0)).answer().pop().unwrap();
    assert!(changed.ends_with("November: 1 left."), "{changed}");
}

#[test]
fn since_is_a_duration_or_a_date_of_the_last_14_days() {
    let [today, week] = [0, 7].map(|days| ago(days).day_start());
    for (text, since) in [
        ("7d", Some(week)),
        ("2023-11-07", Some(week)),
        ("2023-11-14", Some(today)),
        ("1h", Some(today)),
        ("2023-10-31", Some(ago(14).day_start())),
        ("14d", Some(ago(14).day_start())),
        ("2023-10-30", None),
        ("20d", None),
        ("2023-11-15", None),
        ("2023-02-30", None),
        ("tomorrow", None),
        ("2023-11-07T00:00:00Z", None),
        ("", None),
    ] {
        let parsed = parse_since(text, NOW);
        let range =
            "give a duration of at most 14d or a date from 2023-10-31 to 2023-11-14, such as 7d";
        assert_eq!(parsed, since.ok_or_else(|| range.to_owned()), "{text}");
    }
}
