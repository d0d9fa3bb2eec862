//! The judgement of translations from a state of the past: every output says the same.

use crate::support::{Api, Exposition, Repo, Setup};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tempfile::TempDir;
use translation_exporter::{
    domain::{
        Completion,
        record::{Past, Reading},
    },
    state::StateFile,
    support::clock::{Clock, Timestamp},
};

/// The completions that the API reports, before and after the restart.
const LANGUAGES: [(&str, f64); 8] = [
    ("de", 100.0),
    ("fr", 60.0),
    ("it", 30.0),
    ("ja", 50.0),
    ("ko", 50.0),
    ("nl", 60.0),
    ("pt", 50.0),
    ("sv", 5.0),
];

const TARGETS: [&str; 5] = [
    "{languages: [ja], due: DAY-1}",
    "{languages: [ko], due: DAY+5}",
    "{languages: [nl], stalled_after: 90d}",
    "{languages: [pt], due: DAY+12}",
    "{languages: [sv], ratio: 0, due: DAY-1}",
];

/// The problems of [`LANGUAGES`].
const PROBLEMS: [(&str, &str); 4] = [
    ("at_risk", "ko"),
    ("overdue", "ja"),
    ("regressed", "it"),
    ("stalled", "fr"),
];

/// Returns the time that many days after `now`.
#[expect(clippy::cast_possible_truncation, reason = "days of a test")]
fn day(now: Timestamp, days: f64) -> Timestamp {
    Timestamp::from_millis(now.as_millis() + (days * 86_400_000.0) as i64)
}

/// An account whose exporter was down for an hour, after weeks of polls.
struct Account {
    api: Api,
    folder: TempDir,
    now: Timestamp,
}

impl Account {
    fn new() -> Self {
        let account = Self {
            api: Api::start([Repo::new(1, "acme/shop").languages(&LANGUAGES)]),
            folder: TempDir::new().unwrap(),
            now: Clock::system().now(),
        };
        // The exporter writes a state, of which this changes the times and earlier completions.
        account.once("text");
        let path = account.folder.path().join("state.json");
        let base_url = format!("{}/", account.api.base_url());
        let (file, saved) = StateFile::open(&path, &base_url, account.now).unwrap();
        let mut saved = saved.unwrap().unwrap();
        let day = |days| day(account.now, days);
        let reading = |completion, days| Reading {
            completion: Completion::new(completion).unwrap(),
            at: day(days),
        };
        let languages = saved.repositories[0].languages.as_mut().unwrap();
        languages.read_at = day(-1.0 / 24.0);
        for record in Arc::make_mut(&mut languages.records) {
            let (progress, latest, previous, fall) = match &*record.language.code {
                "fr" | "nl" | "sv" => (-30.0, None, None, None),
                "it" => (-1.5, Some((80.0, -3.0)), None, Some((80.0, -2.0))),
                "ko" => (-1.5, Some((45.0, -1.0)), Some((40.0, -8.0)), None),
                "pt" => (-1.5, Some((20.0, -6.0)), None, None),
                _ => (-1.5, None, None, None),
            };
            let known = record.known.as_mut().unwrap();
            known.at = day(progress);
            let known = *known;
            let reading = |(completion, days)| reading(completion, days);
            record.past = latest.map(|latest| {
                Box::new(Past {
                    latest: reading(latest),
                    previous: previous.map(reading),
                    fall: fall.map(reading),
                    ..Past::standing(known, false, account.now)
                })
            });
        }
        file.write(&saved).unwrap();
        account
    }

    fn targets(&self) -> String {
        let mut targets = "targets:\n".to_owned();
        for entry in TARGETS {
            let mut entry = entry.to_owned();
            for days in [-1, 5, 12] {
                let due = day(self.now, f64::from(days)).to_string();
                entry = entry.replace(&format!("DAY{days:+}"), &due);
            }
            targets += &format!("  - {entry}\n");
        }
        targets
    }

