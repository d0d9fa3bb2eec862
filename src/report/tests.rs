use super::*;
use crate::support::humanize::grouped;
use crate::support::parsed::Parsed;
use crate::testing::{Condition, Languages, Shown, Snapshot};
use crate::{
    domain::{
        Change, Defect, PollFailure, Standing, Stop,
        document::{Departed, Selection},
        links::Links,
        polling::{PollOutcome, PollStatus},
        targets::{Targets, tests::entry},
    },
    metrics::{
        exposition::{Exposition, ExpositionFormat},
        instruments::Instruments,
    },
    support::hint::Failure,
    testing::{
        NOW, cases, failed, in_condition, poll, read, record, record_of, repository, snapshot,
        status,
    },
};
use answer::by_date;
use console::{measure_text_width, strip_ansi_codes};
use proptest::prelude::*;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

mod since;
mod verdict;

fn report(snapshot: &Snapshot, poll: &PollOutcome) -> Report {
    let status = PollStatus {
        last: Some(poll.clone()),
        ..status()
    };
    Report {
        document: Arc::new(snapshot.judge(status, None)),
        findings: Vec::new(),
        api: "".into(),
        since: a_week_ago(NOW),
        max_size: 1_000_000,
    }
}

/// Returns the JSON of everything.
fn json_of(report: &Report) -> String {
    let document = Arc::clone(&report.document);
    json(document, Selection::default(), report.since).collect()
}

/// Returns the CSV of everything.
fn csv_of(report: &Report) -> String {
    let document = Arc::clone(&report.document);
    csv(document, Selection::default(), report.since).collect()
}

fn shown(repositories: Vec<Shown>, width: u16) -> String {
    table(
        &report(&snapshot(repositories), &poll(0)),
        width.into(),
        false,
    )
}

fn many(repositories: u64, languages: usize) -> Vec<Shown> {
    let codes: Vec<_> = (0..languages).map(|index| format!("l{index}")).collect();
    let value = |id: u64, index: usize| {
        f64::from(u32::try_from((id * 7 + index as u64 * 13) % 101).unwrap())
    };
    let of = |id| {
        codes
            .iter()
            .enumerate()
            .map(|(index, code)| (code.as_str(), Some(value(id, index))))
            .collect::<Vec<_>>()
    };
    (1..=repositories)
        .map(|id| read(id, &format!("some-owner/repository-{id}"), &of(id)))
        .collect()
}

#[test]
fn the_furthest_behind_come_first_with_their_unready_languages() {
    let repositories = vec![
        read(1, "acme/done", &[("de", Some(100.0)), ("fr", Some(100.0))]),
        read(
            2,
            "acme/half",
            &[("de", Some(25.5)), ("fr", Some(75.0)), ("it", None)],
        ),
        read(3, "acme/nearly", &[("fr", Some(99.99))]),
    ];
    let expected = "\
COMPLETION       READY    REPOSITORY
█████·····  50%  0/3      acme/half
                          de 25%  fr 75%  it ?
█████████·  99%  0/1      acme/nearly
                          fr 99%
██████████ 100%  2/2      acme/done

Not ready to ship: 2 of 6 translations ready, 1 translation without a known
  completion.
As of 2023-11-14 22:13 UTC. 80% translated on average. 3 repositories, 3
  languages. 1 not judged: the completion is not known. 3 not judged: the pace
  is not known yet.
";
    assert_eq!(shown(repositories, 80), expected);
}

