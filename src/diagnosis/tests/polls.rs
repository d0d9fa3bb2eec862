//! Findings about polls: outages, holds, first polls and their recovery.

use super::*;

#[test]
fn an_outage_is_not_reported_as_a_failure_of_single_repositories() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    known.snapshot.repositories[0].condition = Condition::Failing(
        read_at(ago(3), 50.0),
        failed_with_the_api(Reason::ServerError),
    );
    let kinds = known.symptoms();
    assert_eq!(kinds, [Symptom::ApiUnavailable]);
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
    let kinds = known.symptoms();
    assert_eq!(
        kinds,
        [Symptom::Undecided],
        "the repository failed because of the key"
    );
    let other = failed_by_itself(1);
    known.snapshot.repositories[1].condition = Condition::Failing(read_at(ago(3), 50.0), other);
    let kinds = known.symptoms();
    assert_eq!(kinds, [Symptom::RepositoriesFailing, Symptom::Undecided]);
    let unlisted = Known {
        status: PollStatus {
            activity: running(NOW, false, 0),
            ..known.status
        },
        ..known
    };
    assert_eq!(
        unlisted.findings()[0].symptom,
        Symptom::KeyUnusable,
        "the key may still be refused"
    );
}

#[test]
fn a_hold_shows_in_the_first_poll_and_after_its_end() {
    let first = Known::with(|known| {
        (known.status.last, known.status.has_data) = (None, false);
        known.snapshot.repositories.clear();
        known.status.activity = running(ago(1), false, 0);
        known.status.held_until = Some(NOW.saturating_add(HOUR));
    });
    assert_eq!(
        why_not_ready(&first.findings()).unwrap().symptom,
        Symptom::Held
    );
    // A poll may also end as held without Retry-After.
    let over = Known::with(|known| {
        known.status.last = Some(ended_early(PollFailure::Held));
        known.status.held_until = Some(ago(1));
    });
    assert_eq!(over.findings()[0].symptom, Symptom::Held);
    let headline = headline(&over.findings(), &over.status);
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
    assert!(headline(&known.findings(), &known.status).contains("as before the restart"));
    for shown in &mut known.snapshot.repositories {
        shown.condition = Condition::Failing(
            read_at(ago(3), 50.0),
            failed_with_the_api(Reason::ServerError),
        );
    }
    let findings = known.findings();
    let first_poll = findings
        .iter()
        .find(|one| one.symptom == Symptom::Undecided);
    assert!(first_poll.unwrap().what.contains("as before the restart"));
    for shown in &mut known.snapshot.repositories {
        shown.condition = Condition::Pending(None);
    }
    assert!(headline(&known.findings(), &known.status).contains("0 of 2 repositories read"));
}

#[test]
fn an_outage_with_several_reasons_is_one_finding() {
    let mut known = Known::ended(ended_early(PollFailure::Unavailable));
    let timeout = failed_with_the_api(Reason::Timeout);
    let status = failed_with_the_api(Reason::ServerError);
    known.snapshot.repositories[0].condition = Condition::Failing(read_at(ago(3), 50.0), timeout);
    known.snapshot.repositories[1].condition = Condition::Failing(read_at(ago(3), 50.0), status);
    assert_eq!(known.symptoms(), [Symptom::ApiUnavailable]);
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
    let kinds: Vec<_> = findings.iter().map(|finding| finding.symptom).collect();
    assert_eq!(
        kinds,
        [Symptom::ApiUnavailable, Symptom::RepositoriesFailing]
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
    let outage = Known::ended(ended_early(PollFailure::Unavailable)).findings();
    assert!(is_named(&own, &outage) && !is_named(&of_the_api, &outage));
    let other = Known::with(|known| known.facts.state_not_saved = Some(failure())).findings();
    assert!(is_named(&own, &other) && is_named(&of_the_api, &other));
}

#[test]
fn a_hold_is_over_at_its_end() {
    let known = Known::with(|known| known.status.held_until = Some(NOW));
    assert_eq!(known.symptoms(), []);
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
    assert_eq!(known.symptoms(), [Symptom::ListingIncomplete]);
}

#[test]
fn a_first_poll_shows_no_count_before_its_listing() {
    let known = Known::with(|known| {
        known.snapshot.repositories.clear();
        known.status.last = None;
    });
    assert_eq!(
        headline(&known.findings(), &known.status),
        "The first poll has not ended yet"
    );
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
    let headline = headline(&known.findings(), &known.status);
    assert!(
        headline.contains("could not read every repository") && !headline.contains("All is well"),
        "{headline}"
    );
}
