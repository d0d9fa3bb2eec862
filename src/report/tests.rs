use super::*;
use crate::{
    model::{Completion, Failure, Language, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Condition, Languages, PollOutcome, PollStatus, Reading, Reported, Shown, Snapshot},
};
use std::{sync::Arc, time::Duration};
use unicode_width::UnicodeWidthStr as _;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn repository(id: u64, name: &str) -> Arc<Repository> {
    Arc::new(Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        visibility: if id.is_multiple_of(2) { Visibility::Private } else { Visibility::Unknown },
        created_at: (id == 1).then_some(NOW),
    })
}

fn read(id: u64, name: &str, languages: &[(&str, Option<f64>)]) -> Shown {
    let reading = |(code, completion): &(&str, Option<f64>)| Reading {
        language: Arc::new(Language { code: (*code).into(), name: code.to_uppercase().into() }),
        reported: completion
            .and_then(Completion::new)
            .map_or(Reported::Never, |completion| Reported::Now(Progress { completion, at: NOW })),
    };
    let languages = Languages { read_at: NOW, readings: languages.iter().map(reading).collect() };
    Shown::new(repository(id, name), Condition::Fresh(Arc::new(languages)))
}

fn unread(id: u64, name: &str, what: &str) -> Shown {
    let failure = Failure { since: NOW, what: what.into(), hint: "wait".into() };
    Shown::new(repository(id, name), Condition::Pending(Some(failure)))
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot { taken_at: NOW, repositories, filtered: 0, completion_scale: 100.0 }
}

fn status(failed: usize) -> PollStatus {
    let last = PollOutcome {
        ended_at: NOW,
        duration: Duration::from_millis(1500),
        listing: None,
        ended_early: None,
        read: 2,
        failed,
        unreached: 0,
        failure: (failed > 0).then_some(crate::model::PollFailure::Repositories),
    };
    PollStatus {
        interval: Duration::from_secs(300),
        running_since: None,
        next_poll_at: None,
        last: Some(last),
        last_success_at: None,
        held_until: None,
        has_data: true,
        state_is_kept: false,
    }
}

fn plain(width: usize) -> Look {
    Look { width, color: false }
}

fn told(repositories: Vec<Shown>, width: usize) -> String {
    table(&snapshot(repositories), &status(0), plain(width))
}

fn many(repositories: u64, languages: usize) -> Vec<Shown> {
    let codes: Vec<_> = (0..languages).map(|index| format!("l{index}")).collect();
    let value = |id: u64, index: usize| f64::from(u32::try_from((id * 7 + index as u64 * 13) % 101).unwrap());
    let of =
        |id| codes.iter().enumerate().map(|(index, code)| (code.as_str(), Some(value(id, index)))).collect::<Vec<_>>();
    (1..=repositories).map(|id| read(id, &format!("some-owner/repository-{id}"), &of(id))).collect()
}

#[test]
fn the_least_complete_stand_first_with_a_bar_and_a_number_for_each() {
    let repositories = vec![
        read(1, "acme/done", &[("de", Some(100.0)), ("fr", Some(100.0))]),
        read(2, "acme/half", &[("de", Some(25.5)), ("fr", Some(75.0))]),
        read(3, "acme/nearly", &[("fr", Some(99.99))]),
    ];
    let expected = "\
REPOSITORY   ALL                       de           fr
acme/half    █████·····  50%   █▌····  25   ████▌·  75
acme/nearly  █████████▉  99%            ·   █████▉  99
acme/done    ██████████ 100%   ██████ 100   ██████ 100

· not a target language
3 repositories, 2 languages, 83 % on average
";
    assert_eq!(told(repositories, 80), expected);
}

#[test]
fn numbers_take_the_place_of_bars_where_these_do_not_fit() {
    let languages = [("de", Some(10.0)), ("es", Some(20.0)), ("fr", Some(30.0)), ("it", None), ("pt-BR", Some(150.0))];
    let expected = "\
REPOSITORY  ALL               de   es   fr  pt-BR   it
acme/app    ████······  40%   10   20   30    150    ?

? completion not told
1 repository, 5 languages, 40 % on average
";
    assert_eq!(told(vec![read(1, "acme/app", &languages)], 60), expected);
}

#[test]
fn wide_characters_keep_the_columns() {
    let languages = [("de", Some(50.0))];
    let text = told(
        vec![read(1, "株式会社/翻訳", &languages), read(2, "acme/😀", &languages), read(3, "e\u{301}/x", &languages)],
        60,
    );
    let columns: Vec<_> = text.lines().take(4).map(|line| line.split(['█', 'A']).next().unwrap().width()).collect();
    assert_eq!(columns, [15, 15, 15, 15], "{text}");
}

