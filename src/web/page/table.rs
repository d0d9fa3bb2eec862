//! Which repositories the table shows, in which order, and which languages.

use super::query::{Column, Query};
use crate::{
    model::Timestamp,
    snapshot::{Reading, Shown, Snapshot},
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

/// Rows of one page.
pub const ROWS: usize = 200;

/// More languages than this are not shown side by side: those that the fewest rows have are left out.
pub const MOST_LANGUAGES: usize = 60;

/// An incomplete language without progress for so long is stalled.
pub const STALLED: Duration = Duration::from_secs(7 * 24 * 3600);

/// A repository with what its languages come to.
#[derive(Debug)]
pub struct Row<'a> {
    pub shown: &'a Shown,
    /// The mean of its languages, each taken from 0 to 1; `None` where none is known.
    pub completion: Option<f64>,
    pub last_progress: Option<Timestamp>,
    pub stalled: usize,
    pub complete: usize,
    /// Of all its languages; not clamped.
    pub largest: Option<f64>,
    mean: Mean,
}

impl Row<'_> {
    pub fn languages(&self) -> usize {
        readings(self.shown).len()
    }
}

/// All repositories, in the order of their names. This is the one pass over every language that a page costs.
pub fn rows(snapshot: &Snapshot, now: Timestamp) -> Vec<Row<'_>> {
    snapshot.repositories.iter().map(|shown| row(shown, snapshot.completion_scale, now)).collect()
}

/// The mean of all languages of these repositories.
pub fn overall(rows: &[Row<'_>]) -> Option<f64> {
    let mut all = Mean::default();
    for row in rows {
        all.sum += row.mean.sum;
        all.count += row.mean.count;
    }
    all.get()
}

/// A language that the table shows.
#[derive(Debug, PartialEq)]
pub struct Language<'a> {
    pub code: &'a str,
    /// Empty where no repository has one.
    pub name: &'a str,
    /// The mean over all repositories that were found.
    pub completion: Option<f64>,
}

#[derive(Debug)]
pub struct Table<'a> {
    pub rows: Vec<Row<'a>>,
    /// In the order of their codes.
    pub languages: Vec<Language<'a>>,
    /// Languages of these rows that are not shown.
    pub left_out: usize,
    /// Repositories that the search found.
    pub found: usize,
    /// From 1.
    pub page: usize,
    pub pages: usize,
    /// The mean of what is known of the repositories that were found.
    pub completion: Option<f64>,
    pub scale: f64,
}

impl<'a> Table<'a> {
    /// Of all rows, in the order of their names, those that are asked for.
    pub fn new(mut rows: Vec<Row<'a>>, scale: f64, query: &Query) -> Self {
        if !query.search.is_empty() {
            let wanted = query.search.to_lowercase();
            rows.retain(|row| row.shown.repository.name.to_lowercase().contains(&wanted));
        }
        sort(&mut rows, query);
        let found = rows.len();
        let pages = found.div_ceil(ROWS).max(1);
        let page = query.page.min(pages);
        let begin = (page - 1) * ROWS;
        let on_page = &rows[begin..found.min(begin + ROWS)];
        let (mut languages, left_out) = languages(on_page);
        add_means(&mut languages, &rows, scale);
        let mut mean = Mean::default();
        for row in &rows {
            mean.extend(row.completion);
        }
        rows.drain(..begin);
        rows.truncate(ROWS);
        Self { rows, languages, left_out, found, page, pages, completion: mean.get(), scale }
    }
}

/// A completion as a part of the whole; not clamped.
pub fn ratio(reading: &Reading, scale: f64) -> Option<f64> {
    reading.completion().map(|completion| completion.get() / scale)
}

pub fn is_stalled(reading: &Reading, scale: f64, now: Timestamp) -> bool {
    let incomplete = ratio(reading, scale).is_some_and(|ratio| ratio < 1.0);
    incomplete && reading.progress().is_some_and(|progress| now.since(progress.at) >= STALLED)
}

fn readings(shown: &Shown) -> &[Reading] {
    shown.condition.languages().map_or(&[], |languages| &languages.readings)
}

