use super::*;
use crate::{
    domain::targets::Targets,
    testing::{Condition, Snapshot},
};
use crate::{
    domain::{
        record::{Languages, Past, Reading, Record},
        targets::tests::entry,
    },
    support::glob::glob,
    testing,
};
use std::time::Duration;

const NOW: Timestamp = testing::NOW;
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the time that many days from now; a negative number lies in the past.
fn day(days: f64) -> Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "days of a test")]
    let millis = (days * 86_400_000.0) as i64;
    Timestamp::from_millis(NOW.as_millis() + millis)
}

fn percent(ratio: f64) -> Completion {
    Completion::new(ratio * 100.0).unwrap()
}

/// A translation before it is judged, in days from now and ratios.
#[derive(Clone, Copy)]
struct Given {
    ratio: Option<f64>,
    progress: f64,
    /// The fall: its time, and the ratio before it.
    fall: Option<(f64, f64)>,
    /// The time and the ratio of an earlier reading.
    earlier: Option<(f64, f64)>,
    target: f64,
    due: Option<f64>,
    stalled_after: Option<Duration>,
    read: f64,
}

/// A translation at a ratio of 0.5 that has no problem.
const HALF: Given = Given {
    ratio: Some(0.5),
    progress: -1.0,
    fall: None,
    earlier: None,
    target: 1.0,
    due: None,
    stalled_after: None,
    read: 0.0,
};

impl Given {
    fn snapshot(self) -> Snapshot {
        let mut record = testing::record_of("de", "German", None, NOW);
        record.known = self.ratio.map(|ratio| Reading {
            completion: percent(ratio),
            at: day(self.progress),
        });
        record.reported = self.ratio.map(percent);
        let reading = |(at, ratio)| Reading {
            completion: percent(ratio),
            at: day(at),
        };
        record.past = record.known.map(|known| {
            Box::new(Past {
                previous: self.earlier.map(reading),
                fall: self.fall.map(reading),
                ..Past::standing(known, false, day(self.progress))
            })
        });
        let languages = Languages {
            read_at: day(self.read),
            records: [record].into(),
        };
        let repository = testing::repository(1, "a/b");
        let mut entry = entry(&[], &[], self.target, "");
        let target = Arc::get_mut(&mut entry).unwrap();
        target.due.0 = self.due.map(day);
        target.stalled_after.0 = self.stalled_after;
        let condition = Condition::Fresh(languages);
        let mut snapshot = testing::snapshot(vec![testing::in_condition(repository, condition)]);
        snapshot.settings.targets = Targets(vec![entry]);
        snapshot
    }

    fn judged(self) -> Translation {
        only(&judged(&self.snapshot()))
    }

    /// Returns the labels of the problems, and the days from now that they are about.
    fn problems(self) -> Vec<(&'static str, f64)> {
        let judged = self.judged();
        let days = |at: Timestamp| (at.as_seconds() - NOW.as_seconds()) / 86_400.0;
        let problems = judged.problems.iter();
        problems
            .map(|(kind, at)| (kind.label(), days(*at)))
            .collect()
    }

    fn has(self, kind: TranslationProblem) -> bool {
        self.judged().has(kind)
    }
}

fn judged(snapshot: &Snapshot) -> Document {
    snapshot.judge(testing::status(), None)
}

fn only(document: &Document) -> Translation {
    document.rows[0].known[0].clone()
}

/// A translation that has all problems that can be combined.
const TROUBLED: Given = Given {
    progress: -30.0,
    fall: Some((-2.0, 0.9)),
    target: 0.95,
    due: Some(-1.0),
    ..HALF
};

/// A translation that gains a tenth in a week.
const GROWING: Given = Given {
    earlier: Some((-7.0, 0.4)),
    ..HALF
};

#[test]
fn each_problem_is_about_its_time() {
    let all = [("stalled", -30.0), ("regressed", -2.0), ("overdue", -1.0)];
    assert_eq!(TROUBLED.problems(), all);
    let at_risk = Given {
        due: Some(3.0),
        ..HALF
    };
    assert_eq!(at_risk.problems(), [("at_risk", 3.0)]);
}

