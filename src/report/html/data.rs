//! The data of the page, and how far they can be trusted.

use super::look::Look;
use crate::{
    diagnosis::Finding,
    domain::{
        ProblemKind, Severity,
        polling::PollStatus,
        snapshot::{Condition, Snapshot},
    },
    support::clock::Timestamp,
};

/// The data of the page.
#[derive(Debug)]
pub struct View<'a> {
    pub now: Timestamp,
    /// The start of the exporter; `None` in a file.
    pub started_at: Option<Timestamp>,
    /// `None` in a file, which shows all rows and has no link or form that needs a server.
    pub telemetry_path: Option<&'a str>,
    pub snapshot: &'a Snapshot,
    pub status: &'a PollStatus,
    /// The present problems, worst first.
    pub findings: &'a [Finding],
}

impl View<'_> {
    /// Returns whether the figures may be out of date: the last poll did not read everything, the
    /// poll under way hangs, or the first poll has not read again what the state file restored.
    pub fn is_old(&self) -> bool {
        let is_restored = |condition: &Condition| matches!(condition, Condition::Restored(_));
        let is_behind = match &self.status.last {
            Some(last) => !last.is_success(),
            None => self.snapshot.count(is_restored) > 0,
        };
        let is_failing = |finding: &Finding| {
            finding.kind == ProblemKind::PollsFailing && finding.alarm.is_some()
        };
        is_behind || self.findings.iter().any(is_failing)
    }

    /// Returns the start of the exporter while it has not read everything since.
    pub fn started_without_full_poll(&self) -> Option<Timestamp> {
        let last = self.status.last_success_at;
        self.started_at
            .filter(|started| last.is_none_or(|at| at < *started))
    }

    /// Returns the look of the exporter.
    pub fn polling(&self) -> Look {
        self.look(|_| true)
    }

    /// Returns the look of the problems that cast doubt on the figures. An expired certificate, for
    /// example, leaves every completion true.
    pub fn doubts(&self) -> Look {
        self.look(|kind| {
            !matches!(
                kind,
                ProblemKind::Certificate | ProblemKind::ReloadRefused | ProblemKind::StateNotSaved
            )
        })
    }

    /// Returns the look of the findings that pass `accepts`, and of the last poll. A finding of
    /// severity info asks nobody to act, and counts as well.
    fn look(&self, accepts: impl Fn(ProblemKind) -> bool) -> Look {
        let findings = self.findings.iter();
        let findings = findings.filter(|finding| accepts(finding.kind));
        let looks = findings.map(|finding| match finding.severity {
            Severity::Error => Look::Failing,
            Severity::Warning => Look::Degraded,
            Severity::Info => Look::Well,
        });
        let last = match &self.status.last {
            None => Look::Waiting,
            Some(last) if last.is_success() => Look::Well,
            Some(_) => Look::Degraded,
        };
        looks.max().unwrap_or(Look::Well).max(last)
    }
}
