//! What is wrong now, worst first.
//!
//! The only place that decides it. The status page, readiness, `once`, `check-config --online` and the log take their
//! words from here, and [`Kind`] says which alert fires, so that all of them agree. A pure function of what was published,
//! what the exporter knows about itself, and the time.

mod log;
mod polling;

use crate::{
    instruments::Facts,
    model::{Failure, Scope, Timestamp},
    snapshot::{Condition, PollStatus, Snapshot},
    words::{Rough, counted, grouped, repositories},
};
pub use log::Watch;
use std::{sync::Arc, time::Duration};

/// How long before its expiry a certificate is reported; the alert `TranslationCertificateExpiring` has the same limit.
pub const CERTIFICATE_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The API cannot be read, or data can no longer be shown.
    Error,
    /// Something needs attention; polls go on.
    Warning,
    /// Nothing needs attention.
    Notice,
}

/// What can be wrong, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    pub severity: Severity,
    pub origin: Origin,
    /// What the log says when it ends; `None` if other messages say enough.
    end: Option<&'static str>,
}

/// What shows that something is wrong, and so what can show that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A poll: the API failed as a whole.
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
    #[must_use]
    pub fn traits(self) -> Traits {
        use Origin::{Event, Exporter, Listing, Outage, Poll};
        use Severity::{Error, Notice, Warning};
        let (severity, origin, end) = match self {
            Self::KeyUnusable => (Error, Outage, "the key can be used again"),
            Self::ApiUnavailable => (Error, Outage, "the API answers again"),
            Self::ListingIncomplete => (Error, Listing, "all repositories can be listed again"),
            Self::DataStale => (Error, Poll, "no data are stale any more"),
            Self::CertificateExpired => (Error, Exporter, "the TLS certificate is valid again"),
            Self::Held => (Warning, Outage, "Retry-After no longer holds requests"),
            Self::RepositoriesFailing => (Warning, Poll, "no repository fails any more"),
            Self::NothingSelected => (Warning, Poll, "there are repositories to show again"),
            Self::RemovalUnconfirmed => (Warning, Poll, "no removal waits for confirmation"),
            Self::ScaleDoubtful => (Warning, Poll, "completions fit api.completion_scale again"),
            Self::TargetUnused => (
                Warning,
                Poll,
                "every entry of targets applies to a language",
            ),
            Self::StateNotSaved => (Warning, Exporter, "the state is saved again"),
            Self::StateDiscarded | Self::ReloadRefused => (Warning, Event, ""),
            Self::CertificateExpiring => (Warning, Exporter, ""),
            Self::ClockBehind => (
                Warning,
                Exporter,
                "the clock of this machine is no longer behind",
            ),
            Self::PollsOverrun => (Warning, Poll, "polls fit into poll.interval again"),
            Self::Undecided => (Notice, Outage, ""),
        };
        Traits {
            severity,
            origin,
            end: (!end.is_empty()).then_some(end),
        }
    }

    /// The alert that fires for it; `Err` says why there is none.
    pub fn alert(self) -> Result<&'static str, &'static str> {
        match self {
            Self::KeyUnusable => Ok("TranslationApiKeyRejected"),
            Self::ApiUnavailable | Self::ListingIncomplete | Self::RepositoriesFailing => {
                Ok("TranslationPollFailing")
            }
            Self::DataStale => Ok("TranslationDataStale"),
            Self::Held => Ok("TranslationApiRateLimited"),
            Self::NothingSelected => Ok("TranslationNoRepositories"),
            Self::ScaleDoubtful => Ok("TranslationScaleSuspect"),
            Self::StateNotSaved => Ok("TranslationStateNotSaved"),
            Self::StateDiscarded => Ok("TranslationStateDiscarded"),
            Self::ReloadRefused => Ok("TranslationConfigReloadFailed"),
            Self::CertificateExpired | Self::CertificateExpiring => {
                Ok("TranslationCertificateExpiring")
            }
            Self::PollsOverrun => Ok("TranslationPollOverrunning"),
            Self::TargetUnused => {
                Err("whoever changed the configuration reads the log and the page")
            }
            Self::RemovalUnconfirmed => {
                Err("TranslationRepositoriesDropped fires once the next listing confirms it")
            }
            Self::ClockBehind => Err("it destroys nothing, and other programs watch clocks"),
            Self::Undecided => Err("it ends with the poll under way, or becomes another kind"),
        }
    }

    #[must_use]
    pub fn severity(self) -> Severity {
        self.traits().severity
    }

    /// Whether the last poll could not list or request everything because of it.
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

    fn of(kind: Kind, what: impl Into<String>, failure: &Failure) -> Self {
        Self {
            kind,
            since: Some(failure.since),
            what: what.into(),
            detail: Some(Arc::clone(&failure.what)),
            hint: Arc::clone(&failure.hint),
        }
    }

    fn since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    /// All of it in one line: what, how, and what to do.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { what, hint, .. } = self;
        match &self.detail {
            Some(detail) => format!("{what}: {detail}; {hint}"),
            None => format!("{what}; {hint}"),
        }
    }
}

/// What is wrong now, worst first; empty if nothing is.
#[must_use]
pub fn findings(
    snapshot: &Snapshot,
    status: &PollStatus,
    facts: &Facts,
    now: Timestamp,
) -> Vec<Finding> {
    let polling = polling::finding(snapshot, status, now);
    let is_outage = polling.as_ref().is_some_and(is_outage);
    let is_listed = matches!(&status.last, Some(last) if last.listing.is_none());
    let mut findings: Vec<_> = [
        polling,
        stale(snapshot),
        failing(snapshot, is_outage),
        is_listed.then(|| nothing_selected(snapshot)).flatten(),
        unconfirmed(snapshot),
        scale(snapshot),
        is_listed.then(|| unused_targets(snapshot)).flatten(),
        certificate(facts, now),
        // An outage is no reason to poll more slowly.
        (!is_outage).then(|| polling::overrun(status)).flatten(),
    ]
    .into_iter()
    .flatten()
    .chain(failed(facts))
    .collect();
    findings.sort_by_key(|finding| finding.kind);
    findings
}

