//! What polls show: why not everything could be listed and requested, and what the poll under way decides.

use super::{Finding, Symptom};
use crate::{
    domain::{
        PollFailure,
        snapshot::{Condition, PollOutcome, PollStatus, Running, Snapshot, Step},
    },
    support::{
        clock::Timestamp,
        humanize::{Rough, grouped, repositories},
    },
};
use std::time::Duration;

/// How long polls may fail, however short their interval is: a restart of the API is no problem.
const MAY_FAIL: Duration = Duration::from_secs(15 * 60);

/// How long a poll may read nothing: a listing of 60 pages, each of which takes the default `api.timeout`.
const HANG: Duration = Duration::from_secs(30 * 60);

/// The hint where a poll decides.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Why not everything could be listed and requested, if so.
pub fn finding(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let last = status.last.as_ref();
    let held_until = status.held_until.filter(|until| *until > now);
    let held = held_until
        .map(|until| format!("The API asked for no requests until {until} (Retry-After)"));
    let (symptom, what) = match (last.and_then(PollOutcome::failure), &held) {
        (Some(PollFailure::Unauthorized), _) => (Symptom::KeyUnusable, "The API refuses the key"),
        (Some(PollFailure::KeyFile), _) => (
            Symptom::KeyUnusable,
            "The API key cannot be read from its file, so no requests are sent",
        ),
        (_, Some(held)) => (Symptom::Held, held.as_str()),
        (Some(PollFailure::Held), None) => (
            Symptom::Held,
            "The API refused requests until the last poll ended",
        ),
        (Some(PollFailure::Unavailable), None) => {
            (Symptom::ApiUnavailable, "The API is unavailable")
        }
        (Some(PollFailure::Listing), None) => (
            Symptom::ListingIncomplete,
            "The list of repositories could not be read to its end",
        ),
        (Some(PollFailure::Repositories) | None, None) => {
            let undecided = || last.is_none().then(|| first_poll(snapshot, status));
            return hang(snapshot, status, now).or_else(undecided);
        }
    };
    let what = format!("{what}; {}", shown(snapshot, last));
    let Some(failure) = last.and_then(PollOutcome::cut_short) else {
        let hint = "lower api.requests_per_second or raise poll.interval";
        return Some(Finding::new(symptom, what, hint));
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
        }) if symptom != Symptom::ListingIncomplete => {
            let (read, all) = (grouped(read), repositories(snapshot.repositories.len()));
            let what = format!(
                "The last poll failed; the one under way could list everything and has read {read} of {all}"
            );
            Some(Finding {
                since: Some(failure.since),
                ..Finding::new(Symptom::Undecided, what, WAIT)
            })
        }
        _ => Some(Finding::of(symptom, what, failure)),
    }
}

/// That the poll under way has read nothing for long, such as when a disk with the key file hangs.
fn hang(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let since = status.running()?.since;
    let reads = snapshot.repositories.iter();
    let newest = reads
        .filter_map(|shown| shown.condition.last_success())
        .max();
    let since = newest.map_or(since, |read_at| read_at.max(since));
    let silence = now.since(since);
    if silence <= HANG.max(may_fail(status)) {
        return None;
    }
    let what = format!(
        "The poll under way has read nothing for {}; {}",
        Rough(silence),
        shown(snapshot, status.last.as_ref())
    );
    let hint = "see the log; if it says nothing, restart the exporter, and report it";
    Some(Finding {
        since: Some(since),
        ..Finding::new(Symptom::PollHangs, what, hint)
    })
}

/// How long polls may fail before it is a problem: three polls, and at least a quarter of an hour.
///
/// A poll counts from its start, so that one that takes hours, since the API is slow, has its time too.
pub fn may_fail(status: &PollStatus) -> Duration {
    let took = status
        .last
        .as_ref()
        .map_or(Duration::ZERO, |last| last.duration);
    MAY_FAIL
        .max(status.interval.saturating_mul(3))
        .saturating_add(took)
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
        ..Finding::new(Symptom::Undecided, what, WAIT)
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
    Some(Finding::new(Symptom::PollsOverrun, what, hint))
}
