use super::*;
use crate::{
    domain::{
        Completion, Failure, Fault, Language, PollFailure, ReadFailure, Reason, Repository,
        RepositoryId, Stop,
        progress::Progress,
        snapshot::{Condition, Languages, PollOutcome, Reading, Reported, Shown, Snapshot},
        targets::{Targets, tests::entry},
    },
    support::clock::Timestamp,
};
use std::{sync::Arc, time::Duration};
use unicode_width::UnicodeWidthStr as _;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn repository(id: u64, name: &str) -> Arc<Repository> {
    Arc::new(Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        private: if id.is_multiple_of(2) {
            Some(true)
        } else {
            None
        },
        created_at: (id == 1).then_some(NOW),
    })
}

fn read(id: u64, name: &str, languages: &[(&str, Option<f64>)]) -> Shown {
    let reading = |(code, completion): &(&str, Option<f64>)| Reading {
        language: Arc::new(Language {
            code: (*code).into(),
            name: code.to_uppercase().into(),
        }),
        reported: completion
            .and_then(Completion::new)
            .map_or(Reported::Never, |completion| {
                Reported::Now(Progress {
                    completion,
                    at: NOW,
                })
            }),
    };
    let languages = Languages {
        read_at: NOW,
        readings: languages.iter().map(reading).collect(),
    };
    in_condition(repository(id, name), Condition::Fresh(Arc::new(languages)))
}

fn in_condition(repository: Arc<Repository>, condition: Condition) -> Shown {
    Shown {
        repository,
        condition,
    }
}

fn unread(id: u64, name: &str, what: &str, hint: &str) -> Shown {
    let reason = match hint {
        "wait" => Reason::Timeout,
        _ => Reason::NotFound,
    };
    let failure = ReadFailure {
        lasting: Failure::new(what, hint).since(NOW),
        reason: Some(reason),
        fault: Fault::Repository,
    };
    in_condition(repository(id, name), Condition::Pending(Some(failure)))
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot {
        taken_at: NOW,
        repositories,
        filtered: 0,
        unnamed: 0,
        unconfirmed: 0,
        completion_scale: 100.0,
        ..Snapshot::default()
    }
}

fn poll(failed: usize) -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        duration: Duration::from_millis(1500),
        listing: None,
        stop: None,
        read: 2,
        failed,
        unreached: 0,
        postponed: 0,
    }
}

fn plain(width: usize) -> Terminal {
    Terminal {
        width,
        color: false,
    }
}

