//! Logs when a problem begins and when it ends.

use super::Finding;
use crate::{
    domain::{ProblemKind, Severity},
    support::{clock::Timestamp, humanize::Rough},
};
use std::collections::{BTreeMap, BTreeSet};

/// The log of problems: it logs when each kind begins, when its severity changes and when it ends.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, Present>);

/// A kind of problem that is present.
#[derive(Debug)]
struct Present {
    /// Its beginning, or the time of the first call that had it.
    began: Timestamp,
    repositories: usize,
    /// The severity in the log; `None` while the number of repositories still changes.
    logged: Option<Severity>,
}

impl ProblemLog {
    /// Logs the changes since the last call. Dates the findings whose beginning is unknown to the
    /// time at which they were first seen. A finding that counts repositories waits until two
    /// calls in a row have the same count; changes of the count after its line are not logged.
    pub fn observe(&mut self, findings: &mut [Finding], now: Timestamp) {
        let mut seen = BTreeSet::new();
        for finding in findings {
            let present = self.0.entry(finding.kind).or_insert(Present {
                began: finding.since.unwrap_or(now),
                repositories: 0,
                logged: None,
            });
            finding.since.get_or_insert(present.began.min(now));
            // The worst finding of a kind comes first, and speaks for the others.
            if !seen.insert(finding.kind) {
                continue;
            }
            let is_settled = present.repositories == finding.repositories;
            present.repositories = finding.repositories;
            if is_settled && present.logged != Some(finding.severity) {
                present.logged = Some(finding.severity);
                log(finding);
            }
        }
        self.0.retain(|kind, present| {
            let lasts = seen.contains(kind);
            let end = kind.definition().end.filter(|_| present.logged.is_some());
            if !lasts && let Some(end) = end {
                tracing::info!(after = %Rough(now.since(present.began)), "{end}");
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
        _ if finding.kind.definition().end.is_none() => {}
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning | Severity::Info => tracing::warn!(error, hint = &**hint, "{what}"),
    }
}
