//! Findings about polls: outages, holds and slow polls; and the headline.

use super::{Finding, ProblemKind, Severity};
use crate::{
    domain::{PollFailure, document::Document, polling::PollStatus},
    support::clock::Timestamp,
};
use humantime::format_duration;
use std::time::Duration;

/// Returns the reason why the last poll could not list and request everything, if it could not.
/// Failing polls date from the last success.
pub(super) fn last_failed(document: &Document, now: Timestamp) -> Option<Finding> {
    let status = &document.status;
    let stop = status.last.as_ref()?.stop.as_ref()?;
    let what = match stop.reason {
        PollFailure::Unauthorized => "The API refused the key",
        PollFailure::KeyFile => {
            "The API key could not be read from its file, so no requests were sent"
        }
        PollFailure::CaFile => {
            "The certificates to trust could not be read, so no requests were sent"
        }
        PollFailure::Held => "The API ended the last poll by Retry-After",
        PollFailure::Unavailable => "The API was unavailable to the last poll",
        PollFailure::Listing | PollFailure::Repositories => {
            "The list of repositories could not be read completely"
        }
    };
    let kind = match stop.reason {
        PollFailure::Unauthorized | PollFailure::KeyFile => ProblemKind::ApiKey,
        _ => ProblemKind::PollsFailing,
    };
    let what = format!("{what}{}", held(status, now));
    Some(Finding {
        severity: Severity::Error,
        since: status.last_success_at,
        ..Finding::of(kind, what, &stop.failure)
    })
}

/// Returns the first finding that a headline must not hide; without one, the state of polling.
pub fn headline<'a>(findings: &'a [Finding], document: &Document) -> &'a str {
    let mut findings = findings.iter();
    let grave = findings.find(|finding| finding.severity != Severity::Info);
    grave.map_or(progress(document), |finding| &finding.what)
}

/// Returns the result of the last poll.
pub fn progress(document: &Document) -> &'static str {
    match document.last_poll() {
        Some(poll) if poll.is_success() => "The last poll read every repository",
        Some(_) => "The last poll did not read everything",
        None => "The first poll has not ended yet",
    }
}

/// Returns a finding if the poll under way, or the last one, takes longer than the interval.
pub(super) fn overrun(document: &Document, now: Timestamp) -> Option<Finding> {
    let (status, interval) = (&document.status, document.settings.interval);
    let running = status.running.as_ref();
    // An outage is no reason to poll more slowly.
    let last = document.last_poll().filter(|last| !last.is_outage());
    let polls = [
        running.map(|poll| ("The poll under way has taken", now.since(poll.since))),
        last.map(|poll| ("The last poll took", poll.duration)),
    ];
    let is_slow = |(_, took): &(_, Duration)| *took > interval;
    let (words, took) = polls.into_iter().flatten().find(is_slow)?;
    let [took, interval] =
        [took, interval].map(|duration| format_duration(Duration::from_secs(duration.as_secs())));
    let held = held(status, now);
    let what = format!("{words} {took}, longer than poll.interval ({interval}){held}");
    let hint = "raise poll.interval to more than a poll takes";
    Some(Finding::new(ProblemKind::PollsOverrun, what, hint))
}

/// Returns a clause about the hold of Retry-After; empty without one.
fn held(status: &PollStatus, now: Timestamp) -> String {
    let until = status.held_until.filter(|until| *until > now);
    until.map_or_else(String::new, |until| {
        format!("; Retry-After holds all requests until {until}")
    })
}