#[test]
fn lines_fit_the_terminal_and_cut_no_code() {
    let codes = ["nan-Hant-TW", "cmn-Hant-TW", "sr-Latn-BA", "de"];
    let mut repositories = many(500, 40);
    let long = &"株式会社".repeat(4);
    repositories.push(read(501, long, &codes.map(|code| (code, Some(10.0)))));
    repositories.push(failed(502, "acme/gone", &"GET /x ".repeat(20), "wait"));
    let mut snapshot = snapshot(repositories);
    snapshot.settings.targets = Targets(vec![entry(&[], &["de"], 0.95, "2023-11-11")]);
    let report = report(&snapshot, &poll(1));
    for width in [40, 60, 80, 120, 200, 300] {
        let text = table(&report, width, true);
        let lines = text.lines().map(|line| strip_ansi_codes(line));
        let wide = lines.filter(|line| measure_text_width(line) > width);
        // A line that names a repository takes what its name needs.
        let sign = if width < 60 { '·' } else { '株' };
        let others = wide.filter(|line| !line.contains(sign));
        assert_eq!(others.collect::<Vec<_>>(), [""; 0], "{width}");
        for code in codes {
            assert!(
                text.contains(&format!("{code} 10%")),
                "{width}\n{text:.9000}"
            );
        }
        assert_eq!(text.matches("y-").count(), 500, "{width}");
        let plain = table(&report, width, false);
        assert!(strip_ansi_codes(&text) == plain && text != plain, "{width}");
    }
}

fn stop(reason: PollFailure, what: &str) -> Stop {
    let failure = Failure::new(what, "wait");
    Stop {
        reason,
        failure,
        request: None,
    }
}

#[test]
fn a_failed_listing_does_not_look_like_an_empty_account() {
    let refused = PollOutcome {
        is_listed: false,
        stop: Some(stop(PollFailure::Unauthorized, "status 401")),
        ..poll(0)
    };
    let expected = "Not known: the list of repositories was not read completely.
As of 2023-11-14 22:13 UTC. ? translated on average.
";
    assert_eq!(
        table(&report(&snapshot(Vec::new()), &refused), 80, false),
        expected
    );
}

#[test]
fn no_line_of_the_table_is_a_command_of_a_ci_system() {
    let repositories = vec![read(1, "acme/app", &[("::error::x", Some(10.0))])];
    let text = shown(repositories, 40);
    assert!(text.contains("\n:\u{fffd}error::x 10%\n"), "{text}");
}

#[test]
fn a_repository_without_languages_or_completions_is_labelled() {
    let expected = "\
COMPLETION       READY    REPOSITORY
··········    ?  ?/1      acme/mute
                          de ?
··········    ?  none     acme/empty

Not known: ? of 1 translations ready, 1 translation without a known
  completion.
As of 2023-11-14 22:13 UTC. ? translated on average. 2 repositories, 1
  language. 1 not judged: the completion is not known.
";
    let repositories = vec![
        read(1, "acme/empty", &[]),
        read(2, "acme/mute", &[("de", None)]),
    ];
    assert_eq!(shown(repositories, 80), expected);
    let partly = snapshot(vec![read(
        1,
        "acme/app",
        &[("de", Some(100.0)), ("fr", None)],
    )]);
    let text = table(&report(&partly, &poll(0)), 80, true);
    let yellow = "\u{1b}[33m██████████\u{1b}[0m 100%";
    assert!(text.contains(yellow), "{text}");
    let suspect = shown(vec![read(1, "acme/app", &[("de", Some(1.0))])], 80);
    assert!(
        suspect.contains("acme/app\n                          de ?\n"),
        "{suspect}"
    );
}

fn gate(snapshot: &Snapshot) -> String {
    report(snapshot, &poll(0)).gate()
}

#[test]
fn the_gate_names_the_translations_that_are_not_ready_above_its_verdict() {
    let languages = [("de", Some(95.0)), ("fr", Some(71.25)), ("it", None)];
    let mut snapshot = snapshot(vec![read(1, "acme/app", &languages)]);
    let expected = "    fr of acme/app: 71% of 100%, pace known on 15 November
    de of acme/app: 95% of 100%, pace known on 15 November
    it of acme/app: ? of 100%, pace not known
Not ready to ship: 0 of 3 translations ready, 1 translation without a known completion";
    assert_eq!(gate(&snapshot), expected);
    snapshot.settings.targets = Targets::everything_at(0.0);
    assert_eq!(gate(&snapshot), "Nothing to ship: 3 paused");
}

