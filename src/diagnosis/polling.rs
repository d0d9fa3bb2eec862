//! Findings about polls: incomplete, hanging, first and slow polls.

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

/// The minimum time for which polls may fail, so that a restart of the API is no problem.
const MAY_FAIL: Duration = Duration::from_secs(15 * 60);

/// The time for which a poll may read nothing: a listing of 60 pages at the default `api.timeout`.
const HANG: Duration = Duration::from_secs(30 * 60);

/// The hint while the poll under way has to show the state of the API.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Returns the reason why the last poll could not list and request everything, if it could not.
pub fn finding(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let last = status.last.as_ref();
    let held_until = status.held_until.filter(|until| *until > now);
    let held =
        held_until.map(|until| format!("The API takes no requests until {until} (Retry-After)"));
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
        // A complete listing shows that the API answers and accepts the key.
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
                "The last poll failed; the poll under way has listed everything and read {read} of \
                 {all}"
            );
            Some(Finding {
                since: Some(failure.since),
                ..Finding::new(Symptom::Undecided, what, WAIT)
            })
        }
        _ => Some(Finding::of(symptom, what, failure)),
    }
}

/// Returns a finding if the poll under way has read nothing for long, such as when the disk with
/// the key file hangs.
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
    let hint = "see the log; if it does not name the reason, restart the exporter and report a bug";
    Some(Finding {
        since: Some(since),
        ..Finding::new(Symptom::PollHangs, what, hint)
    })
}

/// Returns the time for which polls may fail before they are a problem: three intervals, at least
/// [`MAY_FAIL`], and the duration of the last poll, which takes hours if the API is slow.
pub fn may_fail(status: &PollStatus) -> Duration {
    let took = status
        .last
        .as_ref()
        .map_or(Duration::ZERO, |last| last.duration);
    MAY_FAIL
        .max(status.interval.saturating_mul(3))
        .saturating_add(took)
}

/// Returns a clause about the data that are shown after an incomplete poll.
fn shown(snapshot: &Snapshot, last: Option<&PollOutcome>) -> String {
    if with_languages(snapshot) == 0 {
        return "there are no data to show".to_owned();
    }
    match last.map_or(0, |last| last.read) {
        0 => "the data shown are from earlier polls".to_owned(),
        read => {
            let read = repositories(read);
            format!("the last poll read {read}, and the others show older data")
        }
    }
}

/// Returns the number of repositories that have languages to show.
fn with_languages(snapshot: &Snapshot) -> usize {
    snapshot.count(|condition| condition.languages().is_some())
}

fn first_poll(snapshot: &Snapshot, status: &PollStatus) -> Finding {
    let all = snapshot.repositories.len();
    let read = with_languages(snapshot);
    // A repository that fails in the first poll has languages only from before the restart.
    let is_restored = |condition: &Condition| {
        matches!(condition, Condition::Restored(_) | Condition::Failing(..))
    };
    let progress = if snapshot.count(is_restored) > 0 {
        ": repositories that it has not read yet are shown as before the restart".to_owned()
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

/// Returns a finding if the last poll took longer than the interval.
pub fn overrun(status: &PollStatus) -> Option<Finding> {
    let last = status.last.as_ref()?;
    if last.duration <= status.interval {
        return None;
    }
    // Milliseconds, because 1.4 s would otherwise be shown as no longer than an interval of 1s.
    let took = u64::try_from(last.duration.as_millis()).unwrap_or(u64::MAX);
    let took = humantime::format_duration(Duration::from_millis(took));
    let interval = humantime::format_duration(status.interval);
    let what = format!("The last poll took {took}, longer than poll.interval ({interval})");
    let hint = "raise poll.interval, or api.requests_per_second if the API allows it";
    Some(Finding::new(Symptom::PollsOverrun, what, hint))
}
