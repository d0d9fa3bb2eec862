//! Is it well? What fails, since when, and what to do.

use super::{
    table::{self, Row},
    when::Rough,
};
use crate::{
    exposition::Published,
    model::Failure,
    model::Timestamp,
    snapshot::{Condition, PollOutcome, Snapshot},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, btree_map::Entry},
};

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Well,
    /// Nothing is wrong, and nothing is known yet.
    Waiting,
    /// Something is not as it should be, and what is shown is good.
    Degraded,
    /// What is shown is old, or not all.
    Failing,
}

/// Something that goes wrong, for people; repositories with the same hint are one.
#[derive(Debug, PartialEq, Eq)]
pub struct Attention<'a> {
    /// What it is about, some of it: repositories' names, or the exporter itself.
    pub subjects: Vec<&'a str>,
    /// Subjects beyond those.
    pub more: usize,
    /// Of several, the first.
    pub failure: Failure,
    /// Whether it is known since when.
    pub is_dated: bool,
}

/// How many repositories with the same failure are named.
const MOST_NAMED: usize = 5;

impl<'a> Attention<'a> {
    fn new(subject: &'a str, failure: Failure) -> Self {
        Self { subjects: vec![subject], more: 0, failure, is_dated: true }
    }

    fn add(&mut self, subject: &'a str, failure: &Failure) {
        if failure.since < self.failure.since {
            self.failure = failure.clone();
        }
        if self.subjects.len() < MOST_NAMED { self.subjects.push(subject) } else { self.more += 1 }
    }
}

/// All of it in short.
#[derive(Debug)]
pub struct Overview<'a> {
    pub level: Level,
    /// One sentence that says how it is.
    pub headline: String,
    /// What goes wrong, the worst first.
    pub attention: Vec<Attention<'a>>,
    pub counts: Counts,
    /// The mean of all languages of all repositories.
    pub completion: Option<f64>,
}

/// Repositories by condition, and languages.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub fresh: usize,
    pub failing: usize,
    pub stale: usize,
    pub pending: usize,
    pub languages: usize,
    pub complete: usize,
    pub stalled: usize,
}

impl Counts {
    pub fn repositories(&self) -> usize {
        self.fresh + self.failing + self.stale + self.pending
    }
}

impl<'a> Overview<'a> {
    /// `rows` are all repositories of what was published.
    pub fn new(published: &'a Published, rows: &[Row<'a>], now: Timestamp) -> Self {
        let snapshot = &*published.snapshot;
        let counts = count(rows);
        let last = published.status.last.as_ref();
        let (level, headline) = judge(published, &counts, now);
        let attention = polling(last).chain(suspect_scale(snapshot, rows)).chain(by_hint(snapshot)).collect();
        Self { level, headline, attention, counts, completion: table::overall(rows) }
    }
}

/// The failures of repositories, those first that most have.
fn by_hint(snapshot: &Snapshot) -> Vec<Attention<'_>> {
    let mut groups: BTreeMap<&str, Attention<'_>> = BTreeMap::new();
    for shown in &snapshot.repositories {
        let Some(failure) = shown.condition.failure() else { continue };
        let name = &*shown.repository.name;
        match groups.entry(&failure.hint) {
            Entry::Vacant(vacant) => drop(vacant.insert(Attention::new(name, failure.clone()))),
            Entry::Occupied(mut occupied) => occupied.get_mut().add(name, failure),
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.subjects.len() + group.more));
    groups
}

fn count(rows: &[Row<'_>]) -> Counts {
    let mut counts = Counts::default();
    for row in rows {
        match row.shown.condition {
            Condition::Fresh(_) => counts.fresh += 1,
            Condition::Failing(..) => counts.failing += 1,
            Condition::Stale { .. } => counts.stale += 1,
            Condition::Pending(_) => counts.pending += 1,
        }
        counts.languages += row.languages();
        counts.complete += row.complete;
        counts.stalled += row.stalled;
    }
    counts
}

fn judge(published: &Published, counts: &Counts, now: Timestamp) -> (Level, String) {
    let status = &published.status;
    let Some(last) = &status.last else {
        return match (status.has_data, status.running_since) {
            (true, _) => {
                (Level::Waiting, "These are the data from before the restart; the first poll is yet to end".to_owned())
            }
            (false, Some(since)) => {
                (Level::Waiting, format!("The first poll has been under way for {}", Rough(now.since(since))))
            }
            (false, None) => (Level::Waiting, "The first poll is about to begin".to_owned()),
        };
    };
    if last.listing.is_some() {
        let known = if status.has_data { "; those known are still read" } else { "" };
        return (Level::Failing, format!("The repositories cannot be listed{known}"));
    }
    if last.ended_early.is_some() {
        return (Level::Failing, "The last poll was ended before it had read everything".to_owned());
    }
    if counts.stale > 0 {
        return (
            Level::Failing,
            format!("{} cannot be read, and the last data are too old to be shown", repositories(counts.stale)),
        );
    }
    if last.failed > 0 || last.unreached > 0 {
        let headline = format!("{} could not be read by the last poll", repositories(last.failed + last.unreached));
        return (Level::Degraded, headline);
    }
    match counts.repositories() {
        0 if published.snapshot.filtered > 0 => (Level::Degraded, "The filters leave out every repository".to_owned()),
        0 => (Level::Degraded, "The account of the key has no repository: connect some to it".to_owned()),
        _ => (Level::Well, "All is well: every repository was read".to_owned()),
    }
}

/// `1 repository`, `1,234 repositories`.
pub fn repositories(count: usize) -> String {
    format!("{} {}", grouped(count), if count == 1 { "repository" } else { "repositories" })
}

/// A number with its thousands apart.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn polling<'a>(last: Option<&PollOutcome>) -> impl Iterator<Item = Attention<'a>> + use<'a> {
    let listing = last.and_then(|last| last.listing.clone());
    let ended_early = last.and_then(|last| last.ended_early.clone());
    // A listing that ends the poll is one failure, not two.
    let ended_early = ended_early.filter(|failure| listing.as_ref().is_none_or(|listing| listing.hint != failure.hint));
    let listing = listing.map(|failure| Attention::new("The listing", failure));
    listing.into_iter().chain(ended_early.map(|failure| Attention::new("The poll", failure)))
}

/// The API does not say whether it reports 0 to 100 or 0 to 1.
fn suspect_scale<'a>(snapshot: &Snapshot, rows: &[Row<'_>]) -> Option<Attention<'a>> {
    let scale = snapshot.completion_scale;
    let reported = rows.iter().filter_map(|row| row.largest).fold(0.0, f64::max) * scale;
    (scale > 1.0 && reported > 0.0 && reported <= 1.0).then(|| {
        let failure = Failure {
            since: snapshot.taken_at,
            what: format!("no completion is above 1, and api.completion_scale is {scale}").into(),
            hint: "if the API reports 0 to 1, set api.completion_scale to 1".into(),
        };
        // Nobody kept when it began.
        Attention { is_dated: false, ..Attention::new("The scale", failure) }
    })
}