#[test]
fn the_gate_names_20_translations_of_many_dates() {
    let codes: Vec<_> = (1..29).map(|day| format!("l{day:02}")).collect();
    let languages: Vec<_> = codes.iter().map(|code| (&**code, Some(50.0))).collect();
    let mut snapshot = snapshot(vec![read(1, "acme/app", &languages)]);
    let due = |code: &String| entry(&[], &[code], 1.0, &code.replace('l', "2023-12-"));
    snapshot.settings.targets = Targets(codes.iter().map(due).collect());
    assert_eq!(gate(&snapshot).matches("50% of 100%").count(), 20);
}

#[test]
fn a_date_is_said_once_with_the_translations_that_miss_it() {
    let languages = [("de", Some(60.0)), ("fr", Some(94.999))];
    let mut snapshot = snapshot(vec![read(1, "acme/app", &languages)]);
    let entry = entry(&[], &[], 0.95, "2023-11-20");
    snapshot.settings.targets = Targets(vec![entry]);
    let text = table(&report(&snapshot, &poll(0)), 80, false);
    let expected = "77%  0/2      acme/app  due 20 November, in 6 days\n";
    assert!(text.contains(expected), "{text}");
    let gate = gate(&snapshot);
    let line = "    de of acme/app: 60% of 95%, due 20 November, in 6 days, pace known";
    assert!(gate.starts_with(line), "{gate}");
}