#[test]
fn a_translation_that_is_ready_or_rests_has_no_problem() {
    for (ratio, readiness) in [
        (Some(0.95), Readiness::Ready),
        (Some(1.0), Readiness::Ready),
        (Some(1.2), Readiness::Unknown),
        (Some(0.949), Readiness::Behind),
    ] {
        let given = Given { ratio, ..TROUBLED };
        let judged = given.judged();
        assert_eq!(judged.readiness, readiness);
        assert_eq!(judged.is_ready(), given.problems().is_empty());
    }
    for ratio in [Some(0.5), None] {
        let resting = Given {
            ratio,
            target: 0.0,
            ..TROUBLED
        };
        assert_eq!(resting.problems(), []);
        assert_eq!(resting.judged().readiness, Readiness::Resting);
        assert_eq!(resting.judged().fall, None);
    }
}

#[test]
fn a_suspect_scale_is_not_judged() {
    let mut snapshot = Given {
        ratio: Some(0.005),
        due: Some(-1.0),
        ..GROWING
    }
    .snapshot();
    let document = judged(&snapshot);
    assert!(document.is_scale_suspect);
    let one = only(&document);
    assert_eq!(one.readiness, Readiness::Unknown);
    assert_eq!(one.not_judged, Some(NotJudged::Unknown));
    assert_eq!(one.estimated_ready, None);
    let totals = document.whole().totals;
    assert_eq!(totals.not_judged, [(NotJudged::Unknown, 1)].into());
    assert_eq!((totals.ready(), totals.unknown()), (0, 1));
    snapshot.settings.scale.is_chosen = true;
    assert!(!judged(&snapshot).is_scale_suspect);
}

#[test]
fn data_older_than_a_day_and_three_intervals_are_not_judged() {
    for (days, interval, expected) in [
        (-1.0, HOUR, true),
        (-1.0001, HOUR, false),
        (-1.0001, DAY / 2, true),
        (-1.51, DAY / 2, false),
        (-5.9, 2 * DAY, true),
    ] {
        let given = Given {
            read: days,
            ..TROUBLED
        };
        let mut snapshot = given.snapshot();
        snapshot.settings.interval = interval;
        let one = only(&judged(&snapshot));
        assert_eq!(one.readiness, Readiness::Behind, "{days}");
        assert_eq!(one.problems.len() == 3, expected, "{days}");
        let not_judged = one.not_judged == Some(NotJudged::OldData);
        assert_eq!(not_judged, !expected, "{days}");
    }
}

#[test]
fn a_translation_stalls_after_its_own_limit_or_the_general_one() {
    for (progress, stalled_after, expected) in [
        (-6.999, None, false),
        (-7.0, None, true),
        (-29.0, Some(30 * DAY), false),
        (-30.0, Some(30 * DAY), true),
        (-1.0, Some(HOUR), true),
    ] {
        let given = Given {
            progress,
            stalled_after,
            ..HALF
        };
        let is_stalled = given.has(TranslationProblem::Stalled);
        assert_eq!(is_stalled, expected, "{progress} with {stalled_after:?}");
    }
}

#[test]
fn a_fall_by_the_threshold_is_a_regression() {
    for (from, to, expected) in [
        (0.7, 0.5, true),
        (0.9, 0.7, true),
        (0.69, 0.5, false),
        (1.3, 1.1, false),
    ] {
        let given = Given {
            ratio: Some(to),
            fall: Some((-2.0, from)),
            ..HALF
        };
        let has_regressed = given.has(TranslationProblem::Regressed);
        assert_eq!(has_regressed, expected, "{from} to {to}");
    }
}

#[test]
fn a_date_is_overdue_once_it_is_past() {
    for (days, expected) in [(-0.01, "overdue"), (0.0, "at_risk"), (14.0, "at_risk")] {
        let due = Some(days);
        assert_eq!(Given { due, ..HALF }.problems(), [(expected, days)]);
    }
    let due = Some(14.001);
    assert_eq!(Given { due, ..HALF }.problems(), []);
}

