//! Findings about the data that are shown.

use super::{Finding, ProblemKind, Severity};
use crate::{
    domain::{
        Operation, Reason, State,
        document::{Document, Row, Translation, row_of},
        polling::PollOutcome,
    },
    support::{
        clock::Timestamp,
        humanize::{SOME, counted, grouped, named, repositories},
    },
};
use std::iter::once;

/// Returns a finding if the data of repositories are stale, or if repositories that were never
/// read have failed for as long. The first poll may still read data that grew old while no process
/// ran.
pub(super) fn stale(document: &Document, now: Timestamp) -> Option<Finding> {
    document.last_poll()?;
    let stale_after = document.settings.stale_after;
    let begins = document.rows.iter().filter_map(|row| match row.state {
        State::Stale => Some(row.read_at?.saturating_add(stale_after)),
        // The finding about the outage covers the failures that come with it.
        State::Pending if row.read_at.is_none() && !document.status.is_outage() => row
            .failing_since
            .filter(|since| now.since(*since) > stale_after),
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
        since: Some(begins.into_iter().min()?),
        ..Finding::new(ProblemKind::DataStale, what, hint)
    })
}

/// Returns a finding if repositories fail without an outage of the whole API: of severity info if
/// they are few.
pub(super) fn failing(document: &Document) -> Option<Finding> {
    let status = &document.status;
    if status.is_outage() {
        return None;
    }
    let failing = document.rows.iter().filter(|row| row.failure.is_some());
    let longest = failing.clone().min_by_key(|row| row.failing_since)?;
    let count = grouped(failing.clone().count());
    let all = repositories(document.rows.len());
    let names = named(failing.map(Row::name), SOME)?;
    let what = format!("{count} of {all} cannot be read: {names}");
    let is_few = status.last.as_ref().is_some_and(PollOutcome::is_well);
    Some(Finding {
        severity: if is_few {
            Severity::Info
        } else {
            Severity::Warning
        },
        since: longest.failing_since,
        ..Finding::of(ProblemKind::PollsFailing, what, longest.failure.as_ref()?)
    })
}

/// Returns the reason why no repository is shown, if none is.
pub(super) fn nothing_selected(document: &Document) -> Option<Finding> {
    if !document.rows.is_empty() || !document.selection.is_everything() {
        return None;
    }
    let all = document.filtered.len();
    let (what, hint) = if all > 0 {
        (
            &*format!(
                "The filters leave out every repository, {} in all",
                grouped(all)
            ),
            "change filter.include, filter.exclude or filter.private; the last needs \
             api.omits_zeros if the API leaves out false",
        )
    } else if document.unreadable() > 0 {
        (
            "No entry of the listing could be used",
            "report the bad entries to the API's operators",
        )
    } else {
        (
            "The account of this key has no repositories",
            "connect repositories to it, or use the key of another account",
        )
    };
    Some(Finding::new(ProblemKind::NoRepositories, what, hint))
}

pub(super) fn unconfirmed(document: &Document) -> Option<Finding> {
    let gone = Some(document.unconfirmed).filter(|gone| *gone > 0)?;
    let what = format!(
        "The last listing lacks {}, more than half; their data stay until the next listing \
         confirms the removal",
        repositories(gone)
    );
    let hint = "check that the key belongs to the right account; if the repositories were removed \
                on purpose, there is nothing to do";
    Some(Finding::new(ProblemKind::RemovalUnconfirmed, what, hint))
}