#[test]
fn markdown_answers_first_and_lists_the_furthest_behind_first() {
    let mut snapshot = snapshot(vec![
        read(1, "acme/done", &[("de", Some(100.0))]),
        failed(3, "acme/gone", "status 404", "wait"),
        read(
            2,
            "acme/half_way",
            &[("de", Some(25.5)), ("fr", Some(75.0)), ("it", None)],
        ),
    ]);
    snapshot.settings.targets = Targets(vec![entry(
        &["acme/half*"],
        &["fr", "it"],
        0.805,
        "2023-11-20",
    )]);
    let template = "https://t.example.com/{id}/{language}";
    snapshot.settings.links = Links {
        language: Parsed::parse_bounded(template).unwrap(),
        ..Links::default()
    };
    let expected = "\
**Not ready to ship: 1 of 4 translations ready, 1 repository not read, \
1 translation without a known completion.**

20 November, in 6 days: 0 of 2 translations ready, 1 behind, 1 not known.

no date: 1 of 2 translations ready, 1 behind.

As of 2023-11-14 22:13 UTC. 66% translated on average. 2 repositories, 3 languages. \
Read earlier, or not yet: acme/gone. Not counted: 1 not read. 1 not judged: the completion is not known. \
2 not judged: the pace is not known yet.

| Repository | Completion | Ready | Due | Not ready |
|:--|--:|--:|:--|:--|
| acme/half\\_way | 50% | 0/3 | 20 November, in 6 days | [DE](<https://t.example.com/2/de>) 25%, \
  [FR](<https://t.example.com/2/fr>) 75%, \
  [IT](<https://t.example.com/2/it>) ? |
| acme/done | 100% | 1/1 |  |  |
";
    assert_eq!(markdown(&report(&snapshot, &poll(1))), expected);
}

#[test]
fn languages_are_those_that_are_ready_wherever_they_exist() {
    let mut repositories = vec![
        read(
            1,
            "acme/app",
            &[("de", Some(100.0)), ("fr", Some(95.0)), ("it", None)],
        ),
        read(
            2,
            "acme/web",
            &[("fr", Some(99.0)), ("ja", Some(100.0)), ("it", Some(100.0))],
        ),
    ];
    let mut chosen = snapshot(repositories.clone());
    assert_eq!(languages(&report(&chosen, &poll(0))), "de\nja\n");
    // A listing that failed may lack repositories.
    let broken = PollOutcome {
        is_listed: false,
        ..poll(0)
    };
    assert_eq!(languages(&report(&chosen, &broken)), "");
    chosen.settings.targets = Targets::everything_at(0.95);
    assert_eq!(languages(&report(&chosen, &poll(0))), "de\nfr\nja\n");
    repositories.push(failed(3, "acme/gone", "status 404", "wait"));
    let unread = snapshot(repositories);
    assert_eq!(languages(&report(&unread, &poll(0))), "");
}

#[test]
fn a_badge_is_green_only_if_everything_was_read_and_is_ready() {
    let of = |completion, due: &str, failed| {
        let failed = (0..failed).map(|_| self::failed(2, "acme/gone", "status 404", "wait"));
        let read = read(1, "acme/app", &[("de", completion)]);
        let mut snapshot = snapshot([read].into_iter().chain(failed).collect());
        snapshot.settings.targets = Targets(vec![entry(&[], &[], 0.95, due)]);
        let badge = badge(&report(&snapshot, &poll(0)));
        let badge: serde_json::Value = serde_json::from_str(&badge).unwrap();
        assert_eq!(
            (&badge["schemaVersion"], &badge["label"]),
            (&1.into(), &"translations".into())
        );
        let text = |member: &str| badge[member].as_str().unwrap().to_owned();
        format!("{}, {}", text("message"), text("color"))
    };
    let (soon, past) = ("2023-12-01", "2023-11-01");
    for (completion, due, failed, expected) in [
        (Some(95.0), "", 0, "1 of 1 ready, brightgreen"),
        (Some(95.0), "", 1, "1 of 1 ready, 1 unread, orange"),
        (Some(94.0), soon, 1, "0 of 1 ready, 1 unread, orange"),
        (Some(94.0), soon, 0, "0 of 1 ready, orange"),
        (Some(94.0), past, 0, "0 of 1 ready, red"),
        (None, past, 0, "? of 1 ready, 1 not known, red"),
        (None, "", 0, "? of 1 ready, 1 not known, lightgrey"),
    ] {
        assert_eq!(of(completion, due, failed), expected);
    }
    let nothing = badge(&report(&snapshot(Vec::new()), &poll(0)));
    assert!(
        nothing.contains("no translation known") && nothing.contains("lightgrey"),
        "{nothing}"
    );
    let mut beside_resting = resting_and(&[("de", None)], 50.0);
    let unknown = badge(&report(&beside_resting, &poll(0)));
    assert!(unknown.contains("? of 1 ready, 1 paused"), "{unknown}");
    // A language that only rests is nothing to ship.
    beside_resting = resting_and(&[("de", Some(100.0))], 50.0);
    assert_eq!(languages(&report(&beside_resting, &poll(0))), "de\n");
    // A suspect scale has no mean of resting translations.
    let suspect = gate(&resting_and(&[("de", Some(0.5))], 0.5));
    let expected =
        "Not known: ? of 1 translations ready, 1 paused, the scale of 1 translation is in doubt";
    assert!(suspect.ends_with(expected), "{suspect}");
}

/// Returns a repository with these languages and one that rests.
fn resting_and(others: &[(&str, Option<f64>)], resting: f64) -> Snapshot {
    let all = [others, &[("eo", Some(resting))]].concat();
    let mut snapshot = snapshot(vec![read(1, "acme/app", &all)]);
    snapshot.settings.targets = Targets(vec![entry(&[], &["eo"], 0.0, "")]);
    snapshot
}

#[test]
fn markdown_fits_its_size_and_counts_what_it_leaves_out() {
    let names: Vec<_> = (1..=1200).map(|id| format!("a/{id}")).collect();
    let of = |(id, name): (u64, &String)| read(id, name, &[("de", Some(1.5))]);
    let mut snapshot = snapshot((1..).zip(&names).map(of).collect());
    let link = format!("https://t.example.com/{}/{{repo}}", "n".repeat(900));
    snapshot.settings.links = Links {
        repository: Parsed::parse_bounded(&link).unwrap(),
        ..Links::default()
    };
    snapshot.settings.targets = Targets(vec![entry(&[], &[], 1.0, "2023-11-01")]);
    for max_size in [40_000, 65_000, 1_000_000] {
        let text = markdown(&Report {
            max_size,
            ..report(&snapshot, &poll(0))
        });
        let sizes = max_size - 5000..=max_size;
        assert!(sizes.contains(&text.len()), "{}", text.len());
        let more = "\n- and 1,180 more, due 1 November, 13 days ago\n";
        assert!(text.contains(more), "{text:.9000}");
        let rows = text.matches("\n| [").count();
        let left_out = format!("\nand {} more\n", grouped(1200 - rows));
        assert!(text.ends_with(&left_out), "{rows}");
    }
}

#[test]
fn table_and_markdown_name_what_to_act_on_first() {
    let mut snapshot = snapshot(vec![read(
        1,
        "acme/app",
        &[("de", Some(60.0)), ("fr", Some(40.0)), ("it", Some(70.0))],
    )]);
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["de"], 0.95, "2023-11-11"),
        entry(&[], &["fr"], 0.95, "2023-11-13"),
    ]);
    let poll = poll(0);
    let report = report(&snapshot, &poll);
    let text = table(&report, 80, false);
    let expected = "
Act first:
  ✗ de of acme/app: 60% of 95%, due 11 November, 3 days ago, pace known on 15
    November
  ✗ fr of acme/app: 40% of 95%, due 13 November, 1 day ago, pace known on 15
    November
";
    assert!(text.ends_with(expected), "{text}");
    assert!(text.contains("fr 40%✗  de 60%✗  it 70%\n"), "{text}");
    let text = markdown(&report);
    let expected =
        "\n### Act first\n\n- **overdue**: DE of acme/app: 60% of 95%, due 11 November, 3 days ago";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_json_of_version_1_does_not_change() {
    // Nothing earlier is known of ja, which was first seen within the last week.
    let earlier = NOW.saturating_sub(Duration::from_secs(7 * 86_400));
    let languages = Languages {
        read_at: NOW,
        records: [
            record_of("de", "DE", Some(45.5), earlier),
            record("eo", None),
            record("fr", None),
            record("ja", Some(99.0)),
        ]
        .into(),
    };
    let mut snapshot = snapshot(vec![
        in_condition(repository(1, "acme/app"), Condition::Fresh(languages)),
        failed(
            9_007_199_254_740_994,
            "acme/gone",
            "the answer has status 404",
            "wait",
        ),
    ]);
    snapshot.leave_out(3);
    snapshot.settings.targets = Targets(vec![
        entry(&["acme/app"], &["de"], 0.45, "2026-12-24"),
        entry(&[], &["eo"], 0.0, ""),
    ]);
    let expected = include_str!("tests/version_1.json");
    assert_eq!(json_of(&report(&snapshot, &poll(1))), expected);
}

#[test]
fn the_json_of_an_empty_account_is_valid() {
    let document = snapshot(Vec::new()).judge(status(), None);
    let text: String = json(Arc::new(document), Selection::default(), a_week_ago(NOW)).collect();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["repositories"], serde_json::json!([]));
    assert_eq!(value["poll"], serde_json::Value::Null);
}

