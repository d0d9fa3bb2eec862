//! What polls show: why not everything could be listed and requested, and what the poll under way decides.

use super::{Finding, Kind};
use crate::{
    model::{Failure, PollFailure, Timestamp},
    snapshot::{DataSource, PollOutcome, PollStatus, Running, Snapshot, Step},
    words::{counted, grouped, repositories},
};
use std::time::Duration;

/// The hint where a poll decides.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Why not everything could be listed and requested, if so.
pub(super) fn finding(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let held_until = status.held_until.filter(|until| *until > now);
    let Some(last) = &status.last else {
        return Some(match held_until {
            Some(until) => held(until, None, unread(snapshot, 0)),
            None => first_poll(snapshot, status),
        });
    };
    let finding = match (last.cut_short(), held_until) {
        (Some(failure), _) => cut_short(snapshot, last, failure, held_until),
        (None, Some(until)) => held(until, None, unread(snapshot, 0)),
        (None, None) => return None,
    };
    match status.running() {
        Some(Running {
            step:
                Step::Reading {
                    is_listed: true,
                    read,
                    ..
                },
            ..
        }) if finding.kind != Kind::ListingIncomplete => Some(recovering(snapshot, read, &finding)),
        _ => Some(finding),
    }
}

/// Why the last poll did not list and request everything.
fn cut_short(
    snapshot: &Snapshot,
    last: &PollOutcome,
    failure: &Failure,
    held_until: Option<Timestamp>,
) -> Finding {
    let unread = unread(snapshot, last.read);
    let read = counted(last.read, "repository was", "repositories were");
    let end = match last.read {
        0 => format!("the last poll read nothing; {unread}"),
        _ => format!("{read} read before the last poll was cut short; {unread}"),
    };
    let (kind, what) = match (last.failure(), held_until) {
        (Some(PollFailure::Unauthorized), _) => {
            (Kind::KeyUnusable, format!("The API refuses the key: {end}"))
        }
        (Some(PollFailure::KeyFile), _) => (
            Kind::KeyUnusable,
            format!("The API key cannot be read from its file, so no requests are sent; {unread}"),
        ),
        (_, Some(until)) => return held(until, Some(failure), unread),
        (Some(PollFailure::Held), None) => {
            let what = "The API asked for no requests (Retry-After), and the time is over";
            (Kind::Held, format!("{what}: {end}"))
        }
        (Some(PollFailure::Unavailable), None) => (
            Kind::ApiUnavailable,
            format!("The API is unavailable: {end}"),
        ),
        (_, None) => {
            let read = match last.read {
                0 => end,
                _ => format!("{read} read anyway"),
            };
            (
                Kind::ListingIncomplete,
                format!("The list of repositories could not be read to its end; {read}"),
            )
        }
    };
    Finding::of(kind, what, failure)
}

fn held(until: Timestamp, failure: Option<&Failure>, unread: &str) -> Finding {
    let what = format!("The API asked for no requests until {until} (Retry-After); {unread}");
    match failure {
        Some(failure) => Finding::of(Kind::Held, what, failure),
        None => Finding::new(
            Kind::Held,
            what,
            "lower api.requests_per_second or raise poll.interval",
        ),
    }
}

/// That an outage is just ending: if the poll under way could list everything, the key is accepted and the API answers.
fn recovering(snapshot: &Snapshot, read: usize, outage: &Finding) -> Finding {
    let read = grouped(read);
    let all = repositories(snapshot.repositories.len());
    let what = format!(
        "The last poll failed; the one under way could list everything and has read {read} of {all}"
    );
    Finding::new(Kind::Undecided, what, WAIT).since(outage.since)
}

fn first_poll(snapshot: &Snapshot, status: &PollStatus) -> Finding {
    let all = snapshot.repositories.len();
    let shown = shown(snapshot);
    let what = if status.data == DataSource::StateFile && shown > 0 {
        "Data from before the restart are shown; the first poll has not ended yet".to_owned()
    } else if status.running().is_none() {
        "The first poll is about to begin".to_owned()
    } else if all > 0 {
        let (shown, all) = (grouped(shown), repositories(all));
        format!("The first poll is under way: {shown} of {all} read")
    } else {
        "The first poll is under way".to_owned()
    };
    let since = status.running().map(|running| running.since);
    Finding::new(Kind::Undecided, what, WAIT).since(since)
}

/// What is shown of the repositories that were not read by a poll that read so many.
fn unread(snapshot: &Snapshot, read: usize) -> &'static str {
    match (shown(snapshot), read) {
        (0, _) => "there are no data to show",
        (_, 0) => "the data shown were read before",
        _ => "the rest is shown as last read",
    }
}

/// How many repositories have languages to show.
fn shown(snapshot: &Snapshot) -> usize {
    snapshot
        .repositories
        .iter()
        .filter(|shown| shown.condition.languages().is_some())
        .count()
}

/// That the last poll took longer than the interval.
pub(super) fn overrun(status: &PollStatus) -> Option<Finding> {
    let last = status.last.as_ref()?;
    if last.duration <= status.interval {
        return None;
    }
    // In whole seconds a poll of 1.4 s would be no longer than an interval of 1s.
    let took = u64::try_from(last.duration.as_millis()).unwrap_or(u64::MAX);
    let took = humantime::format_duration(Duration::from_millis(took));
    let interval = humantime::format_duration(status.interval);
    let what = format!("The last poll took {took}, longer than poll.interval, {interval}");
    let hint = "raise poll.interval, or api.requests_per_second if the API allows it";
    Some(Finding::new(Kind::PollsOverrun, what, hint))
}
