//! Findings about the data that are shown.

use super::{DAY, Finding, Symptom, is_outage};
use crate::{
    domain::{
        Fault, ProblemKind, ZeroCount, Zeros,
        snapshot::{Condition, PollStatus, Snapshot, is_scale_suspect, out_of_scale},
    },
    metrics::instruments::Facts,
    support::{
        clock::Timestamp,
        humanize::{counted, grouped, repositories},
    },
};
use std::time::Duration;

/// The hint for a listing that has lost most repositories.
const CHECK_ACCOUNT: &str = "check that the key belongs to the right account; \
     if the repositories were removed on purpose, there is nothing to do";

/// The minimum time for which a listed repository may fail before its first read.
const UNREAD: Duration = Duration::from_secs(60 * 60);

/// Returns a finding if the data of repositories are stale, or if repositories that were never read
/// have failed for three intervals, at least [`UNREAD`].
pub(super) fn stale(
    snapshot: &Snapshot,
    status: &PollStatus,
    is_outage: bool,
    now: Timestamp,
) -> Option<Finding> {
    let stale = snapshot.count(|condition| matches!(condition, Condition::Stale { .. }));
    let limit = UNREAD.max(status.interval.saturating_mul(3));
    let unread = snapshot.count(|condition| match condition {
        // The finding about the outage covers failures of the whole API.
        Condition::Pending(Some(failure)) if !is_outage || failure.fault == Fault::Repository => {
            now.since(failure.lasting.since) > limit
        }
        _ => false,
    });
    let what = match (stale, unread) {
        (0, 0) => return None,
        (0, unread) => format!("{} could never be read", repositories(unread)),
        (stale, 0) => format!(
            "The data of {} are stale and no longer shown",
            repositories(stale)
        ),
        (stale, unread) => format!(
            "The data of {} are stale and no longer shown, and {} could never be read",
            repositories(stale),
            grouped(unread)
        ),
    };
    let hint = "fix the errors of these repositories; a successful read brings their data back";
    Some(Finding::new(Symptom::DataStale, what, hint))
}

/// Returns a finding if repositories fail, for other reasons than the outage of the whole API that
/// `polling` may have found.
pub(super) fn failing(snapshot: &Snapshot, polling: Option<&Finding>) -> Option<Finding> {
    let is_outage = polling.is_some_and(is_outage);
    let failures: Vec<_> = snapshot
        .repositories
        .iter()
        .filter_map(|shown| shown.condition.failure())
        .filter(|failure| !is_outage || failure.fault == Fault::Repository)
        .map(|failure| &failure.lasting)
        .collect();
    let longest = failures.iter().min_by_key(|failure| failure.since)?;
    let (failing, all) = (
        grouped(failures.len()),
        repositories(snapshot.repositories.len()),
    );
    let is_decided = polling.is_some_and(|finding| finding.symptom != Symptom::Undecided);
    let reason = if is_outage && is_decided {
        ", independently of the outage"
    } else {
        ""
    };
    let what = format!("{failing} of {all} cannot be read{reason}");
    Some(Finding::of(Symptom::RepositoriesFailing, what, longest))
}

/// Returns the reason why no repository is shown, if none is.
pub fn nothing_selected(snapshot: &Snapshot) -> Option<Finding> {
    if !snapshot.repositories.is_empty() {
        return None;
    }
    let (what, hint) = match (snapshot.filtered, snapshot.unnamed) {
        (0, 0) => (
            "The account of the key has no repositories".to_owned(),
            "connect repositories to it, or use the key of another account",
        ),
        (0, all) => (
            format!(
                "No entry of the listing has a readable name, {} in all",
                grouped(all)
            ),
            "report the bad entries in the log to the API's operators",
        ),
        (all, _) => (
            format!(
                "The filters leave out every repository, {} in all",
                grouped(all)
            ),
            "change filter.include, filter.exclude or filter.private",
        ),
    };
    Some(Finding::new(Symptom::NoRepositories, what, hint))
}

pub(super) fn unconfirmed(snapshot: &Snapshot) -> Option<Finding> {
    if snapshot.unconfirmed == 0 {
        return None;
    }
    let gone = repositories(snapshot.unconfirmed);
    let what = format!(
        "The last listing lacks {gone}, more than half; their data stay until the next listing \
         confirms the removal"
    );
    Some(Finding::new(
        Symptom::RemovalUnconfirmed,
        what,
        CHECK_ACCOUNT,
    ))
}