/// Asserts that the members of `value` are properties in the schema, and that required ones are
/// there.
fn assert_described(value: &Value, schema: &Value, definitions: &Value) {
    let any_of = schema["anyOf"][0]["$ref"].as_str();
    let schema = match schema["$ref"].as_str().or(any_of) {
        Some(name) => &definitions[name.rsplit('/').next().unwrap()],
        None => schema,
    };
    match value {
        Value::Array(items) => {
            for item in items {
                assert_described(item, &schema["items"], definitions);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let property = schema["properties"].get(name);
                let property = property.unwrap_or_else(|| panic!("{name} is not described"));
                assert_described(member, property, definitions);
            }
            for name in schema["required"].as_array().unwrap() {
                let name = name.as_str().unwrap();
                assert!(members.contains_key(name), "{name}: {value}");
            }
        }
        _ => assert!(schema.get("type").is_some() || value.is_null(), "{value}"),
    }
}

#[test]
fn the_schema_describes_the_json() {
    let schema = include_str!("../../docs/translations.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let document = serde_json::from_str(include_str!("tests/version_1.json")).unwrap();
    assert_described(&document, &schema, &schema["$defs"]);
}

proptest! {
    #![proptest_config(cases(50))]

    /// The lines by date sum up to the verdict, and JSON, sentences and metrics say the same.
    #[test]
    fn figures_by_date_agree_in_every_output(
        completions in proptest::collection::vec(proptest::option::of(0..=100_u8), 24),
        days in proptest::collection::vec(1..28_u8, 3),
        ratio in 0.0..=1.0_f64,
    ) {
        let codes = ["ar", "bg", "cs", "da", "de", "el"];
        let repositories = completions.chunks(codes.len()).zip(1..).map(|(chunk, id)| {
            let known = chunk.iter().map(|completion| completion.map(f64::from));
            let languages: Vec<_> = codes.into_iter().zip(known).collect();
            read(id, &format!("acme/{id}"), &languages)
        });
        let mut snapshot = snapshot(repositories.collect());
        let due = |at: usize| format!("2023-11-{:02}", days[at]);
        snapshot.settings.targets = Targets(vec![
            entry(&["acme/1"], &[], ratio, &due(0)),
            entry(&["acme/2"], &["d*"], 0.0, &due(1)),
            entry(&["acme/3"], &[], 0.5, &due(2)),
            entry(&[], &["el"], 0.9, &due(0)),
        ]);
        let report = report(&snapshot, &poll(0));
        let (document, totals) = (&report.document, &report.document.totals);
        let json: Value = serde_json::from_str(&json_of(&report)).unwrap();
        let (dates, others) = by_date(document);
        let text = markdown(&report);
        let (_, parts) = Exposition::new(Arc::clone(document)).uncompressed(ExpositionFormat::Text, &Instruments::new(None));
        let metrics: Vec<_> = parts.flatten().collect();
        let metrics = String::from_utf8(metrics).unwrap();
        for standing in Standing::ALL {
            let of_json = json["dates"].as_array().unwrap().iter();
            let sum: u64 = of_json.map(|date| date[standing.label()].as_u64().unwrap()).sum();
            prop_assert_eq!(sum, totals.standing(*standing) as u64);
            let label = format!("translation_exporter_translations{{state=\"{}\"", standing.label());
            let samples = metrics.lines().filter(|line| line.starts_with(&label));
            let counts = samples.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
            prop_assert_eq!(counts.sum::<u64>(), sum);
        }
        let shown: usize = dates.iter().map(|(_, totals)| totals.counted()).sum();
        prop_assert_eq!(shown + others, totals.counted());
        let answer = answer(document);
        prop_assert!(text.contains(&answer), "{}", text);
        let overdue = totals.standing(Standing::Overdue);
        prop_assert_eq!(answer.contains(&format!(", {overdue} overdue")), overdue > 0);
        let changes = document.change_counts(NOW.saturating_sub(Duration::from_secs(30 * 86_400)));
        prop_assert_eq!(changes.get(&Change::Overdue).copied().unwrap_or(0), overdue);
        for (day, totals) in &dates {
            let line = format!("{}: {}", words::day(*day, NOW), words::ready(totals));
            prop_assert!(dates.len() == 1 || text.contains(&line), "{line}: {text}");
        }
    }
}
