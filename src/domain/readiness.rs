//! Readiness: the translations that are ready, stalled or due, with totals, means and the causes of
//! failures. All outputs for people and the status page share these figures.

use crate::{
    domain::{
        Completion, Failure, Reason, Repository, TranslationProblem,
        judgement::{Earlier, Evidence, Judgement, Standards},
        record::{Record, find},
        snapshot::{Shown, Snapshot},
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

const DAY: u64 = 24 * 3600;

/// One language of one repository.
#[derive(Debug, Clone, Copy)]
pub struct Translation<'a> {
    pub repository: &'a Repository,
    pub record: &'a Record,
    /// See [`crate::domain::Completion::ratio`]; `None` if the API reports no completion.
    pub ratio: Option<f64>,
    pub target: Target,
    /// `None` if no completion is reported.
    pub last_progress: Option<Timestamp>,
    /// True if the shown data are the first with a completion, so that `last_progress` is the time
    /// of this read.
    pub is_new: bool,
    pub judgement: Judgement,
}

impl<'a> Translation<'a> {
    /// Returns the time of the last progress unless nothing earlier is known.
    pub fn known_progress(&self) -> Option<Timestamp> {
        self.last_progress.filter(|_| !self.is_new)
    }

    pub fn code(&self) -> &'a str {
        &self.record.language.code
    }

    pub fn is_ready(&self) -> bool {
        self.judgement.is_met == Some(true)
    }

    /// Returns the gap between the ratio and the target; `None` if the ratio is unknown.
    pub fn missing(&self) -> Option<f64> {
        if self.is_ready() {
            return Some(0.0);
        }
        Some(self.target.ratio - self.ratio?)
    }

    pub fn has(&self, kind: TranslationProblem) -> bool {
        self.judgement.problem(kind).is_some()
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

/// Formats the day of an estimate, whose time of day would say nothing.
pub fn date(at: Timestamp) -> String {
    format!("{:.10}", at.to_string())
}

/// Formats the distance of a date from now, such as `12 days left` or `3 days overdue`. Counts the
/// days of the calendar (UTC), because a date is the end of its day.
pub fn days(due: Timestamp, now: Timestamp) -> String {
    let (distance, words) = if due < now {
        (now.since(due), "overdue")
    } else {
        (due.since(now), "left")
    };
    let day = |at: Timestamp| at.since(Timestamp::default()).as_secs() / DAY;
    let distance = match day(due).abs_diff(day(now)) {
        days if distance.as_secs() >= DAY => span(Duration::from_secs(days * DAY)),
        _ => span(distance),
    };
    format!("{distance} {words}")
}

/// Formats a duration in days, or in a smaller unit below a day.
pub fn span(duration: Duration) -> String {
    match usize::try_from(duration.as_secs() / DAY) {
        Ok(0) | Err(_) => Rough(duration).to_string(),
        Ok(days) => counted(days, "day", "days"),
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

    /// Returns the mean, or `None` if no ratio was added.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// The totals of several translations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub all: usize,
    pub ready: usize,
    /// The number of translations with each problem, in the order of [`TranslationProblem::ALL`].
    problems: [usize; TranslationProblem::ALL.len()],
    pub mean: Mean,
    /// The mean gap between ratio and target.
    pub missing: Mean,
    /// The latest progress of a translation.
    pub last_progress: Option<Timestamp>,
    /// The earliest date of a translation that is not ready.
    pub due: Option<Timestamp>,
}

impl Totals {
    fn add(&mut self, translation: &Translation<'_>) {
        self.all += 1;
        self.mean.add(translation.ratio);
        self.missing.add(translation.missing());
        self.last_progress = self.last_progress.max(translation.last_progress);
        for (count, kind) in self.problems.iter_mut().zip(TranslationProblem::ALL) {
            *count += usize::from(translation.has(*kind));
        }
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
        for (count, other) in self.problems.iter_mut().zip(other.problems) {
            *count += other;
        }
        for (sum, mean) in [
            (&mut self.mean, other.mean),
            (&mut self.missing, other.missing),
        ] {
            sum.sum += mean.sum;
            sum.count += mean.count;
        }
    }

    /// Counts the translations with a problem.
    pub fn count(&self, kind: TranslationProblem) -> usize {
        self.problems[kind as usize]
    }

    /// Counts the translations with each problem that any of them has.
    pub fn problems(&self) -> impl Iterator<Item = (TranslationProblem, usize)> {
        let kinds = TranslationProblem::ALL.iter();
        let counts = kinds.map(|kind| (*kind, self.count(*kind)));
        counts.filter(|(_, count)| *count > 0)
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
    /// The records that the totals cover; empty while no languages are known.
    records: &'a [Record],
    targets: RepositoryTargets<'a>,
    snapshot: &'a Snapshot,
    standards: Standards,
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
        let records = self.records.iter();
        records.map(|record| self.translation(record))
    }

    /// Returns the unready translations, the furthest behind first.
    pub fn behind(&self) -> Vec<Translation<'a>> {
        let mut behind: Vec<_> = self.translations().filter(|one| !one.is_ready()).collect();
        furthest_first(&mut behind, Translation::missing);
        behind
    }

    /// Returns the translation into a language, or `None` if the repository does not have it.
    pub fn language(&self, code: &str) -> Option<Translation<'a>> {
        let record = find(self.records, code)?;
        Some(self.translation(record))
    }

    fn translation(&self, record: &'a Record) -> Translation<'a> {
        let repository = &*self.shown.repository;
        let now = self.standards.now;
        let ratio = |completion: Completion| completion.ratio(self.snapshot.completion_scale);
        let evidence = Evidence {
            ratio: record.completion().map(ratio),
            last_progress: record.last_progress(now),
            fall: record.fall(now).map(|fall| Earlier {
                ratio: ratio(fall.from),
                at: fall.at,
            }),
            earlier: record.earlier(now).map(|reading| Earlier {
                ratio: ratio(reading.completion),
                at: reading.at,
            }),
            target: self.targets.of(&record.language.code).unwrap_or_default(),
            read_at: self.shown.condition.last_success().unwrap_or_default(),
        };
        Translation {
            repository,
            record,
            ratio: evidence.ratio,
            target: evidence.target,
            last_progress: evidence.last_progress,
            is_new: !record.was_known_before(evidence.read_at),
            judgement: self.standards.judge(&evidence),
        }
    }
}

/// Judges all repositories, and returns their rows sorted by name. With a code, returns only the
/// repositories that have this language, and their rows cover this language alone.
pub fn rows<'a>(snapshot: &'a Snapshot, code: Option<&str>) -> Vec<Row<'a>> {
    let standards = snapshot.standards();
    let mut rows = Vec::with_capacity(snapshot.repositories.len());
    for shown in &snapshot.repositories {
        let records = match code.map(|code| find(shown.records(), code)) {
            None => shown.records(),
            Some(Some(record)) => std::slice::from_ref(record),
            Some(None) => continue,
        };
        rows.push(row(snapshot, shown, records, standards));
    }
    rows
}

