//! Findings about polls: outages, holds, polls that hang and slow polls; and the first poll.

use super::Finding;
use crate::{
    domain::{
        Failure, PollFailure, ProblemKind, Severity,
        polling::{PollOutcome, PollStatus, Running, Step},
        snapshot::{Condition, Snapshot},
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

/// The time that the API has for its first response after a restart in the middle of an outage.
const FIRST_RESPONSE: Duration = Duration::from_secs(30);

/// The hint while the poll under way has to show the state of the API.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Returns the reason why the last poll could not list and request everything, if it could not, or
/// a poll under way that hangs.
pub(super) fn finding(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let Some((last, failure)) = cut_short(status) else {
        return hang(snapshot, status, now);
    };
    let (kind, severity, what) = match last.failure() {
        Some(PollFailure::Unauthorized) => (
            ProblemKind::ApiKey,
            Severity::Error,
            "The API refuses the key".to_owned(),
        ),
        Some(PollFailure::KeyFile) => (
            ProblemKind::ApiKey,
            Severity::Error,
            "The API key cannot be read from its file, so no requests are sent".to_owned(),
        ),
        Some(PollFailure::Held) => (
            ProblemKind::PollsFailing,
            Severity::Warning,
            hold(status, now),
        ),
        Some(PollFailure::Unavailable) => (
            ProblemKind::PollsFailing,
            Severity::Error,
            "The API is unavailable".to_owned(),
        ),
        Some(PollFailure::Listing | PollFailure::Repositories) | None => (
            ProblemKind::PollsFailing,
            Severity::Error,
            "The list of repositories could not be read completely".to_owned(),
        ),
    };
    let finding = match status.running() {
        // A complete listing shows that the API answers and accepts the key.
        Some(Running {
            step:
                Step::Reading {
                    is_listed: true,
                    read,
                    ..
                },
            ..
        }) if last.stop.is_some() => {
            let (read, all) = (grouped(read), repositories(snapshot.repositories.len()));
            let what = format!(
                "The last poll failed; the poll under way has listed everything and read {read} of \
                 {all}"
            );
            Finding {
                since: Some(failure.since),
                ..Finding::new(ProblemKind::PollsFailing, what, WAIT)
            }
        }
        _ => Finding {
            severity,
            ..Finding::of(
                kind,
                format!("{what}; {}", shown(snapshot, Some(last))),
                failure,
            )
        },
    };
    Some(dated(finding, status, now))
}

/// Returns the last poll and its failure, if it ended early or its listing did.
fn cut_short(status: &PollStatus) -> Option<(&PollOutcome, &Failure)> {
    let last = status.last.as_ref()?;
    Some((last, last.cut_short()?))
}

fn hold(status: &PollStatus, now: Timestamp) -> String {
    match status.held_until.filter(|until| *until > now) {
        Some(until) => format!("The API takes no requests until {until} (Retry-After)"),
        None => "The API refused requests until the last poll ended".to_owned(),
    }
}

/// Dates failing polls to the last poll that went well, and decides whether they are a warning.
fn dated(finding: Finding, status: &PollStatus, now: Timestamp) -> Finding {
    if finding.kind != ProblemKind::PollsFailing {
        return finding;
    }
    Finding {
        alarm: Some(raised(&finding, status, now)),
        since: well_at(status, now).or(finding.since),
        ..finding
    }
}

/// Returns the severity of failing polls. They are a warning once no poll has gone well for longer
/// than may be: three intervals, at least [`MAY_FAIL`], and the duration of the last poll, which
/// takes hours if the API is slow.
pub(super) fn raised(finding: &Finding, status: &PollStatus, now: Timestamp) -> Severity {
    let since = well_at(status, now).or(finding.since);
    match since {
        Some(since) if now.since(since) > may_fail(status) => Severity::Warning,
        _ => Severity::Info,
    }
}

/// Returns the end of the last poll that went well. A time in the future was recorded by a wrong
/// clock, and says nothing.
fn well_at(status: &PollStatus, now: Timestamp) -> Option<Timestamp> {
    status.last_well_at.filter(|at| *at <= now)
}

/// Returns a finding if the poll under way has read nothing for long, such as when the disk with
/// the key file hangs, or after a restart in the middle of an outage.
fn hang(snapshot: &Snapshot, status: &PollStatus, now: Timestamp) -> Option<Finding> {
    let running = status.running()?;
    let reads = snapshot.repositories.iter();
    let newest = reads
        .filter_map(|shown| shown.condition.last_success())
        .max();
    let since = newest.map_or(running.since, |read_at| read_at.max(running.since));
    let silence = now.since(since);
    let what = format!(
        "The poll under way has read nothing for {}; {}",
        Rough(silence),
        shown(snapshot, status.last.as_ref())
    );
    let hint = "see the log; if it does not name the reason, restart the exporter and report a bug";
    let finding = Finding {
        severity: Severity::Error,
        since: Some(since),
        ..Finding::new(ProblemKind::PollsFailing, what, hint)
    };
    let is_first = status.last.is_none() && matches!(running.step, Step::Listing { shown: 0 });
    if is_first && status.last_well_at.is_some() && silence > FIRST_RESPONSE {
        return Some(dated(finding, status, now))
            .filter(|finding| finding.alarm == Some(Severity::Warning));
    }
    (silence > HANG.max(may_fail(status))).then(|| dated(finding, status, now))
}

fn may_fail(status: &PollStatus) -> Duration {
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
    let shown = with_languages(snapshot);
    match last.map_or(0, |last| last.read) {
        _ if shown == 0 => "there are no data to show".to_owned(),
        0 => "the data shown are from earlier polls".to_owned(),
        read if read >= shown => "the data shown are from the last poll".to_owned(),
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

/// Returns the progress of the first poll; `None` once it has ended.
fn first_poll(snapshot: &Snapshot, status: &PollStatus) -> Option<String> {
    if status.last.is_some() {
        return None;
    }
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
    Some(format!("The first poll has not ended yet{progress}"))
}

/// Returns the worst finding that a headline must not hide; without one, the progress of the first
/// poll or the result of the last one.
pub fn headline(findings: &[Finding], snapshot: &Snapshot, status: &PollStatus) -> String {
    let worst = findings
        .first()
        .filter(|worst| worst.severity != Severity::Info);
    if let Some(worst) = worst {
        return worst.what.clone();
    }
    if let Some(progress) = first_poll(snapshot, status) {
        return progress;
    }
    match &status.last {
        Some(last) if !last.is_success() => {
            "The last poll could not read every repository; the repositories that failed have left \
             the listing"
        }
        _ => "All is well: the last poll read every repository",
    }
    .to_owned()
}

/// Returns the reason why there are no data to serve yet: failed polls, or the first poll. Other
/// findings do not keep data away.
pub fn why_not_ready(findings: &[Finding], snapshot: &Snapshot, status: &PollStatus) -> String {
    let stops_polls = |finding: &&Finding| {
        matches!(
            finding.kind,
            ProblemKind::ApiKey | ProblemKind::PollsFailing
        )
    };
    let (reason, since) = if let Some(finding) = findings.iter().find(stops_polls) {
        (finding.line(), finding.since)
    } else {
        let progress = first_poll(snapshot, status);
        let progress = progress.unwrap_or_else(|| "no listing has been complete yet".to_owned());
        let since = status.running().map(|running| running.since);
        (format!("{progress}; {WAIT}"), since)
    };
    match since {
        Some(since) => format!("{reason} (since {since})"),
        None => reason,
    }
}

/// Returns whether to name a repository's failure. A finding about the whole API covers the
/// failures that come with it.
pub fn is_named(failure: &Failure, status: &PollStatus) -> bool {
    !failure.is_of_api || !is_outage(status)
}

/// Returns whether the API or the key failed as a whole, or the first poll has not shown yet that
/// it did not.
pub(super) fn is_outage(status: &PollStatus) -> bool {
    status.last.as_ref().is_none_or(|last| last.stop.is_some())
}

/// Returns a finding if the last poll took longer than the interval.
pub(super) fn overrun(status: &PollStatus) -> Option<Finding> {
    let last = status.last.as_ref()?;
    // An outage is no reason to poll more slowly.
    if last.duration <= status.interval || last.stop.is_some() {
        return None;
    }
    // Rounded up, so that no poll seems to have taken exactly an interval.
    let took = match last.duration.as_secs() {
        0..60 => format!(
            "{:.1} s",
            (last.duration.as_secs_f64() * 10.0).ceil() / 10.0
        ),
        seconds => humantime::format_duration(Duration::from_secs(seconds + 1)).to_string(),
    };
    let interval = humantime::format_duration(status.interval);
    let what = format!("The last poll took {took}, longer than poll.interval ({interval})");
    let hint = "raise poll.interval, or api.requests_per_second if the API allows it";
    Some(Finding::new(ProblemKind::PollsOverrun, what, hint))
}