fn shown(repositories: Vec<Shown>, width: usize) -> String {
    table(&snapshot(repositories), &poll(0), plain(width))
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
fn the_furthest_behind_stand_first_with_a_bar_for_each_and_a_column_for_each_language() {
    let repositories = vec![
        read(1, "acme/done", &[("de", Some(100.0)), ("fr", Some(100.0))]),
        read(2, "acme/half", &[("de", Some(25.5)), ("fr", Some(75.0))]),
        read(3, "acme/nearly", &[("fr", Some(99.99))]),
    ];
    let expected = "\
REPOSITORY   ALL                READY   de   fr
acme/half    █████·····  50%      0/2   25   75
acme/nearly  █████████·  99%      0/1    ·   99
acme/done    ██████████ 100%      2/2  100  100

· not a target language
2 of 5 translations ready, 80 % on average
3 repositories, 2 languages
";
    assert_eq!(shown(repositories, 80), expected);
}

#[test]
fn languages_that_do_not_fit_side_by_side_are_wrapped_below_the_furthest_behind_first() {
    let languages = [
        ("de", Some(10.0)),
        ("es", Some(-1.0)),
        ("fr", Some(30.0)),
        ("it", None),
        ("pt-BR", Some(1e9)),
    ];
    let repositories = vec![
        read(1, "acme/app", &languages),
        read(2, "acme/done", &[("de", Some(100.0))]),
    ];
    let expected = "\
acme/app   ███·······  35%      1/5
  es      <0   de      10
  fr      30   pt-BR >999
  it       ?
acme/done  ██████████ 100%      1/1
  de     100

? no completion reported
2 of 6 translations ready, 48 % on average
2 repositories, 5 languages
";
    assert_eq!(shown(repositories.clone(), 36), expected);
    // Three fit exactly.
    let three = "\n  es      <0   de      10   fr      30\n";
    assert!(shown(repositories, 38).contains(three));
}

#[test]
fn wide_characters_keep_the_columns() {
    let languages = [("de", Some(50.0))];
    let text = shown(
        vec![
            read(1, "株式会社/翻訳", &languages),
            read(2, "acme/😀", &languages),
            read(3, "e\u{301}/x", &languages),
        ],
        60,
    );
    let columns: Vec<_> = text
        .lines()
        .take(4)
        .map(|line| line.split(['█', 'A']).next().unwrap().width())
        .collect();
    assert_eq!(columns, [15, 15, 15, 15], "{text}");
}

#[test]
fn names_and_messages_cannot_steer_the_terminal() {
    let evil = "evil/\u{1b}[31m\u{7}\r\n\u{9b}1m\u{202e}x";
    let color = Terminal {
        width: 60,
        color: true,
    };
    let repositories = vec![
        read(1, evil, &[(evil, Some(1.0))]),
        unread(2, evil, evil, evil),
    ];
    for terminal in [plain(60), plain(200), plain(30)] {
        let text = table(&snapshot(repositories.clone()), &poll(1), terminal);
        let bad: Vec<_> = text
            .chars()
            .filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}')
            .collect();
        assert_eq!(bad, Vec::<char>::new(), "{text}");
    }
    let text = table(&snapshot(repositories), &poll(1), color);
    assert!(
        text.contains("\u{1b}[31m")
            && !text.contains("\u{1b}[31m\u{7}")
            && !text.contains('\u{9b}'),
        "{text:?}"
    );
}

#[test]
fn colours_are_the_only_difference_between_a_terminal_and_a_file() {
    let repositories = snapshot(many(50, 40));
    let colored = table(
        &repositories,
        &poll(0),
        Terminal {
            width: 80,
            color: true,
        },
    );
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped += before;
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, table(&repositories, &poll(0), plain(80)));
    assert!(colored.contains("\u{1b}["));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (width, languages) in [(50, 40), (80, 7), (80, 40), (120, 15), (200, 40), (300, 40)] {
        let text = shown(many(500, languages), width);
        assert_eq!(text.lines().find(|line| line.width() > width), None);
        assert_eq!(text.matches("y-").count(), 500, "{width}");
    }
}

#[test]
fn what_could_not_be_read_is_listed_by_cause() {
    let repositories = vec![
        read(1, "acme/app", &[("de", Some(50.0))]),
        unread(2, "acme/gone", "GET 2: 404", "terminal"),
        unread(3, "acme/one", "GET 3: timeout", "wait"),
        unread(4, "acme/two", "GET 4: timeout", "wait"),
        in_condition(repository(5, "acme/three"), Condition::Pending(None)),
    ];
    let text = table(&snapshot(repositories), &poll(3), plain(80));
    let (_, failures) = text.split_once("1 language\n").unwrap();
    let expected = "
Could not be read:
  2 repositories, such as GET 3: timeout; wait
    acme/one
    acme/two
  acme/gone: GET 2: 404; terminal
  1 repository not asked for
";
    assert_eq!(failures, expected);
}

#[test]
fn nothing_at_all_is_a_summary_and_an_account_without_repositories_is_shown() {
    let empty = "0 repositories, 0 languages
The account of the key has no repositories; connect some to it, or use the key of another account
";
    assert_eq!(shown(Vec::new(), 80), empty);
    let filtered = Snapshot {
        filtered: 3,
        ..snapshot(Vec::new())
    };
    let none_left = "0 repositories, 0 languages; 3 left out
The filters leave out every repository, 3 in all; change filter.include, filter.exclude or filter.private
";
    assert_eq!(table(&filtered, &poll(0), plain(80)), none_left);
}

