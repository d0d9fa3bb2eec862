//! The answer to "may we ship?", and the sentences beside it: what is counted and what is not, and
//! what has changed since last week. Page, table and Markdown say the same.

use super::words::{self, more, percent, ready_count};
use crate::{
    diagnosis::{Finding, Severity, headline},
    domain::{
        NotJudged, TranslationProblem,
        document::{Doubt, Row, Translation, Verdict, View},
    },
    support::{
        clock::DAY,
        humanize::{counted, grouped, repositories},
    },
};
use std::collections::BTreeSet;

/// The maximum number of repositories or translations that a sentence names.
const MOST_NAMED: usize = 3;

/// Answers in a sentence, with the severity of its news.
pub fn answer(view: &View<'_>, findings: &[Finding]) -> (String, Option<Severity>) {
    let (document, totals) = (view.document, &view.totals);
    let overdue = totals.count(TranslationProblem::Overdue);
    if document.rows.is_empty() {
        return (headline(findings, view), Some(Severity::Info));
    }
    if view.rows.is_empty() {
        let sentence = "No known repository and language matches".to_owned();
        return (sentence, Some(Severity::Info));
    }
    let translations = counted(totals.counted, "translation", "translations");
    let ready = match (totals.counted, totals.resting) {
        (0, 0) => "no translation known".to_owned(),
        (0, resting) => format!("{} paused", grouped(resting)),
        _ => format!("{} of {translations} ready", ready_count(totals)),
    };
    let with = |verdict, clauses: Vec<String>| {
        let is_known = totals.with_resting() > 0 || clauses.is_empty();
        let clauses: Vec<_> = is_known
            .then_some(ready)
            .into_iter()
            .chain(clauses)
            .collect();
        format!("{verdict}: {}", clauses.join(", "))
    };
    match view.verdict() {
        Verdict::NotReady if overdue > 0 => {
            let overdue = format!("{} overdue", grouped(overdue));
            (
                with("Not ready to ship", vec![overdue]),
                Some(Severity::Error),
            )
        }
        Verdict::NotReady => (with("Not ready to ship", vec![]), Some(Severity::Info)),
        Verdict::Unknown(_) if document.status.last.is_none() => {
            let why = vec!["the first poll has not ended yet".to_owned()];
            (with("Not known yet", why), Some(Severity::Info))
        }
        Verdict::Unknown(doubts) => {
            let (verdict, news) = match &*doubts {
                [Doubt::Nothing] => ("Nothing to ship", Severity::Info),
                doubts if doubts.iter().all(Doubt::is_of_poll) => ("Not known now", Severity::Info),
                _ => ("Unknown", Severity::Warning),
            };
            let doubts = doubts.iter().map(ToString::to_string).collect();
            (with(verdict, doubts), Some(news))
        }
        Verdict::Ready if totals.counted == 0 => {
            (with("Nothing to ship", vec![]), Some(Severity::Info))
        }
        Verdict::Ready => {
            let left = view.departed().filter(|one| !one.was_ready);
            let left: BTreeSet<_> = left.map(|one| &*one.repository).collect();
            let left: Vec<_> = left.into_iter().map(str::to_owned).collect();
            let left = named(&left);
            let doubt = left.map(|left| format!("but {left} was not ready, and left within a day"));
            let news = doubt.is_some().then_some(Severity::Warning);
            (with("Ready to ship", doubt.into_iter().collect()), news)
        }
    }
}

