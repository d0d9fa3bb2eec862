//! Logs when a problem begins and when it ends.

use super::Finding;
use crate::{
    domain::{ProblemKind, Severity},
    support::{clock::Timestamp, humanize::Rough},
};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of problems that were found last, so that only changes are logged.
#[derive(Debug, Default)]
pub struct Watch(BTreeMap<ProblemKind, Watched>);

#[derive(Debug)]
struct Watched {
    since: Timestamp,
    severity: Severity,
}

impl Watch {
    /// Logs the beginning, the end and each change of severity of a problem. Dates the findings
    /// whose beginning is unknown to the time at which they were first seen.
    pub fn observe(&mut self, findings: &mut [Finding], now: Timestamp) {
        let mut present = BTreeSet::new();
        for finding in findings {
            let since = finding.since.unwrap_or(now);
            let watched = self.0.entry(finding.kind);
            let is_new = matches!(watched, std::collections::btree_map::Entry::Vacant(_));
            let watched = watched.or_insert(Watched {
                since,
                severity: finding.severity,
            });
            finding.since.get_or_insert(watched.since.min(now));
            // The worst finding of a kind comes first, and speaks for the others.
            if present.insert(finding.kind) && (is_new || watched.severity != finding.severity) {
                watched.severity = finding.severity;
                log_begin(finding);
            }
        }
        self.0.retain(|kind, watched| {
            let lasts = present.contains(kind);
            if !lasts && let Some(end) = kind.definition().end {
                tracing::info!(after = %Rough(now.since(watched.since)), "{end}");
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