/// Returns a finding if more than half of the repositories were lost, for a day or until most are
/// back.
pub(super) fn dropped(snapshot: &Snapshot, facts: &Facts, now: Timestamp) -> Option<Finding> {
    let listed = snapshot.repositories.len() + snapshot.filtered;
    let (since, what) = match facts.repositories_dropped {
        Some(dropped) if listed * 2 < dropped.before => (
            dropped.at,
            format!(
                "Most repositories have left the listing: {} of {} remain",
                grouped(listed),
                grouped(dropped.before)
            ),
        ),
        Some(_) => return None,
        // An earlier process found the loss.
        None => (
            *facts.history.since.get(&ProblemKind::RepositoriesDropped)?,
            "Most repositories have left the listing".to_owned(),
        ),
    };
    (now.since(since) < DAY).then(|| Finding {
        since: Some(since),
        ..Finding::new(Symptom::RepositoriesDropped, what, CHECK_ACCOUNT)
    })
}

/// Returns a finding for a day after responses first deviated from the specification in a new way.
pub(super) fn shape(facts: &Facts, now: Timestamp) -> Option<Finding> {
    let since = *facts.history.since.get(&ProblemKind::ApiShape)?;
    let shapes = facts.history.shapes.iter();
    let seen: Vec<_> = shapes
        .filter(|(_, last)| **last >= since)
        .map(|(shape, _)| format!("{} ({})", shape.label, shape.operation.label()))
        .collect();
    let what = format!(
        "Responses of the API deviate from its specification in a new way: {}",
        seen.join(", ")
    );
    let hint =
        "report the entries that the log names to the API's operators, or update this exporter";
    (now.since(since) < DAY).then(|| Finding {
        since: Some(since),
        ..Finding::new(Symptom::ApiShape, what, hint)
    })
}

/// Returns a finding if the API seems to leave out fields that hold 0 or false, as protobuf's JSON
/// does.
pub(super) fn omitted_zeros(zeros: Zeros) -> Option<Finding> {
    let (completion, private) = (zeros.completion, zeros.private);
    let what = match (completion.suggests_omission(), private.suggests_omission()) {
        (false, false) => return None,
        (true, false) => format!(
            "completion is missing from {}, and none reports 0",
            translations(completion)
        ),
        (false, true) => format!(
            "private is missing from {}, and none reports false",
            repositories(private.absent)
        ),
        (true, true) => format!(
            "completion is missing from {}, private from {}, and no value is 0 or false",
            translations(completion),
            repositories(private.absent)
        ),
    };
    let what = format!("The API seems to leave out zeros: {what}");
    let hint = "if the API leaves out fields that hold 0 or false, set api.omits_zeros to true";
    Some(Finding::new(Symptom::OmittedZeros, what, hint))
}

fn translations(zeros: ZeroCount) -> String {
    counted(zeros.absent, "translation", "translations")
}

/// Returns a finding while the API limits the rate of requests, with the rate that it seems to
/// allow.
pub(super) fn rate_limited(status: &PollStatus) -> Option<Finding> {
    let pace = status.pace?;
    // The proposed rate is rounded down, so that the API does not refuse it again.
    let allowed = ((pace.allowed * 10.0).floor() / 10.0).max(0.1);
    let what = format!(
        "The API limits the rate of requests ({}); it seems to allow {allowed} a second",
        pace.status
    );
    let hint = format!(
        "set api.requests_per_second to {allowed} or less, and raise poll.interval if polls then \
         take longer"
    );
    Some(Finding::new(Symptom::RateLimited, what, &hint))
}

/// Returns a finding if the completions do not fit `scale`. The API does not say whether it reports
/// 0 to 100 or 0 to 1.
pub fn scale(scale: f64, completions: impl Iterator<Item = f64> + Clone) -> Option<Finding> {
    let outside = out_of_scale(scale, completions.clone());
    let (what, hint) = if is_scale_suspect(scale, completions) {
        (
            format!("No completion is above 1, while api.completion_scale is {scale}"),
            "if the API reports 0 to 1, set api.completion_scale to 1",
        )
    } else if outside > 0 {
        let languages = counted(outside, "translation reports", "translations report");
        (
            format!("{languages} a completion below 0 or above api.completion_scale, {scale}"),
            "set api.completion_scale to the completion of a finished translation; a completion \
             below 0 is a mistake of the API",
        )
    } else {
        return None;
    };
    Some(Finding::new(Symptom::CompletionScale, what, hint))
}

/// Returns a finding if entries of `targets` apply to no language. A rename would otherwise lose a
/// target silently.
pub(super) fn unused_targets(snapshot: &Snapshot) -> Option<Finding> {
    let unused = snapshot.unused_targets();
    if unused.is_empty() {
        return None;
    }
    let entries = counted(
        unused.len(),
        "entry of targets applies",
        "entries of targets apply",
    );
    let globs: Vec<_> = unused.iter().map(|entry| entry.globs.as_str()).collect();
    let globs = globs.join("; ");
    let what = format!("{entries} to no language: {globs}");
    let hint = "correct its repositories and languages in the configuration file, or move it above \
                the entry that matches first";
    Some(Finding::new(Symptom::TargetUnused, what, hint))
}
