//! What is wrong now, worst first.
//!
//! The only place that decides it. The status page, readiness, `once`, `check-config --online` and the log take their
//! words from [`findings`], a pure function of what was published, what the exporter knows about itself, and the time.
//! [`Judge`] decides at intervals which findings have lasted long enough to be reported as
//! `translation_exporter_problem`, so that all alerts agree with the page.

mod data;
mod judge;
mod log;
mod polling;

pub use data::{nothing_selected, scale};
pub use judge::Judge;
pub use log::Watch;

use crate::{
    domain::{
        Fault, Lasting, ProblemKind, ReadFailure, Severity,
        snapshot::{PollOutcome, PollStatus, Snapshot},
    },
    metrics::instruments::Facts,
    support::{
        clock::Timestamp,
        humanize::{Rough, grouped},
    },
};
use std::{sync::Arc, time::Duration};

/// How long before its expiry a certificate is reported.
pub const CERTIFICATE_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How long a single event counts as a problem.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after a line of the log was dropped that is a problem: until several scrapes have seen it.
const AFTER_DROPPED_LINE: Duration = Duration::from_secs(15 * 60);

/// What can be wrong, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symptom {
    /// The API refuses the key, or its file cannot be read.
    KeyUnusable,
    ApiUnavailable,
    ListingIncomplete,
    /// The poll under way has read nothing for long.
    PollHangs,
    DataStale,
    CertificateExpired,
    /// Retry-After holds all requests.
    Held,
    RepositoriesFailing,
    /// There is no repository to show.
    NoRepositories,
    /// More than half of the repositories left the listing.
    RepositoriesDropped,
    CompletionScale,
    /// The API seems to leave out fields that hold 0 or false.
    OmittedZeros,
    /// Responses deviate from the specification in a new way.
    ApiShape,
    StateNotSaved,
    StateDiscarded,
    ReloadRefused,
    CertificateExpiring,
    /// The poll under way decides what is so: it is the first, or the last one failed as a whole.
    Undecided,
    PollsOverrun,
    RateLimited,
    /// An entry of `targets` applies to no language.
    TargetUnused,
    RemovalUnconfirmed,
    ClockBehind,
    LogLinesDropped,
}

/// What every finding of a symptom has in common.
#[derive(Debug)]
pub struct Traits {
    /// The kind of problem that the symptom is part of.
    pub kind: ProblemKind,
    pub severity: Severity,
    pub origin: Origin,
    /// What the log says when it ends; empty if other messages say enough.
    end: &'static str,
}

/// What shows that something is wrong, and so what can show that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A poll: nothing can be said of single repositories, since the key, the API or the poll under way decides.
    Outage,
    /// A poll: its listing did not reach its end.
    Listing,
    /// A poll that listed everything.
    Poll,
    /// The exporter itself, at any time.
    Exporter,
    /// An event, which is logged where it happens.
    Event,
}

