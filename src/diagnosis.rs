//! The diagnosis: a list of findings, worst first.
//!
//! The status page, readiness, `once`, `check-config --online` and the log take their words from
//! [`findings`], a pure function of the publication, the exporter's own facts and the time. No
//! other module decides what is wrong. [`Judge`] decides at intervals which findings have lasted
//! long enough for `translation_exporter_problem`, so that all alerts agree with the page.

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

/// The time before its expiry at which a certificate becomes a finding.
pub const CERTIFICATE_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The time for which a single event is a problem.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time for which a dropped line of the log is a problem: several scrapes see it.
const AFTER_DROPPED_LINE: Duration = Duration::from_secs(15 * 60);

/// The ways in which something can be wrong, worst first.
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
    /// The poll under way has to show the state of the API: it is the first, or its predecessor
    /// failed as a whole.
    Undecided,
    PollsOverrun,
    RateLimited,
    /// An entry of `targets` applies to no language.
    TargetUnused,
    RemovalUnconfirmed,
    ClockBehind,
    LogLinesDropped,
}

/// The properties that all findings of a symptom share.
#[derive(Debug)]
pub struct Traits {
    /// The kind of problem that the symptom is part of.
    pub kind: ProblemKind,
    pub severity: Severity,
    pub origin: Origin,
}

/// The observation that reveals a symptom, and that can therefore reveal its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A poll, as far as the key, the API or the poll under way decides, not single repositories.
    Outage,
    /// A poll whose listing did not reach its end.
    Listing,
    /// A poll that listed everything.
    Poll,
    /// The exporter itself, at any time.
    Exporter,
    /// An event, which is logged where it happens.
    Event,
}

impl Symptom {
    pub fn traits(self) -> Traits {
        use Origin::{Event, Exporter, Listing, Outage, Poll};
        use ProblemKind as Problem;
        use Severity::{Error, Info, Warning};
        let (kind, severity, origin) = match self {
            Self::KeyUnusable => (Problem::ApiKey, Error, Outage),
            Self::ApiUnavailable | Self::PollHangs => (Problem::PollsFailing, Error, Outage),
            Self::ListingIncomplete => (Problem::PollsFailing, Error, Listing),
            Self::DataStale => (Problem::DataStale, Error, Poll),
            Self::CertificateExpired => (Problem::Certificate, Error, Exporter),
            Self::Held => (Problem::PollsFailing, Warning, Outage),
            Self::RepositoriesFailing => (Problem::PollsFailing, Warning, Poll),
            Self::NoRepositories => (Problem::NoRepositories, Warning, Poll),
            Self::RepositoriesDropped => (Problem::RepositoriesDropped, Warning, Poll),
            Self::CompletionScale => (Problem::CompletionScale, Warning, Poll),
            Self::OmittedZeros => (Problem::OmittedZeros, Warning, Poll),
            Self::ApiShape => (Problem::ApiShape, Warning, Event),
            Self::StateNotSaved => (Problem::StateNotSaved, Warning, Exporter),
            Self::StateDiscarded => (Problem::StateDiscarded, Warning, Event),
            Self::ReloadRefused => (Problem::ReloadRefused, Warning, Event),
            Self::CertificateExpiring => (Problem::Certificate, Warning, Exporter),
            Self::Undecided => (Problem::PollsFailing, Info, Outage),
            Self::PollsOverrun => (Problem::PollsOverrun, Info, Poll),
            Self::RateLimited => (Problem::RateLimited, Info, Poll),
            Self::TargetUnused => (Problem::TargetUnused, Info, Poll),
            Self::RemovalUnconfirmed => (Problem::RemovalUnconfirmed, Info, Poll),
            Self::ClockBehind => (Problem::ClockBehind, Info, Exporter),
            Self::LogLinesDropped => (Problem::LogLinesDropped, Info, Exporter),
        };
        Traits {
            kind,
            severity,
            origin,
        }
    }

    /// Returns the message in the log at the end of the symptom, unless other messages say enough.
    fn end(self) -> Option<&'static str> {
        let end = match self {
            Self::KeyUnusable => "the key can be used again",
            Self::ApiUnavailable => "the API answers again",
            Self::ListingIncomplete => "all repositories can be listed again",
            Self::PollHangs => "the poll reads again, or has ended",
            Self::DataStale => "no data are stale any more",
            Self::CertificateExpired => "the TLS certificate is valid again",
            Self::Held => "the API takes requests again",
            Self::RepositoriesFailing => "no repository fails any more",
            Self::NoRepositories => "there are repositories to show again",
            Self::CompletionScale => "completions fit api.completion_scale again",
            Self::OmittedZeros => "the API no longer seems to leave out zeros",
            Self::StateNotSaved => "the state is saved again",
            Self::PollsOverrun => "polls fit into poll.interval again",
            Self::RateLimited => "the API no longer limits the rate of requests",
            Self::TargetUnused => "every entry of targets applies to a language",
            Self::RemovalUnconfirmed => "no removal waits for confirmation",
            Self::ClockBehind => "the clock of this machine is no longer behind",
            Self::LogLinesDropped => "all lines of the log are written again",
            Self::RepositoriesDropped
            | Self::ApiShape
            | Self::StateDiscarded
            | Self::ReloadRefused
            | Self::CertificateExpiring
            | Self::Undecided => return None,
        };
        Some(end)
    }

    pub fn severity(self) -> Severity {
        self.traits().severity
    }

    /// Returns whether the symptom keeps polls from listing or requesting everything, or may have.
    fn stops_polls(self) -> bool {
        matches!(self.traits().origin, Origin::Outage | Origin::Listing)
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub symptom: Symptom,
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

    /// Returns the finding as one line: trouble, error and next step.
    pub fn line(&self) -> String {
        let Self { what, hint, .. } = self;
        match &self.detail {
            Some(detail) => format!("{what}: {detail}; {hint}"),
            None => format!("{what}; {hint}"),
        }
    }
}