/// Returns a finding while current responses cannot be decoded, or have bad entries: of severity
/// info if none of them can be a repository or a completion.
pub(super) fn shape(document: &Document) -> Option<Finding> {
    let last = document.last_poll();
    let stop = last.and_then(|last| last.stop.as_ref());
    let what = "Responses of the API deviate from its specification";
    let of_listing = stop.map(|stop| (stop.request, Some(&stop.failure)));
    let of_rows = document
        .rows
        .iter()
        .map(|row| (row.reason, row.failure.as_ref()));
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
    let of_rows = document
        .rows
        .iter()
        .map(|row| (row.name(), &row.defects, Operation::ListLanguages));
    let (grave, mild): (Vec<_>, Vec<_>) = once(of_listing)
        .chain(of_rows)
        .filter(|(_, defects, _)| !defects.0.is_empty())
        .partition(|(_, defects, operation)| {
            let mut kinds = defects.0.keys();
            kinds.any(|defect| defect.hides_data(*operation))
        });
    let mut read = just_read(document).peekable();
    let is_ended = last.is_some() && stop.is_none();
    let is_whole = is_ended && document.selection.has_all_translations();
    let has_read = grave.is_empty() && is_whole && read.peek().is_some();
    if has_read && read.all(|translation| translation.completion.is_none()) {
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
    let bad = bad
        .iter()
        .map(|(of, defects, _)| format!("{of}: {defects}"));
    let what = format!("{what}: {effect} may be missing");
    let hint = "report these entries to the API's operators, or update this exporter";
    Some(Finding {
        severity,
        detail: Some(named(bad, SOME)?.into()),
        ..Finding::new(ProblemKind::ApiShape, what, hint)
    })
}

/// Returns the listed translations of the repositories that the last poll, or the one under way,
/// has read.
fn just_read(document: &Document) -> impl Iterator<Item = &Translation> {
    let rows = document.rows.iter().filter(|row| row.is_current());
    rows.flat_map(Row::translations)
        .filter(|translation| !translation.is_missing)
}

/// Returns a finding if the API seems to leave out completions of 0, as protobuf's JSON does.
/// Before the end of a poll that requested everything, a first absent completion says nothing.
pub(super) fn omitted_zeros(document: &Document) -> Option<Finding> {
    let has_some = just_read(document).any(|translation| translation.completion.is_some());
    if document.last_poll()?.stop.is_some() || document.omitted_zeros == 0 || !has_some {
        return None;
    }
    let what = format!(
        "The API seems to leave out zeros: completion is missing from {}, and none reports 0",
        counted(document.omitted_zeros, "translation", "translations")
    );
    let hint = "if the API leaves out fields that hold 0 or false, set api.omits_zeros to true";
    Some(Finding::new(ProblemKind::OmittedZeros, what, hint))
}

/// Returns a finding if languages have left repositories that are still listed.
pub(super) fn languages_gone(document: &Document) -> Option<Finding> {
    let rows = &document.rows;
    let gone: Vec<_> = document
        .departed()
        .filter(|departed| row_of(rows, &departed.repository).is_some())
        .map(|departed| format!("{} of {}", departed.language, departed.repository))
        .collect();
    let languages = counted(gone.len(), "language", "languages");
    let hint = "if nobody removed them, ask the API's operators; they go on where they left if \
                they come back within 30 days";
    Some(Finding {
        detail: Some(named(gone, 10)?.into()),
        ..Finding::new(
            ProblemKind::LanguagesGone,
            format!("{languages} left within a day"),
            hint,
        )
    })
}

/// Returns a finding if completions do not fit the scale. The API does not say whether it reports
/// 0 to 100 or 0 to 1.
pub(super) fn scale(document: &Document) -> Option<Finding> {
    let scale = document.settings.scale.finished;
    let outside = document.out_of_scale();
    let (what, hint) = if document.is_scale_suspect {
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
pub(super) fn unused_targets(document: &Document) -> Option<Finding> {
    let unused = document.unused_targets();
    let what = format!(
        "{} to no language: {}",
        counted(
            unused.len(),
            "entry of targets applies",
            "entries of targets apply",
        ),
        unused.join("; ")
    );
    let hint = "correct its repositories and languages in the configuration file, or move it above \
                the entry that matches first";
    (!unused.is_empty()).then(|| Finding::new(ProblemKind::TargetUnused, what, hint))
}

/// Returns a finding if excluding globs of `filter` match nothing. A misspelt one would publish a
/// private repository silently.
pub(super) fn unused_globs(document: &Document) -> Option<Finding> {
    let what = format!(
        "The excluding filters match nothing with {}",
        named(document.unused_globs(), SOME)?
    );
    let hint = "correct the glob in the configuration file, unless it excludes in advance";
    Some(Finding::new(ProblemKind::FilterUnused, what, hint))
}
