//! One case for each symptom, in which that symptom is the worst finding.

use super::*;

/// A symptom, a situation in which it is the worst finding, and words of its headline.
pub type Case = (Symptom, Known, &'static [&'static str]);

/// Returns all cases, worst first.
pub fn each_symptom() -> Vec<Case> {
    let groups = [
        failed_polls(),
        stale_and_failing_data(),
        lost_repositories(),
        odd_responses(),
        exporter_warnings(),
        undecided_polls(),
        notices(),
    ];
    groups.into_iter().flatten().collect()
}

/// Returns failed polls.
fn failed_polls() -> Vec<Case> {
    vec![
        (
            Symptom::KeyUnusable,
            Known::ended(refused(PollFailure::Unauthorized)),
            &["refuses the key", "from earlier polls"],
        ),
        (
            Symptom::KeyUnusable,
            Known::ended(refused(PollFailure::KeyFile)),
            &["from its file", "no requests are sent"],
        ),
        (
            Symptom::ApiUnavailable,
            Known::ended(ended_early(PollFailure::Unavailable)),
            &["unavailable", "the last poll read 1 repository"],
        ),
        (
            Symptom::ListingIncomplete,
            Known::ended(PollOutcome {
                listing_failure: Some(failure()),
                ..poll()
            }),
            &["could not be read to its end", "read 2 repositories"],
        ),
        (
            Symptom::PollHangs,
            Known::with(|known| {
                for shown in &mut known.snapshot.repositories {
                    shown.condition = Condition::Fresh(read_at(ago(1), 50.0));
                }
                known.status.activity = running(ago(2), true, 1);
            }),
            &["has read nothing for 1 h", "the last poll read 2"],
        ),
    ]
}

/// Returns data that cannot be refreshed, and an expired certificate.
fn stale_and_failing_data() -> Vec<Case> {
    let stale = Condition::Stale {
        read_at: ago(5),
        failure: Some(failed_by_itself(2)),
    };
    vec![
        (
            Symptom::DataStale,
            Known::with(|known| known.snapshot.repositories[0].condition = stale),
            &["1 repository", "stale", "no longer shown"],
        ),
        (
            Symptom::CertificateExpired,
            Known::with(|known| known.facts.certificate_expires_at = Some(ago(1))),
            &["certificate", "expired"],
        ),
        (
            Symptom::Held,
            Known::with(|known| {
                known.status.last = Some(ended_early(PollFailure::Held));
                known.status.held_until = Some(NOW.saturating_add(HOUR));
            }),
            &["until 2026-11-21T02:30:45Z", "the others show older data"],
        ),
        (
            Symptom::RepositoriesFailing,
            Known::with(|known| {
                known.snapshot.repositories[0].condition = Condition::Failing(
                    read_at(ago(3), 50.0),
                    failed_with_the_api(Reason::ServerError),
                );
            }),
            &["1 of 2 repositories cannot be read"],
        ),
    ]
}

/// Returns listings without repositories, or without most of them.
fn lost_repositories() -> Vec<Case> {
    vec![
        (
            Symptom::NoRepositories,
            Known::with(|known| known.snapshot.repositories.clear()),
            &["account of the key has no repositories"],
        ),
        (
            Symptom::NoRepositories,
            Known::with(|known| {
                known.snapshot.repositories.clear();
                known.snapshot.filtered = 1234;
            }),
            &["filters leave out every repository", "1,234"],
        ),
        (
            Symptom::RepositoriesDropped,
            Known::with(|known| {
                known.facts.repositories_dropped = Some(Dropped {
                    at: ago(23),
                    before: 5,
                });
            }),
            &["2 of 5 remain"],
        ),
    ]
}

