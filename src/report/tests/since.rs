//! The comparison with earlier data in all outputs.

use super::*;

/// The earlier data of repository 1 under another name.
const EARLIER: &str = r#"{"version":1,"taken_at":"2023-11-07T22:13:20.5Z","repositories":[
    {"id":"1","name":"old/name","languages":[{"code":"de","ratio":0.925,"ready":false},
        {"code":"fr","ratio":0.4,"ready":false},{"code":"it","ratio":null,"ready":false},
        {"code":"ko","ratio":0.5},{"code":"pl","ratio":1,"ready":true},
        {"code":"sv","ratio":0.09},{"code":"tr","ratio":1,"ready":true}]},
    {"id":"2","name":"acme/gone","languages":[{"code":"de","ratio":0.01}]}]}"#;

fn parse(text: &str) -> Result<Since, String> {
    Since::parse(text.as_bytes())
}

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
    let since = parse(EARLIER).unwrap();
    (snapshot(vec![read(1, "acme/app", &languages)]), since)
}

#[test]
fn changes_since_earlier_data_name_first_what_got_worse() {
    let (snapshot, since) = compared();
    let poll = poll(0);
    let report = Report {
        since: Some(Arc::new(since)),
        ..report(&snapshot, &poll)
    };
    let changed = "Since 7 November: 1 no longer ready (tr of acme/app 99% -1), \
        2 no longer listed (sv of acme/app, de of acme/gone), \
        1 became ready (de of acme/app 100% +8).";
    assert_eq!(report.answer().last().unwrap(), changed);
    let text = table(&report, 80, false);
    let expected = "\
COMPLETION       READY    REPOSITORY
████████··  85%  4/7      acme/app
                          fr 39% -1  ko 62% +12  tr 99% -1
";
    assert!(text.starts_with(expected), "{text}");
    let text = markdown(&report);
    assert!(text.contains(changed), "{text}");
    let expected = "| acme/app | 85% | 4/7 |  | fr 39% -1, ko 62% +12, tr 99% -1 |\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_ready_language_without_its_completion_became_unready() {
    let at = |completion| {
        vec![read(
            1,
            "acme/app",
            &[("de", completion), ("fr", Some(50.0))],
        )]
    };
    let earlier = json_of(&report(&snapshot(at(Some(100.0))), &poll(0)));
    let changes = changes(&earlier, &Selection::default(), at(None));
    assert_eq!(changes, "1 no longer ready (de of acme/app ?).");
}

#[test]
fn csv_and_json_have_the_changes_as_well() {
    let (snapshot, since) = compared();
    let report = Report {
        since: Some(Arc::new(since)),
        ..report(&snapshot, &poll(0))
    };
    let text = csv_of(&report);
    let text = text.strip_prefix('\u{feff}').unwrap();
    let ends = text.lines().map(|line| {
        let cells: Vec<_> = line.split(',').collect();
        (cells[0], cells[2], cells[15], cells[16])
    });
    let expected = [
        ("repository", "language", "change", "became"),
        ("acme/app", "de", "0.075", "ready"),
        ("acme/app", "fr", "-0.005", ""),
        ("acme/app", "it", "", ""),
        ("acme/app", "ko", "0.123", ""),
        ("acme/app", "new", "", ""),
        ("acme/app", "pl", "0", ""),
        ("acme/app", "tr", "-0.01", "unready"),
    ];
    assert_eq!(ends.collect::<Vec<_>>(), expected);

    let text = json_of(&report);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let languages = value["repositories"][0]["languages"].as_array().unwrap();
    let changes = languages
        .iter()
        .map(|one| (one["change"].as_f64(), one["became"].as_str()));
    assert_eq!(
        changes.collect::<Vec<_>>(),
        [
            (Some(0.075), Some("ready")),
            (Some(-0.005), None),
            (None, None),
            (Some(0.123), None),
            (None, None),
            (Some(0.0), None),
            (Some(-0.01), Some("unready")),
        ]
    );
    parse(&text).unwrap();
}

#[test]
fn damaged_earlier_data_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "is damaged: EOF"),
        ("[]", "has version null, not 1"),
        ("\u{feff}{}", "is damaged: expected value"),
        (&EARLIER[..EARLIER.len() - 9], "is damaged: EOF"),
        (&EARLIER.replace("2023", "\\u001b"), "is damaged: taken_at"),
        (&EARLIER.replace(":1,", ":2,"), "has version 2, not 1"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
}

/// Returns the changes since `earlier`.
fn changes(earlier: &str, selection: &Selection, now: Vec<Shown>) -> String {
    let since = parse(earlier).unwrap();
    let report = report(&snapshot(now), &poll(0));
    let changes = changed(&report.view.document.select(selection), Some(&since)).unwrap();
    let (_, changes) = changes.split_once(": ").unwrap();
    changes.to_owned()
}

const NOTHING: &str = "nothing is known to have become ready or overdue, or to have fallen.";

#[test]
fn an_unread_repository_has_no_changes() {
    let unread = vec![failed(1, "acme/app", "GET 1: 404", "wait")];
    let changes = changes(EARLIER, &Selection::default(), unread);
    assert_eq!(changes, "1 no longer listed (de of acme/gone).");
}

#[test]
fn nothing_is_compared_across_a_suspect_scale() {
    let all = Selection::default();
    let at = |completion| vec![read(1, "acme/app", &[("de", completion)])];
    let of = |completion| json_of(&report(&snapshot(at(completion)), &poll(0)));
    let (suspect, ready) = (of(Some(1.0)), of(Some(100.0)));
    assert!(suspect.contains("\"scale_suspect\": true"), "{suspect}");
    for (earlier, now) in [(&suspect, Some(100.0)), (&ready, Some(1.0))] {
        assert_eq!(changes(earlier, &all, at(now)), NOTHING);
        let report = Report {
            since: Some(Arc::new(parse(earlier).unwrap())),
            ..report(&snapshot(at(now)), &poll(0))
        };
        let json = json_of(&report);
        assert!(json.contains("\"change\":null,\"became\":null"), "{json}");
        let text = csv_of(&report);
        assert!(text.ends_with(",,\r\n"), "{text}");
    }
}

#[test]
fn a_chosen_repository_is_compared_by_its_earlier_or_present_name() {
    let only = |glob| Selection::new(&[globset::Glob::new(glob).unwrap()], &[]).unwrap();
    let now = || {
        vec![read(
            1,
            "acme/app2",
            &[("de", Some(100.0)), ("fr", Some(1.0))],
        )]
    };
    let changed = changes(EARLIER, &only("acme/app2"), now());
    assert!(
        changed.starts_with("5 no longer listed (it of acme/app2,")
            && changed.ends_with("1 became ready (de of acme/app2 100% +8)."),
        "{changed}"
    );
    let gone = changes(EARLIER, &only("acme/gone"), now());
    assert_eq!(gone, "1 no longer listed (de of acme/gone).");
}
