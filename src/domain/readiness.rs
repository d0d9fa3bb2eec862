//! Readiness: the translations that are ready, stalled or due, with totals, means and the causes of
//! failures. All outputs for people and the status page share these figures.

use crate::{
    domain::{
        Lasting, ReadFailure, Reason, Repository,
        snapshot::{Reading, Shown, Snapshot, find},
        tally::Tally,
        targets::{RepositoryTargets, Target},
    },
    support::{
        clock::Timestamp,
        humanize::{Rough, counted},
    },
};
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
    time::Duration,
};

/// The time without progress after which a language below its target counts as stalled.
pub const STALLED_AFTER: Duration = Duration::from_secs(7 * DAY);

/// The time before its date from which an unready translation is at risk. The alert
/// `TranslationTargetAtRisk` has the same limit.
pub const AT_RISK_WITHIN: Duration = Duration::from_secs(14 * DAY);

const DAY: u64 = 24 * 3600;

/// One language of one repository.
#[derive(Debug, Clone, Copy)]
pub struct Translation<'a> {
    pub repository: &'a Repository,
    pub reading: &'a Reading,
    /// See [`crate::domain::Completion::ratio`]; `None` if the API reports no completion.
    pub ratio: Option<f64>,
    pub target: Target,
}

impl<'a> Translation<'a> {
    pub fn code(&self) -> &'a str {
        &self.reading.language.code
    }

    /// Returns whether the target is met; `None` if that is unknown.
    pub fn is_met(&self) -> Option<bool> {
        self.target.is_met(self.ratio)
    }

    pub fn is_ready(&self) -> bool {
        self.is_met() == Some(true)
    }

    /// Returns the gap between the ratio and the target; `None` if the ratio is unknown.
    pub fn missing(&self) -> Option<f64> {
        if self.is_ready() {
            return Some(0.0);
        }
        Some(self.target.ratio - self.ratio?)
    }

    pub fn is_stalled(&self, now: Timestamp) -> bool {
        let progress = self.reading.progress();
        self.is_met() == Some(false)
            && progress.is_some_and(|progress| now.since(progress.at) >= STALLED_AFTER)
    }

    /// Returns the state of the date, or `None` if the target has no date.
    pub fn deadline(&self, now: Timestamp) -> Option<Deadline> {
        let due = self.target.due?;
        Some(Deadline::of(due, self.is_ready(), now))
    }
}

/// The state of a date by which translations must be ready.
#[derive(Debug)]
pub enum Deadline {
    /// The date has passed, and a translation is not ready.
    Missed,
    /// The date is near, and a translation is not ready.
    AtRisk,
    /// The date is far, and a translation is not ready.
    Ahead,
    /// All translations are ready.
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

/// Formats a date as `2026-12-24`, or as `2026-12-24 18:00 UTC` if it is not the end of the day.
pub fn day(due: Timestamp) -> String {
    let time = due.to_string();
    match time.strip_suffix("T23:59:59Z") {
        Some(day) => day.to_owned(),
        None => format!("{:.16} UTC", time.replace('T', " ")),
    }
}

/// Formats the distance of a date from now, such as `12 days left` or `3 days ago`.
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

/// A mean of ratios. Each is clamped to 0 to 1, so that one absurd value cannot outweigh all
/// others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, ratio: Option<f64>) {
        if let Some(ratio) = ratio {
            self.sum += ratio.clamp(0.0, 1.0);
            self.count += 1;
        }
    }

    /// Returns `None` for a mean of no ratios.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// The totals of several translations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub all: usize,
    pub ready: usize,
    pub stalled: usize,
    pub mean: Mean,
    /// The mean gap between ratio and target.
    pub missing: Mean,
    /// The latest progress of a translation.
    pub last_progress: Option<Timestamp>,
    /// The earliest date of a translation that is not ready.
    pub due: Option<Timestamp>,
}

