//! What the table, the JSON and the status page share: ratios, means, percentages, counts and causes.

use crate::{
    model::{Failure, Timestamp},
    snapshot::{Reading, Shown, Snapshot},
};
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::{self, Display},
    time::Duration,
};

/// An incomplete language without progress for this long is stalled.
pub const STALLED_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

/// Completion divided by the scale, not clamped; `None` if the API reported none.
pub fn ratio(reading: &Reading, scale: f64) -> Option<f64> {
    reading
        .completion()
        .map(|completion| completion.get() / scale)
}

pub fn is_stalled(reading: &Reading, scale: f64, now: Timestamp) -> bool {
    ratio(reading, scale).is_some_and(|ratio| ratio < 1.0)
        && reading
            .progress()
            .is_some_and(|progress| now.since(progress.at) >= STALLED_AFTER)
}

/// A mean of ratios, each clamped to 0 to 1 so that one absurd value does not outweigh all others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    pub fn add(&mut self, ratio: f64) {
        self.sum += ratio.clamp(0.0, 1.0);
        self.count += 1;
    }

    /// The mean of all languages of these repositories.
    pub fn of(rows: &[Row<'_>]) -> Self {
        rows.iter()
            .fold(Self::default(), |all, Row { mean, .. }| Self {
                sum: all.sum + mean.sum,
                count: all.count + mean.count,
            })
    }

    /// `None` if there is nothing to take the mean of.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// A repository with totals of its languages.
#[derive(Debug)]
pub struct Row<'a> {
    pub shown: &'a Shown,
    /// Empty if none are known.
    pub readings: &'a [Reading],
    /// Of its languages.
    pub mean: Mean,
    /// The latest among its languages.
    pub last_progress: Option<Timestamp>,
    /// How many of its languages are stalled.
    pub stalled: usize,
    /// How many of its languages are complete.
    pub complete: usize,
}

impl<'a> Row<'a> {
    fn new(shown: &'a Shown, scale: f64, now: Timestamp) -> Self {
        let readings = shown
            .condition
            .languages()
            .map_or(&[][..], |languages| &languages.readings);
        let mut row = Self {
            shown,
            readings,
            mean: Mean::default(),
            last_progress: None,
            stalled: 0,
            complete: 0,
        };
        for reading in readings {
            row.last_progress = row
                .last_progress
                .max(reading.progress().map(|progress| progress.at));
            row.stalled += usize::from(is_stalled(reading, scale, now));
            if let Some(ratio) = ratio(reading, scale) {
                row.mean.add(ratio);
                row.complete += usize::from(ratio >= 1.0);
            }
        }
        row
    }

    /// Whether its languages are known.
    pub fn is_read(&self) -> bool {
        self.shown.condition.languages().is_some()
    }

    /// `None` if the code is no target language of the repository.
    pub fn reading(&self, code: &str) -> Option<&'a Reading> {
        let index = self
            .readings
            .binary_search_by(|reading| (*reading.language.code).cmp(code))
            .ok()?;
        self.readings.get(index)
    }
}

/// All repositories, in the order of their names.
pub fn rows(snapshot: &Snapshot, now: Timestamp) -> Vec<Row<'_>> {
    snapshot
        .repositories
        .iter()
        .map(|shown| Row::new(shown, snapshot.completion_scale, now))
        .collect()
}

/// A language of some repositories.
#[derive(Debug, Clone, PartialEq)]
pub struct Language<'a> {
    pub code: &'a str,
    /// Empty if no repository has one.
    pub name: &'a str,
    /// How many repositories have it.
    pub repositories: usize,
    /// Over these repositories.
    pub mean: Mean,
}

/// The languages of these repositories, in the order of their codes.
pub fn languages<'a>(rows: &[Row<'a>], scale: f64) -> Vec<Language<'a>> {
    let mut languages: BTreeMap<&str, Language<'a>> = BTreeMap::new();
    for reading in rows.iter().flat_map(|row| row.readings) {
        let (code, name) = (&*reading.language.code, &*reading.language.name);
        let language = languages.entry(code).or_insert_with(|| Language {
            code,
            name,
            repositories: 0,
            mean: Mean::default(),
        });
        language.repositories += 1;
        if language.name.is_empty() {
            language.name = name;
        }
        if let Some(ratio) = ratio(reading, scale) {
            language.mean.add(ratio);
        }
    }
    languages.into_values().collect()
}

/// Why repositories fail.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause<'a> {
    /// The names of the repositories with this cause.
    pub repositories: Vec<&'a str>,
    /// The one that has lasted longest.
    pub failure: &'a Failure,
}

/// Why repositories fail, the most frequent cause first; failures with the same hint count as one cause.
pub fn causes(snapshot: &Snapshot) -> Vec<Cause<'_>> {
    let mut causes: BTreeMap<&str, Cause<'_>> = BTreeMap::new();
    for shown in &snapshot.repositories {
        let Some(failure) = shown.condition.failure() else {
            continue;
        };
        let cause = causes.entry(&failure.hint).or_insert(Cause {
            repositories: Vec::new(),
            failure,
        });
        cause.repositories.push(&shown.repository.name);
        if failure.since < cause.failure.since {
            cause.failure = failure;
        }
    }
    let mut causes: Vec<_> = causes.into_values().collect();
    causes.sort_by_key(|cause| Reverse(cause.repositories.len()));
    causes
}

/// A ratio in whole percent, rounded down so that only what is complete shows 100; at most four columns wide.
#[derive(Debug, Clone, Copy)]
pub struct Percent(pub f64);

impl Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.29 * 100 is a little less than 29.
        match (self.0 * 100.0 + 1e-9).floor() {
            _ if self.0 < 0.0 => f.pad("<0"),
            percent if percent > 999.0 => f.pad(">999"),
            percent => f.pad(&percent.to_string()),
        }
    }
}
