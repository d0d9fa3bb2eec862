//! The judgement of one translation: a test for each sentence of its rules.

use super::*;
use crate::{
    domain::{Change, Scale},
    support::parsed::Parsed,
};

/// A translation before it is judged, in days from now and ratios.
#[derive(Clone, Copy)]
struct Given {
    readings: &'static [(f64, f64)],
    /// The response of the last read has no completion.
    is_lost: bool,
    target: f64,
    due: Option<f64>,
    stalled_after: Option<Duration>,
    read: f64,
}

/// A translation at a ratio of 0.5 that has just gained.
const GIVEN: Given = Given {
    readings: &[(-3.0, 0.4), (0.0, 0.5)],
    is_lost: false,
    target: 1.0,
    due: None,
    stalled_after: None,
    read: 0.0,
};

/// Returns the time that many days from now; a negative number lies in the past.
fn day(days: f64) -> Timestamp {
    let distance = DAY.mul_f64(days.abs());
    if days < 0.0 {
        NOW.saturating_sub(distance)
    } else {
        NOW.saturating_add(distance)
    }
}

impl Given {
    fn of(readings: &'static [(f64, f64)]) -> Self {
        Self { readings, ..GIVEN }
    }

    fn due(self, due: Option<f64>) -> Self {
        Self { due, ..self }
    }

    fn snapshot(self) -> Snapshot {
        let mut entry = entry(&[], &[], self.target, "");
        let target = Arc::get_mut(&mut entry).unwrap();
        target.due = Parsed(self.due.map(day));
        target.stalled_after = Parsed(self.stalled_after);
        let mut record = testing::record("de", None);
        for (days, ratio) in self.readings {
            let completion = Completion::new(ratio * 100.0);
            record.observe(completion, Scale::PERCENT, target, day(*days));
        }
        if self.is_lost {
            record.observe(None, Scale::PERCENT, target, NOW);
        }
        let languages = Languages {
            read_at: day(self.read),
            records: [record].into(),
        };
        let repository = testing::repository(1, "a/b");
        let condition = Condition::Fresh(languages);
        let mut snapshot = testing::snapshot(vec![testing::in_condition(repository, condition)]);
        snapshot.settings.targets = Targets(vec![entry]);
        snapshot
    }

    fn judged(self) -> Translation {
        only(&judged(&self.snapshot()))
    }

    /// Returns the labels of the problems.
    fn problems(self) -> Vec<&'static str> {
        let judged = self.judged();
        judged.kinds().map(TranslationProblem::label).collect()
    }

    fn at(self, kind: TranslationProblem) -> Option<Timestamp> {
        let problems = BTreeMap::from_iter(self.judged().problems);
        problems.get(&kind).copied()
    }
}

fn only(document: &Document) -> Translation {
    document.rows[0].known[0].clone()
}

/// A translation that has all problems that can be combined.
const TROUBLED: Given = Given {
    readings: &[(-30.0, 0.9), (-5.0, 0.5)],
    stalled_after: Some(DAY),
    target: 0.95,
    due: Some(-1.0),
    ..GIVEN
};

#[test]
fn a_translation_that_is_ready_or_rests_has_no_problem() {
    for (target, readiness) in [
        (0.5, Readiness::Ready),
        (0.501, Readiness::Behind),
        (0.0, Readiness::Resting),
    ] {
        let given = Given { target, ..TROUBLED };
        assert_eq!(given.judged().readiness, readiness);
        assert_eq!(given.problems().is_empty(), readiness != Readiness::Behind);
        assert_eq!(given.judged().fall.is_none(), target <= 0.0, "{target}");
    }
}

