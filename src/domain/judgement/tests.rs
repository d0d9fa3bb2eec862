use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const HOUR: Duration = Duration::from_secs(3600);

/// Returns the time that many days from now; a negative number lies in the past.
fn day(days: f64) -> Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "days of a test")]
    let millis = (days * 86_400_000.0) as i64;
    Timestamp::from_millis(NOW.as_millis() + millis)
}

fn at(days: f64, ratio: f64) -> Earlier {
    Earlier {
        ratio,
        at: day(days),
    }
}

fn target(ratio: f64, due: Option<f64>) -> Target {
    Target {
        ratio,
        due: due.map(day),
        stalled_after: None,
    }
}

/// Returns a translation at a ratio of 0.5 that has no problem.
fn half() -> Evidence {
    Evidence {
        ratio: Some(0.5),
        last_progress: Some(day(-1.0)),
        fall: None,
        earlier: None,
        target: Target::default(),
        read_at: NOW,
    }
}

fn standards() -> Standards {
    Standards {
        thresholds: Thresholds::default(),
        is_scale_suspect: false,
        now: NOW,
    }
}

/// Returns the labels of the problems, and the days from now that they are about.
fn problems(evidence: Evidence) -> Vec<(&'static str, f64)> {
    let judgement = standards().judge(&evidence);
    let problems = judgement.problems();
    problems
        .map(|(kind, at)| {
            (
                kind.label(),
                (at.as_seconds() - NOW.as_seconds()) / 86_400.0,
            )
        })
        .collect()
}

/// Returns a translation that has all problems that can be combined.
fn troubled() -> Evidence {
    Evidence {
        last_progress: Some(day(-30.0)),
        fall: Some(at(-2.0, 0.9)),
        target: target(0.95, Some(-1.0)),
        ..half()
    }
}

#[test]
fn each_problem_is_about_its_time() {
    let all = [("stalled", -30.0), ("regressed", -2.0), ("overdue", -1.0)];
    assert_eq!(problems(troubled()), all);
    let target = target(0.95, Some(3.0));
    let at_risk = Evidence { target, ..half() };
    assert_eq!(problems(at_risk), [("at_risk", 3.0)]);
}

#[test]
fn a_translation_that_is_ready_or_rests_has_no_problem() {
    let ready = Evidence {
        ratio: Some(0.95),
        ..troubled()
    };
    assert_eq!(problems(ready), []);
    for ratio in [Some(0.5), None] {
        let resting = Evidence {
            ratio,
            target: target(0.0, Some(-1.0)),
            ..troubled()
        };
        assert_eq!(problems(resting), []);
    }
}

#[test]
fn a_suspect_scale_and_data_older_than_a_day_are_not_judged() {
    let growing = Evidence {
        earlier: Some(at(-7.0, 0.4)),
        ..troubled()
    };
    let suspect = Standards {
        is_scale_suspect: true,
        ..standards()
    };
    let not_ready = Judgement {
        is_met: Some(false),
        ..Judgement::default()
    };
    assert_eq!(suspect.judge(&growing), not_ready);
    for (days, expected) in [(-1.0, 3), (-1.0001, 0)] {
        let read_at = day(days);
        let judgement = standards().judge(&Evidence { read_at, ..growing });
        assert_eq!(judgement.problems().count(), expected, "{days}");
        assert_eq!(judgement.estimated_ready.is_some(), expected > 0, "{days}");
    }
}

#[test]
fn a_translation_stalls_after_its_own_limit_or_the_general_one() {
    for (days, stalled_after, expected) in [
        (-6.999, None, false),
        (-7.0, None, true),
        (-29.0, Some(30 * DAY), false),
        (-30.0, Some(30 * DAY), true),
        (-1.0, Some(HOUR), true),
    ] {
        let target = Target {
            stalled_after,
            ..Target::default()
        };
        let evidence = Evidence {
            last_progress: Some(day(days)),
            target,
            ..half()
        };
        let is_stalled = standards().judge(&evidence).stalled.is_some();
        assert_eq!(is_stalled, expected, "{days} with {stalled_after:?}");
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
        let evidence = Evidence {
            ratio: Some(to),
            fall: Some(at(-2.0, from)),
            ..half()
        };
        let has_regressed = standards().judge(&evidence).regressed.is_some();
        assert_eq!(has_regressed, expected, "{from} to {to}");
    }
}

#[test]
fn a_date_is_overdue_once_it_is_past() {
    for (days, expected) in [(-0.01, "overdue"), (0.0, "at_risk"), (14.0, "at_risk")] {
        let target = target(1.0, Some(days));
        let kinds = problems(Evidence { target, ..half() });
        assert_eq!(kinds, [(expected, days)]);
    }
    let target = target(1.0, Some(14.001));
    assert_eq!(problems(Evidence { target, ..half() }), []);
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
        (0.5, -0.999, 13.0, true),
    ] {
        let evidence = Evidence {
            earlier: Some(at(days, before)),
            target: target(1.0, Some(due)),
            ..half()
        };
        let is_at_risk = standards().judge(&evidence).at_risk.is_some();
        assert_eq!(is_at_risk, expected, "{before} at {days}, due {due}");
    }
}

#[test]
fn the_estimate_extends_the_gain_up_to_the_target() {
    for (before, days, target_ratio, expected) in [
        (0.4, -7.0, 1.0, Some(day(35.0))),
        (0.4, -7.0, 0.6, Some(day(7.0))),
        (0.5, -7.0, 1.0, None),
        (0.6, -7.0, 1.0, None),
        (0.4, -0.5, 1.0, None),
        (0.4, -7.0, 0.5, None),
        (0.499_999_999_999, -14.0, 1e9, Some(LATEST)),
    ] {
        let evidence = Evidence {
            earlier: Some(at(days, before)),
            target: target(target_ratio, None),
            ..half()
        };
        let estimate = standards().judge(&evidence).estimated_ready;
        let seconds = |at: Timestamp| at.as_seconds().round();
        assert_eq!(
            estimate.map(seconds),
            expected.map(seconds),
            "{before} at {days}"
        );
    }
}

#[test]
fn an_outage_moves_no_estimate() {
    let growing = Evidence {
        earlier: Some(at(-7.0, 0.4)),
        ..half()
    };
    let later = Standards {
        now: day(0.9),
        ..standards()
    };
    assert_eq!(later.judge(&growing), standards().judge(&growing));
}

#[test]
fn without_a_completion_only_a_date_can_be_missed() {
    let unknown = Evidence {
        ratio: None,
        last_progress: None,
        ..half()
    };
    assert_eq!(standards().judge(&unknown), Judgement::default());
    for (due, expected) in [(-1.0, "overdue"), (1.0, "at_risk")] {
        let target = target(1.0, Some(due));
        assert_eq!(problems(Evidence { target, ..unknown }), [(expected, due)]);
    }
}