#[test]
fn a_translation_is_at_risk_if_its_rate_misses_a_near_date() {
    // The ratio is 0.5, so that 0.1 in a week leaves five weeks, and 0.4 in two leaves 17.5 days.
    for (before, days, due, expected) in [
        (0.1, -14.0, 17.0, false),
        (0.1, -14.0, 13.9, true),
        (0.2, -7.0, 11.6, true),
        (0.2, -7.0, 11.7, false),
        (0.4, -1.0, 4.9, true),
        (0.4, -1.0, 5.1, false),
        (0.5, -7.0, 13.0, true),
        (0.9, -7.0, 13.0, true),
        (0.4, -0.999, 0.1, false),
        (0.5, -0.999, 13.0, false),
    ] {
        let given = Given {
            earlier: Some((days, before)),
            due: Some(due),
            ..HALF
        };
        let is_at_risk = given.has(TranslationProblem::AtRisk);
        assert_eq!(is_at_risk, expected, "{before} at {days}, due {due}");
    }
}

#[test]
fn nothing_is_at_risk_before_its_history_is_a_day_old() {
    for (progress, expected) in [(0.0, false), (-0.99, false), (-1.0, true)] {
        let given = Given {
            progress,
            due: Some(10.0),
            ..HALF
        };
        assert_eq!(given.has(TranslationProblem::AtRisk), expected);
        let too_early = (!expected).then_some(NotJudged::TooEarly);
        assert_eq!(given.judged().not_judged, too_early);
    }
}

#[test]
fn a_stall_is_unknown_until_its_limit_has_passed_since_the_first_sight() {
    for (progress, stalled_after, too_early) in [
        (-6.9, None, true),
        (-7.0, None, false),
        (-8.0, Some(30 * DAY), true),
        (-0.1, Some(HOUR), false),
    ] {
        let given = Given {
            progress,
            stalled_after,
            ..HALF
        };
        let mut snapshot = given.snapshot();
        let mut first = testing::record_of("de", "German", Some(50.0), day(progress));
        let languages = |record: &Record| Languages {
            read_at: NOW,
            records: [record.clone()].into(),
        };
        let mut not_judged = |record: &Record| {
            snapshot.repositories[0].condition = Condition::Fresh(languages(record));
            only(&judged(&snapshot)).not_judged
        };
        assert_eq!(
            not_judged(&first),
            too_early.then_some(NotJudged::TooEarly),
            "{progress}"
        );
        first.observe(
            Some(percent(0.6)),
            crate::domain::Scale::PERCENT,
            day(progress / 2.0),
        );
        assert_eq!(not_judged(&first), None);
    }
}

#[test]
fn the_estimate_extends_the_gain_up_to_the_target() {
    for (before, days, target, expected) in [
        (0.4, -7.0, 1.0, Some(day(35.0))),
        (0.4, -7.0, 0.6, Some(day(7.0))),
        (0.5, -7.0, 1.0, None),
        (0.6, -7.0, 1.0, None),
        (0.4, -0.5, 1.0, None),
        (0.4, -7.0, 0.5, None),
    ] {
        let given = Given {
            earlier: Some((days, before)),
            target,
            ..HALF
        };
        let seconds = |at: Timestamp| at.as_seconds().round();
        assert_eq!(
            given.judged().estimated_ready.map(seconds),
            expected.map(seconds),
            "{before} at {days}"
        );
    }
}

#[test]
fn an_outage_moves_no_estimate_and_ends_one_that_has_passed() {
    let snapshot = GROWING.snapshot();
    let later = Snapshot {
        taken_at: day(0.9),
        ..snapshot.clone()
    };
    let [now, later] = [snapshot, later].map(|snapshot| only(&judged(&snapshot)).estimated_ready);
    assert!(now.is_some());
    assert_eq!(now, later);
    let soon = Given {
        target: 0.501,
        ..GROWING
    };
    let mut snapshot = soon.snapshot();
    assert!(only(&judged(&snapshot)).estimated_ready.is_some());
    snapshot.taken_at = day(0.2);
    assert_eq!(only(&judged(&snapshot)).estimated_ready, None);
}