impl Totals {
    fn add(&mut self, translation: &Translation<'_>, now: Timestamp) {
        let progress = translation.reading.progress();
        self.all += 1;
        self.mean.add(translation.ratio);
        self.missing.add(translation.missing());
        self.last_progress = self.last_progress.max(progress.map(|progress| progress.at));
        self.stalled += usize::from(translation.is_stalled(now));
        if translation.is_ready() {
            self.ready += 1;
        } else if let Some(due) = translation.target.due {
            self.due = Some(self.due.unwrap_or(due).min(due));
        }
    }

    /// Sums the totals of these repositories, without their times.
    pub fn of(rows: &[Row<'_>]) -> Self {
        let mut sum = Self::default();
        for Row { totals, .. } in rows {
            sum.merge(totals);
        }
        sum
    }

    /// Adds the counts and means of other translations, but not their times.
    pub fn merge(&mut self, other: &Self) {
        self.all += other.all;
        self.ready += other.ready;
        self.stalled += other.stalled;
        for (sum, mean) in [
            (&mut self.mean, other.mean),
            (&mut self.missing, other.missing),
        ] {
            sum.sum += mean.sum;
            sum.count += mean.count;
        }
    }

    /// Returns whether there are translations and all of them are ready.
    pub fn is_ready(&self) -> bool {
        self.all > 0 && self.ready == self.all
    }

    /// Counts the translations without a reported completion, whose readiness is unknown.
    pub fn unknown(&self) -> usize {
        self.all - usize::try_from(self.missing.count).unwrap_or(self.all)
    }

    /// Counts the translations that are not ready.
    pub fn behind(&self) -> usize {
        self.all - self.ready
    }
}

/// A repository with the totals of its languages.
#[derive(Debug)]
pub struct Row<'a> {
    pub shown: &'a Shown,
    /// The readings that the totals cover; empty while no languages are known.
    readings: &'a [Reading],
    targets: RepositoryTargets<'a>,
    scale: f64,
    pub totals: Totals,
}

impl<'a> Row<'a> {
    /// Returns whether the languages of the repository are known.
    pub fn is_read(&self) -> bool {
        self.shown.condition.languages().is_some()
    }

    /// Returns whether the repository is known to have no languages.
    pub fn has_none(&self) -> bool {
        self.is_read() && self.totals.all == 0
    }

    /// Returns the translations, sorted by code.
    pub fn translations(&self) -> impl Iterator<Item = Translation<'a>> {
        let readings = self.readings.iter();
        readings.map(|reading| self.translation(reading))
    }

    /// Returns `None` if the repository does not have the language.
    pub fn language(&self, code: &str) -> Option<Translation<'a>> {
        let reading = find(self.readings, code)?;
        Some(self.translation(reading))
    }

    fn translation(&self, reading: &'a Reading) -> Translation<'a> {
        let completion = reading.completion();
        let target = self.targets.of(&reading.language.code);
        Translation {
            repository: &self.shown.repository,
            reading,
            ratio: completion.map(|completion| completion.ratio(self.scale)),
            target: target.unwrap_or_default(),
        }
    }
}

/// Returns the rows of all repositories, sorted by name. With a code, returns only the repositories
/// that have this language, and their rows cover this language alone.
pub fn rows<'a>(snapshot: &'a Snapshot, code: Option<&str>, now: Timestamp) -> Vec<Row<'a>> {
    let mut rows = Vec::with_capacity(snapshot.repositories.len());
    for shown in &snapshot.repositories {
        let readings = match code.map(|code| find(shown.readings(), code)) {
            None => shown.readings(),
            Some(Some(reading)) => std::slice::from_ref(reading),
            Some(None) => continue,
        };
        rows.push(row(snapshot, shown, readings, now));
    }
    rows
}

/// Judges readings of one repository by the targets and the scale of `snapshot`.
pub fn row<'a>(
    snapshot: &'a Snapshot,
    shown: &'a Shown,
    readings: &'a [Reading],
    now: Timestamp,
) -> Row<'a> {
    let mut row = Row {
        shown,
        readings,
        targets: snapshot.targets.of_repository(&shown.repository.name),
        scale: snapshot.completion_scale,
        totals: Totals::default(),
    };
    for reading in readings {
        row.totals.add(&row.translation(reading), now);
    }
    row
}

