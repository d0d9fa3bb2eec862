//! Logs when a problem begins, when its cause changes, and when it has ended.
//!
//! An outage hides other problems, such as a refused key. One of the API therefore ends when a
//! poll has gone well.

use super::{Finding, ProblemKind, Severity};
use crate::{
    domain::{document::Document, polling::PollOutcome},
    support::{clock::Timestamp, humanize::rough},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The time after which a warning that lasts is logged again.
const REPEAT: Duration = Duration::from_secs(6 * 60 * 60);

/// The time without a wrong clock after which it has ended: it may come and go with each server of
/// the API.
const SETTLED_FOR: Duration = Duration::from_secs(10 * 60);

/// The log of problems, with each kind that has begun and not ended.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, Present>);

/// A kind of problem that has begun.
#[derive(Debug)]
struct Present {
    /// Its beginning, or the time of the first call that had it.
    began: Timestamp,
    /// The time at which it was last found.
    found: Timestamp,
    /// The hints that were logged: causes that alternate are logged once each.
    logged: BTreeSet<Arc<str>>,
    logged_at: Timestamp,
}

impl ProblemLog {
    /// Logs the changes since the last call. Dates the findings whose beginning is unknown to the
    /// time at which they were first seen.
    pub fn observe(&mut self, findings: &mut [Finding], document: &Document, now: Timestamp) {
        let is_polling = document.status.running.is_some();
        let mut seen = BTreeSet::new();
        for finding in findings {
            let present = self.0.entry(finding.kind).or_insert(Present {
                began: finding.since.unwrap_or(now),
                found: now,
                logged: BTreeSet::new(),
                logged_at: now,
            });
            present.found = now;
            finding.since.get_or_insert(present.began);
            // The worst finding of a kind comes first, and speaks for the others.
            let is_first = seen.insert(finding.kind);
            // Counts still grow while a poll is under way.
            let is_counted = finding.kind.is_of_api() && finding.kind != ProblemKind::PollsOverrun;
            let waits = is_polling && present.logged.is_empty() && is_counted;
            let is_due =
                finding.severity != Severity::Info && now.since(present.logged_at) >= REPEAT;
            if is_first && !waits && (present.logged.insert(Arc::clone(&finding.hint)) || is_due) {
                present.logged_at = now;
                log(finding);
            }
        }
        let last = document.status.last.as_ref();
        let is_well = last.is_some_and(PollOutcome::is_well);
        self.0.retain(|kind, present| {
            let may_return =
                *kind == ProblemKind::ClockWrong && now.since(present.found) < SETTLED_FOR;
            let lasts = seen.contains(kind) || may_return || kind.is_of_api() && !is_well;
            if !lasts {
                let lasted = rough(present.found.since(present.began));
                tracing::info!(problem = kind.label(), %lasted, "a problem has ended");
            }
            lasts
        });
    }
}

/// Logs a finding.
fn log(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    match finding.severity {
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning => tracing::warn!(error, hint = &**hint, "{what}"),
        Severity::Info => tracing::info!(error, hint = &**hint, "{what}"),
    }
}
