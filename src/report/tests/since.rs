//! The comparison with earlier data in all outputs.

use super::*;

/// The earlier data of repository 1, at other targets and under another name.
const EARLIER: &str = r#"{"version":1,"taken_at":"2023-11-07T22:13:20.5Z","repositories":[
    {"id":"1","name":"old/name","languages":[{"code":"de","completion":92.5},
        {"code":"fr","completion":40,"ready":true},{"code":"it","completion":null},
        {"code":"ko","completion":50},{"code":"pl","completion":100},{"code":"sv","completion":9},
        {"code":"tr","completion":100}]},
    {"id":"2","name":"acme/gone","languages":[{"code":"de","completion":1}]}]}"#;

fn compared() -> (Snapshot, Since) {
    let languages = [
        ("de", Some(100.0)),
        ("fr", Some(39.5)),
        ("it", Some(100.0)),
        ("ko", Some(62.3)),
        ("new", Some(100.0)),
        ("pl", Some(100.0)),
        ("tr", Some(99.0)),
    ];
    let since = Since::parse(EARLIER.as_bytes()).unwrap();
    (snapshot(vec![read(1, "acme/app", &languages)]), since)
}

#[test]
fn changes_since_earlier_data_name_first_what_became_ready() {
    let (snapshot, since) = compared();
    let poll = poll(0);
    let report = Report {
        since: Some(Arc::new(since)),
        ..report(&snapshot, &poll)
    };
    let text = table(&report, plain(80));
    let expected = "\
Became ready since 2023-11-07 22:13 UTC, with the change in points:
  de +7.5 of acme/app
  it of acme/app

No longer ready:
  tr -1 of acme/app

No longer shown:
  sv of acme/app
  de of acme/gone

REPOSITORY  COMPLETION       READY  NOT READY
acme/app    ████████··  85%  4/7    fr 39% -0.5  ko 62% +12.3  tr 99% -1
";
    assert!(text.starts_with(expected), "{text}");
    let text = markdown(&report);
    let expected = "\
**4 of 7 translations ready**, 85 % on average; 3 not judged: pace not known yet.

Became ready since 2023-11-07 22:13 UTC, with the change in points:

- de +7.5 of acme/app
- it of acme/app

No longer ready:

- tr -1 of acme/app

No longer shown:

- sv of acme/app
- de of acme/gone

| Repository | Completion | Ready | Not ready |
|:--|--:|--:|:--|
| acme/app | 85% | 4/7 | fr 39% -0.5, ko 62% +12.3, tr 99% -1 |
";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn csv_and_json_have_the_change_of_each_known_ratio() {
    let (snapshot, since) = compared();
    let mut text = Vec::new();
    let report = Report {
        since: Some(Arc::new(since)),
        ..report(&snapshot, &poll(0))
    };
    csv(&report, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let last = text.lines().map(|line| line.rsplit(',').next().unwrap());
    let last: Vec<_> = last.collect();
    assert_eq!(
        last,
        ["change", "0.075", "-0.005", "", "0.123", "", "0", "-0.01"]
    );
    let text = json_of(&report);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let languages = value["repositories"][0]["languages"].as_array().unwrap();
    let changes: Vec<_> = languages.iter().map(|one| one.get("change")).collect();
    let [de, fr, ko, pl, tr] = [0.075, -0.005, 0.123, 0.0, -0.01].map(serde_json::Value::from);
    assert_eq!(
        changes,
        [
            Some(&de),
            Some(&fr),
            None,
            Some(&ko),
            None,
            Some(&pl),
            Some(&tr)
        ]
    );
    Since::parse(text.as_bytes()).unwrap();
}

#[test]
fn damaged_earlier_data_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "is damaged: EOF"),
        ("[]", "is damaged: "),
        ("\u{feff}{}", "is damaged: expected value"),
        (&EARLIER[..EARLIER.len() - 9], "is damaged: EOF"),
        (&EARLIER.replace("2023", "\\u001b"), "is damaged: taken_at"),
        (&EARLIER.replace(":1,", ":2,"), "has version 2, not 1"),
        (
            r#"{"version":1,"taken_at":"2023-11-07T22:13:20Z","repositories":[]}"#,
            "has no repository",
        ),
    ] {
        let error = Since::parse(text.as_bytes()).unwrap_err();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn absurd_changes_and_long_lists_of_them_fit_the_markdown() {
    let languages: Vec<_> = (0..40).map(|index| format!("l{index:02}")).collect();
    let of = |value: f64| {
        languages
            .iter()
            .map(move |code| (code.as_str(), Some(value)))
    };
    let name = "n".repeat(300);
    let now = snapshot(vec![
        read(1, &name, &of(1e300).collect::<Vec<_>>()),
        read(2, "acme/b", &[("de", Some(-1e300))]),
    ]);
    let before = snapshot(vec![
        read(1, "acme/a", &of(1.0).collect::<Vec<_>>()),
        read(2, "acme/b", &[("de", Some(1.0))]),
    ]);
    let before = json_of(&report(&before, &poll(0)));
    let since = Since::parse(before.as_bytes()).unwrap();
    let poll = poll(0);
    let text = markdown(&Report {
        since: Some(Arc::new(since)),
        max_size: 2000,
        ..report(&now, &poll)
    });
    assert!(text.len() <= 2000, "{}", text.len());
    assert!(text.contains("- l00 &gt;+999 of nnn"), "{text}");
    assert!(text.contains("- and 39 more"), "{text}");
    assert!(text.contains("de <0% &lt;-999 |"), "{text}");
}

#[test]
fn no_change_is_named_or_denied_where_it_is_unknown() {
    let (mut snapshot, since) = compared();
    let since = Some(Arc::new(since));
    let text = |snapshot: &Snapshot| {
        let report = Report {
            since: since.clone(),
            ..report(snapshot, &poll(0))
        };
        table(&report, plain(80))
    };
    snapshot.repositories = vec![failed(1, "acme/app", "GET 1: 404", "wait")];
    let unread = text(&snapshot);
    assert!(unread.starts_with("No translation that was read became ready since"));
    snapshot.repositories = vec![read(1, "acme/app", &[("de", Some(1.0))])];
    let suspect = text(&snapshot);
    assert!(!suspect.contains("since"), "{suspect}");
}
