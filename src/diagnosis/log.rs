//! Logs when a problem begins, when its cause changes, and when it is found no longer.

use super::{Finding, ProblemKind, Severity};
use crate::support::{clock::Timestamp, humanize::rough};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The time after which a warning that lasts is logged again.
const REPEAT: Duration = Duration::from_secs(6 * 60 * 60);

/// The log of problems, with each kind that was found by the last diagnosis.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, Present>);

/// A kind of problem that is present.
#[derive(Debug)]
struct Present {
    /// Its beginning, or the time of the first call that had it.
    began: Timestamp,
    /// The hints that were logged: causes that alternate are logged once each.
    logged: BTreeSet<Arc<str>>,
    logged_at: Timestamp,
}

impl ProblemLog {
    /// Logs the changes since the last call. Dates the findings whose beginning is unknown to the
    /// time at which they were first seen.
    pub fn observe(&mut self, findings: &mut [Finding], now: Timestamp) {
        let mut seen = BTreeSet::new();
        for finding in findings {
            let present = self.0.entry(finding.kind).or_insert(Present {
                began: finding.since.unwrap_or(now),
                logged: BTreeSet::new(),
                logged_at: now,
            });
            finding.since.get_or_insert(present.began);
            // The worst finding of a kind comes first, and speaks for the others.
            if !seen.insert(finding.kind) {
                continue;
            }
            let is_due =
                finding.severity != Severity::Info && now.since(present.logged_at) >= REPEAT;
            if present.logged.insert(Arc::clone(&finding.hint)) || is_due {
                present.logged_at = now;
                log(finding);
            }
        }
        self.0.retain(|kind, present| {
            let lasts = seen.contains(kind);
            if !lasts {
                let (problem, after) = (kind.label(), rough(now.since(present.began)));
                tracing::info!(problem, %after, "a problem is found no longer");
            }
            lasts
        });
    }
}

/// Logs a finding.
pub fn log(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    match finding.severity {
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning | Severity::Info => tracing::warn!(error, hint = &**hint, "{what}"),
    }
}
