//! What the table, the JSON and the status page share: what is ready and what is due, means, percentages and causes.

use crate::{
    model::{Failure, Timestamp},
    snapshot::{Reading, Shown, Snapshot},
    targets::{Readiness, RepositoryTargets, Target},
    words::{Rough, counted},
};
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::{self, Display},
    time::Duration,
};

/// A language that is behind and without progress for this long is stalled.
pub const STALLED_AFTER: Duration = Duration::from_secs(7 * DAY);

/// What is not ready is at risk when it is due within this time; the alert `TranslationTargetAtRisk` has the same limit.
pub const AT_RISK_WITHIN: Duration = Duration::from_secs(14 * DAY);

const DAY: u64 = 24 * 3600;

/// One language of one repository.
#[derive(Debug, Clone, Copy)]
pub struct Translation<'a> {
    pub repository: &'a str,
    pub reading: &'a Reading,
    /// Completion divided by the scale, not clamped; `None` if the API reported none.
    pub ratio: Option<f64>,
    pub target: Target,
}

impl<'a> Translation<'a> {
    pub fn code(&self) -> &'a str {
        &self.reading.language.code
    }

    pub fn readiness(&self) -> Readiness {
        self.target.readiness(self.ratio)
    }

    pub fn is_ready(&self) -> bool {
        self.readiness() == Readiness::Ready
    }

    /// How much is missing until it is ready; `None` if that is unknown.
    pub fn missing(&self) -> Option<f64> {
        match (self.readiness(), self.ratio) {
            (Readiness::Ready, _) => Some(0.0),
            (_, Some(ratio)) => Some(self.target.ratio - ratio),
            (_, None) => None,
        }
    }

    pub fn is_stalled(&self, now: Timestamp) -> bool {
        let progress = self.reading.progress();
        self.readiness() == Readiness::Behind
            && progress.is_some_and(|progress| now.since(progress.at) >= STALLED_AFTER)
    }

    /// How its date stands, if it has one.
    pub fn deadline(&self, now: Timestamp) -> Option<Deadline> {
        let due = self.target.due?;
        Some(Deadline::of(due, self.is_ready(), now))
    }
}

/// How a date stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// It has passed, and not everything is ready.
    Missed,
    /// It is near, and not everything is ready.
    AtRisk,
    Ahead,
    /// Everything is ready.
    Met,
}

impl Deadline {
    pub fn of(due: Timestamp, is_ready: bool, now: Timestamp) -> Self {
        if is_ready {
            Self::Met
        } else if due < now {
            Self::Missed
        } else if due.since(now) <= AT_RISK_WITHIN {
            Self::AtRisk
        } else {
            Self::Ahead
        }
    }
}

/// The day of a date, such as `2026-12-24`.
pub fn day(due: Timestamp) -> String {
    let time = due.to_string();
    time.split('T').next().unwrap_or_default().to_owned()
}

/// How far a date is from now, such as `12 days left` or `3 days ago`.
pub fn days(due: Timestamp, now: Timestamp) -> String {
    let (distance, direction) = if due < now {
        (now.since(due), "ago")
    } else {
        (due.since(now), "left")
    };
    match usize::try_from(distance.as_secs() / DAY) {
        Ok(0) | Err(_) => format!("{} {direction}", Rough(distance)),
        Ok(days) => format!("{} {direction}", counted(days, "day", "days")),
    }
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

    /// The mean of all that these are the means of.
    pub fn sum(means: impl Iterator<Item = Self>) -> Self {
        means.fold(Self::default(), |all, mean| Self {
            sum: all.sum + mean.sum,
            count: all.count + mean.count,
        })
    }

    /// `None` if there is nothing to take the mean of.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// How many translations are ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    pub ready: usize,
    pub all: usize,
}

impl Ready {
    pub fn add(&mut self, is_ready: bool) {
        self.ready += usize::from(is_ready);
        self.all += 1;
    }

    /// Whether there is something, and all of it is ready.
    pub fn is_all(self) -> bool {
        self.all > 0 && self.ready == self.all
    }

    /// How many of the languages of these repositories are ready.
    pub fn of(rows: &[Row<'_>]) -> Self {
        rows.iter().fold(Self::default(), |sum, row| Self {
            ready: sum.ready + row.ready.ready,
            all: sum.all + row.ready.all,
        })
    }
}

/// A repository with totals of its languages.
#[derive(Debug)]
pub struct Row<'a> {
    pub shown: &'a Shown,
    /// Those that are looked at; empty if none are known.
    readings: &'a [Reading],
    targets: RepositoryTargets<'a>,
    scale: f64,
    /// Of its languages.
    pub mean: Mean,
    /// How much its languages are missing on average until they are ready.
    pub missing: Mean,
    pub ready: Ready,
    /// The latest among its languages.
    pub last_progress: Option<Timestamp>,
    /// How many of its languages are stalled.
    pub stalled: usize,
    /// The earliest date of what is not ready.
    pub due: Option<Timestamp>,
}

impl<'a> Row<'a> {
    fn new(
        snapshot: &'a Snapshot,
        shown: &'a Shown,
        readings: &'a [Reading],
        now: Timestamp,
    ) -> Self {
        let mut row = Self {
            shown,
            readings,
            targets: snapshot.targets.of_repository(&shown.repository.name),
            scale: snapshot.completion_scale,
            mean: Mean::default(),
            missing: Mean::default(),
            ready: Ready::default(),
            last_progress: None,
            stalled: 0,
            due: None,
        };
        for reading in readings {
            let translation = row.translation(reading);
            row.ready.add(translation.is_ready());
            row.stalled += usize::from(translation.is_stalled(now));
            row.last_progress = row
                .last_progress
                .max(reading.progress().map(|progress| progress.at));
            if let Some(ratio) = translation.ratio {
                row.mean.add(ratio);
            }
            if let Some(missing) = translation.missing() {
                row.missing.add(missing);
            }
            if let (false, Some(due)) = (translation.is_ready(), translation.target.due) {
                row.due = Some(row.due.map_or(due, |earliest| earliest.min(due)));
            }
        }
        row
    }