#[test]
fn it_stalls_once_it_had_neither_progress_nor_readiness_for_its_limit() {
    let general = None;
    for (readings, stalled_after, since) in [
        (&[(-7.0, 0.5)][..], general, Some(-7.0)),
        (&[(-6.99, 0.5)], general, None),
        (&[(-9.0, 0.4), (-7.0, 0.5)], general, Some(-7.0)),
        (&[(-9.0, 0.4), (-6.9, 0.5)], general, None),
        // New text after readiness: its people get the time.
        (&[(-40.0, 0.5), (-9.0, 1.0), (-6.9, 0.9)], general, None),
        (
            &[(-40.0, 0.5), (-9.0, 1.0), (-7.0, 0.9)],
            general,
            Some(-7.0),
        ),
        // A fall hides nobody's work.
        (&[(-9.0, 0.9), (-4.0, 0.5), (-1.0, 0.6)], general, None),
        (&[(-29.0, 0.5)], Some(30 * DAY), None),
        (&[(-30.0, 0.5)], Some(30 * DAY), Some(-30.0)),
        (&[(-1.0, 0.5)], Some(HOUR), Some(-1.0)),
    ] {
        let given = Given::of(readings);
        let given = Given {
            stalled_after,
            ..given
        };
        let stalled = given.at(TranslationProblem::Stalled);
        assert_eq!(stalled, since.map(day), "{readings:?}");
    }
}

#[test]
fn a_raised_target_counts_from_the_next_read() {
    let given = Given::of(&[(-30.0, 0.5)]);
    let mut snapshot = Given {
        target: 0.5,
        ..given
    }
    .snapshot();
    snapshot.settings.targets = Targets(Vec::new());
    let raised = only(&judged(&snapshot));
    assert_eq!(raised.readiness, Readiness::Behind);
    assert!(!raised.has(TranslationProblem::Stalled));
}

#[test]
fn the_pace_is_unknown_before_a_day_has_ended_unready() {
    for (readings, is_known) in [
        (&[(-0.9, 0.5)][..], false),
        (&[(-0.99, 0.5)], false),
        (&[(-0.99, 0.4), (0.0, 0.5)], true),
        (&[(-1.0, 0.5)], true),
        (&[(-20.0, 1.0), (-0.9, 0.5)], false),
    ] {
        let judged = Given::of(readings).due(Some(3.0)).judged();
        let not_judged = (!is_known).then_some(NotJudged::TooEarly);
        assert_eq!(judged.not_judged, not_judged);
        let moves = judged.estimated_ready.is_some();
        assert_eq!(moves, is_known && readings.len() > 1);
        let is_at_risk = judged.has(TranslationProblem::AtRisk);
        assert_eq!(is_at_risk, is_known, "{readings:?}");
    }
    let overdue = Given::of(&[(-0.9, 0.5)]).due(Some(-1.0));
    assert_eq!(overdue.judged().not_judged, Some(NotJudged::TooEarly));
    assert_eq!(overdue.problems(), ["overdue"]);
}

#[test]
fn an_outage_begins_no_problem_and_ends_none_for_four_days() {
    let troubled = ["stalled", "regressed", "overdue"];
    for (days, interval, problems) in [
        (-4.0, HOUR, &troubled[..]),
        (-4.001, HOUR, &troubled[2..]),
        (-5.9, 2 * DAY, &troubled),
        (-6.1, 2 * DAY, &troubled[2..]),
    ] {
        let mut snapshot = TROUBLED.snapshot();
        // The read was then, and now is later.
        snapshot.taken_at = NOW.saturating_add(DAY.mul_f64(-days));
        snapshot.settings.interval = interval;
        let late = only(&judged(&snapshot));
        let labels: Vec<_> = late.kinds().map(TranslationProblem::label).collect();
        assert_eq!(labels, problems, "{days}");
        let is_old = problems.len() == 1;
        let not_judged = is_old.then_some(NotJudged::OldData);
        assert_eq!(late.not_judged, not_judged, "{days}");
    }
    let mut snapshot = Given::of(&[(-6.9, 0.5)]).snapshot();
    snapshot.taken_at = day(3.0);
    assert!(only(&judged(&snapshot)).problems.is_empty());
}

