//! The judgement of translations: ready or not, and if not, the problems that they have. No other
//! module compares a ratio with a target, or a time with a threshold.
//!
//! # The forecast
//!
//! The rate of a translation is its gain since an earlier reading, 7 to 14 days old, divided by
//! the time in between. So a week's rhythm of work evens out, and a burst counts for two weeks at
//! most. At this rate a translation that gains is expected to be ready at a certain time. A
//! translation is at risk if its date is near and that time is later, or if it has gained nothing.
//! The rate is unknown until a reading is a day old, and the time is shown once one is three days
//! old.

use super::{
    Departed, Document, NotJudged, Readiness, Reading, Row, Translation, TranslationProblem, row_of,
};
use crate::{
    domain::{
        Completion, Defects, Failure, Language, Repository, Settings, State,
        record::{self, Languages, Record, SavedRepository},
        targets::{Target, TargetEntry},
        twelve_decimals,
    },
    support::clock::{DAY, Timestamp, WEEK},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The minimum time that a rate is measured over: less would take an hour's burst for the pace of
/// weeks.
const RATE_NEEDS: Duration = DAY;

/// The minimum time for an estimate: after a day, it would be wrong by weeks.
pub const ESTIMATE_NEEDS: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The end of the year 9999, the last one that RFC 3339 can express: the time at which a
/// translation without a gain will be ready.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// The circumstances that all translations of a document share.
#[derive(Debug)]
pub struct Judge<'a> {
    settings: &'a Settings,
    now: Timestamp,
    pub is_scale_suspect: bool,
    /// The rows of the document before, sorted by name. Unchanged translations share their memory.
    previous: &'a [Row],
}

impl<'a> Judge<'a> {
    /// `completions` are all that are known.
    pub fn new(
        settings: &'a Settings,
        now: Timestamp,
        completions: impl Iterator<Item = Completion> + Clone,
        previous: Option<&'a Document>,
    ) -> Self {
        Self {
            settings,
            now,
            is_scale_suspect: settings.scale.is_suspect(completions),
            previous: previous.map_or(&[], |previous| &previous.rows),
        }
    }

    /// Judges a repository with its `languages`, if they were ever read.
    pub fn row(
        &self,
        repository: &Arc<Repository>,
        state: State,
        languages: Option<&Languages>,
        (failure, defects): (Option<Failure>, Defects),
    ) -> Row {
        let name = &*repository.name;
        let known = languages.map(|languages| self.translations(name, languages));
        let known = known.unwrap_or_default();
        let before = row_of(self.previous, name).map(|row| &row.known);
        Row {
            repository: Arc::clone(repository),
            state,
            read_at: languages.map(|languages| languages.read_at),
            failure,
            defects,
            known: match before {
                Some(before) if **before == *known => Arc::clone(before),
                _ => known.into(),
            },
        }
    }

    /// Judges the translations that left a repository within a day, with it or alone.
    pub fn departed(&self, kept: &SavedRepository) -> impl Iterator<Item = Departed> {
        let name = &kept.repository.name;
        let recent = kept.records().iter().filter(|record| {
            let is_recent = |at| self.now.since(at) < DAY;
            record.left_at.is_some_and(is_recent)
                && !self
                    .settings
                    .filter
                    .excludes_language(&record.language.code)
        });
        recent.map(|record| {
            let language = &record.language.code;
            let targets = self.settings.targets.of_repository(name);
            let entry = targets.entry(language);
            let target = entry.map(|entry| entry.target()).unwrap_or_default();
            let ratio = record.reported.and_then(|it| self.ratio(it));
            Departed {
                repository: Arc::clone(name),
                language: Arc::clone(language),
                was_met: readiness(ratio, target).is_met() == Some(true),
            }
        })
    }

    fn translations(&self, name: &str, languages: &Languages) -> Vec<Translation> {
        let read_at = languages.read_at;
        let targets = self.settings.targets.of_repository(name);
        let listed = languages.listed();
        let filter = &self.settings.filter;
        let listed = listed.filter(|record| !filter.excludes_language(&record.language.code));
        let mut translations: Vec<_> = listed
            .map(|record| self.translation(record, targets.entry(&record.language.code), read_at))
            .collect();
        let required = targets.required(name);
        for code in required.filter(|code| !filter.excludes_language(code)) {
            if let Err(place) = translations.binary_search_by(|one| one.code().cmp(code)) {
                let missing = Record::new(Arc::new(Language {
                    code: code.into(),
                    name: Box::default(),
                }));
                let mut missing = self.translation(&missing, targets.entry(code), read_at);
                missing.is_missing = true;
                translations.insert(place, missing);
            }
        }
        translations
    }

