//! The diagnosis: a list of findings, causes before their consequences.
//!
//! [`findings`] is a pure function of the document, the exporter's own facts and the time. It
//! remembers nothing: the state file keeps the times of reads, so that the findings about an
//! outage are the same after a restart in its middle, once the first poll has ended. The findings are published with the document, and the status page,
//! readiness, the log and `translation_exporter_problem` read them there. No other module decides
//! what is wrong.

mod data;
mod kind;
mod log;
mod polling;

pub use kind::{ProblemKind, Severity};
pub use log::ProblemLog;
pub use polling::{headline, progress};

use crate::{
    domain::document::Document,
    metrics::{facts::Facts, instruments::OfProblem},
    support::{
        clock::{DAY, Timestamp},
        hint::Failure,
    },
};
use std::sync::Arc;

/// A problem that exists now, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: ProblemKind,
    /// The effect on the data that are shown.
    pub severity: Severity,
    /// The beginning; `None` if it is unknown.
    pub since: Option<Timestamp>,
    /// A sentence without its full stop: the trouble, and the data that are shown in spite of it.
    pub what: String,
    /// The failed attempt and its error, if there was one.
    pub detail: Option<Arc<str>>,
    /// The next step for the operator.
    pub hint: Arc<str>,
}

impl Finding {
    fn new(kind: ProblemKind, what: impl Into<String>, hint: &str) -> Self {
        Self {
            kind,
            severity: kind.severity(),
            since: None,
            what: what.into(),
            detail: None,
            hint: hint.into(),
        }
    }

    fn of(kind: ProblemKind, what: impl Into<String>, failure: &Failure) -> Self {
        Self {
            detail: Some(Arc::clone(&failure.what)),
            ..Self::new(kind, what, &failure.hint)
        }
    }

    /// Returns the finding as one line: trouble, error and next step.
    pub fn line(&self) -> String {
        let Self { what, hint, .. } = self;
        let line = match &self.detail {
            Some(detail) => format!("{what}: {detail}; {hint}"),
            None => format!("{what}; {hint}"),
        };
        // A name may have any character.
        line.replace('\n', " ")
    }
}

/// Returns the findings at `now` about the chosen part, in the order of their kinds: causes before
/// consequences.
pub fn findings(document: &Document, facts: &Facts, now: Timestamp) -> Vec<Finding> {
    // The first poll may not have listed new repositories yet.
    let is_polled = |_: &Finding| document.is_listed() && document.status.has_data;
    let mut findings: Vec<_> = [
        polling::last_failed(document, now),
        data::stale(document, now),
        data::failing(document),
        data::unconfirmed(document),
        data::shape(document),
        data::scale(document),
        data::omitted_zeros(document),
        data::languages_gone(document),
        data::nothing_selected(document).filter(is_polled),
        data::unused_targets(document).filter(is_polled),
        data::unused_globs(document).filter(is_polled),
        polling::overrun(document, now),
        certificate(facts, now),
    ]
    .into_iter()
    .flatten()
    .chain(of_facts(facts, now))
    .collect();
    for finding in &mut findings {
        // A beginning may have been recorded while the wall clock was ahead.
        finding.since = finding.since.map(|since| since.min(now));
    }
    findings.sort_by_key(|finding| finding.kind);
    findings
}

/// Returns each series of `translation_exporter_problem`, and whether there is a finding for it.
pub fn problems(findings: &[Finding]) -> impl Iterator<Item = (OfProblem, bool)> {
    ProblemKind::ALL.iter().flat_map(move |kind| {
        let found = findings.iter().find(|finding| finding.kind == *kind);
        let found = found.map(|finding| finding.severity.label());
        kind.severities().map(move |severity| {
            let kind = kind.label();
            (OfProblem { kind, severity }, found == Some(severity))
        })
    })
}

/// Returns the findings about the exporter itself.
fn of_facts(facts: &Facts, now: Timestamp) -> impl Iterator<Item = Finding> {
    let has_just_started = facts.started_at.is_none_or(|at| now.since(at) < DAY);
    [
        (
            ProblemKind::StateNotSaved,
            "The state cannot be saved: a restart now would lose all data read since the last save",
            &facts.state_not_saved,
        ),
        (
            ProblemKind::StateDiscarded,
            "The state file could not be used at the start, so all progress clocks restarted",
            &facts.state_discarded,
        ),
        (
            ProblemKind::WebConfigRefused,
            "The changed web configuration file is refused; the previous one stays active",
            &facts.web_config_refused,
        ),
        (
            ProblemKind::ClockWrong,
            "This machine's clock and the API's differ by more than an hour",
            &facts.clock_wrong,
        ),
    ]
    .into_iter()
    .filter(move |(kind, ..)| *kind != ProblemKind::StateDiscarded || has_just_started)
    .filter_map(|(kind, what, failure)| Some(Finding::of(kind, what, failure.as_ref()?)))
}

fn certificate(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let at = facts.certificate_expires_at?;
    let (severity, since, verb) = match at.since(now) {
        _ if at <= now => (Severity::Error, Some(at), "expired"),
        left if left <= DAY * 14 => (Severity::Warning, None, "expires"),
        _ => return None,
    };
    let what = format!("The exporter's TLS certificate {verb} at {at}");
    let hint = "renew it; the exporter notices changes of the files of web.config_file";
    Some(Finding {
        severity,
        since,
        ..Finding::new(ProblemKind::Certificate, what, hint)
    })
}

#[cfg(test)]
mod tests;
