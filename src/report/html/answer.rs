//! The answer to "may we ship?": a sentence and its look.

use super::{look::Look, view::View};
use crate::{
    domain::{
        PollFailure, TranslationProblem, document::Document, polling::PollOutcome,
        snapshot::Condition,
    },
    support::humanize::{counted, grouped, repositories},
};

/// Answers for the chosen part of the document: with the first sentence whose condition holds.
#[expect(
    clippy::too_many_lines,
    reason = "one table of conditions and sentences"
)]
pub fn answer(view: &View<'_>, chosen: &Document) -> (String, Look) {
    let totals = &chosen.totals;
    let (unread, overdue) = (chosen.unread(), totals.count(TranslationProblem::Overdue));
    let (ready, unknown) = (grouped(totals.ready), grouped(totals.unknown));
    let all = counted(totals.all, "translation", "translations");
    let not_read = match unread {
        0 => String::new(),
        unread => format!(", {} without current data", repositories(unread)),
    };
    let answers = [
        (totals.all == 0, Look::Waiting, nothing(view, chosen)),
        (
            chosen.is_scale_suspect,
            Look::Degraded,
            "Unknown: api.completion_scale does not fit the completions".to_owned(),
        ),
        (
            totals.unknown == totals.all,
            Look::Degraded,
            "Unknown: the API reports no completion".to_owned(),
        ),
        (
            overdue > 0,
            Look::Failing,
            format!(
                "Not ready to ship: {} of {all} overdue{not_read}",
                grouped(overdue)
            ),
        ),
        (
            totals.behind() > totals.unknown,
            Look::Waiting,
            format!("Not ready to ship: {ready} of {all} ready{not_read}"),
        ),
        (
            totals.unknown > 0,
            Look::Degraded,
            format!("Unknown: {unknown} of {all} without a completion, {ready} ready{not_read}"),
        ),
        (
            unread > 0,
            Look::Waiting,
            format!("Not known yet: {ready} of {all} ready{not_read}"),
        ),
        (
            view.is_outdated(),
            Look::Well,
            format!("Not known now: {ready} of {all} ready at the last read"),
        ),
        (
            true,
            Look::Well,
            format!("Ready to ship: {ready} of {all} ready"),
        ),
    ];
    let (_, look, sentence) = answers
        .into_iter()
        .find(|(holds, ..)| *holds)
        .unwrap_or_default();
    let doubt = if totals.problems().count() > 0 || totals.unknown > 0 {
        Look::Degraded
    } else {
        Look::Well
    };
    (sentence, look.max(doubt).max(view.doubts()))
}

/// Returns the sentence for a page without translations to ship. Only a complete listing, with all
/// of its repositories read, proves that there is nothing.
#[expect(
    clippy::too_many_lines,
    reason = "one table of conditions and sentences"
)]
fn nothing(view: &View<'_>, chosen: &Document) -> String {
    let document = view.document;
    let last = document.status.last.as_ref();
    let failure = last
        .filter(|last| last.cut_short().is_some())
        .and_then(PollOutcome::failure);
    let (rows, unread) = (chosen.rows.len(), chosen.unread());
    let is_stale = |condition: &Condition| matches!(condition, Condition::Stale { .. });
    let resting = counted(
        chosen.totals.resting,
        "translation rests",
        "translations rest",
    );
    let of_rows = format!(
        "Unknown: {} of {} read",
        grouped(rows - unread),
        repositories(rows)
    );
    let account = document.rows.is_empty();
    let answers = [
        (
            account && last.is_none(),
            "Not known yet: nothing has been read so far",
        ),
        (
            failure == Some(PollFailure::Unauthorized),
            "Unknown: the API refuses the key",
        ),
        (
            failure == Some(PollFailure::KeyFile),
            "Unknown: the API key cannot be read",
        ),
        (
            failure == Some(PollFailure::Unavailable),
            "Unknown: the API is unavailable",
        ),
        (
            account && failure.is_some(),
            "Unknown: the repositories could not be listed",
        ),
        (
            account && document.filtered > 0,
            "Nothing to ship: the filters leave out every repository",
        ),
        (
            account && document.unnamed > 0,
            "Unknown: no repository has a readable name",
        ),
        (account, "Nothing to ship: the account has no repositories"),
        (
            rows == 0 && !document.is_listed(),
            "Unknown: no repository and language listed so far matches",
        ),
        (
            rows == 0,
            "Nothing to ship: no repository and language matches",
        ),
        (
            unread == rows && chosen.count(is_stale) > 0,
            "Unknown: the last data are too old to show",
        ),
        (unread > 0, &of_rows),
        (chosen.totals.resting > 0, &resting),
        (
            true,
            "Nothing to ship: no repository has a language to show",
        ),
    ];
    let answer = answers.iter().find(|(holds, _)| *holds);
    answer
        .map(|(_, sentence)| (*sentence).to_owned())
        .unwrap_or_default()
}