    /// Judges one translation of a repository that was read at `read_at`.
    fn translation(
        &self,
        record: &Record,
        entry: Option<&Arc<TargetEntry>>,
        read_at: Timestamp,
    ) -> Translation {
        let now = self.now;
        let target = entry.map(|entry| entry.target()).unwrap_or_default();
        let completion = record.reported;
        let ratio = completion.and_then(|completion| self.ratio(completion));
        let readiness = readiness(ratio, target);
        let reading = |reading: record::Reading| {
            Some(Reading {
                ratio: self.ratio(reading.completion)?,
                at: reading.at,
            })
        };
        let fall = record.fall(now).and_then(reading);
        let mut translation = Translation {
            language: Arc::clone(&record.language),
            is_missing: false,
            completion,
            ratio,
            entry: entry.cloned(),
            last_progress: record.last_progress(now),
            is_new: !record.was_known_before(now.saturating_sub(WEEK)),
            earlier: record.earlier(now).and_then(reading),
            fall: fall
                .filter(|_| readiness != Readiness::Resting)
                .map(Box::new),
            readiness,
            problems: BTreeMap::new(),
            not_judged: None,
            estimated_ready: None,
        };
        if !translation.is_unready() {
            return translation;
        }
        if self.is_scale_suspect {
            translation.not_judged = Some(NotJudged::Unknown);
        } else if now.since(read_at) > DAY.max(self.settings.interval * 3) {
            translation.not_judged = Some(NotJudged::OldData);
        } else {
            let expected_at = expected_at(&translation, read_at);
            translation.problems = self.problems(&translation, expected_at);
            translation.not_judged = self.not_judged(record, &translation, expected_at);
            let earlier = translation.earlier;
            let is_long = earlier.is_some_and(|it| read_at.since(it.at) >= ESTIMATE_NEEDS);
            let is_known = is_long && !translation.has(TranslationProblem::Stalled);
            // A time that passed before the next read says nothing.
            translation.estimated_ready =
                expected_at.filter(|at| is_known && (now..NEVER).contains(at));
        }
        translation
    }

    /// Returns the ratio of a completion that is known.
    fn ratio(&self, completion: Completion) -> Option<f64> {
        let ratio = self.settings.scale.ratio(completion);
        ratio.filter(|_| !self.is_scale_suspect)
    }

    fn problems(
        &self,
        one: &Translation,
        expected_at: Option<Timestamp>,
    ) -> BTreeMap<TranslationProblem, Timestamp> {
        let (now, target, limits) = (self.now, one.target(), &self.settings.thresholds);
        let stalled_after = self.stalled_after(target);
        let is_deep = |fall: &&Reading| {
            let by = one.ratio.map(|ratio| twelve_decimals(fall.ratio - ratio));
            by.is_some_and(|by| by >= *limits.regressed_by)
        };
        let is_late = |due: &Timestamp| expected_at.is_some_and(|expected_at| expected_at > *due);
        let last_progress = one.last_progress.filter(|_| one.ratio.is_some());
        [
            (
                TranslationProblem::Stalled,
                last_progress.filter(|at| now.since(*at) >= stalled_after),
            ),
            (
                TranslationProblem::Regressed,
                one.fall.as_deref().filter(is_deep).map(|fall| fall.at),
            ),
            (
                TranslationProblem::AtRisk,
                self.near(target).filter(is_late),
            ),
            (
                TranslationProblem::Overdue,
                target.due.filter(|due| *due < now),
            ),
        ]
        .into_iter()
        .filter_map(|(kind, at)| Some((kind, at?)))
        .collect()
    }

    /// Returns the reason why a translation without a problem may have one.
    fn not_judged(
        &self,
        record: &Record,
        one: &Translation,
        expected_at: Option<Timestamp>,
    ) -> Option<NotJudged> {
        let target = one.target();
        let stalled_after = self.now.saturating_sub(self.stalled_after(target));
        let may_stall = !record.was_known_before(stalled_after);
        let may_be_late = self.near(target).is_some() && expected_at.is_none();
        match one.ratio {
            _ if !one.problems.is_empty() => None,
            None => Some(NotJudged::Unknown),
            Some(_) => (may_stall || may_be_late).then_some(NotJudged::TooEarly),
        }
    }

    fn stalled_after(&self, target: Target) -> Duration {
        let general = *self.settings.thresholds.stalled_after;
        target.stalled_after.unwrap_or(general)
    }

    /// Returns the date of the target, if it is near.
    fn near(&self, target: Target) -> Option<Timestamp> {
        let within = *self.settings.thresholds.at_risk_within;
        let is_near = |due: &Timestamp| *due >= self.now && due.since(self.now) <= within;
        target.due.filter(is_near)
    }
}

/// Extrapolates the gain to the target, which is reached [`NEVER`] without a gain; `None` while
/// the history is too short. It starts at the time of the last read, not at the present, because
/// an outage of the API slows nobody down.
fn expected_at(one: &Translation, read_at: Timestamp) -> Option<Timestamp> {
    let (earlier, ratio) = one.earlier.zip(one.ratio)?;
    let span = read_at.since(earlier.at);
    if span < RATE_NEEDS {
        return None;
    }
    let gain = ratio - earlier.ratio;
    // Without a gain, this is no duration.
    let left = (one.target().ratio - ratio) / gain * span.as_secs_f64();
    let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
    Some(read_at.saturating_add(left).min(NEVER))
}

fn readiness(ratio: Option<f64>, target: Target) -> Readiness {
    match ratio {
        _ if target.rests() => Readiness::Resting,
        None => Readiness::Unknown,
        Some(ratio) if ratio >= target.ratio => Readiness::Ready,
        Some(_) => Readiness::Behind,
    }
}
