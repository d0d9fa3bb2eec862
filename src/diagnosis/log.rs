//! Logs when a problem begins, when its cause changes, and when its opposite was seen.

use super::{Finding, ProblemKind, Severity, polling::HANG};
use crate::{
    domain::{
        State,
        document::View,
        polling::{PollOutcome, RequestRate},
    },
    support::{clock::Timestamp, humanize::Rough},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The time after which a warning that lasts is logged again.
const REPEAT: Duration = Duration::from_secs(6 * 60 * 60);

/// The log of problems, with each kind that has begun and not ended.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, Present>);

/// A kind of problem that is present, or that another one hides.
#[derive(Debug)]
struct Present {
    /// Its beginning, or the time of the first call that had it.
    began: Timestamp,
    repositories: usize,
    /// The severities and hints that were logged; empty while the number of repositories still
    /// changes.
    logged: BTreeSet<(Severity, Arc<str>)>,
    logged_at: Timestamp,
}

impl ProblemLog {
    /// Logs the changes since the last call. Dates the findings whose beginning is unknown to the
    /// time at which they were first seen. A finding that counts repositories waits until two
    /// calls in a row have the same count; changes of the count after its line are not logged.
    pub fn observe(&mut self, findings: &mut [Finding], view: &View<'_>, now: Timestamp) {
        let mut seen = BTreeSet::new();
        for finding in findings {
            let present = self.0.entry(finding.kind).or_insert(Present {
                began: finding.since.unwrap_or(now),
                repositories: 0,
                logged: BTreeSet::new(),
                logged_at: now,
            });
            finding.since.get_or_insert(present.began.min(now));
            // The worst finding of a kind comes first, and speaks for the others.
            if !seen.insert(finding.kind) {
                continue;
            }
            let is_settled = present.repositories == finding.repositories;
            present.repositories = finding.repositories;
            let cause = (finding.severity, Arc::clone(&finding.hint));
            let is_due = cause.0 != Severity::Info && now.since(present.logged_at) >= REPEAT;
            // Causes that alternate are logged once each.
            if is_settled && (present.logged.insert(cause) || is_due) {
                present.logged_at = now;
                log(finding);
            }
        }
        self.0.retain(|kind, present| {
            let lasts = seen.contains(kind) || !is_over(*kind, view, now);
            let end = kind.definition().end;
            if let Some(end) = end.filter(|_| !lasts && !present.logged.is_empty()) {
                tracing::info!(after = %Rough(now.since(present.began)), "{end}");
            }
            lasts
        });
    }
}

/// Returns whether the opposite of a kind of problem was seen. A problem that was not found lasts
/// until then: another one may hide it, such as an outage.
fn is_over(kind: ProblemKind, view: &View<'_>, now: Timestamp) -> bool {
    let status = &view.document.status;
    let last = status.last.as_ref();
    let is_well = last.is_some_and(PollOutcome::is_well);
    let is_listed = last.is_some_and(|last| last.is_listed);
    match kind {
        ProblemKind::ApiKey => last.is_some_and(|last| last.listed > 0 || last.read > 0),
        ProblemKind::PollsFailing => {
            let began = status.running.as_ref().map_or(now, |poll| poll.since);
            is_well && now.since(began) <= HANG
        }
        ProblemKind::DataStale => !view.rows.iter().any(|row| match row.state {
            State::Stale => true,
            State::Pending => row.failure.is_some(),
            _ => false,
        }),
        ProblemKind::NoRepositories => !view.rows.is_empty(),
        ProblemKind::CompletionScale => fits(view),
        ProblemKind::ApiShape | ProblemKind::OmittedZeros => {
            last.is_some_and(PollOutcome::is_success)
        }
        ProblemKind::PollsOverrun => is_well,
        ProblemKind::RateLimited => is_well && status.rate == RequestRate::Configured,
        ProblemKind::TargetUnused => is_listed && view.unread() == 0,
        ProblemKind::RemovalUnconfirmed => is_listed,
        ProblemKind::StateNotSaved
        | ProblemKind::StateDiscarded
        | ProblemKind::WebConfigRefused
        | ProblemKind::Certificate
        | ProblemKind::LanguagesGone
        | ProblemKind::ClockWrong => true,
    }
}

/// Returns whether all completions lie within the scale, also the last ones of stale data, and one
/// shows that they are no ratios.
fn fits(view: &View<'_>) -> bool {
    let scale = view.document.settings.scale;
    let known = view.rows.iter().flat_map(|row| row.known.iter());
    let mut known = known.filter_map(|one| one.completion).peekable();
    let mut is_above_1 = scale.is_chosen || scale.finished <= 1.0;
    known.peek().is_some()
        && known.all(|completion| {
            is_above_1 |= completion.get() > 1.0;
            scale.ratio(completion).is_some()
        })
        && is_above_1
}

/// Logs a finding.
pub fn log(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    match finding.severity {
        _ if finding.kind.definition().end.is_none() => {}
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning | Severity::Info => tracing::warn!(error, hint = &**hint, "{what}"),
    }
}
