//! Logs when a problem begins and when it ends.

use super::Finding;
use crate::{
    domain::{ProblemKind, Severity},
    support::{clock::Timestamp, humanize::Rough},
};
use std::collections::{BTreeMap, BTreeSet};

/// The log of problems. It keeps the beginning and the severity of each present kind, so that it
/// logs only changes.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, (Timestamp, Severity)>);

impl ProblemLog {
    /// Logs the beginning, the end and each change of severity of a problem. Dates the findings
    /// whose beginning is unknown to the time at which they were first seen.
    pub fn observe(&mut self, findings: &mut [Finding], now: Timestamp) {
        let mut present = BTreeSet::new();
        for finding in findings {
            let since = finding.since.unwrap_or(now);
            let is_new = !self.0.contains_key(&finding.kind);
            let known = self.0.entry(finding.kind);
            let (began, severity) = known.or_insert((since, finding.severity));
            finding.since.get_or_insert(now.min(*began));
            // The worst finding of a kind comes first, and speaks for the others.
            if present.insert(finding.kind) && (is_new || *severity != finding.severity) {
                *severity = finding.severity;
                log_begin(finding);
            }
        }
        self.0.retain(|kind, (began, _)| {
            let lasts = present.contains(kind);
            if !lasts && let Some(end) = kind.definition().end {
                tracing::info!(after = %Rough(now.since(*began)), "{end}");
            }
            lasts
        });
    }
}

fn log_begin(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    match finding.severity {
        _ if finding.kind.definition().end.is_none() => {}
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning | Severity::Info => tracing::warn!(error, hint = &**hint, "{what}"),
    }
}