fn row(shown: &Shown, scale: f64, now: Timestamp) -> Row<'_> {
    let mut mean = Mean::default();
    let (mut last_progress, mut largest, mut stalled, mut complete) = (None, None, 0, 0);
    for reading in readings(shown) {
        let ratio = ratio(reading, scale);
        mean.extend(ratio);
        last_progress = last_progress.max(reading.progress().map(|progress| progress.at));
        largest = ratio.map_or(largest, |ratio| Some(largest.map_or(ratio, |largest: f64| largest.max(ratio))));
        stalled += usize::from(is_stalled(reading, scale, now));
        complete += usize::from(ratio.is_some_and(|ratio| ratio >= 1.0));
    }
    Row { shown, completion: mean.get(), last_progress, stalled, complete, largest, mean }
}

/// What is unknown stands last, whichever way the rest goes; of equals the name decides.
fn sort(rows: &mut [Row<'_>], query: &Query) {
    fn unknown_last<T>(a: Option<T>, b: Option<T>, known: impl Fn(T, T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => known(a, b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
    let descending = query.sort.descending;
    let turn = move |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    match query.sort.column {
        Column::Name if descending => rows.reverse(),
        // A snapshot is in the order of the names.
        Column::Name => {}
        Column::Completion => {
            rows.sort_by(|a, b| unknown_last(a.completion, b.completion, |a, b| turn(a.total_cmp(&b))));
        }
        Column::Progress => {
            rows.sort_by(|a, b| unknown_last(a.last_progress, b.last_progress, |a, b| turn(a.cmp(&b))));
        }
    }
}

/// The languages of these rows, at most [`MOST_LANGUAGES`], and how many more there are.
fn languages<'a>(rows: &[Row<'a>]) -> (Vec<Language<'a>>, usize) {
    let mut counted: BTreeMap<&'a str, (usize, &'a str)> = BTreeMap::new();
    for reading in rows.iter().flat_map(|row| readings(row.shown)) {
        match counted.entry(&reading.language.code) {
            Entry::Vacant(vacant) => drop(vacant.insert((1, &reading.language.name))),
            Entry::Occupied(mut occupied) => {
                let (count, name) = occupied.get_mut();
                *count += 1;
                if name.is_empty() {
                    *name = &reading.language.name;
                }
            }
        }
    }
    let left_out = counted.len().saturating_sub(MOST_LANGUAGES);
    let mut most: Vec<_> = counted.into_iter().collect();
    if left_out > 0 {
        most.sort_by(|(_, (a, _)), (_, (b, _))| b.cmp(a));
        most.truncate(MOST_LANGUAGES);
        most.sort_by_key(|(code, _)| *code);
    }
    (most.into_iter().map(|(code, (_, name))| Language { code, name, completion: None }).collect(), left_out)
}

fn add_means(languages: &mut [Language<'_>], rows: &[Row<'_>], scale: f64) {
    let mut means: Vec<Mean> = languages.iter().map(|_| Mean::default()).collect();
    for row in rows {
        for (mean, cell) in means.iter_mut().zip(cells(row, languages)) {
            mean.extend(cell.and_then(|reading| ratio(reading, scale)));
        }
    }
    for (language, mean) in languages.iter_mut().zip(means) {
        language.completion = mean.get();
    }
}

/// The row's reading of each language. Both are in the order of the codes, which spares looking each one up.
pub fn cells<'r>(row: &Row<'r>, languages: &[Language<'_>]) -> impl Iterator<Item = Option<&'r Reading>> {
    let mut rest = readings(row.shown);
    languages.iter().map(move |language| {
        while let Some((first, others)) = rest.split_first() {
            match (*first.language.code).cmp(language.code) {
                Ordering::Less => rest = others,
                Ordering::Equal => {
                    rest = others;
                    return Some(first);
                }
                Ordering::Greater => break,
            }
        }
        None
    })
}

/// A mean of ratios, each clamped to 0 to 1 so that one absurd value does not outweigh all others.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn extend(&mut self, ratio: Option<f64>) {
        if let Some(ratio) = ratio {
            self.sum += ratio.clamp(0.0, 1.0);
            self.count += 1;
        }
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}