#[test]
fn names_and_messages_cannot_steer_the_terminal() {
    let evil = "evil/\u{1b}[31m\u{7}\r\n\u{9b}1m\u{202e}x";
    let color = Look { width: 60, color: true };
    let repositories = vec![read(1, evil, &[(evil, Some(1.0))]), unread(2, evil, evil)];
    for look in [plain(60), plain(200), plain(30)] {
        let text = table(&snapshot(repositories.clone()), &status(1), look);
        let bad: Vec<_> = text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
        assert_eq!(bad, Vec::<char>::new(), "{text}");
    }
    let text = table(&snapshot(repositories), &status(1), color);
    assert!(text.contains("\u{1b}[31m") && !text.contains("\u{1b}[31m\u{7}") && !text.contains('\u{9b}'), "{text:?}");
}

#[test]
fn colours_are_the_only_difference_between_a_terminal_and_a_file() {
    let repositories = snapshot(many(50, 40));
    let colored = table(&repositories, &status(0), Look { width: 80, color: true });
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped += before;
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, table(&repositories, &status(0), plain(80)));
    assert!(colored.contains("\u{1b}["));
}

#[test]
fn five_hundred_repositories_by_forty_languages_are_a_line_each() {
    for width in [80, 100, 120, 200, 300] {
        let text = told(many(500, 40), width);
        let wide: Vec<_> = text.lines().filter(|line| line.width() > width).collect();
        assert_eq!(wide, Vec::<&str>::new());
        assert_eq!(text.lines().filter(|line| line.contains("y-")).count(), 500, "{width}");
    }
}

#[test]
fn at_two_hundred_columns_forty_languages_have_numbers() {
    let text = told(many(3, 40), 200);
    assert!(text.contains(" 98 ") && !text.contains('▁'), "{text}");
}

#[test]
fn languages_that_fit_nowhere_get_tables_of_their_own() {
    let text = told(many(3, 150), 80);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    assert_eq!(text.matches("REPOSITORY").count(), 4, "{text}");
    let cells = text.chars().filter(|c| ('▁'..='█').contains(c)).count();
    assert!(cells >= 450, "{cells}: {text}");
}

#[test]
fn what_could_not_be_read_is_told_with_its_cause() {
    let repositories = vec![
        read(1, "acme/app", &[("de", Some(50.0))]),
        unread(2, "acme/gone", "404"),
        unread(3, "acme/one", "timeout"),
        unread(4, "acme/two", "timeout"),
        Shown::new(repository(5, "acme/three"), Condition::Pending(None)),
    ];
    let text = table(&snapshot(repositories), &status(3), plain(80));
    let (_, failures) = text.split_once("average\n").unwrap();
    let expected = "
Could not be read:
  acme/gone: 404; wait
  timeout; wait
    acme/one
    acme/two
  1 repository was not asked for
";
    assert_eq!(failures, expected);
}

#[test]
fn nothing_at_all_is_a_summary_and_an_account_without_repositories_is_told() {
    let empty = "0 repositories, 0 languages
The account of the key has no repository: connect some to it, or use the key of another account
";
    assert_eq!(told(Vec::new(), 80), empty);
    let filtered = Snapshot { filtered: 3, ..snapshot(Vec::new()) };
    assert_eq!(table(&filtered, &status(0), plain(80)), "0 repositories, 0 languages; 3 left out\n");
}

#[test]
fn a_listing_that_failed_is_told_once_and_not_taken_for_an_empty_account() {
    let failure = |what: &str| Some(Failure { since: NOW, what: what.into(), hint: "wait".into() });
    let mut status = status(0);
    if let Some(last) = &mut status.last {
        (last.listing, last.ended_early) = (failure("status 401"), failure("the API refuses the key"));
    }
    let expected = "0 repositories, 0 languages

Could not be read:
  status 401; wait
";
    assert_eq!(table(&snapshot(Vec::new()), &status, plain(80)), expected);
}

#[test]
fn a_repository_without_languages_or_completions_says_so() {
    let expected = "\
REPOSITORY  ALL                       de
acme/empty  no languages               ·
acme/mute   not told                   ?

· not a target language   ? completion not told
2 repositories, 1 language
";
    assert_eq!(told(vec![read(1, "acme/empty", &[]), read(2, "acme/mute", &[("de", None)])], 80), expected);
}

#[test]
fn the_json_keeps_its_schema() {
    let mut snapshot = snapshot(vec![
        read(1, "acme/app", &[("de", Some(45.5)), ("fr", None)]),
        unread(9_007_199_254_740_994, "acme/gone", "the answer has status 404"),
    ]);
    snapshot.filtered = 3;
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
    "read": 2,
    "failed": 1,
    "unreached": 0,
    "error": null
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
          "ratio": 0.455
        },
        {
          "code": "fr",
          "name": "FR",
          "completion": null,
          "ratio": null
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
        "what": "the answer has status 404",
        "hint": "wait"
      },
      "languages": null
    }
  ]
}
"#;
    assert_eq!(json(&snapshot, &status(1)), expected);
}
