//! The judgement of translations: ready or not, and if not, the problems that they have. A
//! [`Record`] asks its target only since when it is unready, and [`super::changes`] whether it was
//! ready then; both by [`TargetEntry::is_met_by`].
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
        Completion, Language, Settings, State,
        history::{DAYS, History},
        record::{KeptRepository, Record},
        targets::{TargetEntry, Targets, target_of},
        twelve_decimals,
    },
    support::clock::{DAY, Timestamp},
};
use std::{sync::Arc, time::Duration};

/// The age of data up to which more than the date is judged: a long weekend.
const JUDGED_FOR: Duration = Duration::from_secs(4 * 24 * 60 * 60);

/// The time ahead within which a translation is told when it is expected to be ready.
const TOLD_WITHIN: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

/// The circumstances that all translations of a document share.
#[derive(Debug)]
pub struct Judge<'a> {
    pub settings: &'a Settings,
    pub now: Timestamp,
    /// True if no ratio is known, because `api.completion_scale` seems wrong.
    pub is_scale_suspect: bool,
    /// The document before. Unchanged translations share their memory.
    pub previous: Option<&'a Document>,
}

impl Judge<'_> {
    /// Judges a repository.
    pub fn row(&self, kept: &KeptRepository, state: State) -> Row {
        let read_at = kept.read_at;
        let known = read_at.map(|read_at| self.translations(kept, read_at));
        let known = known.unwrap_or_default();
        let previous = self
            .previous
            .and_then(|previous| row_of(&previous.rows, &kept.repository.name));
        let same = previous
            .map(|row| &row.known)
            .filter(|before| ***before == *known);
        Row {
            repository: Arc::clone(&kept.repository),
            state,
            read_at,
            failure: kept.failure.clone(),
            reason: kept.reason,
            failing_since: kept.failing_since,
            defects: kept.defects.clone(),
            known: same.map_or_else(|| known.into(), Arc::clone),
        }
    }

    /// Judges the translations that left a repository within the days of a record, with it or alone.
    pub fn departed(&self, kept: &KeptRepository) -> impl Iterator<Item = Departed> {
        let name = &kept.repository.name;
        let targets = self.settings.targets.of_repository(name);
        kept.records.iter().filter_map(move |record| {
            let language = &record.language.code;
            let is_recent = |at: &Timestamp| self.now.since(*at) < DAY * (DAYS + 1);
            let left_at = record.left_at.filter(is_recent)?;
            let history = record.history.as_ref();
            let ratio = history.and_then(|history| self.ratio(history.completion));
            let is_excluded = self.settings.filter.excludes_language(language);
            (!is_excluded).then(|| Departed {
                repository: Arc::clone(name),
                language: Arc::clone(language),
                left_at,
                was_met: readiness(ratio, targets.target(language)).is_met() == Some(true),
            })
        })
    }

    fn translations(&self, kept: &KeptRepository, read_at: Timestamp) -> Vec<Translation> {
        let name = &*kept.repository.name;
        let targets = self.settings.targets.of_repository(name);
        let mut translations: Vec<_> = kept
            .listed()
            .map(|record| self.translation(record, &targets, read_at))
            .collect();
        for code in targets.required(name) {
            if let Err(place) = translations.binary_search_by(|listed| listed.code().cmp(code)) {
                let missing = Record::new(Arc::new(Language {
                    code: code.into(),
                    name: Box::default(),
                }));
                let mut missing = self.translation(&missing, &targets, read_at);
                missing.is_missing = true;
                translations.insert(place, missing);
            }
        }
        let filter = &self.settings.filter;
        translations.retain(|translation| !filter.excludes_language(translation.code()));
        translations
    }

    /// Judges one translation of a repository that was read at `read_at` and has these `targets`.
    fn translation(&self, record: &Record, targets: &Targets, read_at: Timestamp) -> Translation {
        let limits = &self.settings.thresholds;
        let entry = targets.entry(&record.language.code);
        let target = target_of(entry);
        let ratio = record.reported.and_then(|reported| self.ratio(reported));
        let readiness = readiness(ratio, target);
        let as_of = read_at.min(self.now);
        let current = record.current();
        let fallen = current.filter(|_| readiness != Readiness::Resting);
        let fall = fallen.and_then(|history| self.fall(history, as_of));
        let is_old = self.now.since(as_of) > JUDGED_FOR.max(self.settings.interval * 3);
        let judged = current.filter(|_| readiness == Readiness::Behind && !is_old);
        let forecast = judged.and_then(|history| self.forecast(history, target, as_of));
        let (pace, expected_at) = forecast.unzip();
        let stalled_after = target.stalled_after.unwrap_or(*limits.stalled_after);
        let has_stalled = |since: &Timestamp| as_of.since(*since) >= stalled_after;
        let near = self.now..=self.now.saturating_add(*limits.at_risk_within);
        let stalled_since = judged.and_then(History::idle_since).filter(has_stalled);
        let fell_at = fall.as_deref().and_then(|fall| {
            let depth = twelve_decimals(fall.ratio - ratio?);
            (judged.is_some() && depth >= *limits.regressed_by).then_some(fall.at)
        });
        let at_risk = target
            .due
            .filter(|due| near.contains(due) && expected_at > Some(*due));
        let overdue = target
            .due
            .filter(|due| *due < self.now && self.may_be_missed(record, readiness));
        let problems = [
            (TranslationProblem::Stalled, stalled_since),
            (TranslationProblem::Regressed, fell_at),
            (TranslationProblem::AtRisk, at_risk),
            (TranslationProblem::Overdue, overdue),
        ];
        let told = self.now..=self.now.saturating_add(TOLD_WITHIN);
        // A time that passed before the next read says nothing.
        let is_shown = |at: &Timestamp| told.contains(at) && stalled_since.is_none();
        Translation {
            language: Arc::clone(&record.language),
            is_missing: false,
            completion: record.reported,
            ratio,
            entry: entry.cloned(),
            history: record.history.clone().map(|history| History {
                progress_at: history.progress_at.min(self.now),
                ..history
            }),
            fall,
            readiness,
            problems: problems
                .into_iter()
                .filter_map(|(kind, at)| Some((kind, at?)))
                .collect(),
            not_judged: match readiness {
                Readiness::Unknown => Some(NotJudged::Unknown),
                Readiness::Behind if is_old => Some(NotJudged::OldData),
                Readiness::Behind if pace.is_none() => Some(NotJudged::TooEarly),
                _ => None,
            },
            estimated_ready: expected_at.filter(is_shown),
        }
    }

    fn fall(&self, history: &History, as_of: Timestamp) -> Option<Box<Reading>> {
        let (completion, at) = history.fall(as_of)?;
        let ratio = self.ratio(completion)?;
        Some(Box::new(Reading { ratio, at }))
    }

    /// Returns the gain per day, in the unit of completions, and the time at which the translation
    /// is expected to be ready.
    fn forecast(
        &self,
        history: &History,
        target: &TargetEntry,
        as_of: Timestamp,
    ) -> Option<(f64, Timestamp)> {
        let is_ready = |completion| {
            let ratio = self.ratio(completion);
            ratio.is_some_and(|ratio| target.is_met_by(ratio))
        };
        let pace = history.pace(as_of, is_ready)?;
        let left = target.ratio() * self.settings.scale.finished - history.completion.get();
        // Without a gain, this is no duration.
        let left = Duration::try_from_secs_f64(left / pace * DAY.as_secs_f64());
        Some((pace, as_of.saturating_add(left.unwrap_or(Duration::MAX))))
    }

    /// Returns whether a translation misses its date once that is past. One whose completion is not
    /// known misses it unless it was ready when it was last known.
    fn may_be_missed(&self, record: &Record, readiness: Readiness) -> bool {
        let history = record.history.as_ref();
        match readiness {
            Readiness::Ready | Readiness::Resting => false,
            Readiness::Behind => true,
            Readiness::Unknown => {
                let was_unready = |history: &History| history.unready_since.is_some();
                !self.is_scale_suspect && history.is_none_or(was_unready)
            }
        }
    }

    /// Returns the ratio of a completion that is known.
    fn ratio(&self, completion: Completion) -> Option<f64> {
        let ratio = self.settings.scale.ratio(completion);
        ratio.filter(|_| !self.is_scale_suspect)
    }
}

fn readiness(ratio: Option<f64>, target: &TargetEntry) -> Readiness {
    match ratio {
        _ if target.rests() => Readiness::Resting,
        None => Readiness::Unknown,
        Some(ratio) if target.is_met_by(ratio) => Readiness::Ready,
        Some(_) => Readiness::Behind,
    }
}
