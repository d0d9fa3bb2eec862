//! Findings about the data that are shown.

use super::{Finding, ProblemKind, Severity};
use crate::{
    domain::{
        Operation, Reason, State,
        document::{Document, Row, Translation, View, row_of},
        polling::PollOutcome,
    },
    support::{
        clock::Timestamp,
        humanize::{SOME, counted, grouped, named, repositories},
    },
};
use std::iter::once;

/// The hint for a listing that has lost most repositories.
const CHECK_ACCOUNT: &str = "check that the key belongs to the right account; \
     if the repositories were removed on purpose, there is nothing to do";

/// Returns a finding if the data of repositories are stale, or if repositories that were never
/// read have failed for as long. The first poll may still read data that grew old while no process
/// ran.
pub(super) fn stale(view: &View<'_>, now: Timestamp) -> Option<Finding> {
    let document = view.document;
    let status = &document.status;
    status.last.as_ref()?;
    let stale_after = document.settings.stale_after;
    let begins = view
        .rows
        .iter()
        .filter_map(|row| match (row.state, row.read_at) {
            (State::Stale, Some(read_at)) => Some(read_at.saturating_add(stale_after)),
            // The finding about the outage covers the failures that come with it.
            (State::Pending, None) if !status.is_outage() => {
                let has_failed_for_long = |since: &Timestamp| now.since(*since) > stale_after;
                row.failing_since.filter(has_failed_for_long)
            }
            _ => None,
        });
    let begins: Vec<_> = begins.collect();
    let what = format!(
        "The data of {} are stale, and no longer in the metrics, or were never read",
        repositories(begins.len())
    );
    let hint = "this ends with its cause: the failed reads";
    Some(Finding {
        severity: Severity::Error,
        since: Some(*begins.iter().min()?),
        ..Finding::new(ProblemKind::DataStale, what, hint)
    })
}

/// Returns a finding if repositories fail without an outage of the whole API: of severity info if
/// they are few.
pub(super) fn failing(view: &View<'_>) -> Option<Finding> {
    let status = &view.document.status;
    if status.is_outage() {
        return None;
    }
    let failing = view.rows.iter().filter(|row| row.failure.is_some());
    let longest = failing.clone().min_by_key(|row| row.failing_since)?;
    let (all, names) = (
        repositories(view.rows.len()),
        failing.clone().map(Row::name),
    );
    let (count, names) = (grouped(failing.count()), named(names, SOME)?);
    let what = format!("{count} of {all} cannot be read: {names}");
    let finding = Finding::of(ProblemKind::PollsFailing, what, longest.failure.as_ref()?);
    let is_few = status.last.as_ref().is_some_and(PollOutcome::is_well);
    Some(Finding {
        severity: if is_few {
            Severity::Info
        } else {
            finding.severity
        },
        since: longest.failing_since,
        ..finding
    })
}

/// Returns the reason why no repository is shown, if none is.
pub(super) fn nothing_selected(document: &Document) -> Option<Finding> {
    if !document.rows.is_empty() {
        return None;
    }
    let (what, hint) = match (document.filtered.len(), document.unreadable()) {
        (0, 0) => (
            "The account of this key has no repositories".to_owned(),
            "connect repositories to it, or use the key of another account",
        ),
        (0, _) => (
            "No entry of the listing could be used".to_owned(),
            "report the bad entries to the API's operators",
        ),
        (all, _) => (
            format!(
                "The filters leave out every repository, {} in all",
                grouped(all)
            ),
            "change filter.include, filter.exclude or filter.private; the last needs \
             api.omits_zeros if the API leaves out false",
        ),
    };
    Some(Finding::new(ProblemKind::NoRepositories, what, hint))
}

pub(super) fn unconfirmed(document: &Document) -> Option<Finding> {
    if document.unconfirmed == 0 {
        return None;
    }
    let gone = repositories(document.unconfirmed);
    let what = format!(
        "The last listing lacks {gone}, more than half; their data stay until the next listing \
         confirms the removal"
    );
    Some(Finding::new(
        ProblemKind::RemovalUnconfirmed,
        what,
        CHECK_ACCOUNT,
    ))
}

