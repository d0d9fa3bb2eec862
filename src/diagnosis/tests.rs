mod polls;
mod problems;
mod symptoms;

use super::*;
use crate::domain::{
    Completion, Defect, Failure, History, Language, Operation, PollFailure, Reason, Repository,
    RepositoryId, Shape, Stop,
    progress::Progress,
    snapshot::{
        Activity, Condition, Languages, Pace, PollOutcome, Reading, Reported, Running, Shown, Step,
    },
    targets::{Targets, tests::entry},
};
use crate::{metrics::instruments::Dropped, testing};
use symptoms::each_symptom;

const NOW: Timestamp = Timestamp::from_millis(1_795_224_645_000);
const HOUR: Duration = Duration::from_secs(3600);

fn ago(hours: u32) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - i64::from(hours) * 3_600_000)
}

fn failure() -> Lasting {
    let what = "GET https://api.test/v1/repositories: it failed";
    Failure::new(what, "do something").since(ago(2))
}

fn failed_with_the_api(reason: Reason) -> ReadFailure {
    ReadFailure {
        lasting: failure(),
        reason: Some(reason),
        fault: Fault::Api,
    }
}

fn failed_by_itself(hours: u32) -> ReadFailure {
    ReadFailure {
        lasting: Failure::new("404", "look for it").since(ago(hours)),
        reason: Some(Reason::NotFound),
        fault: Fault::Repository,
    }
}

fn repository(id: u64, condition: Condition) -> Shown {
    let id = RepositoryId::new(id).unwrap();
    let name = format!("o/{id}").as_str().into();
    let repository = Repository {
        id,
        name,
        private: Some(false),
        created_at: None,
    };
    Shown {
        repository: Arc::new(repository),
        condition,
    }
}

fn read_at(at: Timestamp, completion: f64) -> Arc<Languages> {
    let language = Arc::new(Language {
        code: "de".into(),
        name: "German".into(),
    });
    let progress = Progress {
        completion: Completion::new(completion).unwrap(),
        at,
    };
    Arc::new(Languages {
        read_at: at,
        scale: 100.0,
        readings: [Reading {
            language,
            reported: Reported::Now(progress),
        }]
        .into(),
    })
}

fn poll() -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        duration: Duration::from_secs(10),
        listing_failure: None,
        stop: None,
        read: 2,
        failed: 0,
        unreached: 0,
        postponed: 0,
    }
}

/// The input of the diagnosis, initially after a complete poll of two repositories.
struct Known {
    snapshot: Snapshot,
    status: PollStatus,
    facts: Facts,
}

impl Known {
    fn new() -> Self {
        let repositories = (1..=2)
            .map(|id| repository(id, Condition::Fresh(read_at(NOW, 50.0))))
            .collect();
        Self {
            snapshot: Snapshot {
                taken_at: NOW,
                repositories,
                filtered: 0,
                unnamed: 0,
                unconfirmed: 0,
                completion_scale: 100.0,
                ..Snapshot::default()
            },
            status: PollStatus {
                last: Some(poll()),
                last_success_at: Some(NOW),
                ..testing::status()
            },
            facts: Facts::default(),
        }
    }

    fn symptoms(&self) -> Vec<Symptom> {
        self.findings()
            .iter()
            .map(|finding| finding.symptom)
            .collect()
    }

    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut known = Self::new();
        change(&mut known);
        known
    }

    /// Creates the input after a poll with this outcome.
    fn ended(outcome: PollOutcome) -> Self {
        Self::with(|known| known.status.last = Some(outcome))
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&self.snapshot, &self.status, &self.facts, NOW)
    }
}

fn running(since: Timestamp, is_listed: bool, read: usize) -> Activity {
    let step = Step::Reading {
        is_listed,
        of: 2,
        tried: read,
        read,
    };
    Activity::Polling(Running { since, step })
}

fn stop(reason: PollFailure) -> Stop {
    Stop {
        reason,
        lasting: failure(),
    }
}

fn refused(reason: PollFailure) -> PollOutcome {
    PollOutcome {
        listing_failure: Some(failure()),
        stop: Some(stop(reason)),
        read: 0,
        unreached: 2,
        ..poll()
    }
}

fn ended_early(reason: PollFailure) -> PollOutcome {
    PollOutcome {
        stop: Some(stop(reason)),
        read: 1,
        failed: 1,
        ..poll()
    }
}

#[test]
fn every_symptom_has_its_headline_and_its_rank() {
    let symptoms: Vec<_> = each_symptom()
        .iter()
        .map(|(symptom, ..)| *symptom)
        .collect();
    assert!(symptoms.is_sorted(), "worst first");
    let severities: Vec<_> = symptoms.iter().map(|symptom| symptom.severity()).collect();
    let last_warning = severities
        .iter()
        .rposition(|one| *one != Severity::Info)
        .unwrap();
    assert!(severities[..last_warning].is_sorted_by_key(|one| *one == Severity::Info));
    for (kind, known, words) in each_symptom() {
        let findings = known.findings();
        assert_eq!(
            findings.first().map(|finding| finding.symptom),
            Some(kind),
            "{findings:#?}"
        );
        let headline = headline(&findings, &known.status);
        for word in words {
            assert!(
                headline.contains(word),
                "{kind:?}: {headline} should say {word}"
            );
        }
        assert!(
            !findings[0].hint.is_empty() && !headline.ends_with('.'),
            "{kind:?}: {headline}"
        );
    }
}

#[test]
fn nothing_is_wrong_after_a_poll_that_read_everything() {
    let known = Known::new();
    assert_eq!(known.findings(), []);
    assert_eq!(
        headline(&known.findings(), &known.status),
        "All is well: the last poll read every repository"
    );
}