impl Symptom {
    #[rustfmt::skip] // It is a table.
    pub fn traits(self) -> Traits {
        use Origin::{Event, Exporter, Listing, Outage, Poll};
        use ProblemKind as Problem;
        use Severity::{Error, Info, Warning};
        let (kind, severity, origin, end) = match self {
            Self::KeyUnusable => (Problem::ApiKey, Error, Outage, "the key can be used again"),
            Self::ApiUnavailable => (Problem::PollsFailing, Error, Outage, "the API answers again"),
            Self::ListingIncomplete => (Problem::PollsFailing, Error, Listing, "all repositories can be listed again"),
            Self::PollHangs => (Problem::PollsFailing, Error, Outage, "the poll goes on, or has ended"),
            Self::DataStale => (Problem::DataStale, Error, Poll, "no data are stale any more"),
            Self::CertificateExpired => (Problem::Certificate, Error, Exporter, "the TLS certificate is valid again"),
            Self::Held => (Problem::PollsFailing, Warning, Outage, "the API takes requests again"),
            Self::RepositoriesFailing => (Problem::PollsFailing, Warning, Poll, "no repository fails any more"),
            Self::NoRepositories => (Problem::NoRepositories, Warning, Poll, "there are repositories to show again"),
            Self::RepositoriesDropped => (Problem::RepositoriesDropped, Warning, Poll, ""),
            Self::CompletionScale => (Problem::CompletionScale, Warning, Poll, "completions fit api.completion_scale again"),
            Self::OmittedZeros => (Problem::OmittedZeros, Warning, Poll, "the API no longer seems to leave out zeros"),
            // The poller logs each change of the bad entries.
            Self::ApiShape => (Problem::ApiShape, Warning, Event, ""),
            Self::StateNotSaved => (Problem::StateNotSaved, Warning, Exporter, "the state is saved again"),
            Self::StateDiscarded => (Problem::StateDiscarded, Warning, Event, ""),
            Self::ReloadRefused => (Problem::ReloadRefused, Warning, Event, ""),
            Self::CertificateExpiring => (Problem::Certificate, Warning, Exporter, ""),
            Self::Undecided => (Problem::PollsFailing, Info, Outage, ""),
            Self::PollsOverrun => (Problem::PollsOverrun, Info, Poll, "polls fit into poll.interval again"),
            Self::RateLimited => (Problem::RateLimited, Info, Poll, "the API no longer limits the rate of requests"),
            Self::TargetUnused => (Problem::TargetUnused, Info, Poll, "every entry of targets applies to a language"),
            Self::RemovalUnconfirmed => (Problem::RemovalUnconfirmed, Info, Poll, "no removal waits for confirmation"),
            Self::ClockBehind => (Problem::ClockBehind, Info, Exporter, "the clock of this machine is no longer behind"),
            Self::LogLinesDropped => (Problem::LogLinesDropped, Info, Exporter, "all lines of the log are written again"),
        };
        Traits { kind, severity, origin, end }
    }

    pub fn severity(self) -> Severity {
        self.traits().severity
    }

    /// Whether it keeps polls from listing or requesting everything, or may have.
    fn stops_polls(self) -> bool {
        matches!(self.traits().origin, Origin::Outage | Origin::Listing)
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub symptom: Symptom,
    /// `None` if it is not known when it began.
    pub since: Option<Timestamp>,
    /// A sentence without its full stop: what is wrong, and what is read and shown anyway.
    pub what: String,
    /// What was attempted and how it failed, if anything was.
    pub detail: Option<Arc<str>>,
    /// What to do about it.
    pub hint: Arc<str>,
}

impl Finding {
    fn new(symptom: Symptom, what: impl Into<String>, hint: &str) -> Self {
        Self {
            symptom,
            since: None,
            what: what.into(),
            detail: None,
            hint: hint.into(),
        }
    }

    fn of(symptom: Symptom, what: impl Into<String>, lasting: &Lasting) -> Self {
        let failure = &lasting.failure;
        Self {
            since: Some(lasting.since),
            detail: Some(Arc::clone(&failure.what)),
            ..Self::new(symptom, what, &failure.hint)
        }
    }

