//! What is wrong now, worst first.
//!
//! The only place that judges. The status page, readiness, `once`, `check-config --online` and the log take their words
//! from here, and every [`Kind`] has its alert in `deploy/prometheus/alerts.yaml`, or a reason in the tests why it has
//! none, so that all of them agree. A pure function of what was published, what the exporter knows about itself, and the time.

mod log;

use crate::{
    instruments::Facts,
    model::{Failure, PollFailure, Timestamp},
    snapshot::{Condition, PollOutcome, PollStatus, Running, Snapshot},
    words::{Rough, counted, grouped, repositories},
};
pub use log::Watch;
use std::{sync::Arc, time::Duration};

/// How long before its expiry a certificate is reported; the alert `TranslationCertificateExpiring` has the same limit.
pub const CERTIFICATE_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The hint where a poll decides.
const WAIT: &str = "nothing to do: wait for the poll to end";

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
    KeyRefused,
    KeyFileUnreadable,
    ApiUnavailable,
    ListingIncomplete,
    DataStale,
    CertificateExpired,
    Held,
    RepositoriesFailing,
    NoRepositories,
    NothingSelected,
    RemovalUnconfirmed,
    ScaleSuspect,
    CompletionsOutOfScale,
    StateNotSaved,
    StateDiscarded,
    ReloadRefused,
    CertificateExpiring,
    PollsOverrun,
    ClockCorrected,
    Recovering,
    DataFromBefore,
    FirstPoll,
}

impl Kind {
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::KeyRefused
            | Self::KeyFileUnreadable
            | Self::ApiUnavailable
            | Self::ListingIncomplete
            | Self::DataStale
            | Self::CertificateExpired => Severity::Error,
            Self::Recovering | Self::DataFromBefore | Self::FirstPoll => Severity::Notice,
            _ => Severity::Warning,
        }
    }

    /// Whether the last poll could not list or request everything because of it.
    fn stops_polls(self) -> bool {
        self.is_outage() || self == Self::ListingIncomplete
    }

    /// Whether it is about the API as a whole.
    fn is_outage(self) -> bool {
        use Kind::{ApiUnavailable, Held, KeyFileUnreadable, KeyRefused, Recovering};
        matches!(
            self,
            KeyRefused | KeyFileUnreadable | ApiUnavailable | Held | Recovering
        )
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
        let detail = self
            .detail
            .as_ref()
            .map_or_else(String::new, |detail| format!(": {detail}"));
        format!("{what}{detail}; {hint}")
    }
}

/// What is wrong now, worst first; empty if nothing is.
#[must_use]
pub fn judge(
    snapshot: &Snapshot,
    status: &PollStatus,
    facts: &Facts,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(polling(snapshot, status, now));
    let reading = reading(snapshot, status, outage_hint(&findings, status));
    findings.extend(reading);
    findings.extend(scale(snapshot));
    findings.extend(itself(status, facts, now));
    // An outage is no reason to poll more slowly.
    if findings.iter().any(|finding| finding.kind.is_outage()) {
        findings.retain(|finding| finding.kind != Kind::PollsOverrun);
    }
    findings.sort_by_key(|finding| finding.kind);
    findings.dedup_by_key(|finding| finding.kind);
    findings
}

/// The hint of an outage that lasts or is just ending, if there is one. A repository whose failure has the same hint is part
/// of it: an outage is reported once, not for each repository.
#[must_use]
pub fn outage_hint<'a>(findings: &[Finding], status: &'a PollStatus) -> Option<&'a str> {
    let failure = findings
        .iter()
        .any(|finding| finding.kind.is_outage())
        .then(|| status.last.as_ref()?.cut_short())?;
    failure.map(|failure| &*failure.hint)
}

/// The worst finding, or that all is well.
#[must_use]
pub fn headline(findings: &[Finding]) -> &str {
    findings.first().map_or(
        "All is well: the last poll read every repository",
        |finding| &finding.what,
    )
}

/// Why there are no data to serve, where there are none: what else is wrong does not keep them away.
#[must_use]
pub fn why_not_ready(findings: &[Finding]) -> Option<&Finding> {
    findings
        .iter()
        .find(|finding| finding.kind.stops_polls() || finding.kind == Kind::FirstPoll)
}