#[test]
fn without_a_completion_only_a_date_can_be_missed() {
    let unknown = Given {
        ratio: None,
        ..HALF
    };
    assert_eq!(unknown.judged().readiness, Readiness::Unknown);
    assert_eq!(unknown.problems(), []);
    let not_judged = unknown.judged().not_judged;
    assert_eq!(not_judged, Some(NotJudged::Unknown));
    let due = Some(-1.0);
    let overdue = Given { due, ..unknown }.problems();
    assert_eq!(overdue, [("overdue", -1.0)]);
    let due = Some(1.0);
    assert_eq!(Given { due, ..unknown }.problems(), []);
}

/// Returns a row for each repository, with its codes.
fn named(view: &View<'_>) -> Vec<String> {
    let rows = view.rows.iter();
    let named = rows.map(|row| {
        let codes = row.translations().iter().map(|one| {
            let mark = if one.is_missing { "?" } else { "" };
            format!("{}{mark}", one.code())
        });
        format!("{}: {}", row.name(), codes.collect::<Vec<_>>().join(" "))
    });
    named.collect()
}

fn account() -> Snapshot {
    testing::snapshot(vec![
        testing::read(1, "acme/app", &[("de", Some(1.0)), ("pt-BR", None)]),
        testing::read(2, "beta/app", &[("fr", Some(100.0))]),
        testing::failed(3, "beta/gone", "status 404", "wait"),
    ])
}

#[test]
fn globs_choose_repositories_and_languages() {
    let chosen = |repositories: &[&str], languages: &[&str]| {
        let [repositories, languages] = [repositories, languages].map(|globs| {
            let globs = globs.iter().map(|text| glob(text).unwrap());
            globs.collect::<Vec<_>>()
        });
        let selection = Selection::new(&repositories, &languages).unwrap();
        let all = judged(&account());
        let view = all.select(&selection);
        (named(&view), view.totals.counted())
    };
    let all = ["acme/app: de pt-BR", "beta/app: fr", "beta/gone: "].map(str::to_owned);
    assert_eq!(chosen(&[], &[]), (all.to_vec(), 3));
    // A choice of languages leaves out no repository.
    let one = ["acme/app: pt-BR", "beta/app: "].map(str::to_owned);
    assert_eq!(chosen(&["*/app"], &["pt-*"]), (one.to_vec(), 1));
    let (rows, _) = chosen(&["beta/*"], &["fr"]);
    assert_eq!(rows, ["beta/app: fr", "beta/gone: "]);
}

#[test]
fn a_pair_that_its_entry_names_is_required() {
    let mut snapshot = account();
    for (repository, language, ratio, is_required) in [
        ("acme/app", "sv", 0.9, true),
        ("acme/app", "sv", 0.0, false),
        ("acme/*", "sv", 0.9, false),
        ("acme/app", "s[v]", 0.9, false),
        ("acme/app", "de", 0.9, false),
        ("beta/gone", "sv", 0.9, false),
    ] {
        snapshot.settings.targets = Targets(vec![
            entry(&[], &["xx"], 0.5, ""),
            entry(&[repository], &[language, "xx"], ratio, ""),
        ]);
        let document = judged(&snapshot);
        let row = if is_required {
            "acme/app: de pt-BR sv?"
        } else {
            "acme/app: de pt-BR"
        };
        assert_eq!(
            named(&document.whole())[0],
            row,
            "{repository} {language} {ratio}"
        );
        let missing = document.rows[0].language("sv");
        let readiness = missing.map(|one| one.readiness);
        assert_eq!(readiness, is_required.then_some(Readiness::Unknown));
        assert_eq!(document.rows[0].listed(), Some(2));
        assert!(!document.whole().language_names().contains_key("sv"));
    }
}

