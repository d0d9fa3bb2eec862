//! Findings about polls: outages, holds, polls that hang and slow polls; and the first poll.

use super::Finding;
use crate::{
    domain::{
        PollFailure, ProblemKind, Severity, Stop,
        document::Document,
        polling::{PollOutcome, PollStatus, Running, is_many},
        snapshot::Condition,
    },
    support::{
        clock::Timestamp,
        humanize::{Rough, grouped, repositories},
    },
};
use std::time::Duration;

/// The minimum time for which polls may fail, so that a restart of the API is no problem.
const MAY_FAIL: Duration = Duration::from_secs(15 * 60);

/// The time for which a poll may get no response.
const HANG: Duration = Duration::from_secs(30 * 60);

/// The time that the API has for its first response to a process, which may have started in the
/// middle of an outage.
const FIRST_RESPONSE: Duration = Duration::from_secs(30);

/// The hint while the poll under way has to show the state of the API.
const WAIT: &str = "nothing to do: wait for the poll to end";

/// Returns the reason why the last poll could not list and request everything, if it could not, or
/// why the poll under way will not.
pub(super) fn finding(document: &Document, now: Timestamp) -> Option<Finding> {
    let status = &document.status;
    let finding = last_failed(document, now).or_else(|| under_way(document, now))?;
    Some(dated(finding, status, now))
}

/// Returns whether the poll under way shows by a complete listing that the key works, which ended
/// the last poll.
fn is_key_back(status: &PollStatus) -> bool {
    let stop = status.last.as_ref().and_then(|last| last.stop.as_ref());
    stop.is_some_and(Stop::is_of_key) && is_listed(status)
}

fn is_listed(status: &PollStatus) -> bool {
    status.running.as_ref().is_some_and(|poll| poll.is_listed)
}

fn last_failed(document: &Document, now: Timestamp) -> Option<Finding> {
    let status = &document.status;
    let last = status.last.as_ref().filter(|_| !is_key_back(status))?;
    let failure = last.cut_short()?;
    let (kind, what) = trouble(last, status, now);
    let what = format!("{what}; {}", shown(document, Some(last)));
    let severity = match last.failure() {
        Some(PollFailure::Held) => Severity::Warning,
        _ => Severity::Error,
    };
    Some(Finding {
        severity,
        ..Finding::of(kind, what, failure)
    })
}

/// Returns the reason why a poll could not list and request everything.
fn trouble(last: &PollOutcome, status: &PollStatus, now: Timestamp) -> (ProblemKind, String) {
    let what = match last.failure() {
        Some(PollFailure::Unauthorized) => {
            return (ProblemKind::ApiKey, "The API refuses the key".to_owned());
        }
        Some(PollFailure::KeyFile) => {
            let what = "The API key cannot be read from its file, so no requests are sent";
            return (ProblemKind::ApiKey, what.to_owned());
        }
        Some(PollFailure::Held) => match status.held_until.filter(|until| *until > now) {
            Some(until) => format!("The API takes no requests until {until} (Retry-After)"),
            None => "The API refused requests until the last poll ended".to_owned(),
        },
        Some(PollFailure::Unavailable) if is_listed(status) => {
            "The API was unavailable to the last poll".to_owned()
        }
        Some(PollFailure::Unavailable) => "The API is unavailable".to_owned(),
        Some(PollFailure::Listing | PollFailure::Repositories) | None => {
            "The list of repositories could not be read completely".to_owned()
        }
    };
    (ProblemKind::PollsFailing, what)
}

/// Returns the hint for a consequence of failed reads, which points to their cause.
pub(super) fn cause(status: &PollStatus, now: Timestamp) -> String {
    let what = match &status.last {
        _ if is_key_back(status) => return WAIT.to_owned(),
        Some(last) if last.cut_short().is_some() => trouble(last, status, now).1,
        Some(last) if !last.is_success() => "repositories cannot be read".to_owned(),
        _ => return WAIT.to_owned(),
    };
    format!("this ends with its cause: {what}")
}

