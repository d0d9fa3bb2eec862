//! What polls show: why not everything could be listed and requested, and what the poll under way decides.

use super::{Finding, Kind};
use crate::{
    domain::{
        PollFailure,
        snapshot::{Condition, PollOutcome, PollStatus, Running, Snapshot, Step},
    },
    support::{
        clock::Timestamp,
        humanize::{grouped, repositories},
    },
};
use std::time::Duration;

/// The hint where a poll decides.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Why not everything could be listed and requested, if so.
pub fn finding(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let last = status.last.as_ref();
    let held_until = status.held_until.filter(|until| *until > now);
    let held = held_until
        .map(|until| format!("The API asked for no requests until {until} (Retry-After)"));
    let (kind, what) = match (last.and_then(PollOutcome::failure), &held) {
        (Some(PollFailure::Unauthorized), _) => (Kind::KeyUnusable, "The API refuses the key"),
        (Some(PollFailure::KeyFile), _) => (
            Kind::KeyUnusable,
            "The API key cannot be read from its file, so no requests are sent",
        ),
        (_, Some(held)) => (Kind::Held, held.as_str()),
        (Some(PollFailure::Held), None) => (
            Kind::Held,
            "The API asked for no requests (Retry-After), and the time is over",
        ),
        (Some(PollFailure::Unavailable), None) => (Kind::ApiUnavailable, "The API is unavailable"),
        (Some(PollFailure::Listing), None) => (
            Kind::ListingIncomplete,
            "The list of repositories could not be read to its end",
        ),
        (None, None) if last.is_none() => return Some(first_poll(snapshot, status)),
        (Some(PollFailure::Repositories) | None, None) => return None,
    };
    let what = format!("{what}; {}", shown(snapshot, last));
    let Some(failure) = last.and_then(PollOutcome::cut_short) else {
        let hint = "lower api.requests_per_second or raise poll.interval";
        return Some(Finding::new(kind, what, hint));
    };
    match status.running() {
        // The key is accepted and the API answers, if the poll under way could list everything.
        Some(Running {
            step:
                Step::Reading {
                    is_listed: true,
                    read,
                    ..
                },
            ..
        }) if kind != Kind::ListingIncomplete => {
            let (read, all) = (grouped(read), repositories(snapshot.repositories.len()));
            let what = format!(
                "The last poll failed; the one under way could list everything and has read {read} of {all}"
            );
            Some(Finding {
                since: Some(failure.since),
                ..Finding::new(Kind::Undecided, what, WAIT)
            })
        }
        _ => Some(Finding::of(kind, what, failure)),
    }
}

/// What is shown while not everything is read.
fn shown(snapshot: &Snapshot, last: Option<&PollOutcome>) -> String {
    if with_languages(snapshot) == 0 {
        return "there are no data to show".to_owned();
    }
    match last.map_or(0, |last| last.read) {
        0 => "the data shown were read before".to_owned(),
        read => {
            let read = repositories(read);
            format!("the last poll read {read}, and the rest is shown as last read")
        }
    }
}

/// How many repositories have languages to show.
fn with_languages(snapshot: &Snapshot) -> usize {
    snapshot.count(|condition| condition.languages().is_some())
}

fn first_poll(snapshot: &Snapshot, status: &PollStatus) -> Finding {
    let all = snapshot.repositories.len();
    let read = with_languages(snapshot);
    // In a first poll, what fails and has languages was restored too.
    let is_restored = |condition: &Condition| {
        matches!(condition, Condition::Restored(_) | Condition::Failing(..))
    };
    let progress = if snapshot.count(is_restored) > 0 {
        ": what it has not read yet is shown as before the restart".to_owned()
    } else if all > 0 {
        format!(": {} of {} read", grouped(read), repositories(all))
    } else {
        String::new()
    };
    let what = format!("The first poll has not ended yet{progress}");
    Finding {
        since: status.running().map(|running| running.since),
        ..Finding::new(Kind::Undecided, what, WAIT)
    }
}

/// That the last poll took longer than the interval.
pub fn overrun(status: &PollStatus) -> Option<Finding> {
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
