//! The log of each ordered pair of situations: one begins, another follows and may hide it, and
//! both end, in both orders.

use super::{kinds::Case, *};
use crate::testing::Log;

/// Claims that only a poll which went well can show.
const OF_POLLS: [&str; 5] = [
    "polls read the repositories again",
    "responses follow the specification again",
    "the API no longer seems to leave out zeros",
    "the last poll took no longer than poll.interval",
    "requests are sent at the configured rate again",
];
/// Claims that only a complete listing can show.
const OF_LISTINGS: [&str; 2] = [
    "every entry of targets applies to a language",
    "no removal waits for confirmation",
];
/// The claim that only a response can show.
const OF_KEY: &str = "the key can be used again";

/// Returns the lines that `log` writes for a situation, which it sees twice: a count has settled
/// then.
fn observe(problems: &mut ProblemLog, log: &Log, known: &Known) -> Vec<String> {
    let document = known.document();
    for _ in 0..2 {
        let view = document.whole();
        let mut findings = findings(&view, &known.facts, NOW);
        problems.observe(&mut findings, &view, NOW);
    }
    log.take()
}

/// Returns the situations that polls can set.
fn of_polls() -> Vec<Case> {
    let is_of_poll = |kind| {
        !matches!(
            kind,
            ProblemKind::StateNotSaved
                | ProblemKind::StateDiscarded
                | ProblemKind::WebConfigRefused
                | ProblemKind::Certificate
        )
    };
    let cases = each_kind().into_iter();
    cases.filter(|(kind, ..)| is_of_poll(*kind)).collect()
}

#[test]
fn no_line_says_what_is_not_so_while_one_problem_hides_another() {
    let log = Log::collect();
    for (first, before, _) in of_polls() {
        for (second, after, _) in of_polls() {
            for returns in [false, true] {
                let mut problems = ProblemLog::default();
                let mut lines = observe(&mut problems, &log, &before);
                let then = observe(&mut problems, &log, &after);
                let last = after.status.last.as_ref().unwrap();
                let says = |claim: &str| then.iter().any(|line| line.starts_with(claim));
                let context = format!("{first:?}, then {second:?}: {then:#?}");
                for claim in OF_POLLS {
                    assert!(last.is_well() || !says(claim), "{context}");
                }
                for claim in OF_LISTINGS {
                    assert!(last.is_listed || !says(claim), "{context}");
                }
                let has_read = last.read > 0 || last.listed > 0;
                assert!(has_read || !says(OF_KEY), "{context}");
                lines.extend(then);
                if returns {
                    lines.extend(observe(&mut problems, &log, &before));
                }
                lines.extend(observe(&mut problems, &log, &Known::new()));
                // Each kind that has begun has ended as often, and nothing is left.
                for kind in [first, second] {
                    let end = kind.definition().end.unwrap();
                    let ends = lines.iter().filter(|line| line.starts_with(end)).count();
                    let begins = if returns && first != second {
                        1..=2
                    } else {
                        1..=1
                    };
                    assert!(
                        begins.contains(&ends),
                        "{end}: {ends}, {context}, {lines:#?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_cause_that_changes_is_logged_once_and_a_warning_again_after_six_hours() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    let failed = |hint: &str| {
        let failure = Failure::new("GET /: it failed", hint, NOW);
        let reason = PollFailure::Unavailable;
        Known::ended(PollOutcome {
            stop: Some(Stop { reason, failure }),
            ..refused(reason)
        })
    };
    let mut logged = |hint, now| {
        let document = failed(hint).document();
        let mut findings = findings(&document.whole(), &Facts::default(), now);
        problems.observe(&mut findings, &document.whole(), now);
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

#[test]
fn a_limit_that_a_poll_did_not_meet_is_not_over_while_the_rate_is_lower() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    let mut ends = |rate| {
        let known = Known::with(|known| known.status.rate = rate);
        let lines = observe(&mut problems, &log, &known);
        let end = "requests are sent at the configured rate again";
        lines.iter().filter(|line| line.starts_with(end)).count()
    };
    let rates = [
        RequestRate::Limited,
        RequestRate::Recovering,
        RequestRate::Limited,
        RequestRate::Recovering,
    ];
    assert_eq!(rates.map(&mut ends), [0; 4]);
    assert_eq!(ends(RequestRate::Configured), 1);
}

#[test]
fn more_requests_are_advised_only_where_the_configured_rate_holds_polls_up() {
    for (configured, requests, rate, is_advised) in [
        (Some(10.0), 3_000, RequestRate::Configured, true),
        (Some(10.0), 1_000, RequestRate::Configured, false),
        (Some(10.0), 3_000, RequestRate::Limited, false),
        (Some(10.0), 3_000, RequestRate::Recovering, false),
        (None, 30_000, RequestRate::Configured, false),
    ] {
        let mut known = Known::ended(PollOutcome {
            duration: Duration::from_secs(301),
            requests,
            ..poll()
        });
        known.status.rate = rate;
        known.snapshot.settings.requests_per_second = configured;
        let findings = known.findings();
        let overrun = findings
            .iter()
            .find(|one| one.kind == ProblemKind::PollsOverrun);
        let hint = &overrun.unwrap().hint;
        assert_eq!(
            hint.contains("or api.requests_per_second"),
            is_advised,
            "{hint}"
        );
    }
}
