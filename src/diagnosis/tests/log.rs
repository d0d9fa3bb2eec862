//! The log of problems: each is logged when it begins and when it has ended.

use super::*;
use crate::testing::Log;

/// Returns the lines for a situation that is seen at these minutes.
fn observe(problems: &mut ProblemLog, log: &Log, known: &Known, minutes: [u64; 2]) -> Vec<String> {
    let document = known.document();
    for minute in minutes {
        let now = NOW.saturating_add(Duration::from_secs(60 * minute));
        problems.observe(&mut known.findings(), &document, now);
    }
    log.take()
}

fn ends(kind: ProblemKind, lines: &[String]) -> usize {
    let end = format!("a problem has ended problem=\"{}\"", kind.label());
    lines.iter().filter(|line| line.starts_with(&end)).count()
}

#[test]
fn each_problem_is_logged_once_and_its_end_too() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    for (kind, known, _) in each_kind() {
        let begun = observe(&mut problems, &log, &known, [0, 0]);
        assert_eq!(begun.len(), known.findings().len(), "{kind:?}: {begun:#?}");
        let ended = observe(&mut problems, &log, &Known::new(), [0, 10]);
        assert_eq!(ends(kind, &ended), 1, "{kind:?}: {ended:#?}");
    }
}

/// Each ordered pair of situations: one begins, another follows and may hide it, and both end, in
/// both orders.
#[test]
fn no_problem_of_the_api_ends_before_a_poll_has_gone_well() {
    let log = Log::collect();
    for (first, before, _) in each_kind() {
        for (second, after, _) in each_kind() {
            for returns in [false, true] {
                let mut problems = ProblemLog::default();
                let mut lines = observe(&mut problems, &log, &before, [0, 0]);
                let then = observe(&mut problems, &log, &after, [0, 10]);
                let is_well = after.status.last.as_ref().is_some_and(PollOutcome::is_well);
                let context = format!("{first:?}, then {second:?}: {then:#?}");
                if first.is_of_api() && !is_well {
                    assert_eq!(ends(first, &then), 0, "{context}");
                }
                lines.extend(then);
                if returns {
                    lines.extend(observe(&mut problems, &log, &before, [10, 10]));
                }
                lines.extend(observe(&mut problems, &log, &Known::new(), [10, 20]));
                // Each kind has ended as often as it has begun, and nothing is left.
                for kind in [first, second] {
                    let most = if returns { 2 } else { 1 };
                    let ends = ends(kind, &lines);
                    assert!((1..=most).contains(&ends), "{ends}, {context}, {lines:#?}");
                }
            }
        }
    }
}

/// The API may hold the requests of a poll again and again.
#[test]
fn a_poll_under_way_that_takes_too_long_is_told_while_it_lasts() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    let held = |minutes: u64| {
        Known::with(|known| {
            known.status.last = None;
            let began = NOW.saturating_sub(Duration::from_secs(60 * minutes));
            known.status.running = Some(running(began, true, 1));
            known.status.held_until = Some(NOW.saturating_add(HOUR));
        })
    };
    assert_eq!(observe(&mut problems, &log, &held(5), [0, 0]).len(), 0);
    let said = observe(&mut problems, &log, &held(6), [0, 0]);
    let until = NOW.saturating_add(HOUR);
    let words = format!(
        "The poll under way has taken 6m, longer than poll.interval (5m); Retry-After holds all \
         requests until {until}"
    );
    assert!(said[0].starts_with(&words) && said.len() == 1, "{said:#?}");
}

#[test]
fn a_cause_that_changes_is_logged_once_and_a_warning_again_after_six_hours() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    let failed = |hint: &str| {
        let failure = Failure::new("GET /: it failed", hint);
        let reason = PollFailure::Unavailable;
        Known::ended(PollOutcome {
            stop: Some(Stop {
                reason,
                failure,
                request: None,
            }),
            ..refused(reason)
        })
    };
    let mut logged = |hint, now| {
        let document = failed(hint).document();
        let mut findings = findings(&document, &Facts::default(), now);
        problems.observe(&mut findings, &document, now);
        log.take().len()
    };
    let hints = [
        "check the name",
        "fill the file",
        "check the name",
        "fill the file",
    ];
    assert_eq!(hints.map(|hint| logged(hint, NOW)), [1, 1, 0, 0]);
    let later = NOW.saturating_add(HOUR * 6);
    assert_eq!(logged("fill the file", later), 1);
    assert_eq!(logged("fill the file", later), 0);
}