#[test]
fn a_listing_that_failed_is_reported_once_and_not_taken_for_an_empty_account() {
    let failure = Failure::new("status 401", "wait").since(NOW);
    let refused = PollOutcome {
        listing: Some(failure.clone()),
        stop: Some(Stop {
            reason: PollFailure::Unauthorized,
            lasting: failure,
        }),
        ..poll(0)
    };
    let expected = "0 repositories read, 0 languages

Could not be read:
  status 401; wait
";
    assert_eq!(table(&snapshot(Vec::new()), &refused, plain(80)), expected);
}

#[test]
fn a_repository_without_languages_or_completions_says_so() {
    let expected = "\
REPOSITORY  ALL                READY   de
acme/empty  no languages                ·
acme/mute   not reported         0/1    ?

· not a target language   ? no completion reported
0 of 1 translation ready
2 repositories, 1 language
";
    assert_eq!(
        shown(
            vec![
                read(1, "acme/empty", &[]),
                read(2, "acme/mute", &[("de", None)])
            ],
            80
        ),
        expected
    );
}

#[test]
fn of_many_that_are_not_ready_twenty_are_named_and_the_rest_counted() {
    let behind = |count| {
        let error = all_ready(&snapshot(many(1, count))).unwrap_err();
        error.to_string()
    };
    let named = behind(20);
    assert!(named.starts_with("20 of 20 translations not at their targets:\n    "));
    assert_eq!(
        (named.lines().count(), named.contains(" more")),
        (21, false)
    );
    let named = behind(23);
    assert_eq!(named.lines().count(), 22);
    assert!(named.ends_with("\n    and 3 more"), "{named}");
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the whole document, to be read as a whole"
)]
fn the_json_keeps_its_schema() {
    let mut snapshot = snapshot(vec![
        read(
            1,
            "acme/app",
            &[
                ("de", Some(45.5)),
                ("eo", None),
                ("fr", None),
                ("ja", Some(99.0)),
            ],
        ),
        unread(
            9_007_199_254_740_994,
            "acme/gone",
            "the answer has status 404",
            "wait",
        ),
    ]);
    snapshot.filtered = 3;
    snapshot.targets = Arc::new(Targets(vec![
        entry(&["acme/app"], &["de"], 0.45, "2026-12-24"),
        entry(&[], &["eo"], 0.0, ""),
    ]));
    let expected = r#"{
  "version": 1,
  "taken_at": "2023-11-14T22:13:20Z",
  "complete": false,
  "completion_scale": 100.0,
  "listing": {
    "complete": true,
    "error": null
  },
  "poll": {
    "duration_seconds": 1.5,
    "error": null,
    "failed": 1,
    "postponed": 0,
    "read": 2,
    "unreached": 0
  },
  "filtered": 3,
  "repositories": [
    {
      "id": "1",
      "name": "acme/app",
      "private": null,
      "created_at": "2023-11-14T22:13:20Z",
      "state": "fresh",
      "error": null,
      "languages": [
        {
          "code": "de",
          "name": "DE",
          "completion": 45.5,
          "ratio": 0.455,
          "target": {
            "ratio": 0.45,
            "due": "2026-12-24T23:59:59Z"
          },
          "ready": true
        },
        {
          "code": "eo",
          "name": "EO",
          "completion": null,
          "ratio": null,
          "target": {
            "ratio": 0.0,
            "due": null
          },
          "ready": true
        },
        {
          "code": "fr",
          "name": "FR",
          "completion": null,
          "ratio": null,
          "target": {
            "ratio": 1.0,
            "due": null
          },
          "ready": null
        },
        {
          "code": "ja",
          "name": "JA",
          "completion": 99.0,
          "ratio": 0.99,
          "target": {
            "ratio": 1.0,
            "due": null
          },
          "ready": false
        }
      ]
    },
    {
      "id": "9007199254740994",
      "name": "acme/gone",
      "private": true,
      "created_at": null,
      "state": "pending",
      "error": {
        "hint": "wait",
        "what": "the answer has status 404"
      },
      "languages": null
    }
  ]
}
"#;
    assert_eq!(json(&snapshot, &poll(1)), expected);
}