/// Why not everything could be listed and requested, if so.
fn polling(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let held_until = status.held_until.filter(|until| *until > now);
    let Some(last) = &status.last else {
        return Some(match held_until {
            Some(until) => held(None, until, rest(snapshot, 0)),
            None => first_poll(snapshot, status),
        });
    };
    let failure = last.cut_short();
    let rest = rest(snapshot, if failure.is_some() { last.read } else { 0 });
    let ended = || match last.read {
        0 => format!("the last poll read nothing; {rest}"),
        _ => format!("{} before the last poll was cut short; {rest}", read(last)),
    };
    let (kind, what) = match last.failure {
        Some(PollFailure::Unauthorized) => (
            Kind::KeyRefused,
            format!("The API refuses the key: {}", ended()),
        ),
        Some(PollFailure::KeyFile) => (
            Kind::KeyFileUnreadable,
            format!("The API key cannot be read from its file, so no requests are sent; {rest}"),
        ),
        _ if held_until.is_some() => return held_until.map(|until| held(failure, until, rest)),
        Some(PollFailure::Held) => {
            let what = "The API asked for no requests (Retry-After), and the time is over";
            (Kind::Held, format!("{what}: {}", ended()))
        }
        Some(PollFailure::Unavailable) => (
            Kind::ApiUnavailable,
            format!("The API is unavailable: {}", ended()),
        ),
        _ if last.listing.is_some() => {
            let what = "The list of repositories could not be read to its end";
            let read = if last.read > 0 {
                format!("{} anyway", read(last))
            } else {
                ended()
            };
            (Kind::ListingIncomplete, format!("{what}; {read}"))
        }
        _ => (
            Kind::RepositoriesFailing,
            format!("The API refuses repositories: {}", ended()),
        ),
    };
    let failure = failure?;
    // If the poll under way could list everything, the key is accepted and the API answers.
    let recovering = status
        .running
        .filter(|running| running.is_listed && kind.is_outage());
    Some(match recovering {
        Some(Running { read, .. }) => {
            let so_far = format!(
                "{} of {}",
                grouped(read),
                repositories(snapshot.repositories.len())
            );
            let what = format!(
                "The last poll failed; the one under way could list everything and has read {so_far}"
            );
            Finding::new(Kind::Recovering, what, WAIT).since(Some(failure.since))
        }
        None => Finding::of(kind, what, failure),
    })
}

fn first_poll(snapshot: &Snapshot, status: &PollStatus) -> Finding {
    let all = snapshot.repositories.len();
    let shown = snapshot
        .repositories
        .iter()
        .filter(|shown| shown.condition.languages().is_some())
        .count();
    let (kind, what) = match status.running {
        _ if status.is_restored && shown > 0 => {
            let what = "Data from before the restart are shown; the first poll has not ended yet";
            (Kind::DataFromBefore, what.to_owned())
        }
        Some(_) if all > 0 => {
            let what = format!(
                "The first poll is under way: {} of {} read",
                grouped(shown),
                repositories(all)
            );
            (Kind::FirstPoll, what)
        }
        Some(_) => (Kind::FirstPoll, "The first poll is under way".to_owned()),
        None => (
            Kind::FirstPoll,
            "The first poll is about to begin".to_owned(),
        ),
    };
    Finding::new(kind, what, WAIT).since(status.running.map(|running| running.since))
}

fn held(failure: Option<&Failure>, until: Timestamp, rest: &str) -> Finding {
    let what = format!("The API asked for no requests until {until} (Retry-After); {rest}");
    match failure {
        Some(failure) => Finding::of(Kind::Held, what, failure),
        None => Finding::new(
            Kind::Held,
            what,
            "lower api.requests_per_second or raise poll.interval",
        ),
    }
}

fn read(last: &PollOutcome) -> String {
    format!(
        "{} read",
        counted(last.read, "repository was", "repositories were")
    )
}

/// What there is to see of what a poll did not read that read so many repositories.
fn rest(snapshot: &Snapshot, read: usize) -> &'static str {
    let is_shown = snapshot
        .repositories
        .iter()
        .any(|shown| shown.condition.languages().is_some());
    match (is_shown, read) {
        (false, _) => "there are no data to show",
        (true, 0) => "the data shown were read before",
        (true, _) => "the rest is shown as last read",
    }
}

/// What is wrong with the repositories.
fn reading(snapshot: &Snapshot, status: &PollStatus, outage_hint: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let conditions = || snapshot.repositories.iter().map(|shown| &shown.condition);
    let stale = conditions()
        .filter(|condition| matches!(condition, Condition::Stale { .. }))
        .count();
    let mut failing: Vec<_> = conditions().filter_map(Condition::failure).collect();
    failing.retain(|failure| outage_hint != Some(&*failure.hint));
    let hint = "see why their reads fail; they are shown again as soon as they are read";
    if stale > 0 {
        let what = format!(
            "The data of {} are stale and no longer shown",
            repositories(stale)
        );
        findings.push(Finding::new(Kind::DataStale, what, hint));
    }
    if !failing.is_empty() {
        let reason = if outage_hint.is_some() {
            " for another reason"
        } else {
            ""
        };
        let what = match snapshot.repositories.len() {
            all if all > failing.len() => {
                format!(
                    "{} of {} cannot be read{reason}",
                    grouped(failing.len()),
                    repositories(all)
                )
            }
            all => format!("{} cannot be read{reason}", repositories(all)),
        };
        let longest = failing.iter().min_by_key(|failure| failure.since);
        findings
            .extend(longest.map(|failure| Finding::of(Kind::RepositoriesFailing, what, failure)));
    }
    let is_listed = status
        .last
        .as_ref()
        .is_some_and(|last| last.listing.is_none());
    if is_listed {
        findings.extend(selection(snapshot));
    }
    if snapshot.unconfirmed > 0 {
        let gone = repositories(snapshot.unconfirmed);
        let what = format!(
            "The last listing lacks {gone}, more than half; they are kept until the next listing confirms it"
        );
        let hint = "check that the key belongs to the right account; if they were removed on purpose, there is nothing to do";
        findings.push(Finding::new(Kind::RemovalUnconfirmed, what, hint));
    }
    findings
}