/// The worst finding, or that all is well.
#[must_use]
pub fn headline(findings: &[Finding]) -> &str {
    match findings.first() {
        Some(worst) => &worst.what,
        None => "All is well: the last poll read every repository",
    }
}

/// Why there are no data to serve, where there are none: what else is wrong does not keep them away.
#[must_use]
pub fn why_not_ready(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.kind.stops_polls())
}

/// Whether a repository's failure is named besides these findings: while the API fails as a whole, what fails with it is
/// not.
#[must_use]
pub fn is_named(failure: &Failure, findings: &[Finding]) -> bool {
    failure.scope == Scope::Request || !findings.iter().any(is_outage)
}

fn is_outage(finding: &Finding) -> bool {
    finding.kind.traits().origin == Origin::Outage
}

fn stale(snapshot: &Snapshot) -> Option<Finding> {
    let stale = snapshot
        .repositories
        .iter()
        .filter(|shown| matches!(shown.condition, Condition::Stale { .. }))
        .count();
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
    let all = snapshot.repositories.len();
    let failures: Vec<_> = snapshot
        .repositories
        .iter()
        .filter_map(|shown| shown.condition.failure())
        .filter(|failure| !is_outage || failure.scope == Scope::Request)
        .collect();
    let longest = failures.iter().min_by_key(|failure| failure.since)?;
    let which = if failures.len() < all {
        format!("{} of {}", grouped(failures.len()), repositories(all))
    } else {
        repositories(all)
    };
    let reason = if is_outage { " for another reason" } else { "" };
    let what = format!("{which} cannot be read{reason}");
    Some(Finding::of(Kind::RepositoriesFailing, what, longest))
}

/// Why no repository is shown, if none is.
#[must_use]
pub fn nothing_selected(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.repositories.is_empty() {
        return None;
    }
    let (what, hint) = if snapshot.filtered > 0 {
        let all = grouped(snapshot.filtered);
        (
            format!("The filters leave out every repository, {all} in all"),
            "change filter.include, filter.exclude or filter.private",
        )
    } else if snapshot.unnamed > 0 {
        let all = grouped(snapshot.unnamed);
        (
            format!("No entry of the listing has a name that can be read, {all} in all"),
            "report it to the API's operators: the log says what is wrong",
        )
    } else {
        (
            "The account of the key has no repositories".to_owned(),
            "connect some to it, or use the key of another account",
        )
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
#[must_use]
pub fn scale(snapshot: &Snapshot) -> Option<Finding> {
    let scale = snapshot.completion_scale;
    let outside = snapshot.out_of_scale();
    let (what, hint) = if snapshot.is_scale_suspect() {
        (
            format!("No completion is above 1, while api.completion_scale is {scale}"),
            "if the API reports 0 to 1, set api.completion_scale to 1",
        )
    } else if outside > 0 {
        let languages = counted(outside, "language reports", "languages report");
        (
            format!("{languages} a completion below 0 or above api.completion_scale, {scale}"),
            "set api.completion_scale to the completion that means finished",
        )
    } else {
        return None;
    };
    Some(Finding::new(Kind::ScaleDoubtful, what, hint))
}

/// What `targets` says of nothing, such as after a rename: otherwise a target would be lost silently.
fn unused_targets(snapshot: &Snapshot) -> Option<Finding> {
    let unused = snapshot.unused_targets();
    let source = &unused.first()?.source;
    let entries = counted(unused.len(), "entry", "entries");
    let what = format!("{entries} of targets without any language to apply to: {source}");
    let hint = "correct the repositories and languages there, or put it before the entries that match first";
    Some(Finding::new(Kind::TargetUnused, what, hint))
}

/// What the exporter itself failed to do.
fn failed(facts: &Facts) -> impl Iterator<Item = Finding> {
    [
        (
            Kind::StateNotSaved,
            "The state cannot be saved: a restart now would lose what was read since the last save",
            facts.state_not_saved.as_ref(),
        ),
        (
            Kind::StateDiscarded,
            "The state file could not be used at the start, so that the progress clocks began anew",
            facts.state_discarded.as_ref(),
        ),
        (
            Kind::ReloadRefused,
            "The last change of the configuration was refused; the previous one is in force",
            facts.reload_refused.as_ref(),
        ),
        (
            Kind::ClockBehind,
            "The clock of this machine is wrong, or was: nothing is recorded as earlier than what is known",
            facts.clock_behind.as_ref(),
        ),
    ]
    .into_iter()
    .filter_map(|(kind, what, failure)| Some(Finding::of(kind, what, failure?)))
}

fn certificate(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let at = facts.certificate_expires_at?;
    let left = at.since(now);
    let hint = "renew it; the files that web.config_file names are read again when they change";
    if at <= now {
        let what = format!("The exporter's TLS certificate expired at {at}");
        return Some(Finding::new(Kind::CertificateExpired, what, hint).since(Some(at)));
    }
    if left > CERTIFICATE_WARNING {
        return None;
    }
    let left = Rough(left);
    let what = format!("The exporter's TLS certificate expires at {at}, in {left}");
    Some(Finding::new(Kind::CertificateExpiring, what, hint))
}

#[cfg(test)]
mod tests;
