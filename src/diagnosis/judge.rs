//! The choice of problems: findings that have lasted long enough for an alert.
//!
//! The page and the log show each finding at once. `translation_exporter_problem` reports it when
//! somebody should act:
//!
//! | problem | reported |
//! |---|---|
//! | `polls_failing` | after three intervals, at least 15 minutes, without a poll that read most |
//! | `api_shape`, `repositories_dropped`, `state_discarded` | for a day |
//! | `log_lines_dropped` | for 15 minutes after the last line was dropped |
//! | all others | as long as they are found |
//!
//! The state file keeps the [`History`] of problems, so that a restart does not end or redate one.

use super::{Finding, Symptom, findings, polling};
use crate::{
    domain::{
        History, PollFailure, ProblemKind, Shape,
        snapshot::{Condition, PollOutcome, PollStatus, Snapshot},
    },
    metrics::instruments::{Facts, Instruments},
    support::clock::Timestamp,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The time after which a shape that returns is new again.
const KNOWN_SHAPE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The number of unread repositories, at least a tenth of all, from which on polls count as
/// failing.
const MANY: usize = 5;

/// A judge of the findings, called at intervals, with its memory of the previous judgement.
#[derive(Debug)]
pub struct Judge {
    started_at: Timestamp,
    /// The end of the last poll that failed to read a few repositories at most.
    well_at: Option<Timestamp>,
    /// The number of repositories at the first judgement after most were dropped.
    remaining: Option<usize>,
    /// The count of each shape at the last judgement.
    shapes: BTreeMap<Shape, u64>,
    /// The count of dropped lines of the log at the last judgement.
    log_lines_dropped: u64,
}

impl Judge {
    /// Creates the judge of a process that started at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self {
            started_at: now,
            well_at: None,
            remaining: None,
            shapes: BTreeMap::new(),
            log_lines_dropped: 0,
        }
    }

    /// Returns the findings at `now`, and records the problems among them in `instruments`.
    pub fn judge(
        &mut self,
        snapshot: &Snapshot,
        status: &PollStatus,
        instruments: &Instruments,
        now: Timestamp,
    ) -> Vec<Finding> {
        let mut facts = instruments.facts();
        self.see_shapes(&mut facts, now);
        self.see_log(&mut facts, now);
        if status.has_data {
            self.see_return(&mut facts, snapshot.repositories.len());
        }
        let findings = findings(snapshot, status, &facts, now);
        if let Some(last) = &status.last
            && is_well(snapshot, last)
        {
            self.well_at = Some(last.ended_at);
        }
        let unread = self.unread_since(status, &facts);
        let problems = problems(snapshot, status, &findings, unread, now);
        let do_polls_fail = do_polls_fail(snapshot, status, &findings, unread);
        let mut since = BTreeMap::new();
        for finding in &findings {
            let kind = finding.symptom.traits().kind;
            let began = match kind {
                // A few failing repositories must not look like an outage after a restart.
                ProblemKind::PollsFailing if !do_polls_fail && status.last.is_some() => continue,
                ProblemKind::PollsFailing => unread.at,
                _ => finding.since.unwrap_or(now).min(now),
            };
            since.entry(kind).or_insert(began);
        }
        let history = History {
            since,
            ..facts.history
        };
        instruments.judged(&problems, history);
        findings
    }

    /// Records the time of shapes seen since the last judgement. A new shape begins a problem.
    fn see_shapes(&mut self, facts: &mut Facts, now: Timestamp) {
        let known = &mut facts.history.shapes;
        known.retain(|_, last| now.since(*last) < KNOWN_SHAPE);
        for (shape, count) in &facts.shapes {
            if self.shapes.insert(*shape, *count) != Some(*count)
                && known.insert(*shape, now).is_none()
            {
                facts.history.since.insert(ProblemKind::ApiShape, now);
            }
        }
    }

    /// Ends a loss of most repositories that an earlier process found, once there are twice as many
    /// as it left. This process does not know how many there were before.
    fn see_return(&mut self, facts: &mut Facts, repositories: usize) {
        let since = &mut facts.history.since;
        if facts.repositories_dropped.is_none()
            && since.contains_key(&ProblemKind::RepositoriesDropped)
        {
            let remaining = *self.remaining.get_or_insert(repositories);
            if repositories >= (remaining * 2).max(1) {
                since.remove(&ProblemKind::RepositoriesDropped);
            }
        }
    }

    /// Records the time of lines of the log that were dropped since the last judgement.
    fn see_log(&mut self, facts: &mut Facts, now: Timestamp) {
        if facts.log_lines_dropped > self.log_lines_dropped {
            self.log_lines_dropped = facts.log_lines_dropped;
            facts.history.log_lines_dropped_at = Some(now);
        }
    }

    /// Returns the beginning of the period without a poll that read everything, apart from a few
    /// repositories.
    fn unread_since(&self, status: &PollStatus, facts: &Facts) -> Unread {
        let remembered = facts.history.since.get(&ProblemKind::PollsFailing);
        let earlier = remembered.filter(|since| **since < self.started_at);
        Unread {
            at: status
                .last_success_at
                .max(self.well_at)
                .unwrap_or_else(|| *earlier.unwrap_or(&self.started_at)),
            is_of_earlier_process: earlier.is_some(),
        }
    }
}