/// Returns a finding if the poll under way gets no response, such as when the disk with the key
/// file hangs, or if it fails to read more than a few repositories.
fn under_way(document: &Document, now: Timestamp) -> Option<Finding> {
    let status = &document.status;
    let running = status.running.as_ref()?;
    let silence = now.since(running.silent_since);
    let is_first = status.last.is_none() && running.silent_since == running.since;
    if silence > if is_first { FIRST_RESPONSE } else { HANG } {
        let what = format!(
            "The poll under way has had no response for {}; {}",
            Rough(silence),
            shown(document, status.last.as_ref())
        );
        let hint = "check the way to the API and the disk with the key file; if both work, restart \
                    the exporter and report a bug";
        return Some(Finding {
            severity: Severity::Error,
            since: Some(running.silent_since),
            ..Finding::new(ProblemKind::PollsFailing, what, hint)
        });
    }
    let Running { of, failed, .. } = *running;
    let is_told = status.last.as_ref().is_some_and(|last| !last.is_well());
    if is_told || !is_many(failed, of?) {
        return None;
    }
    let what = "The poll under way fails to read many repositories";
    let failure = running.failure.as_ref()?;
    Some(Finding::of(ProblemKind::PollsFailing, what, failure))
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
    let took = status
        .last
        .as_ref()
        .map_or(Duration::ZERO, |last| last.duration);
    let may_fail = MAY_FAIL
        .max(status.interval.saturating_mul(3))
        .saturating_add(took);
    match well_at(status, now).or(finding.since) {
        Some(since) if now.since(since) > may_fail => Severity::Warning,
        _ => Severity::Info,
    }
}

/// Returns the end of the last poll that went well, or of the first poll. A time in the future was
/// recorded by a wrong clock, and says nothing.
fn well_at(status: &PollStatus, now: Timestamp) -> Option<Timestamp> {
    let last = status.last.as_ref().filter(|last| last.is_well());
    let well_at = status.failing_since.or(last.map(|last| last.ended_at));
    well_at.filter(|at| *at <= now)
}

/// Returns a clause about the data that are shown after an incomplete poll.
fn shown(document: &Document, last: Option<&PollOutcome>) -> String {
    let shown = with_languages(document);
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
fn with_languages(document: &Document) -> usize {
    document.count(|condition| condition.languages().is_some())
}

/// Returns the progress of the first poll; `None` once it has ended.
fn first_poll(document: &Document) -> Option<String> {
    let status = &document.status;
    if status.last.is_some() {
        return None;
    }
    let all = document.rows.len();
    let read = with_languages(document);
    // A repository that fails in the first poll has languages only from before the restart.
    let is_restored = |condition: &Condition<_>| {
        matches!(condition, Condition::Restored(_) | Condition::Failing(..))
    };
    let progress = if document.count(is_restored) > 0 {
        ": repositories that it has not read yet are shown as they were known before".to_owned()
    } else if all > 0 {
        format!(": {} of {} read", grouped(read), repositories(all))
    } else {
        String::new()
    };
    Some(format!("The first poll has not ended yet{progress}"))
}

/// Returns the worst finding that a headline must not hide; without one, the progress of the first
/// poll or the result of the last one.
pub fn headline(findings: &[Finding], document: &Document) -> String {
    let status = &document.status;
    let worst = findings
        .first()
        .filter(|worst| worst.severity != Severity::Info);
    if let Some(worst) = worst {
        return worst.what.clone();
    }
    if let Some(progress) = first_poll(document) {
        return progress;
    }
    match (&status.last, &status.running) {
        (_, Some(running)) if is_key_back(status) => {
            let (read, all) = (grouped(running.read), repositories(document.rows.len()));
            return format!(
                "The key can be used again; the poll under way has read {read} of {all}"
            );
        }
        (Some(last), _) if !last.is_success() => {
            "The last poll could not read every repository; the repositories that failed have left \
             the listing"
        }
        _ => "All is well: the last poll read every repository",
    }
    .to_owned()
}

/// Returns the reason why there are no data to serve yet: failed polls, or the first poll. Other
/// findings do not keep data away.
pub fn why_not_ready(findings: &[Finding], document: &Document) -> String {
    let status = &document.status;
    let stops_polls = |finding: &&Finding| {
        matches!(
            finding.kind,
            ProblemKind::ApiKey | ProblemKind::PollsFailing
        )
    };
    let (reason, since) = if let Some(finding) = findings.iter().find(stops_polls) {
        (finding.line(), finding.since)
    } else {
        let progress = first_poll(document);
        let progress = progress.unwrap_or_else(|| "no listing has been complete yet".to_owned());
        let since = status.running.as_ref().map(|running| running.since);
        (format!("{progress}; {WAIT}"), since)
    };
    match since {
        Some(since) => format!("{reason} (since {since})"),
        None => reason,
    }
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