#[test]
fn a_required_translation_that_is_missing_uses_its_entry() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![
        entry(&["acme/app"], &["sv"], 0.9, ""),
        entry(&["acme/app"], &["de"], 0.9, ""),
        entry(&["acme/app"], &["x*"], 0.9, ""),
    ]);
    let unread = judged(&snapshot).whole().unused_targets().len();
    assert_eq!(unread, 0, "the languages of one repository are unknown");
    snapshot.repositories.pop();
    let document = judged(&snapshot);
    let unused = document.whole().unused_targets();
    let globs: Vec<_> = unused.iter().map(|entry| entry.globs()).collect();
    assert_eq!(globs, ["x* of acme/app"]);
}

#[test]
fn resting_translations_are_counted_apart() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![entry(&["acme/*"], &[], 0.0, "")]);
    let totals = judged(&snapshot).whole().totals;
    assert_eq!(
        (totals.ready(), totals.counted(), totals.resting()),
        (1, 1, 2)
    );
    assert!(totals.is_ready());
}

#[test]
fn each_translation_is_in_one_state_of_its_date() {
    use {Readiness::Behind, TranslationProblem::*};
    for (readiness, problems, expected, due, standing) in [
        (Readiness::Ready, &[][..], None, Some(1.0), "ready"),
        (Readiness::Unknown, &[Overdue], None, Some(-1.0), "unknown"),
        (Readiness::Resting, &[], None, Some(-1.0), "resting"),
        (Behind, &[Stalled, Overdue], None, Some(-1.0), "overdue"),
        (
            Behind,
            &[Regressed, AtRisk],
            Some(4.0),
            Some(3.0),
            "at_risk",
        ),
        (Behind, &[Regressed], Some(3.0), Some(3.0), "expected"),
        (Behind, &[], Some(31.0), Some(30.0), "behind"),
        (Behind, &[Stalled], None, Some(30.0), "behind"),
        (Behind, &[], Some(30.0), None, "behind"),
    ] {
        let given = Given { due, ..HALF }.judged();
        let translation = Translation {
            readiness,
            problems: problems.iter().map(|kind| (*kind, NOW)).collect(),
            estimated_ready: expected.map(day),
            ..given
        };
        assert_eq!(translation.standing().label(), standing, "{translation:?}");
    }
}

#[test]
fn dates_of_one_day_are_one_and_no_date_is_last() {
    let mut snapshot = account();
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["de"], 1.0, "2026-12-24"),
        entry(&["acme/*"], &[], 1.0, "2026-12-24T08:00:00Z"),
    ]);
    let document = judged(&snapshot);
    let view = document.whole();
    let dates = view.dates().map(|(day, totals)| {
        let day = day.map(|day| day.to_string());
        (day, totals.counted())
    });
    let christmas = Some("2026-12-24T00:00:00Z".to_owned());
    assert_eq!(dates.collect::<Vec<_>>(), [(christmas, 2), (None, 1)]);
}

#[test]
fn a_document_shares_what_is_as_before() {
    let snapshot = account();
    let first = judged(&snapshot);
    let mut snapshot = Snapshot {
        taken_at: NOW.saturating_add(HOUR),
        ..snapshot
    };
    snapshot.repositories[1] = testing::read(2, "beta/app", &[("fr", Some(99.0))]);
    let second = snapshot.judge(testing::status(), Some(&first));
    let shared = [0, 1].map(|index| {
        let [one, other] = [&first, &second].map(|document| document.rows[index].translations());
        std::ptr::eq(one, other)
    });
    assert_eq!(shared, [true, false]);
}

#[test]
fn a_record_that_is_judged_has_at_most_144_bytes() {
    assert!(
        size_of::<Translation>() <= 144,
        "{}",
        size_of::<Translation>()
    );
    assert!(size_of::<Record>() < size_of::<Translation>());
}
