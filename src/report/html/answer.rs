//! The answer to "may we ship?": a sentence and its look.

use super::{data::View, look::Look};
use crate::{
    domain::{
        PollFailure, TranslationProblem,
        readiness::{Due, Totals},
        snapshot::Condition,
    },
    support::{
        clock::Timestamp,
        humanize::{counted, grouped, repositories},
    },
};
use std::collections::BTreeMap;

/// The first sentence of the page, with the figures beside it.
#[derive(Debug)]
pub struct Answer {
    /// A sentence without its full stop.
    pub sentence: String,
    pub overdue: usize,
    /// The next date that some translations miss so far, and their number.
    pub next: Option<(Timestamp, usize)>,
    pub look: Look,
}

impl Answer {
    /// Answers from the totals and the dates of the shown translations: those of `language`, or
    /// all.
    pub fn new(
        view: &View<'_>,
        totals: &Totals,
        dates: &BTreeMap<Timestamp, Due<'_>>,
        language: Option<&str>,
    ) -> Self {
        let behind = |due: &Due<'_>| due.totals.behind();
        let overdue = totals.count(TranslationProblem::Overdue);
        let next = dates
            .range(view.snapshot.taken_at..)
            .find(|(_, due)| behind(due) > 0)
            .map(|(at, due)| (*at, behind(due)));
        let (sentence, look) = match totals.all {
            0 => (nothing(view, language), Look::Waiting),
            _ => sentence(view, totals, overdue),
        };
        let doubt = if totals.problems().count() > 0 || totals.unknown() > 0 {
            Look::Degraded
        } else {
            Look::Well
        };
        Self {
            sentence,
            overdue,
            next,
            look: look.max(doubt).max(view.doubts()),
        }
    }

    /// Returns the title of the tab, without its mark.
    pub fn title(&self, totals: &Totals) -> String {
        let ready = format!("{}/{} ready", grouped(totals.ready), grouped(totals.all));
        match (self.overdue, totals.count(TranslationProblem::Stalled)) {
            _ if totals.all == 0 => "Nothing to show".to_owned(),
            (0, 0) => ready,
            (0, stalled) => format!("{ready}, {} stalled", grouped(stalled)),
            (overdue, _) => format!("{ready}, {} overdue", grouped(overdue)),
        }
    }
}

/// Returns the answer as a sentence, and its look apart from stalled and unknown translations.
fn sentence(view: &View<'_>, totals: &Totals, overdue: usize) -> (String, Look) {
    let unread = view.snapshot.count(|one| one.languages().is_none());
    let is_old = view.is_old();
    let (ready, all) = (
        grouped(totals.ready),
        counted(totals.all, "translation", "translations"),
    );
    let not_read = match unread {
        0 => String::new(),
        unread => format!(", {} not read", repositories(unread)),
    };
    let is_outage = is_old && view.polling() == Look::Failing;
    let (then, yet) = if is_outage {
        (" when last read", " when last read")
    } else {
        ("", " yet")
    };
    if totals.unknown() == totals.all {
        let sentence = "Unknown: the API reports no completion";
        return (sentence.to_owned(), Look::Degraded);
    }
    if overdue > 0 {
        let verb = match (is_outage, overdue) {
            (true, 1) => "was",
            (true, _) => "were",
            (false, 1) => "is",
            (false, _) => "are",
        };
        let overdue = grouped(overdue);
        let sentence = format!("Not ready to ship{then}: {overdue} of {all} {verb} overdue");
        return (sentence, Look::Failing);
    }
    // Nothing is known to be unready.
    if !is_outage && totals.unknown() > 0 && totals.unknown() == totals.behind() {
        let unknown = grouped(totals.unknown());
        let sentence = format!("Unknown: {unknown} of {all} have no completion, {ready} ready");
        return (sentence, Look::Degraded);
    }
    if !totals.is_ready() {
        let sentence = format!("Not ready to ship{yet}: {ready} of {all} ready{not_read}");
        return (sentence, Look::Waiting);
    }
    if unread > 0 {
        let sentence = format!("Not known yet: {ready} of {all} ready{not_read}");
        return (sentence, Look::Waiting);
    }
    if is_old {
        let were = if totals.all == 1 { "was" } else { "were" };
        let sentence = format!("Not known now: when last read, {ready} of {all} {were} ready");
        return (sentence, Look::Well);
    }
    (format!("Ready to ship: {ready} of {all} ready"), Look::Well)
}

/// Returns the sentence for a page without translations. Only a complete listing, with all of its
/// repositories read, proves that there is nothing to ship.
fn nothing(view: &View<'_>, language: Option<&str>) -> String {
    let snapshot = view.snapshot;
    let all = snapshot.repositories.len();
    let read = snapshot.count(|condition| condition.languages().is_some());
    let is_old = view.is_old();
    let yet = if is_old { "" } else { " yet" };
    if all == 0 {
        return match &view.status.last {
            None => "Not known yet: nothing has been read so far",
            Some(last) if last.cut_short().is_some() => match last.failure() {
                Some(PollFailure::Unauthorized) => "Unknown: the API refuses the key",
                Some(PollFailure::KeyFile) => "Unknown: the API key cannot be read",
                Some(PollFailure::Unavailable) => "Unknown: the API is unavailable",
                _ => "Unknown: the repositories could not be listed",
            },
            Some(_) if snapshot.filtered > 0 => {
                "Nothing to ship: the filters leave out every repository"
            }
            Some(_) if snapshot.unnamed > 0 => "Unknown: no repository has a readable name",
            Some(_) => "Nothing to ship: the account has no repositories",
        }
        .to_owned();
    }
    let is_stale = |condition: &Condition| matches!(condition, Condition::Stale { .. });
    if read == 0 && snapshot.count(is_stale) > 0 {
        return "Unknown: the last data are too old to show".to_owned();
    }
    if read == 0 && is_old {
        return "Unknown: no repository could be read".to_owned();
    }
    match language {
        Some(code) if read < all => {
            format!("Not known{yet}: no repository read so far has the language “{code}”")
        }
        Some(code) => format!("No repository has the language “{code}”"),
        None if read < all => format!(
            "Unknown{yet}: {} of {} read",
            grouped(read),
            repositories(all)
        ),
        None => "Nothing to ship: no repository has a language to show".to_owned(),
    }
}