/// The period up to now without a poll that read everything, apart from a few repositories.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unread {
    /// The beginning of the period.
    pub at: Timestamp,
    /// `true` if the period began in an earlier process.
    pub is_of_earlier_process: bool,
}

/// Returns the kinds of findings that have lasted long enough to be problems.
pub(super) fn problems(
    snapshot: &Snapshot,
    status: &PollStatus,
    findings: &[Finding],
    unread: Unread,
    now: Timestamp,
) -> BTreeSet<ProblemKind> {
    let mut kinds: BTreeSet<_> = findings
        .iter()
        .map(|finding| finding.symptom.traits().kind)
        .collect();
    if findings
        .iter()
        .any(|finding| finding.symptom == Symptom::Held)
    {
        kinds.insert(ProblemKind::RateLimited);
    }
    let is_long = now.since(unread.at) > polling::may_fail(status);
    if !is_long || !do_polls_fail(snapshot, status, findings, unread) {
        kinds.remove(&ProblemKind::PollsFailing);
    }
    kinds
}

/// Returns whether polls fail, rather than a few repositories. A repository that never works would
/// otherwise hide a later outage.
fn do_polls_fail(
    snapshot: &Snapshot,
    status: &PollStatus,
    findings: &[Finding],
    unread: Unread,
) -> bool {
    if findings
        .iter()
        .any(|finding| finding.symptom == Symptom::PollHangs)
    {
        return true;
    }
    let Some(last) = &status.last else {
        // The first poll decides whether an earlier failure is over.
        return unread.is_of_earlier_process;
    };
    match last.failure() {
        Some(PollFailure::Held | PollFailure::Unavailable | PollFailure::Listing) => true,
        Some(PollFailure::Repositories) => are_many_unread(snapshot, last),
        // The key is a problem of its own.
        Some(PollFailure::KeyFile | PollFailure::Unauthorized) | None => false,
    }
}

/// Returns whether a poll read everything, apart from a few repositories.
fn is_well(snapshot: &Snapshot, poll: &PollOutcome) -> bool {
    match poll.failure() {
        None => true,
        Some(PollFailure::Repositories) => !are_many_unread(snapshot, poll),
        Some(_) => false,
    }
}

fn are_many_unread(snapshot: &Snapshot, last: &PollOutcome) -> bool {
    let all = snapshot.repositories.len();
    let fresh = snapshot.count(|condition| matches!(condition, Condition::Fresh(_)));
    let unread = all - fresh;
    last.read == 0 || fresh == 0 || unread >= MANY.max(all.div_ceil(10))
}