/// Judges records of one repository by the targets and the scale of `snapshot`.
pub fn row<'a>(
    snapshot: &'a Snapshot,
    shown: &'a Shown,
    records: &'a [Record],
    standards: Standards,
) -> Row<'a> {
    let mut row = Row {
        shown,
        records,
        targets: snapshot.targets.of_repository(&shown.repository.name),
        snapshot,
        standards,
        totals: Totals::default(),
    };
    for record in records {
        row.totals.add(&row.translation(record));
    }
    row
}

/// Returns the totals of each language, sorted by code.
pub fn languages<'a>(rows: &[Row<'a>]) -> Vec<(&'a str, Totals)> {
    let mut languages: Tally<_, Totals> = Tally::new();
    for translation in rows.iter().flat_map(Row::translations) {
        languages.entry(translation.code()).add(&translation);
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
    fn add(&mut self, translation: Translation<'a>, most: usize) {
        self.totals.add(&translation);
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
            dates.entry(due).or_default().add(translation, most);
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
    pub failure: &'a Failure,
}

/// Groups the failures by their reasons, the most frequent first.
pub fn causes(snapshot: &Snapshot) -> Vec<Cause<'_>> {
    let mut causes: BTreeMap<Option<Reason>, Cause<'_>> = BTreeMap::new();
    for shown in &snapshot.repositories {
        if let Some(failure) = shown.condition.failure() {
            let cause = causes.entry(failure.reason).or_insert(Cause {
                repositories: Vec::new(),
                failure,
            });
            cause.repositories.push(&shown.repository.name);
            if failure.since < cause.failure.since {
                cause.failure = failure;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_to_a_date_are_those_of_the_calendar() {
        let at = |text: &str| Timestamp::at_civil(text.parse().unwrap());
        let now = at("2026-11-23T12:00:00");
        for (due, expected) in [
            ("2026-12-02T23:59:59", "9 days left"),
            ("2026-11-24T23:59:59", "1 day left"),
            ("2026-11-24T08:00:00", "20 h left"),
            ("2026-11-23T23:59:59", "11 h left"),
            ("2026-11-22T23:59:59", "12 h overdue"),
            ("2026-11-21T23:59:59", "2 days overdue"),
            ("2026-10-25T23:59:59", "29 days overdue"),
        ] {
            assert_eq!(days(at(due), now), expected);
        }
    }
}
