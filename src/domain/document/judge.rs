//! The judgement of translations: ready or not, and if not, the problems that they have. No other
//! module compares a ratio with a target, or a time with a threshold.
//!
//! All but the date is judged as of the last read, so that an outage begins no problem and ends
//! none; on data of more than four days, only the date is.
//!
//! # The forecast
//!
//! The pace of a translation is its gain in the last 14 days, divided by the days of them that
//! ended unready. So a fall is nobody's fault, and a day without work to do is nobody's delay. At
//! this pace a translation is expected to be ready at a certain time. It is at risk if its date is
//! near and that time is later, or if it has gained nothing.

use super::{
    Departed, Document, NotJudged, Readiness, Reading, Row, Translation, TranslationProblem, row_of,
};
use crate::{
    domain::{
        Completion, Defects, Language, Repository, Settings, State,
        history::{DAYS, History},
        record::{Languages, Record, SavedRepository},
        targets::{Target, TargetEntry},
        twelve_decimals,
    },
    support::clock::{DAY, Timestamp},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The age of data up to which more than the date is judged: a long weekend.
const JUDGED_FOR: Duration = Duration::from_secs(4 * 24 * 60 * 60);

/// The time ahead within which a translation is told when it is expected to be ready.
const TOLD_WITHIN: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

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

    /// Judges a repository with its `languages`, if they were ever read. The caller adds what went
    /// wrong.
    pub fn row(
        &self,
        repository: &Arc<Repository>,
        state: State,
        languages: Option<&Languages>,
    ) -> Row {
        let name = &*repository.name;
        let known = languages.map(|languages| self.translations(name, languages));
        let known = known.unwrap_or_default();
        let before = row_of(self.previous, name).map(|row| &row.known);
        Row {
            repository: Arc::clone(repository),
            state,
            read_at: languages.map(|languages| languages.read_at),
            failure: None,
            reason: None,
            failing_since: None,
            defects: Defects::default(),
            known: match before {
                Some(before) if **before == *known => Arc::clone(before),
                _ => known.into(),
            },
        }
    }

    /// Judges the translations that left a repository within the days of a record, with it or alone.
    pub fn departed(&self, kept: &SavedRepository) -> impl Iterator<Item = Departed> {
        let name = &kept.repository.name;
        let records = kept.records().iter();
        records.filter_map(|record| {
            let language = &record.language.code;
            let is_recent = |at: &Timestamp| self.now.since(*at) < DAY * (DAYS + 1);
            let left_at = record.left_at.filter(is_recent);
            let filter = &self.settings.filter;
            let left_at = left_at.filter(|_| !filter.excludes_language(language))?;
            let target = self.settings.targets.of_repository(name).target(language);
            let ratio = record.reported.and_then(|it| self.ratio(it));
            Some(Departed {
                repository: Arc::clone(name),
                language: Arc::clone(language),
                left_at,
                was_met: readiness(ratio, target).is_met() == Some(true),
            })
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
        let target = entry.map(|entry| entry.target()).unwrap_or_default();
        let completion = record.completion();
        let ratio = completion.and_then(|completion| self.ratio(completion));
        let readiness = readiness(ratio, target);
        let as_of = read_at.min(self.now);
        let current = record.current();
        let fall = current.filter(|_| readiness != Readiness::Resting);
        let fall = fall.and_then(|history| {
            let (completion, at) = history.fall(as_of)?;
            let ratio = self.ratio(completion)?;
            Some(Box::new(Reading { ratio, at }))
        });
        let mut translation = Translation {
            language: Arc::clone(&record.language),
            is_missing: false,
            completion,
            ratio,
            entry: entry.cloned(),
            last_progress: current.map(|history| history.progress_at.min(self.now)),
            history: record.history.clone(),
            fall,
            readiness,
            problems: BTreeMap::new(),
            not_judged: None,
            pace: None,
            estimated_ready: None,
        };
        if translation.is_unready() {
            let age = self.now.since(as_of);
            match ratio.zip(current) {
                None => translation.not_judged = Some(NotJudged::Unknown),
                Some(_) if age > JUDGED_FOR.max(self.settings.interval * 3) => {
                    translation.not_judged = Some(NotJudged::OldData);
                }
                Some((ratio, history)) => self.judge(&mut translation, ratio, history, as_of),
            }
            if let Some(due) = self.missed(record, target) {
                translation
                    .problems
                    .insert(TranslationProblem::Overdue, due);
            }
        }
        translation
    }

    /// Adds the problems of an unready translation, apart from its date, and the forecast.
    fn judge(
        &self,
        translation: &mut Translation,
        ratio: f64,
        history: &History,
        as_of: Timestamp,
    ) {
        let (target, limits) = (translation.target(), &self.settings.thresholds);
        let is_ready = |completion| {
            let ratio = self.ratio(completion);
            ratio.is_some_and(|ratio| target.is_met_by(ratio))
        };
        let pace = history.pace(as_of, is_ready);
        let pace = pace.map(|pace| pace / self.settings.scale.finished);
        let expected_at = pace.map(|pace| {
            let days = (target.ratio - ratio) / pace;
            // Without a gain, this is no duration.
            let left = Duration::try_from_secs_f64(days * DAY.as_secs_f64());
            as_of.saturating_add(left.unwrap_or(Duration::MAX))
        });
        let stalled_after = target.stalled_after.unwrap_or(*limits.stalled_after);
        let is_deep = |fall: &&Reading| twelve_decimals(fall.ratio - ratio) >= *limits.regressed_by;
        let is_near =
            |due: &Timestamp| *due >= self.now && due.since(self.now) <= *limits.at_risk_within;
        let is_late = |due: &Timestamp| expected_at.is_some_and(|at| at > *due);
        let problems = [
            (
                TranslationProblem::Stalled,
                history
                    .idle_since()
                    .filter(|since| as_of.since(*since) >= stalled_after),
            ),
            (
                TranslationProblem::Regressed,
                translation
                    .fall
                    .as_deref()
                    .filter(is_deep)
                    .map(|fall| fall.at),
            ),
            (
                TranslationProblem::AtRisk,
                target.due.filter(is_near).filter(is_late),
            ),
        ];
        let problems = problems.into_iter();
        translation.problems = problems
            .filter_map(|(kind, at)| Some((kind, at?)))
            .collect();
        translation.pace = pace;
        translation.not_judged = pace.is_none().then_some(NotJudged::TooEarly);
        let told = self.now..=self.now.saturating_add(TOLD_WITHIN);
        // A time that passed before the next read says nothing.
        let told = expected_at.filter(|at| told.contains(at));
        translation.estimated_ready =
            told.filter(|_| !translation.has(TranslationProblem::Stalled));
    }

    /// Returns the date of an unready translation, if it is past. One whose completion is not known
    /// has missed it unless it was ready when it was last known.
    fn missed(&self, record: &Record, target: Target) -> Option<Timestamp> {
        let was_ready = |history: &History| {
            let is_known = record.reported == Some(history.completion);
            history.unready_since.is_none() && !is_known
        };
        let is_missed = |due: &Timestamp| {
            *due < self.now
                && !self.is_scale_suspect
                && !record.history.as_ref().is_some_and(was_ready)
        };
        target.due.filter(is_missed)
    }

    /// Returns the ratio of a completion that is known.
    fn ratio(&self, completion: Completion) -> Option<f64> {
        let ratio = self.settings.scale.ratio(completion);
        ratio.filter(|_| !self.is_scale_suspect)
    }
}

fn readiness(ratio: Option<f64>, target: Target) -> Readiness {
    match ratio {
        _ if target.rests() => Readiness::Resting,
        None => Readiness::Unknown,
        Some(ratio) if target.is_met_by(ratio) => Readiness::Ready,
        Some(_) => Readiness::Behind,
    }
}
