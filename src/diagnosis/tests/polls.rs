//! Findings about polls: outages, holds, first polls and their recovery.

use super::*;

#[test]
fn a_consequence_points_to_its_cause_and_gives_no_advice_of_its_own() {
    let mut known = Known::ended(refused(PollFailure::Unavailable));
    known.snapshot.repositories[0].condition = testing::stale(ago(5), Some(failed(2)));
    let findings = known.findings();
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [ProblemKind::PollsFailing, ProblemKind::DataStale]);
    assert_eq!(
        &*findings[1].hint,
        "this ends with its cause: the failed reads"
    );
    known.status.last = None;
    assert_eq!(known.kinds(), [], "at the start after a stop of hours");
}

#[test]
fn a_hold_is_a_finding_only_if_it_ended_a_poll() {
    let mut known = Known::with(|known| {
        known.status.held_until = Some(NOW.saturating_add(HOUR));
    });
    assert_eq!(known.kinds(), []);
    known.status.last = Some(ended_early(PollFailure::Held));
    let findings = known.findings();
    let [finding] = &findings[..] else {
        panic!("a hold is told once: {findings:#?}");
    };
    assert_eq!(
        (finding.kind, finding.severity),
        (ProblemKind::PollsFailing, Severity::Error)
    );
    let end = NOW.saturating_add(HOUR);
    let held = format!("by Retry-After; Retry-After holds all requests until {end}");
    assert!(finding.what.contains(&held), "{finding:#?}");
    known.status.held_until = Some(NOW);
    let what = "The API ended the last poll by Retry-After";
    assert_eq!(known.findings()[0].what, what, "it is over");
}

#[test]
fn an_outage_keeps_its_severity_while_the_next_poll_lists_and_reads() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    let severity = |known: &Known| {
        let findings = known.findings();
        findings
            .iter()
            .map(|one| (one.kind, one.severity))
            .collect::<Vec<_>>()
    };
    let failed = severity(&known);
    for is_listed in [false, true] {
        known.status.running = Some(running(NOW, is_listed, 0));
        assert_eq!(severity(&known), failed, "is_listed: {is_listed}");
    }
    assert!(known.headline().starts_with("The API was unavailable"));
}

#[test]
fn a_failed_poll_is_never_well() {
    // The repository that failed has left the listing of the poll under way.
    let known = Known::with(|known| {
        known.status.last = Some(PollOutcome {
            total: 3,
            failed: 1,
            ..poll()
        });
        known.status.running = Some(running(NOW, true, 0));
    });
    assert_eq!(known.findings(), []);
    assert_eq!(known.headline(), "The last poll did not read everything");
}