/// Returns a finding while current responses cannot be decoded, or have bad entries: of severity
/// info if none of them can be a repository or a completion.
pub(super) fn shape(view: &View<'_>) -> Option<Finding> {
    let document = view.document;
    let last = document.last_poll();
    let rows = view.rows.iter();
    let what = "Responses of the API deviate from its specification";
    let of_listing = last.and_then(|last| last.stop.as_ref());
    let of_listing = of_listing.map(|stop| (stop.request, Some(&stop.failure)));
    let of_rows = rows.clone().map(|row| (row.reason, row.failure.as_ref()));
    for (reason, failure) in of_listing.into_iter().chain(of_rows) {
        if let Some(Reason::Decode | Reason::Cursor) = reason {
            return Some(Finding::of(ProblemKind::ApiShape, what, failure?));
        }
    }
    let of_listing = (
        "the listing",
        &document.defects,
        Operation::ListRepositories,
    );
    let of_rows = rows.map(|row| (row.name(), &row.defects, Operation::ListLanguages));
    let bad = once(of_listing).chain(of_rows);
    let bad = bad.filter(|(_, defects, _)| !defects.0.is_empty());
    let (grave, mild): (Vec<_>, Vec<_>) = bad.partition(|(_, defects, operation)| {
        let mut kinds = defects.0.keys();
        kinds.any(|defect| defect.hides_data(*operation))
    });
    let mut read = just_read(document).peekable();
    let is_ended = last.is_some_and(|last| last.stop.is_none());
    let has_any = grave.is_empty() && is_ended && read.peek().is_some();
    if has_any && read.all(|translation| translation.completion.is_none()) {
        let what = "The last poll read translations and no completion: the field has another \
                    name, or the API leaves out zeros and nothing is translated yet";
        let hint = "if the API's own site shows progress, the field has another name: update this \
                    exporter; otherwise the first progress will tell";
        return Some(Finding::new(ProblemKind::ApiShape, what, hint));
    }
    let (severity, effect, bad) = if grave.is_empty() {
        (Severity::Info, "names, times or visibilities", mild)
    } else {
        (Severity::Warning, "completions", grave)
    };
    let bad = named(
        bad.iter()
            .map(|(of, defects, _)| format!("{of}: {defects}")),
        SOME,
    )?;
    let hint = "report these entries to the API's operators, or update this exporter";
    Some(Finding {
        severity,
        detail: Some(bad.into()),
        ..Finding::new(
            ProblemKind::ApiShape,
            format!("{what}: {effect} may be missing"),
            hint,
        )
    })
}

/// Returns the listed translations of the repositories that the last poll, or the one under way,
/// has read.
fn just_read(document: &Document) -> impl Iterator<Item = &Translation> {
    let rows = document.rows.iter().filter(|row| row.is_current());
    let translations = rows.flat_map(Row::translations);
    translations.filter(|translation| !translation.is_missing)
}

/// Returns a finding if the API seems to leave out completions of 0, as protobuf's JSON does.
/// Before the end of a poll that requested everything, a first absent completion says nothing.
pub(super) fn omitted_zeros(document: &Document) -> Option<Finding> {
    let last = document.last_poll()?;
    let mut read = just_read(document);
    let has_some = read.any(|translation| translation.completion.is_some());
    if last.stop.is_some() || document.omitted_zeros == 0 || !has_some {
        return None;
    }
    let translations = counted(document.omitted_zeros, "translation", "translations");
    let what = format!(
        "The API seems to leave out zeros: completion is missing from {translations}, and none \
         reports 0"
    );
    let hint = "if the API leaves out fields that hold 0 or false, set api.omits_zeros to true";
    Some(Finding::new(ProblemKind::OmittedZeros, what, hint))
}

/// Returns a finding if languages have left repositories that are still listed.
pub(super) fn languages_gone(view: &View<'_>) -> Option<Finding> {
    let rows = &view.document.rows;
    let gone = view
        .departed()
        .filter(|one| row_of(rows, &one.repository).is_some());
    let gone: Vec<_> = gone
        .map(|one| format!("{} of {}", one.language, one.repository))
        .collect();
    let all = counted(gone.len(), "language", "languages");
    let what = format!("{all} left within a day");
    let names = named(gone, 10)?;
    let hint = "if nobody removed them, ask the API's operators; they go on where they left if \
                they come back within 30 days";
    Some(Finding {
        detail: Some(names.into()),
        ..Finding::new(ProblemKind::LanguagesGone, what, hint)
    })
}

/// Returns a finding if completions do not fit the scale. The API does not say whether it reports
/// 0 to 100 or 0 to 1.
pub(super) fn scale(view: &View<'_>) -> Option<Finding> {
    let scale = view.document.settings.scale.finished;
    let outside = view.out_of_scale();
    let (what, hint) = if view.document.is_scale_suspect {
        (
            format!("No completion is above 1, while api.completion_scale is {scale}"),
            "set api.completion_scale: to 1 if the API reports 0 to 1, to 100 if translations truly \
             stand at 0 or 1 %",
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
    Some(Finding::new(ProblemKind::CompletionScale, what, hint))
}

/// Returns a finding if entries of `targets` apply to no language. A rename would otherwise lose a
/// target silently.
pub(super) fn unused_targets(view: &View<'_>) -> Option<Finding> {
    let unused = view.unused_targets();
    if unused.is_empty() {
        return None;
    }
    let entries = counted(
        unused.len(),
        "entry of targets applies",
        "entries of targets apply",
    );
    let globs: Vec<_> = unused.iter().map(|entry| entry.globs()).collect();
    let globs = globs.join("; ");
    let what = format!("{entries} to no language: {globs}");
    let hint = "correct its repositories and languages in the configuration file, or move it above \
                the entry that matches first";
    Some(Finding::new(ProblemKind::TargetUnused, what, hint))
}