/// Returns the findings at `now`, worst first.
pub fn findings(
    snapshot: &Snapshot,
    status: &PollStatus,
    facts: &Facts,
    now: Timestamp,
) -> Vec<Finding> {
    let polling = polling::finding(snapshot, status, now);
    let is_outage = polling.as_ref().is_some_and(is_outage);
    let failing = data::failing(snapshot, polling.as_ref());
    let mut findings: Vec<_> = [
        polling,
        data::stale(snapshot, status, is_outage, now),
        failing,
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
    if let Some(PollOutcome {
        listing_failure: None,
        ..
    }) = &status.last
    {
        findings.extend(nothing_selected(snapshot));
        findings.extend(data::unused_targets(snapshot));
    }
    // An outage is no reason to poll more slowly.
    if !is_outage {
        findings.extend(polling::overrun(status));
    }
    for finding in &mut findings {
        let kind = finding.symptom.traits().kind;
        // Polls fail for several reasons, one after another, and each has its own beginning. The
        // history knows only when the first of them began.
        if finding.since.is_none() && kind != ProblemKind::PollsFailing {
            finding.since = facts.history.since.get(&kind).copied();
        }
        // A beginning may have been recorded while the wall clock was ahead.
        finding.since = finding.since.map(|since| since.min(now));
    }
    findings.sort_by_key(|finding| finding.symptom);
    findings
}

/// Returns the findings about the exporter itself.
fn of_facts(facts: &Facts, now: Timestamp) -> Vec<Finding> {
    let since = |kind| facts.history.since.get(&kind).copied();
    let is_recent = |since: Timestamp| now.since(since) < DAY;
    let mut findings = Vec::new();
    for (symptom, what, failure) in [
        (
            Symptom::StateNotSaved,
            "The state cannot be saved: a restart now would lose all data read since the last save",
            &facts.state_not_saved,
        ),
        (
            Symptom::ReloadRefused,
            "The last change of the configuration was refused; the previous one stays active",
            &facts.reload_refused,
        ),
        (
            Symptom::ClockBehind,
            "The clock of this machine is wrong, or was: until it has caught up, new data carry \
             the newest time on record",
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
        "The state file could not be used at the start, so all progress clocks restarted";
    match (&facts.state_discarded, since(ProblemKind::StateDiscarded)) {
        (Some(failure), _) if is_recent(failure.since) => {
            findings.push(Finding::of(Symptom::StateDiscarded, discarded, failure));
        }
        // An earlier process discarded the state.
        (None, Some(since)) if is_recent(since) => findings.push(Finding {
            since: Some(since),
            ..Finding::new(
                Symptom::StateDiscarded,
                discarded,
                "see the log of that start for the reason",
            )
        }),
        _ => {}
    }
    findings
}

/// Returns the worst finding, or the result of the last poll if there is none.
pub fn headline(findings: &[Finding], status: &PollStatus) -> String {
    if let Some(worst) = findings.first() {
        return worst.what.clone();
    }
    match &status.last {
        Some(last) if !last.is_success() => {
            "The last poll could not read every repository; the repositories that failed have left \
             the listing"
                .to_owned()
        }
        _ => "All is well: the last poll read every repository".to_owned(),
    }
}

/// Returns the reason why there are no data to serve, if there are none. Other findings do not keep
/// data away.
pub fn why_not_ready(findings: &[Finding]) -> Option<&Finding> {
    findings
        .iter()
        .find(|finding| finding.symptom.stops_polls())
}

/// Returns whether to name a repository's failure besides these findings. A finding about the whole
/// API covers the failures that come with it.
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
        1 => "1 line of the log was dropped because stderr was blocked".to_owned(),
        _ => format!(
            "{} lines of the log were dropped because stderr was blocked",
            grouped(lines)
        ),
    };
    let hint = "check the program that reads stderr, such as a log driver that hangs";
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
    let hint = "renew it; the exporter reloads the files of web.config_file when they change";
    Some(Finding {
        since,
        ..Finding::new(symptom, what, hint)
    })
}

#[cfg(test)]
mod tests;
