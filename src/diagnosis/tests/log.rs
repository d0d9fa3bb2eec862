//! The log of problems: each is logged when it begins and when it is found no longer.

use super::*;
use crate::testing::Log;

#[test]
fn each_problem_is_logged_once_and_its_end_too() {
    let log = Log::collect();
    let mut problems = ProblemLog::default();
    for (kind, known, _) in each_kind() {
        for _ in 0..2 {
            problems.observe(&mut known.findings(), NOW);
        }
        let begun = log.take();
        assert_eq!(begun.len(), known.findings().len(), "{kind:?}: {begun:#?}");
        problems.observe(&mut [], NOW);
        let ended = log.take();
        let end = format!("a problem is found no longer problem=\"{}\"", kind.label());
        let is_end = |line: &String| line.starts_with(&end);
        assert!(ended.iter().any(is_end), "{kind:?}: {ended:#?}");
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
        problems.observe(&mut findings, now);
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