/// Counts the repositories and languages that the figures are of, and then what they leave out.
pub fn scope(view: &View<'_>) -> String {
    let names = |accepts: &dyn Fn(&Row) -> bool| -> Vec<String> {
        let rows = view.rows.iter().filter(|row| accepts(row));
        rows.map(|row| row.name().to_owned()).collect()
    };
    let document = view.document;
    let has_failed = |row: &Row| row.read_at.is_some() || row.failure.is_some();
    let read = names(&|row| row.is_read());
    let unread = names(&|row| !row.is_read() && !has_failed(row));
    let failed = names(&|row| !row.is_read() && has_failed(row));
    let codes: BTreeSet<_> = view.translations().map(|(_, one)| one.code()).collect();
    let (filtered, unreadable) = if view.is_whole() {
        let unreadable = document.unnamed + document.defects.unreadable();
        (document.filtered, unreadable)
    } else {
        (0, 0)
    };
    let gone: BTreeSet<_> = view.departed().map(|one| &*one.repository).collect();
    let left = view.departed().count();
    let not_counted = counts([
        (filtered, "filtered", vec![]),
        (unreadable, "unreadable", vec![]),
        (failed.len(), "that cannot be read", failed),
        (unread.len(), "not read yet", unread),
        (
            left,
            "that left within a day",
            gone.into_iter().map(str::to_owned).collect(),
        ),
        (view.totals.resting, "paused", vec![]),
    ]);
    let languages = counted(codes.len(), "language", "languages");
    let mut scope = vec![format!("{}, {languages}.", repositories(read.len()))];
    if !not_counted.is_empty() {
        scope.push(format!("Not counted: {not_counted}."));
    }
    let translations = view.translations();
    let known_at = translations
        .filter_map(|(_, one)| view.judged_at(one))
        .max();
    for (why, count) in &view.totals.not_judged {
        let words = match known_at.filter(|_| *why == NotJudged::TooEarly) {
            Some(at) => format!("pace known on {}", words::date(at, document.taken_at)),
            None => why.words().to_owned(),
        };
        scope.push(format!("{} not judged: {words}.", grouped(*count)));
    }
    scope.join(" ")
}

/// Says what has changed since the readings of last week; `None` in the first day.
pub fn changed(view: &View<'_>) -> Option<String> {
    let translations = view.translations();
    let readings = translations
        .clone()
        .filter_map(|(_, one)| Some(one.earlier?.at));
    let (since, now) = (readings.min()?, view.document.taken_at);
    if now.since(since) < DAY {
        return None;
    }
    let became = |state| {
        let entered = |(_, one): &(_, &Translation)| {
            let earlier = one.earlier.map(|earlier| earlier.ratio);
            one.became(earlier, since) == Some(state)
        };
        translations.clone().filter(entered).count()
    };
    let fell = translations.clone().filter_map(|(row, one)| {
        let fall = one
            .fall
            .as_ref()
            .filter(|_| one.has(TranslationProblem::Regressed))?;
        let (from, to) = (percent(Some(fall.ratio)), percent(one.ratio));
        Some(format!("{} of {}, {from} to {to}", one.code(), row.name()))
    });
    let fell: Vec<_> = fell.collect();
    let changes = [
        (fell.len(), "fell", fell),
        (became("overdue"), "became overdue", vec![]),
        (became("unready"), "no longer ready", vec![]),
        (became("ready"), "became ready", vec![]),
    ];
    let changes = counts(changes);
    let changes = if changes.is_empty() {
        "nothing became ready or overdue, or fell"
    } else {
        &changes
    };
    Some(format!("Since {}: {changes}.", words::date(since, now)))
}

/// Joins the counts that are not 0, each with the first of its names.
fn counts(counts: impl IntoIterator<Item = (usize, &'static str, Vec<String>)>) -> String {
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let counts = counts.map(|(count, words, names)| match named(&names) {
        Some(names) => format!("{} {words} ({names})", grouped(count)),
        None => format!("{} {words}", grouped(count)),
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn named(names: &[String]) -> Option<String> {
    let (first, others) = names.split_at(names.len().min(MOST_NAMED));
    let first = first.iter().cloned().chain(more(others.len()));
    (!names.is_empty()).then(|| first.collect::<Vec<_>>().join(", "))
}

/// Says how many of a selection are ready, how many will be and by when, and how many do not move.
pub fn sum(view: &View<'_>, name: &str) -> String {
    let (totals, now) = (&view.totals, view.document.taken_at);
    let translations = view.translations().map(|(_, one)| one);
    let expected = translations.clone().filter_map(|one| one.estimated_ready);
    let more = grouped(expected.clone().count());
    let more = expected
        .max()
        .map(|last| format!("{more} more by {}", words::date(last, now)));
    let idle = translations.filter(|one| words::does_not_move(one, now));
    let idle = match idle.count() {
        0 => None,
        count => Some(format!("{} do not move", grouped(count))),
    };
    let rest: Vec<_> = more.into_iter().chain(idle).collect();
    let ready = format!(
        "{} of {} ready",
        ready_count(totals),
        grouped(totals.counted)
    );
    let rest = rest.join(", ");
    format!("{name}: {ready}; {rest}")
        .trim_end_matches("; ")
        .to_owned()
}
