//! Findings about polls: outages, holds and slow polls; and the headline.

use super::{Finding, ProblemKind, Severity};
use crate::{
    domain::{
        PollFailure,
        document::{Document, View},
    },
    support::clock::Timestamp,
};
use humantime::format_duration;
use std::time::Duration;

/// The minimum time for which polls may fail, so that a restart of the API is no problem.
const MAY_FAIL: Duration = Duration::from_secs(15 * 60);

/// Returns the reason why the last poll could not list and request everything, if it could not.
/// Failing polls date from the last poll that went well.
pub(super) fn last_failed(view: &View<'_>, now: Timestamp) -> Option<Finding> {
    let document = view.document;
    let last = document.last_poll()?;
    let failure = last.cut_short()?;
    let (kind, what) = match last.failure()? {
        PollFailure::Unauthorized => (ProblemKind::ApiKey, "The API refused the key"),
        PollFailure::KeyFile => (
            ProblemKind::ApiKey,
            "The API key could not be read from its file, so no requests were sent",
        ),
        PollFailure::CaFile => (
            ProblemKind::PollsFailing,
            "The certificates to trust could not be read, so no requests were sent",
        ),
        PollFailure::Held => (
            ProblemKind::PollsFailing,
            "The API ended the last poll by Retry-After",
        ),
        PollFailure::Unavailable => (
            ProblemKind::PollsFailing,
            "The API was unavailable to the last poll",
        ),
        PollFailure::Listing | PollFailure::Repositories => (
            ProblemKind::PollsFailing,
            "The list of repositories could not be read completely",
        ),
    };
    let held_until = document.status.held_until.filter(|until| *until > now);
    let held = held_until.map(|until| format!(", which holds all requests until {until}"));
    let what = format!("{what}{}", held.unwrap_or_default());
    Some(Finding {
        severity: Severity::Error,
        since: document.status.failing_since.or(Some(failure.since)),
        ..Finding::of(kind, what, failure)
    })
}

/// Returns whether no poll has gone well for longer than may be: three intervals, at least
/// [`MAY_FAIL`], and the duration of the last poll, which takes hours if the API is slow.
pub(super) fn has_lasted(document: &Document, now: Timestamp) -> bool {
    let status = &document.status;
    let took = status.last.as_ref().map(|last| last.duration);
    let may_fail = MAY_FAIL
        .max(document.settings.interval.saturating_mul(3))
        .saturating_add(took.unwrap_or_default());
    let since = status.failing_since;
    since.is_some_and(|since| now.since(since) > may_fail)
}

/// Returns the first finding that a headline must not hide; without one, the state of polling.
pub fn headline(findings: &[Finding], view: &View<'_>) -> String {
    let mut findings = findings.iter();
    let grave = findings.find(|finding| finding.severity != Severity::Info);
    grave
        .map_or(progress(view.document), |finding| &finding.what)
        .to_owned()
}

/// Returns the result of the last poll.
pub fn progress(document: &Document) -> &'static str {
    match document.last_poll() {
        Some(poll) if poll.is_success() => "The last poll read every repository",
        Some(_) => "The last poll did not read everything",
        None => "The first poll has not ended yet",
    }
}

/// Returns a finding if the last poll took longer than the interval.
pub(super) fn overrun(document: &Document) -> Option<Finding> {
    let interval = document.settings.interval;
    // An outage is no reason to poll more slowly.
    let last = document.last_poll().filter(|last| !last.is_outage())?;
    if last.duration <= interval {
        return None;
    }
    let millis = u64::try_from(last.duration.as_millis()).unwrap_or(u64::MAX);
    let [took, interval] = [Duration::from_millis(millis), interval].map(format_duration);
    let what = format!("The last poll took {took}, longer than poll.interval ({interval})");
    let hint = "raise poll.interval to more than a poll takes";
    Some(Finding::new(ProblemKind::PollsOverrun, what, hint))
}
