//! What is wrong now, worst first.
//!
//! The only place that decides it. The status page, readiness, `once`, `check-config --online` and the log take their
//! words from here, and [`Kind`] says which alert fires, so that all of them agree. A pure function of what was published,
//! what the exporter knows about itself, and the time.

mod log;
mod polling;

use crate::{
    domain::{
        Fault, Lasting, ReadFailure,
        snapshot::{Condition, PollOutcome, PollStatus, Snapshot, is_scale_suspect, out_of_scale},
    },
    metrics::instruments::Facts,
    support::{
        clock::Timestamp,
        humanize::{Rough, counted, grouped, repositories},
    },
};
pub use log::Watch;
use std::{sync::Arc, time::Duration};

/// How long before its expiry a certificate is reported; the alert `TranslationCertificateExpiring` has the same limit.
pub const CERTIFICATE_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The API cannot be read, or data can no longer be shown.
    Error,
    /// Something needs attention; polls go on.
    Warning,
    /// Nothing needs attention.
    Notice,
}

/// What can be wrong, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The API refuses the key, or its file cannot be read.
    KeyUnusable,
    ApiUnavailable,
    ListingIncomplete,
    DataStale,
    CertificateExpired,
    /// Retry-After holds all requests.
    Held,
    RepositoriesFailing,
    /// There is no repository to show.
    NothingSelected,
    RemovalUnconfirmed,
    ScaleDoubtful,
    /// An entry of `targets` applies to no language.
    TargetUnused,
    StateNotSaved,
    StateDiscarded,
    ReloadRefused,
    CertificateExpiring,
    PollsOverrun,
    ClockBehind,
    /// The poll under way decides what is so: it is the first, or the last one failed as a whole.
    Undecided,
}

/// What every finding of a kind has in common.
#[derive(Debug)]
pub struct Traits {
    pub severity: Severity,
    pub origin: Origin,
    /// What the log says when it ends; empty if other messages say enough.
    end: &'static str,
    /// The alert that fires for it; empty if there is none.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests compare it with the alerts")
    )]
    pub alert: &'static str,
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