    /// All of it in one line: what, how, and what to do.
    pub fn line(&self) -> String {
        let Self { what, hint, .. } = self;
        match &self.detail {
            Some(detail) => format!("{what}: {detail}; {hint}"),
            None => format!("{what}; {hint}"),
        }
    }
}

/// What is wrong now, worst first; empty if nothing is.
pub fn findings(
    snapshot: &Snapshot,
    status: &PollStatus,
    facts: &Facts,
    now: Timestamp,
) -> Vec<Finding> {
    let polling = polling::finding(snapshot, status, now);
    let is_outage = polling.as_ref().is_some_and(is_outage);
    let mut findings: Vec<_> = [
        polling,
        data::stale(snapshot, status, is_outage, now),
        data::failing(snapshot, is_outage),
        data::unconfirmed(snapshot),
        data::dropped(snapshot, facts, now),
        data::shape(facts, now),
        scale(snapshot.completion_scale, snapshot.completions()),
        data::omitted_zeros(status.zeros),
        data::rate_limited(status),
        certificate(facts, now),
        log_lines_dropped(facts, now),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(of_facts(facts, now));
    if let Some(PollOutcome { listing: None, .. }) = &status.last {
        findings.extend(nothing_selected(snapshot));
        findings.extend(data::unused_targets(snapshot));
    }
    // An outage is no reason to poll more slowly.
    if !is_outage {
        findings.extend(polling::overrun(status));
    }
    for finding in &mut findings {
        let kind = finding.symptom.traits().kind;
        // Polls fail for several reasons, one after another: each has its own beginning, or none that is known.
        if finding.since.is_none() && kind != ProblemKind::PollsFailing {
            finding.since = facts.history.since.get(&kind).copied();
        }
        // It may have been recorded while the wall clock was ahead.
        finding.since = finding.since.map(|since| since.min(now));
    }
    findings.sort_by_key(|finding| finding.symptom);
    findings
}

/// What fails in the exporter itself.
fn of_facts(facts: &Facts, now: Timestamp) -> Vec<Finding> {
    let since = |kind| facts.history.since.get(&kind).copied();
    let is_recent = |since: Timestamp| now.since(since) < DAY;
    let mut findings = Vec::new();
    for (symptom, what, failure) in [
        (
            Symptom::StateNotSaved,
            "The state cannot be saved: a restart now would lose what was read since the last save",
            &facts.state_not_saved,
        ),
        (
            Symptom::ReloadRefused,
            "The last change of the configuration was refused; the previous one is in force",
            &facts.reload_refused,
        ),
        (
            Symptom::ClockBehind,
            "The clock of this machine is wrong, or was: nothing is recorded as earlier than what is known",
            &facts.clock_behind,
        ),
    ] {
        findings.extend(
            failure
                .as_ref()
                .map(|failure| Finding::of(symptom, what, failure)),
        );
    }
    let discarded =
        "The state file could not be used at the start, so that the progress clocks began anew";
    match (&facts.state_discarded, since(ProblemKind::StateDiscarded)) {
        (Some(failure), _) if is_recent(failure.since) => {
            findings.push(Finding::of(Symptom::StateDiscarded, discarded, failure));
        }
        // An earlier process discarded it.
        (None, Some(since)) if is_recent(since) => findings.push(Finding {
            since: Some(since),
            ..Finding::new(
                Symptom::StateDiscarded,
                discarded,
                "the log of that start says why",
            )
        }),
        _ => {}
    }
    findings
}

/// The worst finding, or how the last poll went if nothing is wrong.
pub fn headline(findings: &[Finding], status: &PollStatus) -> String {
    if let Some(worst) = findings.first() {
        return worst.what.clone();
    }
    match &status.last {
        Some(last) if !last.is_success() => {
            "The last poll could not read every repository; none of those that failed is listed any more"
                .to_owned()
        }
        _ => "All is well: the last poll read every repository".to_owned(),
    }
}

/// Why there are no data to serve, where there are none: what else is wrong does not keep them away.
pub fn why_not_ready(findings: &[Finding]) -> Option<&Finding> {
    findings
        .iter()
        .find(|finding| finding.symptom.stops_polls())
}

/// Whether a repository's failure is named besides these findings: while the API fails as a whole, what fails with it is
/// not.
pub fn is_named(failure: &ReadFailure, findings: &[Finding]) -> bool {
    failure.fault == Fault::Repository || !findings.iter().any(is_outage)
}

fn is_outage(finding: &Finding) -> bool {
    finding.symptom.traits().origin == Origin::Outage
}

fn log_lines_dropped(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let at = facts.history.log_lines_dropped_at?;
    let lines = usize::try_from(facts.log_lines_dropped).unwrap_or(usize::MAX);
    let what = match lines {
        1 => "1 line of the log was dropped, because nobody read stderr".to_owned(),
        _ => format!(
            "{} lines of the log were dropped, because nobody read stderr",
            grouped(lines)
        ),
    };
    let hint = "see what reads stderr, such as a log driver that hangs";
    (now.since(at) < AFTER_DROPPED_LINE).then(|| Finding::new(Symptom::LogLinesDropped, what, hint))
}

fn certificate(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let at = facts.certificate_expires_at?;
    let left = at.since(now);
    let (symptom, since, what) = if at <= now {
        let what = format!("The exporter's TLS certificate expired at {at}");
        (Symptom::CertificateExpired, Some(at), what)
    } else if left <= CERTIFICATE_WARNING {
        let left = Rough(left);
        let what = format!("The exporter's TLS certificate expires at {at}, in {left}");
        (Symptom::CertificateExpiring, None, what)
    } else {
        return None;
    };
    let hint = "renew it; the files that web.config_file names are read again when they change";
    Some(Finding {
        since,
        ..Finding::new(symptom, what, hint)
    })
}

#[cfg(test)]
mod tests;