    fn setup(&self, arguments: &[&str]) -> Setup {
        let path = self.folder.path().join("state.json");
        let setup = Setup::for_api(&self.api).set("state.file", path.to_str().unwrap());
        let file = setup.file("config.yaml", &self.targets());
        let arguments = [arguments, &["--config.file", &file]].concat();
        setup.arguments(&arguments)
    }

    fn once(&self, output: &str) -> String {
        let finished = self.setup(&["once", "--output", output]).run();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stdout
    }
}

/// Returns the languages that have problems, with the kinds of these.
fn expected() -> BTreeMap<String, Vec<String>> {
    let one = |(kind, code): (&str, &str)| (code.to_owned(), vec![kind.to_owned()]);
    PROBLEMS.map(one).into()
}

/// Returns kind and language of each problem.
fn problems(metrics: &Exposition) -> BTreeSet<(String, String)> {
    let label = |labels: &BTreeMap<String, String>, name: &str| labels[name].clone();
    metrics
        .samples("translation_problem_timestamp_seconds")
        .map(|sample| {
            (
                label(&sample.labels, "kind"),
                label(&sample.labels, "language"),
            )
        })
        .collect()
}

fn kinds() -> BTreeSet<(String, String)> {
    let one = |(kind, code): (&str, &str)| (kind.to_owned(), code.to_owned());
    PROBLEMS.map(one).into()
}

#[test]
fn every_output_says_the_same_of_a_translation() {
    let account = Account::new();
    let words = "1 of 7 translations ready, 1 paused, 1 overdue";
    let marks = ["\u{2717} ", "! ", "\u{2193} ", "= "];
    for output in ["table", "markdown"] {
        let text = account.once(output);
        assert!(text.contains(words), "{text}");
        let (_, act) = text.split_once("Act first").unwrap();
        assert!(marks.iter().all(|mark| act.contains(mark)), "{text}");
    }

    let csv = account.once("csv");
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .ends_with(",problems,estimated_ready,read_at,not_judged,change,became")
    );
    let (mut found, mut estimated) = (BTreeMap::new(), BTreeSet::new());
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        if !cells[11].is_empty() {
            let kinds = cells[11].split(' ').map(str::to_owned);
            found.insert(cells[2].to_owned(), kinds.collect());
        }
        if !cells[12].is_empty() {
            estimated.insert(cells[2].to_owned());
        }
    }
    assert_eq!(found, expected(), "{csv}");
    assert_eq!(
        estimated,
        BTreeSet::from(["ko".to_owned(), "pt".to_owned()])
    );

    let printed = account.once("json");
    let exporter = account.setup(&[]).start();
    exporter.wait_until_fresh(1);
    let page = exporter.get("/").text();
    let tiles = ["stalled", "regressed", "at risk", "overdue"];
    let mut tiles = tiles.map(|tile| format!("<b>1</b> {tile}</a>")).into_iter();
    assert!(tiles.all(|tile| page.contains(&tile)), "{page}");
    let served = exporter.get("/translations.json").text();
    for document in [served, printed] {
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["summary"]["ready"], 1);
        assert_eq!(document["summary"]["resting"], 1);
        let mut found = BTreeMap::new();
        for language in document["repositories"][0]["languages"].as_array().unwrap() {
            let kinds: Vec<String> = serde_json::from_value(language["problems"].clone()).unwrap();
            let is_stalled = kinds.contains(&"stalled".to_owned());
            assert_eq!(language["stalled"], is_stalled);
            if !kinds.is_empty() {
                found.insert(language["code"].as_str().unwrap().to_owned(), kinds);
            }
        }
        assert_eq!(found, expected());
    }
}

#[test]
fn the_metrics_name_the_same_problems() {
    let account = Account::new();
    let setup = account.setup(&[]).set("poll.interval", "1h");
    setup.file("config.yaml", &account.targets());
    let metrics = setup.start().wait_until_fresh(1);
    assert_eq!(problems(&metrics), kinds());
}
