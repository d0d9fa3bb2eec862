mod kinds;
mod log;
mod polls;
mod problems;

use super::*;
use crate::domain::{
    Defect, Operation, PollFailure, Reason, Stop,
    polling::{PollOutcome, PollStatus},
    targets::{
        Targets,
        tests::{entry, globs},
    },
};
use crate::testing::{self, Failed};
use crate::{
    domain::document::Document,
    testing::{Condition, Languages, Shown, Snapshot},
};
use kinds::each_kind;
use std::{collections::BTreeSet, time::Duration};

const NOW: Timestamp = Timestamp::from_millis(1_795_224_645_000);
const HOUR: Duration = Duration::from_secs(3600);

fn ago(hours: u32) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - i64::from(hours) * 3_600_000)
}

fn failure() -> Failure {
    let what = "GET https://api.test/v1/repositories: it failed";
    Failure::new(what, "do something")
}

fn failed(hours: u32) -> Failed {
    Failed::new("404", "look for it", ago(hours))
}

fn repository(id: u64, condition: Condition) -> Shown {
    testing::in_condition(testing::repository(id, &format!("o/{id}")), condition)
}

fn read_at(at: Timestamp, completion: f64) -> Languages {
    Languages {
        read_at: at,
        records: [testing::record_of("de", "German", Some(completion), at)].into(),
    }
}

fn poll() -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        ..testing::poll(0)
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
                ..testing::snapshot(repositories)
            },
            status: PollStatus {
                last: Some(poll()),
                last_success_at: Some(NOW),
                ..testing::status()
            },
            facts: Facts::default(),
        }
    }

    fn kinds(&self) -> Vec<ProblemKind> {
        self.findings().iter().map(|finding| finding.kind).collect()
    }

    fn headline(&self) -> String {
        headline(&self.findings(), &self.document()).to_owned()
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

    fn document(&self) -> Document {
        self.snapshot.judge(self.status.clone(), None)
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&self.document(), &self.facts, NOW)
    }
}

fn running(since: Timestamp, is_listed: bool, read: usize) -> PollOutcome {
    PollOutcome {
        since,
        is_listed,
        total: 2,
        read,
        ..PollOutcome::default()
    }
}

fn stop(reason: PollFailure) -> Stop {
    Stop {
        reason,
        failure: failure(),
        request: None,
    }
}

fn refused(reason: PollFailure) -> PollOutcome {
    PollOutcome {
        is_listed: false,
        stop: Some(stop(reason)),
        read: 0,
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
fn every_kind_has_its_headline_and_its_rank() {
    let cases = each_kind();
    let covered: BTreeSet<_> = cases.iter().map(|(kind, ..)| *kind).collect();
    assert!(covered.iter().eq(ProblemKind::ALL), "each kind has a case");
    for (kind, known, words) in cases {
        let findings = known.findings();
        assert_eq!(
            findings.first().map(|finding| finding.kind),
            Some(kind),
            "{findings:#?}"
        );
        let (what, line) = (&findings[0].what, findings[0].line());
        for word in words {
            assert!(line.contains(word), "{kind:?}: {line} should say {word}");
        }
        assert!(
            !findings[0].hint.is_empty() && !what.ends_with('.'),
            "{kind:?}: {what}"
        );
    }
}

#[test]
fn nothing_is_wrong_after_a_poll_that_read_everything() {
    let known = Known::new();
    assert_eq!(known.findings(), []);
    assert_eq!(known.headline(), "The last poll read every repository");
}

#[test]
fn a_stale_repository_also_counts_as_failing() {
    let known = Known::with(|known| {
        known.snapshot.repositories[0].condition = testing::stale(ago(5), Some(failed(2)));
    });
    let kinds = known.kinds();
    assert_eq!(kinds, [ProblemKind::PollsFailing, ProblemKind::DataStale]);
}

#[test]
fn a_certificate_that_is_valid_for_more_than_14_days_is_no_finding() {
    let known = Known::with(|known| {
        known.facts.certificate_expires_at = Some(NOW.saturating_add(HOUR * (24 * 14 + 1)));
    });
    assert_eq!(known.findings(), []);
}

#[test]
fn a_finding_begins_with_its_cause() {
    let since = |known: Known| known.findings()[0].since;
    let mut failed = Known::ended(refused(PollFailure::Unauthorized));
    failed.status.last_success_at = Some(ago(3));
    assert_eq!(since(failed), Some(ago(3)), "the last success");
    let expired = Known::with(|known| known.facts.certificate_expires_at = Some(ago(1)));
    assert_eq!(since(expired), Some(ago(1)));
}

#[test]
fn a_scale_is_suspect_while_something_is_above_0_and_nothing_above_1() {
    for (completions, scale, is_suspect) in [
        ([Some(0.0), Some(0.4), Some(1.0)], 100.0, true),
        ([Some(0.0), Some(0.4), Some(1.5)], 100.0, false),
        ([Some(0.0); 3], 100.0, false),
        ([Some(0.4); 3], 1.0, false),
        ([None; 3], 100.0, false),
    ] {
        let [de, fr, it] = completions;
        let read = testing::read(1, "a/b", &[("de", de), ("fr", fr), ("it", it)]);
        let known = Known::with(|known| {
            known.snapshot.repositories = vec![read];
            known.snapshot.settings.scale.finished = scale;
        });
        let kinds = known.kinds();
        let is_found = kinds.contains(&ProblemKind::CompletionScale);
        assert_eq!(is_found, is_suspect, "{completions:?} {scale}");
    }
}

#[test]
fn no_finding_begins_in_the_future() {
    let known = Known::with(|known| {
        let failed = Failed::new("404", "look for it", NOW.saturating_add(HOUR));
        known.snapshot.repositories[0].condition = Condition::Pending(Some(failed));
    });
    assert_eq!(known.findings()[0].since, Some(NOW));
}

#[test]
fn a_bad_field_that_costs_no_completion_is_worth_knowing() {
    for (operation, defect, is_grave) in [
        (Operation::ListLanguages, Defect::Completion, true),
        (Operation::ListRepositories, Defect::Name, true),
        (Operation::ListRepositories, Defect::CreatedAt, false),
        (Operation::ListLanguages, Defect::Name, false),
    ] {
        let known = Known::with(|known| {
            let defects = match operation {
                Operation::ListRepositories => &mut known.snapshot.defects,
                Operation::ListLanguages => &mut known.snapshot.repositories[0].defects,
            };
            defects.add(defect, Some(1), "");
        });
        let found = &known.findings()[0];
        let severity = if is_grave {
            Severity::Warning
        } else {
            Severity::Info
        };
        let expected = (ProblemKind::ApiShape, severity);
        assert_eq!((found.kind, found.severity), expected, "{defect:?}");
    }
}

#[test]
fn a_response_that_cannot_be_decoded_is_of_another_shape() {
    let known = Known::with(|known| {
        let failed = Failed {
            reason: Reason::Decode,
            ..failed(2)
        };
        known.snapshot.repositories[0].condition = Condition::Failing(read_at(NOW, 50.0), failed);
    });
    let shapes = known.findings();
    let shape = shapes.iter().find(|one| one.kind == ProblemKind::ApiShape);
    assert_eq!(shape.unwrap().detail.as_deref(), Some("404"));
    let known = Known::ended(PollOutcome {
        stop: Some(Stop {
            reason: PollFailure::Listing,
            failure: failure(),
            request: Some(Reason::Cursor),
        }),
        ..poll()
    });
    assert!(known.kinds().contains(&ProblemKind::ApiShape));
}