impl Kind {
    #[rustfmt::skip] // It is a table.
    pub fn traits(self) -> Traits {
        use Origin::{Event, Exporter, Listing, Outage, Poll};
        use Severity::{Error, Notice, Warning};
        let (severity, origin, end, alert) = match self {
            Self::KeyUnusable => (Error, Outage, "the key can be used again", "TranslationApiKeyRejected"),
            Self::ApiUnavailable => (Error, Outage, "the API answers again", "TranslationPollFailing"),
            Self::ListingIncomplete => (Error, Listing, "all repositories can be listed again", "TranslationPollFailing"),
            Self::DataStale => (Error, Poll, "no data are stale any more", "TranslationDataStale"),
            Self::CertificateExpired => (Error, Exporter, "the TLS certificate is valid again", "TranslationCertificateExpiring"),
            Self::Held => (Warning, Outage, "Retry-After no longer holds requests", "TranslationApiRateLimited"),
            Self::RepositoriesFailing => (Warning, Poll, "no repository fails any more", "TranslationPollFailing"),
            Self::NothingSelected => (Warning, Poll, "there are repositories to show again", "TranslationNoRepositories"),
            // No alert: TranslationRepositoriesDropped fires once the next listing confirms it.
            Self::RemovalUnconfirmed => (Warning, Poll, "no removal waits for confirmation", ""),
            Self::ScaleDoubtful => (Warning, Poll, "completions fit api.completion_scale again", "TranslationScaleSuspect"),
            // No alert: whoever changed the configuration reads the log and the page.
            Self::TargetUnused => (Warning, Poll, "every entry of targets applies to a language", ""),
            Self::StateNotSaved => (Warning, Exporter, "the state is saved again", "TranslationStateNotSaved"),
            Self::StateDiscarded => (Warning, Event, "", "TranslationStateDiscarded"),
            Self::ReloadRefused => (Warning, Event, "", "TranslationConfigReloadFailed"),
            Self::CertificateExpiring => (Warning, Exporter, "", "TranslationCertificateExpiring"),
            Self::PollsOverrun => (Warning, Poll, "polls fit into poll.interval again", "TranslationPollOverrunning"),
            // No alert: it destroys nothing, and other programs watch clocks.
            Self::ClockBehind => (Warning, Exporter, "the clock of this machine is no longer behind", ""),
            // No alert: it ends with the poll under way, or becomes another kind.
            Self::Undecided => (Notice, Outage, "", ""),
        };
        Traits { severity, origin, end, alert }
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
    pub kind: Kind,
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
    fn new(kind: Kind, what: impl Into<String>, hint: &str) -> Self {
        Self {
            kind,
            since: None,
            what: what.into(),
            detail: None,
            hint: hint.into(),
        }
    }

    fn of(kind: Kind, what: impl Into<String>, lasting: &Lasting) -> Self {
        let failure = &lasting.failure;
        Self {
            since: Some(lasting.since),
            detail: Some(Arc::clone(&failure.what)),
            ..Self::new(kind, what, &failure.hint)
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
        stale(snapshot),
        failing(snapshot, is_outage),
        unconfirmed(snapshot),
        scale(snapshot.completion_scale, snapshot.completions()),
        certificate(facts, now),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (kind, what, failure) in [
        (
            Kind::StateNotSaved,
            "The state cannot be saved: a restart now would lose what was read since the last save",
            &facts.state_not_saved,
        ),
        (
            Kind::StateDiscarded,
            "The state file could not be used at the start, so that the progress clocks began anew",
            &facts.state_discarded,
        ),
        (
            Kind::ReloadRefused,
            "The last change of the configuration was refused; the previous one is in force",
            &facts.reload_refused,
        ),
        (
            Kind::ClockBehind,
            "The clock of this machine is wrong, or was: nothing is recorded as earlier than what is known",
            &facts.clock_behind,
        ),
    ] {
        if let Some(failure) = failure {
            findings.push(Finding::of(kind, what, failure));
        }
    }
    if let Some(PollOutcome { listing: None, .. }) = &status.last {
        findings.extend(nothing_selected(snapshot));
        findings.extend(unused_targets(snapshot));
    }
    // An outage is no reason to poll more slowly.
    if !is_outage {
        findings.extend(polling::overrun(status));
    }
    findings.sort_by_key(|finding| finding.kind);
    findings
}

/// The worst finding, or that all is well.
pub fn headline(findings: &[Finding]) -> &str {
    match findings.first() {
        Some(worst) => &worst.what,
        None => "All is well: the last poll read every repository",
    }
}

/// Why there are no data to serve, where there are none: what else is wrong does not keep them away.
pub fn why_not_ready(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.kind.stops_polls())
}

/// Whether a repository's failure is named besides these findings: while the API fails as a whole, what fails with it is
/// not.
pub fn is_named(failure: &ReadFailure, findings: &[Finding]) -> bool {
    failure.fault == Fault::Repository || !findings.iter().any(is_outage)
}

fn is_outage(finding: &Finding) -> bool {
    finding.kind.traits().origin == Origin::Outage
}

fn stale(snapshot: &Snapshot) -> Option<Finding> {
    let stale = snapshot.count(|condition| matches!(condition, Condition::Stale { .. }));
    if stale == 0 {
        return None;
    }
    let stale = repositories(stale);
    let what = format!("The data of {stale} are stale and no longer shown");
    let hint = "see why their reads fail; they are shown again as soon as they are read";
    Some(Finding::new(Kind::DataStale, what, hint))
}

/// The repositories that fail, without those that fail with the API as a whole.
fn failing(snapshot: &Snapshot, is_outage: bool) -> Option<Finding> {
    let failures: Vec<_> = snapshot
        .repositories
        .iter()
        .filter_map(|shown| shown.condition.failure())
        .filter(|failure| !is_outage || failure.fault == Fault::Repository)
        .map(|failure| &failure.lasting)
        .collect();
    let longest = failures.iter().min_by_key(|failure| failure.since)?;
    let (failing, all) = (
        grouped(failures.len()),
        repositories(snapshot.repositories.len()),
    );
    let reason = if is_outage {
        ", for reasons of their own"
    } else {
        ""
    };
    let what = format!("{failing} of {all} cannot be read{reason}");
    Some(Finding::of(Kind::RepositoriesFailing, what, longest))
}

/// Why no repository is shown, if none is.
pub fn nothing_selected(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.repositories.is_empty() {
        return None;
    }
    let (what, hint) = match (snapshot.filtered, snapshot.unnamed) {
        (0, 0) => (
            "The account of the key has no repositories".to_owned(),
            "connect some to it, or use the key of another account",
        ),
        (0, all) => (
            format!(
                "No entry of the listing has a name that can be read, {} in all",
                grouped(all)
            ),
            "report it to the API's operators: the log says what is wrong",
        ),
        (all, _) => (
            format!(
                "The filters leave out every repository, {} in all",
                grouped(all)
            ),
            "change filter.include, filter.exclude or filter.private",
        ),
    };
    Some(Finding::new(Kind::NothingSelected, what, hint))
}

fn unconfirmed(snapshot: &Snapshot) -> Option<Finding> {
    if snapshot.unconfirmed == 0 {
        return None;
    }
    let gone = repositories(snapshot.unconfirmed);
    let what = format!(
        "The last listing lacks {gone}, more than half; they are kept until the next listing confirms it"
    );
    let hint = "check that the key belongs to the right account; if they were removed on purpose, there is nothing to do";
    Some(Finding::new(Kind::RemovalUnconfirmed, what, hint))
}

/// What is wrong with the completions: the API does not say whether it reports 0 to 100 or 0 to 1.
pub fn scale(scale: f64, completions: impl Iterator<Item = f64> + Clone) -> Option<Finding> {
    let outside = out_of_scale(scale, completions.clone());
    let (what, hint) = if is_scale_suspect(scale, completions) {
        (
            format!("No completion is above 1, while api.completion_scale is {scale}"),
            "if the API reports 0 to 1, set api.completion_scale to 1",
        )
    } else if outside > 0 {
        let languages = counted(outside, "translation reports", "translations report");
        (
            format!("{languages} a completion below 0 or above api.completion_scale, {scale}"),
            "set api.completion_scale to the completion that means finished; one below 0 is the API's own mistake",
        )
    } else {
        return None;
    };
    Some(Finding::new(Kind::ScaleDoubtful, what, hint))
}

/// What `targets` says of nothing, such as after a rename: otherwise a target would be lost silently.
fn unused_targets(snapshot: &Snapshot) -> Option<Finding> {
    let unused = snapshot.unused_targets();
    if unused.is_empty() {
        return None;
    }
    let entries = counted(unused.len(), "entry", "entries");
    let sources: Vec<_> = unused.iter().map(|entry| entry.source.as_str()).collect();
    let sources = sources.join(", ");
    let what = format!("{entries} of targets without any language to apply to: {sources}");
    let hint = "correct the repositories and languages there, or put it before the entries that match first";
    Some(Finding::new(Kind::TargetUnused, what, hint))
}

fn certificate(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let at = facts.certificate_expires_at?;
    let left = at.since(now);
    let (kind, since, what) = if at <= now {
        let what = format!("The exporter's TLS certificate expired at {at}");
        (Kind::CertificateExpired, Some(at), what)
    } else if left <= CERTIFICATE_WARNING {
        let left = Rough(left);
        let what = format!("The exporter's TLS certificate expires at {at}, in {left}");
        (Kind::CertificateExpiring, None, what)
    } else {
        return None;
    };
    let hint = "renew it; the files that web.config_file names are read again when they change";
    Some(Finding {
        since,
        ..Finding::new(kind, what, hint)
    })
}

#[cfg(test)]
mod tests;