#[test]
fn unreadiness_names_only_findings_that_keep_data_away() {
    let known = Known::with(|known| {
        (known.status.last, known.status.has_data) = (None, false);
        known.snapshot.repositories.clear();
        known.facts.state_discarded = Some(failure());
        known.facts.certificate_expires_at = Some(ago(1));
    });
    let findings = known.findings();
    assert_eq!(findings[0].symptom, Symptom::CertificateExpired);
    assert_eq!(
        why_not_ready(&findings).unwrap().symptom,
        Symptom::Undecided
    );
}

#[test]
fn a_listing_without_names_is_not_an_empty_account() {
    let known = Known::with(|known| {
        known.snapshot.repositories.clear();
        known.snapshot.unnamed = 3;
    });
    let headline = headline(&known.findings(), &known.status);
    assert!(headline.contains("No entry of the listing has a readable name"));
}

#[test]
fn a_stale_repository_also_counts_as_failing() {
    let known = Known::with(|known| {
        known.snapshot.repositories[0].condition = Condition::Stale {
            read_at: ago(5),
            failure: Some(failed_with_the_api(Reason::ServerError)),
        };
    });
    let kinds = known.symptoms();
    assert_eq!(kinds, [Symptom::DataStale, Symptom::RepositoriesFailing]);
}

#[test]
fn a_certificate_is_reported_14_days_before_its_expiry() {
    for (days, kind) in [
        (15, None),
        (14, Some(Symptom::CertificateExpiring)),
        (0, Some(Symptom::CertificateExpired)),
    ] {
        let known = Known::with(|known| {
            known.facts.certificate_expires_at = Some(NOW.saturating_add(HOUR * 24 * days));
        });
        assert_eq!(
            known.findings().first().map(|finding| finding.symptom),
            kind,
            "{days}"
        );
    }
}

#[test]
fn a_scale_is_suspect_if_the_highest_completion_is_from_0_to_1() {
    for (completions, is_suspect) in [([0.4, 1.0], true), ([0.4, 1.1], false), ([0.0, 0.0], false)]
    {
        let known = Known::with(|known| {
            let shown = completions.map(|completion| Condition::Fresh(read_at(NOW, completion)));
            known.snapshot.repositories = (1..)
                .zip(shown)
                .map(|(id, shown)| repository(id, shown))
                .collect();
        });
        let kinds = known.symptoms();
        assert_eq!(
            kinds.contains(&Symptom::CompletionScale),
            is_suspect,
            "{completions:?}"
        );
    }
}

#[test]
fn a_line_holds_trouble_error_and_next_step() {
    let known = Known::ended(refused(PollFailure::Unauthorized));
    assert_eq!(
        known.findings()[0].line(),
        "The API refuses the key; the data shown are from earlier polls: \
         GET https://api.test/v1/repositories: it failed; do something"
    );
    let known = Known::with(|known| known.snapshot.repositories.clear());
    assert_eq!(
        known.findings()[0].line(),
        "The account of the key has no repositories; connect repositories to it, or use the key of \
         another account"
    );
}

#[test]
fn a_finding_begins_with_its_cause() {
    let since = |known: Known| known.findings()[0].since;
    let failed = Known::ended(refused(PollFailure::Unauthorized));
    assert_eq!(since(failed), Some(ago(2)), "the failure");
    let expired = Known::with(|known| known.facts.certificate_expires_at = Some(ago(1)));
    assert_eq!(since(expired), Some(ago(1)));
    let mut recovering = Known::ended(refused(PollFailure::Unauthorized));
    recovering.status.activity = running(NOW, true, 1);
    assert_eq!(
        since(recovering),
        Some(ago(2)),
        "the failure that is ending"
    );
    let first = Known::with(|known| {
        (known.status.last, known.status.activity) = (None, running(ago(1), false, 0));
    });
    assert_eq!(since(first), Some(ago(1)), "the poll");
}

#[test]
fn a_loss_of_repositories_ends_with_their_return_or_after_a_day() {
    let dropped = |hours, before| {
        let known = Known::with(|known| {
            let at = ago(hours);
            known.facts.repositories_dropped = Some(Dropped { at, before });
        });
        known.symptoms()
    };
    assert_eq!(dropped(23, 5), [Symptom::RepositoriesDropped]);
    assert_eq!(dropped(23, 4), [], "half of them are back");
    assert_eq!(dropped(24, 5), []);
}

#[test]
fn dropped_lines_of_the_log_are_a_finding_for_15_minutes() {
    let dropped = |minutes_ago: u32| {
        let known = Known::with(|known| {
            let at = Timestamp::from_millis(NOW.as_millis() - i64::from(minutes_ago) * 60_000);
            known.facts.log_lines_dropped = 1234;
            known.facts.history.log_lines_dropped_at = Some(at);
        });
        known.findings().first().map(|finding| finding.what.clone())
    };
    let what = "1,234 lines of the log were dropped because stderr was blocked";
    assert_eq!(dropped(14).as_deref(), Some(what));
    assert_eq!(dropped(15), None);
}

#[test]
fn no_finding_begins_in_the_future() {
    let later = NOW.saturating_add(HOUR);
    let known = Known::with(|known| {
        known.snapshot.unconfirmed = 1;
        let since = &mut known.facts.history.since;
        since.insert(ProblemKind::RemovalUnconfirmed, later);
        since.insert(ProblemKind::StateDiscarded, later);
    });
    let found: Vec<_> = known.findings().into_iter().map(|one| one.since).collect();
    assert_eq!(found, [Some(NOW), Some(NOW)]);
}