    /// Whether its languages are known.
    pub fn is_read(&self) -> bool {
        self.shown.condition.languages().is_some()
    }

    /// Its languages, in the order of their codes.
    pub fn translations(&self) -> impl Iterator<Item = Translation<'a>> {
        self.readings
            .iter()
            .map(|reading| self.translation(reading))
    }

    /// `None` if the code is no target language of the repository.
    pub fn language(&self, code: &str) -> Option<Translation<'a>> {
        let reading = find(self.readings, code)?;
        Some(self.translation(reading))
    }

    fn translation(&self, reading: &'a Reading) -> Translation<'a> {
        let completion = reading.completion();
        let target = self.targets.of(&reading.language.code);
        Translation {
            repository: &self.shown.repository.name,
            reading,
            ratio: completion.map(|completion| completion.get() / self.scale),
            target: target.unwrap_or_default(),
        }
    }
}

fn find<'a>(readings: &'a [Reading], code: &str) -> Option<&'a Reading> {
    let index = readings
        .binary_search_by(|reading| (*reading.language.code).cmp(code))
        .ok()?;
    readings.get(index)
}

/// All repositories, in the order of their names.
pub fn rows(snapshot: &Snapshot, now: Timestamp) -> Vec<Row<'_>> {
    let mut rows = Vec::with_capacity(snapshot.repositories.len());
    for shown in &snapshot.repositories {
        rows.push(Row::new(snapshot, shown, shown.readings(), now));
    }
    rows
}

/// The repositories that have a language, with that language alone, in the order of their names.
pub fn rows_of_language<'a>(snapshot: &'a Snapshot, code: &str, now: Timestamp) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for shown in &snapshot.repositories {
        if let Some(reading) = find(shown.readings(), code) {
            let only = std::slice::from_ref(reading);
            rows.push(Row::new(snapshot, shown, only, now));
        }
    }
    rows
}

/// A language of some repositories.
#[derive(Debug, Clone, PartialEq)]
pub struct Language<'a> {
    pub code: &'a str,
    /// Over the repositories that have it.
    pub mean: Mean,
    /// How much is missing on average until it is ready.
    pub missing: Mean,
    pub ready: Ready,
}

/// The languages of these repositories, in the order of their codes.
pub fn languages<'a>(rows: &[Row<'a>]) -> Vec<Language<'a>> {
    let mut languages: BTreeMap<&str, Language<'a>> = BTreeMap::new();
    for translation in rows.iter().flat_map(Row::translations) {
        let code = translation.code();
        let language = languages.entry(code).or_insert_with(|| Language {
            code,
            mean: Mean::default(),
            missing: Mean::default(),
            ready: Ready::default(),
        });
        language.ready.add(translation.is_ready());
        if let Some(ratio) = translation.ratio {
            language.mean.add(ratio);
        }
        if let Some(missing) = translation.missing() {
            language.missing.add(missing);
        }
    }
    languages.into_values().collect()
}

/// Translations that are not ready: how many, and some of those that are furthest from it.
#[derive(Debug, Default)]
pub struct Behind<'a> {
    pub count: usize,
    /// The furthest behind first, what is unknown last.
    pub furthest: Vec<Translation<'a>>,
}

impl<'a> Behind<'a> {
    /// Counts a translation, and names it if fewer than `most` are further behind.
    fn add(&mut self, translation: Translation<'a>, most: usize) {
        self.count += 1;
        let missing = translation.missing();
        let place = self
            .furthest
            .partition_point(|other| other.missing() >= missing);
        if place < most {
            self.furthest.truncate(most - 1);
            self.furthest.insert(place, translation);
        }
    }

    /// How many are not named.
    pub fn more(&self) -> usize {
        self.count - self.furthest.len()
    }
}

/// What of these repositories is not ready, with the names of at most `most`.
pub fn behind<'a>(rows: &[Row<'a>], most: usize) -> Behind<'a> {
    let mut behind = Behind::default();
    for translation in rows.iter().flat_map(Row::translations) {
        if !translation.is_ready() {
            behind.add(translation, most);
        }
    }
    behind
}

/// What must be ready by one date.
#[derive(Debug)]
pub struct Due<'a> {
    pub at: Timestamp,
    pub ready: Ready,
    pub behind: Behind<'a>,
}

/// The dates of these repositories' languages, the earliest first, except those that were met. Each names at most `most`
/// that are behind.
pub fn dates<'a>(rows: &[Row<'a>], most: usize, now: Timestamp) -> Vec<Due<'a>> {
    let mut dates: BTreeMap<Timestamp, Due<'a>> = BTreeMap::new();
    for translation in rows.iter().flat_map(Row::translations) {
        let Some(at) = translation.target.due else {
            continue;
        };
        let date = dates.entry(at).or_insert_with(|| Due {
            at,
            ready: Ready::default(),
            behind: Behind::default(),
        });
        date.ready.add(translation.is_ready());
        if !translation.is_ready() {
            date.behind.add(translation, most);
        }
    }
    let mut dates: Vec<_> = dates.into_values().collect();
    dates.retain(|date| date.at >= now || !date.ready.is_all());
    dates
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