/// Returns responses with suspect values.
fn odd_responses() -> Vec<Case> {
    vec![
        (
            Symptom::CompletionScale,
            Known::with(|known| {
                let shown = [0.4, 1.0].map(|completion| Condition::Fresh(read_at(NOW, completion)));
                known.snapshot.repositories = (1..)
                    .zip(shown)
                    .map(|(id, shown)| repository(id, shown))
                    .collect();
            }),
            &["No completion is above 1", "100"],
        ),
        (
            Symptom::CompletionScale,
            Known::with(|known| {
                known.snapshot.repositories[0].condition = Condition::Fresh(read_at(NOW, 150.0));
            }),
            &["1 translation", "above api.completion_scale, 100"],
        ),
        (
            Symptom::OmittedZeros,
            Known::with(|known| known.status.zeros.completion.absent = 5),
            &[
                "leave out zeros",
                "completion is missing from 5 translations, and none reports 0",
            ],
        ),
        (
            Symptom::OmittedZeros,
            Known::with(|known| {
                known.status.zeros.completion.absent = 5;
                known.status.zeros.private.absent = 1;
            }),
            &["missing from 5 translations, private from 1 repository"],
        ),
        (
            Symptom::ApiShape,
            Known::with(|known| {
                let shape = Shape::of_defect(Operation::ListLanguages, Defect::Completion).unwrap();
                known.facts.history = History {
                    since: [(ProblemKind::ApiShape, ago(23))].into(),
                    shapes: [(shape, ago(1))].into(),
                    ..History::default()
                };
            }),
            &["a new way: completion (list_languages)"],
        ),
    ]
}

/// Returns warnings about the exporter itself.
fn exporter_warnings() -> Vec<Case> {
    vec![
        (
            Symptom::StateNotSaved,
            Known::with(|known| known.facts.state_not_saved = Some(failure())),
            &["cannot be saved", "restart"],
        ),
        (
            Symptom::StateDiscarded,
            Known::with(|known| known.facts.state_discarded = Some(failure())),
            &["all progress clocks restarted"],
        ),
        (
            Symptom::ReloadRefused,
            Known::with(|known| known.facts.reload_refused = Some(failure())),
            &["refused", "previous one"],
        ),
        (
            Symptom::CertificateExpiring,
            Known::with(|known| {
                known.facts.certificate_expires_at = Some(NOW.saturating_add(HOUR * 24 * 13));
            }),
            &["expires", "in 13 d"],
        ),
    ]
}

/// Returns polls under way whose result is not known yet.
fn undecided_polls() -> Vec<Case> {
    vec![
        (
            Symptom::Undecided,
            Known::with(|known| {
                known.status.last = Some(refused(PollFailure::Unauthorized));
                known.status.activity = running(NOW, true, 1);
            }),
            &[
                "last poll failed",
                "has listed everything",
                "read 1 of 2 repositories",
            ],
        ),
        (
            Symptom::Undecided,
            Known::with(|known| {
                known.snapshot.repositories[0].condition =
                    Condition::Restored(read_at(ago(3), 50.0));
                (known.status.last, known.status.activity) = (None, running(NOW, false, 0));
            }),
            &["as before the restart"],
        ),
        (
            Symptom::Undecided,
            Known::with(|known| {
                // The listing is complete, and one of two repositories is read.
                known.snapshot.repositories[1].condition = Condition::Pending(None);
                (known.status.last, known.status.activity) = (None, running(NOW, true, 1));
            }),
            &["first poll has not ended", "1 of 2 repositories read"],
        ),
    ]
}

/// Returns the symptoms of severity info.
fn notices() -> Vec<Case> {
    vec![
        (
            Symptom::PollsOverrun,
            Known::ended(PollOutcome {
                duration: Duration::from_secs(301),
                ..poll()
            }),
            &["took 5m 1s", "longer than poll.interval (5m)"],
        ),
        (
            Symptom::RateLimited,
            Known::with(|known| {
                known.status.pace = Some(Pace {
                    requests_per_second: 1.5,
                    allowed: 2.96,
                    status: 429,
                });
            }),
            &[
                "limits the rate of requests (429)",
                "seems to allow 2.9 a second",
            ],
        ),
        (
            Symptom::TargetUnused,
            Known::with(|known| {
                let entries = vec![
                    entry(&[], &["no-such"], 0.5, ""),
                    entry(&[], &[], 0.5, ""),
                    entry(&[], &["de"], 0.9, ""),
                ];
                known.snapshot.targets = Arc::new(Targets(entries));
            }),
            &["2 entries of targets apply to no language: no-such; de"],
        ),
        (
            Symptom::RemovalUnconfirmed,
            Known::with(|known| known.snapshot.unconfirmed = 2),
            &["lacks 2", "their data stay"],
        ),
        (
            Symptom::ClockBehind,
            Known::with(|known| known.facts.clock_behind = Some(failure())),
            &["The clock of this machine is wrong"],
        ),
        (
            Symptom::LogLinesDropped,
            Known::with(|known| {
                known.facts.log_lines_dropped = 1;
                known.facts.history.log_lines_dropped_at = Some(NOW);
            }),
            &["1 line of the log was dropped because stderr was blocked"],
        ),
    ]
}
