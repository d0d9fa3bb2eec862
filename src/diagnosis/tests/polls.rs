//! Findings about polls: outages, holds, first polls and their recovery.

use super::*;

#[test]
fn an_outage_is_not_reported_as_a_failure_of_single_repositories() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    known.snapshot.repositories[0].condition = Condition::Failing(
        read_at(ago(3), 50.0),
        failed_with_the_api(Reason::ServerError),
    );
    let kinds = known.kinds();
    assert_eq!(kinds, [ProblemKind::PollsFailing]);
}

#[test]
fn a_failing_repository_is_reported_while_polls_recover() {
    let mut known = Known::with(|known| {
        known.status.last = Some(refused(PollFailure::Unauthorized));
        known.status.activity = running(NOW, true, 1);
        known.snapshot.repositories[1].condition = Condition::Failing(
            read_at(ago(3), 50.0),
            failed_with_the_api(Reason::ServerError),
        );
    });
    let found = |known: &Known| -> Vec<_> {
        let findings = known.findings().into_iter();
        findings.map(|one| (one.kind, one.repositories)).collect()
    };
    assert_eq!(
        found(&known),
        [(ProblemKind::PollsFailing, 0)],
        "the repository failed because of the key"
    );
    let other = failed_by_itself(1);
    known.snapshot.repositories[1].condition = Condition::Failing(read_at(ago(3), 50.0), other);
    assert_eq!(
        found(&known),
        [
            (ProblemKind::PollsFailing, 0),
            (ProblemKind::PollsFailing, 1)
        ]
    );
    known.status.activity = running(NOW, false, 0);
    assert_eq!(
        found(&known)[0].0,
        ProblemKind::ApiKey,
        "the key may still be refused"
    );
}

#[test]
fn an_unready_exporter_names_the_hold_or_the_first_poll() {
    let mut known = Known::with(|known| {
        (known.status.last, known.status.has_data) = (None, false);
        known.snapshot.repositories.clear();
        known.status.activity = running(ago(1), false, 0);
    });
    let why = |known: &Known| why_not_ready(&known.findings(), &known.snapshot, &known.status);
    assert_eq!(
        why(&known),
        "The poll under way has read nothing for 1 h; there are no data to show; see the log; \
         if it does not name the reason, restart the exporter and report a bug \
         (since 2026-11-21T00:30:45Z)"
    );
    known.status.activity = running(NOW, false, 0);
    assert_eq!(
        why(&known),
        "The first poll has not ended yet; nothing to do: wait for the poll to end \
         (since 2026-11-21T01:30:45Z)"
    );
    known.status.last = Some(ended_early(PollFailure::Held));
    known.status.held_until = Some(NOW.saturating_add(HOUR));
    assert!(why(&known).starts_with("The API takes no requests until 2026-11-21T02:30:45Z"));
}

#[test]
fn a_hold_is_a_finding_only_if_it_ended_a_poll() {
    let known = Known::with(|known| {
        known.status.held_until = Some(NOW.saturating_add(HOUR));
    });
    assert_eq!(known.kinds(), []);
    // A poll may also end as held without Retry-After.
    let over = Known::with(|known| {
        known.status.last = Some(ended_early(PollFailure::Held));
        known.status.held_until = Some(ago(1));
    });
    assert_eq!(
        over.kinds(),
        [ProblemKind::PollsFailing, ProblemKind::RateLimited]
    );
    let headline = over.headline();
    assert!(
        headline.contains("refused requests until the last poll ended"),
        "{headline}"
    );
}

#[test]
fn a_first_poll_counts_repositories_unless_data_were_restored() {
    let mut known = Known::with(|known| {
        for shown in &mut known.snapshot.repositories {
            shown.condition = Condition::Restored(read_at(ago(3), 50.0));
        }
        (known.status.last, known.status.activity) = (None, running(NOW, true, 0));
    });
    assert!(known.headline().contains("as before the restart"));
    for shown in &mut known.snapshot.repositories {
        shown.condition = Condition::Failing(
            read_at(ago(3), 50.0),
            failed_with_the_api(Reason::ServerError),
        );
    }
    assert!(known.headline().contains("as before the restart"));
    for shown in &mut known.snapshot.repositories {
        shown.condition = Condition::Pending(None);
    }
    assert!(known.headline().contains("0 of 2 repositories read"));
}

#[test]
fn a_recovering_poll_says_how_far_it_is() {
    let mut known = Known::ended(refused(PollFailure::Unauthorized));
    known.status.activity = running(NOW, true, 1);
    assert_eq!(
        known.headline(),
        "The last poll failed; the poll under way has listed everything and read 1 of 2 \
         repositories"
    );
}

#[test]
fn an_outage_with_several_reasons_is_one_finding() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    let timeout = failed_with_the_api(Reason::Timeout);
    let status = failed_with_the_api(Reason::ServerError);
    known.snapshot.repositories[0].condition = Condition::Failing(read_at(ago(3), 50.0), timeout);
    known.snapshot.repositories[1].condition = Condition::Failing(read_at(ago(3), 50.0), status);
    assert_eq!(known.kinds(), [ProblemKind::PollsFailing]);
}

#[test]
fn an_outage_hides_only_the_failures_that_it_causes() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    let other = failed_by_itself(3);
    known.snapshot.repositories[0].condition = Condition::Failing(
        read_at(ago(3), 50.0),
        failed_with_the_api(Reason::ServerError),
    );
    known.snapshot.repositories[1].condition = Condition::Failing(read_at(ago(3), 50.0), other);
    let findings = known.findings();
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(
        kinds,
        [ProblemKind::PollsFailing, ProblemKind::PollsFailing]
    );
    assert_eq!(
        findings[1].what,
        "1 of 2 repositories cannot be read, independently of the outage"
    );
}

#[test]
fn an_outage_covers_only_the_failures_of_the_whole_api() {
    let of_the_api = failed_with_the_api(Reason::ServerError);
    let own = failed_by_itself(3);
    let outage = Known::ended(ended_early(PollFailure::Unavailable)).status;
    assert!(is_named(&own, &outage) && !is_named(&of_the_api, &outage));
    let other = Known::new().status;
    assert!(is_named(&own, &other) && is_named(&of_the_api, &other));
}

#[test]
fn a_listing_stays_incomplete_until_the_next_poll_has_ended() {
    let known = Known::with(|known| {
        known.status.last = Some(PollOutcome {
            listing_failure: Some(failure()),
            ..poll()
        });
        known.status.activity = running(NOW, true, 1);
    });
    assert_eq!(known.kinds(), [ProblemKind::PollsFailing]);
}

#[test]
fn a_first_poll_shows_no_count_before_its_listing() {
    let known = Known::with(|known| {
        known.snapshot.repositories.clear();
        known.status.last = None;
    });
    assert_eq!(known.headline(), "The first poll has not ended yet");
}

#[test]
fn a_failed_poll_is_never_well() {
    // The repository that failed has left the listing of the poll under way.
    let known = Known::with(|known| {
        known.status.last = Some(PollOutcome {
            failed: 1,
            ..poll()
        });
        known.status.activity = running(NOW, true, 0);
    });
    assert_eq!(known.findings(), []);
    let headline = known.headline();
    assert!(
        headline.contains("could not read every repository") && !headline.contains("All is well"),
        "{headline}"
    );
}
