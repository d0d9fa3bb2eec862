//! Logs when a problem begins and when it ends.

use super::Finding;
use crate::{
    domain::{ProblemKind, Severity},
    support::{
        clock::{Moment, Timestamp},
        humanize::Rough,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The log of problems: it logs when each kind begins, when its severity changes and when it ends.
#[derive(Debug, Default)]
pub struct ProblemLog(BTreeMap<ProblemKind, Present>);

/// A kind of problem that is present.
#[derive(Debug)]
struct Present {
    /// The moment of the first call that had it, and how long it had lasted then. Both stay right
    /// when the first answer of the API corrects a wrong clock.
    seen: Moment,
    lasted: Duration,
    repositories: usize,
    /// The severity in the log; `None` while the number of repositories still changes.
    logged: Option<Severity>,
}

impl Present {
    fn began(&self, now: Moment) -> Timestamp {
        self.seen.seen_from(now).saturating_sub(self.lasted)
    }
}

impl ProblemLog {
    /// Logs the changes since the last call. Dates the findings whose beginning is unknown to the
    /// time at which they were first seen. A finding that counts repositories waits until two
    /// calls in a row have the same count; changes of the count after its line are not logged.
    pub fn observe(&mut self, findings: &mut [Finding], now: Moment) {
        let mut seen = BTreeSet::new();
        for finding in findings {
            let present = self.0.entry(finding.kind).or_insert(Present {
                seen: now,
                lasted: now.wall.since(finding.since.unwrap_or(now.wall)),
                repositories: 0,
                logged: None,
            });
            finding.since.get_or_insert(present.began(now));
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
                tracing::info!(after = %Rough(now.wall.since(present.began(now))), "{end}");
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