#[test]
fn an_outage_moves_no_estimate_and_ends_one_that_has_passed() {
    let snapshot = GIVEN.snapshot();
    let estimate = |days: f64| {
        let later = Snapshot {
            taken_at: day(days),
            ..snapshot.clone()
        };
        only(&judged(&later)).estimated_ready
    };
    assert!(estimate(0.0).is_some());
    assert_eq!(estimate(0.0), estimate(3.0));
    let short = Given {
        target: 0.501,
        ..GIVEN
    };
    let mut snapshot = short.snapshot();
    assert!(only(&judged(&snapshot)).estimated_ready.is_some());
    snapshot.taken_at = day(0.2);
    assert_eq!(only(&judged(&snapshot)).estimated_ready, None);
}

#[test]
fn a_suspect_scale_is_not_judged() {
    let given = Given::of(&[(-30.0, 0.005)]).due(Some(-1.0));
    let mut snapshot = given.snapshot();
    let document = judged(&snapshot);
    assert!(document.is_scale_suspect);
    let suspect = only(&document);
    assert_eq!(suspect.readiness, Readiness::Unknown);
    assert_eq!(suspect.not_judged, Some(NotJudged::Unknown));
    assert_eq!((suspect.estimated_ready, suspect.problems.len()), (None, 0));
    let totals = document.totals;
    assert_eq!(totals.not_judged, [(NotJudged::Unknown, 1)].into());
    assert_eq!((totals.ready(), totals.unknown()), (0, 1));
    snapshot.settings.scale.is_chosen = true;
    assert!(!judged(&snapshot).is_scale_suspect);
}

#[test]
fn each_kind_of_change_is_counted_by_itself() {
    let since = day(-7.0).day_start();
    let changes = |given: Given| {
        let document = judged(&given.snapshot());
        let translation = only(&document);
        let changes = document.changes(&translation, since);
        changes.map(Change::label).collect::<Vec<_>>()
    };
    for (readings, is_lost, due, expected) in [
        (
            &[(-9.0, 1.0), (-2.0, 0.7)][..],
            false,
            Some(-1.0),
            &["unready", "fell", "overdue"][..],
        ),
        (&[(-9.0, 0.9), (-2.0, 0.71)], false, None, &[]),
        (&[(-9.0, 0.9), (-2.0, 1.0)], false, None, &["ready"]),
        (&[(-9.0, 1.0)], true, None, &["unready"]),
        (&[(-9.0, 0.5)], false, Some(-9.0), &[]),
        // A younger translation is compared with its first reading.
        (&[(-3.0, 0.5), (-1.0, 1.0)], false, None, &["ready"]),
    ] {
        let given = Given::of(readings).due(due);
        let given = Given { is_lost, ..given };
        assert_eq!(changes(given), expected, "{readings:?}");
    }
}

#[test]
fn each_translation_is_in_one_state_of_its_date() {
    use {Readiness::Behind, TranslationProblem::*};
    for (readiness, problems, expected, due, standing) in [
        (Readiness::Ready, &[][..], None, Some(1.0), "ready"),
        (Readiness::Unknown, &[], None, Some(1.0), "unknown"),
        (Readiness::Unknown, &[Overdue], None, Some(-1.0), "unknown"),
        (Readiness::Resting, &[], None, Some(-1.0), "resting"),
        (Behind, &[Stalled, Overdue], None, Some(-1.0), "overdue"),
        (Behind, &[Stalled, AtRisk], None, Some(3.0), "at_risk"),
        (Behind, &[Regressed], Some(3.0), Some(3.0), "expected"),
        (Behind, &[], Some(31.0), Some(30.0), "behind"),
        (Behind, &[Stalled], None, Some(30.0), "behind"),
        (Behind, &[], Some(30.0), None, "behind"),
    ] {
        let given = GIVEN.due(due).judged();
        let translation = Translation {
            readiness,
            problems: problems.iter().map(|kind| (*kind, NOW)).collect(),
            estimated_ready: expected.map(day),
            ..given
        };
        assert_eq!(translation.standing().label(), standing, "{translation:?}");
    }
}