/// Returns the totals of each language, sorted by code.
pub fn languages<'a>(rows: &[Row<'a>], now: Timestamp) -> Vec<(&'a str, Totals)> {
    let mut languages: Tally<_, Totals> = Tally::new();
    for translation in rows.iter().flat_map(Row::translations) {
        languages.entry(translation.code()).add(&translation, now);
    }
    languages.into_sorted()
}

/// The translations with one date.
#[derive(Debug, Default)]
pub struct Due<'a> {
    pub totals: Totals,
    /// The translations furthest from their targets, the worst first; unknown ones come last.
    pub furthest: Vec<Translation<'a>>,
}

impl<'a> Due<'a> {
    /// Adds a translation, and keeps it among the `most` furthest ones if it is not ready.
    pub fn add(&mut self, translation: Translation<'a>, most: usize, now: Timestamp) {
        self.totals.add(&translation, now);
        let missing = translation.missing();
        let place = self
            .furthest
            .partition_point(|other| other.missing() >= missing);
        if place < most && !translation.is_ready() {
            self.furthest.truncate(most - 1);
            self.furthest.insert(place, translation);
        }
    }
}

/// Returns the dates of these repositories, the earliest first, without past dates that were met.
/// Each date names at most `most` translations that are not ready.
pub fn dates<'a>(rows: &[Row<'a>], most: usize, now: Timestamp) -> BTreeMap<Timestamp, Due<'a>> {
    let mut dates: BTreeMap<_, Due<'a>> = BTreeMap::new();
    let with_dates = rows.iter().filter(|row| row.targets.have_dates());
    for translation in with_dates.flat_map(Row::translations) {
        if let Some(due) = translation.target.due {
            dates.entry(due).or_default().add(translation, most, now);
        }
    }
    dates.retain(|due, date| *due >= now || !date.totals.is_ready());
    dates
}

/// Sorts by the gap to the target, the largest first. Items without a completion come last.
pub fn furthest_first<T>(items: &mut [T], missing: impl Fn(&T) -> Option<f64>) {
    items.sort_by(|one, other| {
        missing(other)
            .partial_cmp(&missing(one))
            .unwrap_or(Ordering::Equal)
    });
}

/// A reason why repositories fail.
#[derive(Debug)]
pub struct Cause<'a> {
    /// The names of the repositories that fail for this reason.
    pub repositories: Vec<&'a str>,
    /// The failure that has lasted longest.
    pub lasting: &'a Lasting,
}

/// Groups the failures that pass `accepts` by their reasons, the most frequent first.
pub fn causes(snapshot: &Snapshot, accepts: impl Fn(&ReadFailure) -> bool) -> Vec<Cause<'_>> {
    let mut causes: BTreeMap<Option<Reason>, Cause<'_>> = BTreeMap::new();
    for shown in &snapshot.repositories {
        if let Some(failure) = shown.condition.failure()
            && accepts(failure)
        {
            let lasting = &failure.lasting;
            let cause = causes.entry(failure.reason).or_insert(Cause {
                repositories: Vec::new(),
                lasting,
            });
            cause.repositories.push(&shown.repository.name);
            if lasting.since < cause.lasting.since {
                cause.lasting = lasting;
            }
        }
    }
    let mut causes: Vec<_> = causes.into_values().collect();
    causes.sort_by_key(|cause| Reverse(cause.repositories.len()));
    causes
}

/// Formats a ratio in whole percent, at most four columns wide. Rounds down, so that 100 means
/// complete.
pub fn percent(ratio: f64) -> String {
    // Without the 1e-9, 0.29 would show as 28: 0.29 * 100 is 28.999999999999996.
    match (ratio * 100.0 + 1e-9).floor() {
        _ if ratio < 0.0 => "<0".to_owned(),
        percent if percent > 999.0 => ">999".to_owned(),
        percent => percent.to_string(),
    }
}
