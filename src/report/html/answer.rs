//! The answer to "may we ship?", in a sentence and by how bad it is.

use super::look::Look;
use crate::{
    diagnosis::{Finding, Symptom},
    domain::{
        Severity,
        readiness::{Due, Totals},
        snapshot::{PollStatus, Snapshot},
    },
    support::{
        clock::Timestamp,
        humanize::{counted, grouped, repositories},
    },
};
use std::collections::BTreeMap;

/// What the page says first.
#[derive(Debug)]
pub struct Answer {
    /// A sentence without its full stop.
    pub sentence: String,
    pub overdue: usize,
    /// The next date that is not met, and how many translations it waits for.
    pub next: Option<(Timestamp, usize)>,
    pub look: Look,
}

impl Answer {
    /// Answers from the totals and the dates of the translations that are shown; `polling` says how current these are.
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
        let unread = snapshot.count(|condition| condition.languages().is_none());
        let all = counted(totals.all, "translation", "translations");
        let (sentence, look) = if totals.all == 0 {
            nothing(snapshot)
        } else if totals.unknown() == totals.all {
            let sentence = "Nobody can say: no completion is known".to_owned();
            (sentence, Look::Degraded)
        } else if overdue > 0 {
            let verb = if overdue == 1 { "is" } else { "are" };
            let sentence = format!(
                "Not ready to ship: {} of {all} {verb} overdue",
                grouped(overdue)
            );
            (sentence, Look::Failing)
        } else if totals.is_ready() && unread > 0 {
            let sentence = format!(
                "Nobody can say yet: {} of {all} ready, and {} not read",
                grouped(totals.ready),
                repositories(unread)
            );
            (sentence, Look::Waiting)
        } else if totals.is_ready() && polling <= Look::Waiting {
            (
                format!("Ready to ship: {} of {all} ready", grouped(totals.ready)),
                Look::Well,
            )
        } else if totals.is_ready() {
            let sentence = format!("As last read, {} of {all} ready", grouped(totals.ready));
            (sentence, Look::Well)
        } else {
            let sentence = format!(
                "Not ready to ship yet: {} of {all} ready",
                grouped(totals.ready)
            );
            (sentence, Look::Waiting)
        };
        let doubt = if totals.stalled > 0 || totals.unknown() > 0 {
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

    /// The title of the tab, besides its mark.
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

/// The answer where no translation is known.
fn nothing(snapshot: &Snapshot) -> (String, Look) {
    let all = snapshot.repositories.len();
    let read = snapshot.count(|condition| condition.languages().is_some());
    if all == 0 {
        let sentence = "Nothing to ship: there is no repository to show";
        (sentence.to_owned(), Look::Waiting)
    } else if read < all {
        let sentence = format!(
            "Nobody can say yet: {} of {} read",
            grouped(read),
            repositories(all)
        );
        (sentence, Look::Waiting)
    } else {
        let sentence = "Nothing to ship: no repository has a language to show";
        (sentence.to_owned(), Look::Waiting)
    }
}

/// How bad the state of polling is. A note that asks nobody to act changes nothing.
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
