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
    Since::parse(text.as_bytes(), &Selection::default())
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
    let text = table(&report, plain(80));
    let expected = "\
Changes since 2023-11-07 22:13 UTC:
  1 became unready, 2 unlisted, 1 ready
  tr -1 of acme/app became unready
  sv of acme/app became unlisted
  de of acme/gone became unlisted
  de +7.5 of acme/app became ready

COMPLETION       READY    REPOSITORY
████████··  85%  4/7      acme/app
                          fr 39% -0.5  ko 62% +12.3  tr 99% -1
";
    assert!(text.starts_with(expected), "{text}");
    let text = markdown(&report);
    let expected = "\
**Not ready to ship: 4 of 7 translations ready.**

As of 2023-11-14 22:13 UTC. 85% translated on average. 1 repository, 7 languages. 3 not judged: pace known on 21 November.

**Changes since 2023-11-07 22:13 UTC:**

- 1 became unready, 2 unlisted, 1 ready
- tr -1 of acme/app became unready
- sv of acme/app became unlisted
- de of acme/gone became unlisted
- de +7.5 of acme/app became ready

| Repository | Completion | Ready | Due | Not ready |
|:--|--:|--:|:--|:--|
| acme/app | 85% | 4/7 |  | fr 39% -0.5, ko 62% +12.3, tr 99% -1 |
";
    assert!(text.starts_with(expected), "{text}");
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
        (cells[0], cells[2], cells[14], cells[15])
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
        ("acme/app", "sv", "", "unlisted"),
        ("acme/gone", "de", "", "unlisted"),
    ];
    assert_eq!(ends.collect::<Vec<_>>(), expected);

    let text = json_of(&report);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let languages = value["repositories"][0]["languages"].as_array().unwrap();
    let changes = languages
        .iter()
        .map(|one| (one.get("change"), one.get("became")));
    let [de, fr, ko, pl, tr] = [0.075, -0.005, 0.123, 0.0, -0.01].map(serde_json::Value::from);
    let [ready, unready] = ["ready", "unready"].map(serde_json::Value::from);
    assert_eq!(
        changes.collect::<Vec<_>>(),
        [
            (Some(&de), Some(&ready)),
            (Some(&fr), None),
            (None, None),
            (Some(&ko), None),
            (None, None),
            (Some(&pl), None),
            (Some(&tr), Some(&unready)),
        ]
    );
    let expected = serde_json::json!([
        {"repository": "acme/app", "language": "sv"},
        {"repository": "acme/gone", "language": "de"},
    ]);
    assert_eq!(value["unlisted"], expected);
    parse(&text).unwrap();
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
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn long_lists_of_changes_fit_the_markdown() {
    let languages: Vec<_> = (0..40).map(|index| format!("l{index:02}")).collect();
    let of = |value: f64| {
        languages
            .iter()
            .map(move |code| (code.as_str(), Some(value)))
    };
    let name = "n".repeat(250);
    let now = snapshot(vec![
        read(1, &name, &of(100.0).collect::<Vec<_>>()),
        read(2, "acme/b", &[("de", Some(0.0))]),
    ]);
    let mut before = snapshot(vec![
        read(1, "acme/a", &of(1.0).collect::<Vec<_>>()),
        read(2, "acme/b", &[("de", Some(1.0))]),
    ]);
    before.settings.scale.is_chosen = true;
    let before = json_of(&report(&before, &poll(0)));
    let since = parse(&before).unwrap();
    let poll = poll(0);
    let text = markdown(&Report {
        since: Some(Arc::new(since)),
        max_size: 2000,
        ..report(&now, &poll)
    });
    assert!(text.len() <= 2000, "{}", text.len());
    assert!(text.contains("\n- 40 became ready\n"), "{text}");
    assert!(text.contains("\nand 39 more\n"), "{text}");
    assert!(text.contains("de 0% -1 |"), "{text}");
}

/// Returns the changes since `earlier` in the table, without their heading.
fn changes(earlier: &str, selection: &Selection, now: Vec<Shown>) -> Vec<String> {
    let since = Since::parse(earlier.as_bytes(), selection).unwrap();
    let report = report(&snapshot(now), &poll(0));
    let report = Report {
        view: selection.of(report.view.document),
        since: Some(Arc::new(since)),
        ..report
    };
    let (_, changes) = report.changes().unwrap();
    changes
}

#[test]
fn an_unread_repository_has_no_changes() {
    let unread = vec![failed(1, "acme/app", "GET 1: 404", "wait")];
    let changes = changes(EARLIER, &Selection::default(), unread);
    let gone = ["1 became unlisted", "de of acme/gone became unlisted"];
    assert_eq!(changes, gone);
}

#[test]
fn nothing_is_compared_across_a_suspect_scale() {
    let all = Selection::default();
    let at = |completion| vec![read(1, "acme/app", &[("de", completion)])];
    let of = |completion| json_of(&report(&snapshot(at(completion)), &poll(0)));
    let (suspect, ready) = (of(Some(1.0)), of(Some(100.0)));
    assert!(suspect.contains("\"scale_suspect\": true"), "{suspect}");
    for (earlier, now) in [(&suspect, Some(100.0)), (&ready, Some(1.0))] {
        assert_eq!(changes(earlier, &all, at(now)), ["none seen"]);
        let report = Report {
            since: Some(Arc::new(parse(earlier).unwrap())),
            ..report(&snapshot(at(now)), &poll(0))
        };
        let json = json_of(&report);
        assert!(
            !json.contains("change\"") && !json.contains("became\""),
            "{json}"
        );
        let text = csv_of(&report);
        assert!(text.ends_with(",,\r\n"), "{text}");
    }
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
    assert_eq!(
        changes,
        ["1 became unready", "de of acme/app became unready"]
    );
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
    let became = [
        "5 became unlisted, 1 ready",
        "de +7.5 of acme/app2 became ready",
    ];
    let changed = changes(EARLIER, &only("acme/app2"), now());
    assert_eq!([&*changed[0], changed.last().unwrap()], became);
    let gone = changes(EARLIER, &only("acme/gone"), now());
    assert_eq!(
        gone,
        ["1 became unlisted", "de of acme/gone became unlisted"]
    );
}
