//! The judgement of translations from a state of the past: every output says the same.

use crate::support::{
    Api, Exporter, Reply, Repo, Setup, Target,
    exposition::{Exposition, RATIO},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::SystemTime,
};
use tempfile::TempDir;

const PROBLEM: &str = "translation_problem_timestamp_seconds";
const ESTIMATE: &str = "translation_estimated_ready_timestamp_seconds";

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

/// The problems of [`LANGUAGES`], each with the days from now that it is about.
const PROBLEMS: [(&str, &str, f64); 4] = [
    ("at_risk", "ko", 5.0),
    ("overdue", "ja", -1.0),
    ("regressed", "it", -2.0),
    ("stalled", "fr", -30.0),
];

/// Returns the milliseconds of the time that many days from `now`.
#[expect(clippy::cast_possible_truncation, reason = "days of a test")]
fn millis(now: SystemTime, days: f64) -> i64 {
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    (since_1970.as_secs_f64() * 1000.0 + days * 86_400_000.0) as i64
}

/// An account whose exporter was down for an hour, after weeks of polls.
struct Past {
    api: Api,
    folder: TempDir,
    now: SystemTime,
}

impl Past {
    fn new() -> Self {
        let past = Self {
            api: Api::start([Repo::new(1, "acme/shop").languages(&LANGUAGES)]),
            folder: TempDir::new().unwrap(),
            now: SystemTime::now(),
        };
        let days = |days| millis(past.now, days);
        // The exporter writes a state, of which this changes the times and earlier completions.
        past.once("text");
        let path = past.folder.path().join("state.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let read = &mut state["state"]["repositories"][0]["languages"];
        read["read_at"] = json!(days(-1.0 / 24.0));
        let earlier = |completion: f64, at| json!({"completion": completion, "at": days(at)});
        for record in read["records"].as_array_mut().unwrap() {
            let code = record["language"]["code"].as_str().unwrap();
            let (progress, past) = match code {
                "fr" | "nl" | "sv" => (-30.0, Value::Null),
                "it" => {
                    let fall = json!({"completion": 80.0, "at": days(-2.0)});
                    (-1.5, json!({"fall": fall, "latest": earlier(80.0, -3.0)}))
                }
                "ko" => {
                    let (previous, latest) = (earlier(40.0, -8.0), earlier(45.0, -1.0));
                    (-1.5, json!({"previous": previous, "latest": latest}))
                }
                "pt" => (-1.5, json!({"latest": earlier(20.0, -6.0)})),
                _ => (-1.5, Value::Null),
            };
            record["known"]["progress_at"] = json!(days(progress));
            record["past"] = past;
        }
        fs::write(path, state.to_string()).unwrap();
        past
    }

    fn targets(&self) -> String {
        let mut targets = "targets:\n".to_owned();
        for entry in TARGETS {
            let mut entry = entry.to_owned();
            for days in [-1, 5, 12] {
                let due = jiff::Timestamp::from_millisecond(millis(self.now, f64::from(days)));
                entry = entry.replace(&format!("DAY{days:+}"), &due.unwrap().to_string());
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
    let one = |(kind, code, _): (&str, &str, f64)| (code.to_owned(), vec![kind.to_owned()]);
    PROBLEMS.map(one).into()
}

/// Returns kind and language of each problem.
fn problems(metrics: &Exposition) -> BTreeSet<(String, String)> {
    let label = |labels: &BTreeMap<String, String>, name: &str| labels[name].clone();
    metrics
        .samples(PROBLEM)
        .map(|sample| {
            (
                label(&sample.labels, "kind"),
                label(&sample.labels, "language"),
            )
        })
        .collect()
}

fn kinds() -> BTreeSet<(String, String)> {
    let one = |(kind, code, _): (&str, &str, f64)| (kind.to_owned(), code.to_owned());
    PROBLEMS.map(one).into()
}

#[test]
fn every_output_says_the_same_of_a_translation() {
    let past = Past::new();
    let words = "1 of 7 ready";
    let counts = ["1 stalled", "1 regressed", "1 at risk", "1 overdue"];
    for output in ["table", "markdown"] {
        let text = past.once(output);
        assert!(text.contains(words), "{text}");
        assert!(text.contains(&counts.join(", ")), "{text}");
    }

    let csv = past.once("csv");
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().ends_with(",problems,estimated_ready"));
    let mut found = BTreeMap::new();
    let mut estimated = BTreeSet::new();
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        // It is too early to tell whether some have stalled.
        let kinds = cells[11].split(' ').filter(|kind| *kind != "not_judged");
        let kinds: Vec<_> = kinds
            .filter(|kind| !kind.is_empty())
            .map(str::to_owned)
            .collect();
        if !kinds.is_empty() {
            found.insert(cells[2].to_owned(), kinds);
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

    let printed = past.once("json");
    let exporter = past.setup(&[]).start();
    exporter.wait_until_fresh(1);
    let page = exporter.get("/").text();
    for count in counts {
        let (number, words) = count.split_once(' ').unwrap();
        let (_, tile) = page.split_once(&format!("<b>{number}</b> <a ")).unwrap();
        assert!(tile.contains(&format!(">{words}</a>")), "{words}: {page}");
    }
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

fn started(past: &Past) -> (Exporter, Exposition) {
    let setup = past.setup(&[]).set("poll.stale_after", "2s");
    let exporter = setup.start();
    let metrics = exporter.wait_until_fresh(1);
    (exporter, metrics)
}

#[test]
fn each_metric_of_a_problem_has_the_time_that_it_is_about() {
    let past = Past::new();
    let (_exporter, metrics) = started(&past);
    for (kind, code, days) in PROBLEMS {
        let labels = [("repo", "acme/shop"), ("language", code), ("kind", kind)];
        let value = metrics.value(PROBLEM, &labels).unwrap();
        let about = value * 1000.0;
        #[expect(clippy::cast_precision_loss, reason = "milliseconds below 2^53")]
        let distance = about - millis(past.now, days) as f64;
        assert!(distance.abs() < 1000.0, "{kind}: {distance} ms");
    }
    assert_eq!(problems(&metrics), kinds());
    // 10 % in eight days leave 40 days for 50 %; 30 % in six days leave ten.
    for (code, days) in [("ko", 40.0), ("pt", 10.0)] {
        let value = metrics.sum(ESTIMATE, &[("language", code)]);
        #[expect(clippy::cast_precision_loss, reason = "milliseconds below 2^53")]
        let distance = value - millis(past.now, days) as f64 / 1000.0;
        assert!(distance.abs() < 600.0, "{code}: {distance} s");
    }
    assert_eq!(metrics.count(ESTIMATE), 2);
    // A resting language is neither ready nor behind.
    assert_eq!(metrics.count("translation_ready"), 7);
    assert_eq!(metrics.sum("translation_ready", &[]), 1.0);
    let de = metrics.value(
        "translation_ready",
        &[("repo", "acme/shop"), ("language", "de")],
    );
    assert_eq!(de, Some(1.0));
}

#[test]
fn thresholds_of_a_reload_are_judged_by_at_once() {
    let past = Past::new();
    let setup = past.setup(&[]).set("poll.interval", "1h");
    let path = setup.file("config.yaml", &past.targets());
    let exporter = setup.start();
    let metrics = exporter.wait_until_fresh(1);
    assert_eq!(problems(&metrics), kinds());
    let thresholds = "thresholds: {stalled_after: 31d, regressed_by: 0.6, at_risk_within: 1d}\n";
    fs::write(path, thresholds.to_owned() + &past.targets()).unwrap();
    exporter.signal("HUP");
    let overdue = BTreeSet::from([("overdue".to_owned(), "ja".to_owned())]);
    let metrics = exporter.wait_for("judged", |metrics| problems(metrics) == overdue);
    assert!(metrics.polls() <= 1.0, "no further poll was needed");
}

#[test]
fn problems_outlast_the_data_of_a_repository_that_cannot_be_read() {
    let past = Past::new();
    let (exporter, _) = started(&past);
    past.api.fault(Target::Everything, Reply::status(500));
    let metrics = exporter.wait_for("the data are stale", |metrics| metrics.count(RATIO) == 0);
    assert_eq!(metrics.repositories("stale"), 1.0);
    assert_eq!(problems(&metrics), kinds());
    assert_eq!(metrics.count(ESTIMATE), 0);
}