/// Why no repository is shown, if none is.
#[must_use]
pub fn selection(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.repositories.is_empty() {
        return None;
    }
    Some(if snapshot.filtered > 0 {
        let what = format!(
            "The filters leave out every repository, {} in all",
            grouped(snapshot.filtered)
        );
        Finding::new(
            Kind::NothingSelected,
            what,
            "change filter.include, filter.exclude or filter.private",
        )
    } else if snapshot.unnamed > 0 {
        let what = format!(
            "No entry of the listing has a name that can be read, {} in all",
            grouped(snapshot.unnamed)
        );
        Finding::new(
            Kind::NothingSelected,
            what,
            "report it to the API's operators: the log says what is wrong",
        )
    } else {
        let hint = "connect some to it, or use the key of another account";
        Finding::new(
            Kind::NoRepositories,
            "The account of the key has no repositories",
            hint,
        )
    })
}

/// What is wrong with the completions: the API does not say whether it reports 0 to 100 or 0 to 1.
#[must_use]
pub fn scale(snapshot: &Snapshot) -> Vec<Finding> {
    let scale = snapshot.completion_scale;
    let mut findings = Vec::new();
    if snapshot.is_scale_suspect() {
        let what = format!("No completion is above 1, while api.completion_scale is {scale}");
        let hint = "if the API reports 0 to 1, set api.completion_scale to 1";
        findings.push(Finding::new(Kind::ScaleSuspect, what, hint));
    }
    let outside = snapshot.out_of_scale();
    if outside > 0 {
        let languages = counted(outside, "language reports", "languages report");
        let what =
            format!("{languages} a completion below 0 or above api.completion_scale, {scale}");
        let hint = "set api.completion_scale to the completion that means finished";
        findings.push(Finding::new(Kind::CompletionsOutOfScale, what, hint));
    }
    findings
}

/// What is wrong with the exporter itself.
fn itself(status: &PollStatus, facts: &Facts, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |kind, what: &str, failure: &Option<Failure>| {
        findings.extend(
            failure
                .as_ref()
                .map(|failure| Finding::of(kind, what, failure)),
        );
    };
    let what =
        "The state cannot be saved: a restart now would lose what was read since the last save";
    add(Kind::StateNotSaved, what, &facts.state_not_saved);
    let what =
        "The state file could not be used at the start, so that the progress clocks began anew";
    add(Kind::StateDiscarded, what, &facts.state_discarded);
    let what = "The last change of the configuration was refused; the previous one is in force";
    add(
        Kind::ReloadRefused,
        what,
        if facts.reload_refused.is_some() {
            &facts.reload_refused
        } else {
            &facts.web_reload_refused
        },
    );
    add(
        Kind::ClockCorrected,
        "Timestamps that lay in the future were brought back to now",
        &facts.clock_corrected,
    );
    let hint = "renew it; the files that web.config_file names are read again when they change";
    if let Some(at) = facts
        .certificate_expires_at
        .filter(|at| at.since(now) <= CERTIFICATE_WARNING)
    {
        findings.push(if at <= now {
            let what = format!("The exporter's TLS certificate expired at {at}");
            Finding::new(Kind::CertificateExpired, what, hint).since(Some(at))
        } else {
            let what = format!(
                "The exporter's TLS certificate expires at {at}, in {}",
                Rough(at.since(now))
            );
            Finding::new(Kind::CertificateExpiring, what, hint)
        });
    }
    if let Some(last) = status
        .last
        .as_ref()
        .filter(|last| last.duration > status.interval)
    {
        // In whole seconds a poll of 1.4 s would be no longer than an interval of 1s.
        let took = humantime::format_duration(Duration::from_millis(
            u64::try_from(last.duration.as_millis()).unwrap_or(u64::MAX),
        ));
        let interval = humantime::format_duration(status.interval);
        let what = format!("The last poll took {took}, longer than poll.interval, {interval}");
        let hint = "raise poll.interval, or api.requests_per_second if the API allows it";
        findings.push(Finding::new(Kind::PollsOverrun, what, hint));
    }
    findings
}

#[cfg(test)]
mod tests;
