//! The answer to "may we ship?": a sentence and its look.

use super::look::Look;
use crate::{
    diagnosis::{Finding, Symptom},
    domain::{
        Severity,
        readiness::{Deadline, Due, Totals},
        snapshot::{PollStatus, Snapshot},
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
    /// Answers from the totals and the dates of the shown translations. `polling` is the look of
    /// the polls, which decides how far these figures can be trusted.
    pub fn new(
        snapshot: &Snapshot,
        totals: &Totals,
        dates: &BTreeMap<Timestamp, Due<'_>>,
        polling: Look,
        now: Timestamp,
    ) -> Self {
        let behind = |due: &Due<'_>| due.totals.behind();
        let overdue = dates.range(..now).map(|(_, due)| behind(due)).sum();
        let next = dates
            .range(now..)
            .find(|(_, due)| behind(due) > 0)
            .map(|(at, due)| (*at, behind(due)));
        let (sentence, look) = sentence(snapshot, totals, overdue, polling);
        let deadline = next.map(|(at, _)| Deadline::of(at, false, now));
        let is_near = matches!(deadline, Some(Deadline::AtRisk));
        let doubt = if is_near || totals.stalled > 0 || totals.unknown() > 0 {
            Look::Degraded
        } else {
            Look::Well
        };
        Self {
            sentence,
            overdue,
            next,
            look: look.max(doubt).max(polling),
        }
    }

    /// Returns the title of the tab, without its mark.
    pub fn title(&self, totals: &Totals) -> String {
        let ready = format!("{}/{} ready", grouped(totals.ready), grouped(totals.all));
        match (self.overdue, totals.stalled) {
            _ if totals.all == 0 => "Nothing to show".to_owned(),
            (0, 0) => ready,
            (0, stalled) => format!("{ready}, {} stalled", grouped(stalled)),
            (overdue, _) => format!("{ready}, {} overdue", grouped(overdue)),
        }
    }
}

/// Returns the answer as a sentence, and its look apart from stalled and unknown translations.
fn sentence(snapshot: &Snapshot, totals: &Totals, overdue: usize, polling: Look) -> (String, Look) {
    let unread = snapshot.count(|condition| condition.languages().is_none());
    let (ready, all) = (
        grouped(totals.ready),
        counted(totals.all, "translation", "translations"),
    );
    let not_read = match unread {
        0 => String::new(),
        unread => format!(", {} not read", repositories(unread)),
    };
    let is_old = polling == Look::Failing;
    let (then, yet) = if is_old {
        (" when last read", " when last read")
    } else {
        ("", " yet")
    };
    if totals.all == 0 {
        return nothing(snapshot);
    }
    if totals.unknown() == totals.all {
        let sentence = "Unknown: the API reports no completion";
        return (sentence.to_owned(), Look::Degraded);
    }
    if overdue > 0 {
        let verb = match (is_old, overdue) {
            (true, 1) => "was",
            (true, _) => "were",
            (false, 1) => "is",
            (false, _) => "are",
        };
        let overdue = grouped(overdue);
        let sentence = format!("Not ready to ship{then}: {overdue} of {all} {verb} overdue");
        return (sentence, Look::Failing);
    }
    if !totals.is_ready() {
        let sentence = format!("Not ready to ship{yet}: {ready} of {all} ready{not_read}");
        return (sentence, Look::Waiting);
    }
    if unread > 0 {
        let sentence = format!("Unknown yet: {ready} of {all} ready{not_read}");
        return (sentence, Look::Waiting);
    }
    if polling > Look::Waiting {
        let sentence = format!("Unknown now: when last read, {ready} of {all} ready");
        return (sentence, Look::Well);
    }
    (format!("Ready to ship: {ready} of {all} ready"), Look::Well)
}

/// Answers where no translation is known.
fn nothing(snapshot: &Snapshot) -> (String, Look) {
    let all = snapshot.repositories.len();
    let read = snapshot.count(|condition| condition.languages().is_some());
    if all == 0 {
        let sentence = "Nothing to ship: there is no repository to show";
        (sentence.to_owned(), Look::Waiting)
    } else if read < all {
        let sentence = format!(
            "Unknown yet: {} of {} read",
            grouped(read),
            repositories(all)
        );
        (sentence, Look::Waiting)
    } else {
        let sentence = "Nothing to ship: no repository has a language to show";
        (sentence.to_owned(), Look::Waiting)
    }
}

/// Returns the look of polling. A finding of severity info asks nobody to act, and counts as well.
pub fn polling(findings: &[Finding], status: &PollStatus) -> Look {
    let looks = findings.iter().map(|finding| match finding.symptom {
        Symptom::Undecided => Look::Waiting,
        symptom => match symptom.severity() {
            Severity::Error => Look::Failing,
            Severity::Warning => Look::Degraded,
            Severity::Info => Look::Well,
        },
    });
    let has_failed = status.last.as_ref().is_some_and(|last| !last.is_success());
    let last = if has_failed {
        Look::Degraded
    } else {
        Look::Well
    };
    looks.max().unwrap_or(Look::Well).max(last)
}
