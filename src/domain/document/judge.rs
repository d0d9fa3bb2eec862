//! The judgement of translations: ready or not, and if not, the problems that they have. No other
//! module compares a ratio with a target, or a time with a threshold.
//!
//! # The forecast
//!
//! The rate of a translation is its gain since an earlier reading, 7 to 14 days old, divided by the
//! time in between. So a week's rhythm of work evens out, and a burst counts for two weeks at most.
//! At this rate a translation that gains is expected to be ready at a certain time. A translation
//! is at risk if its date is near and that time is later, or if it has gained nothing. The rate is
//! unknown until a reading is a day old.

use super::{Document, Fall, Judged, NotJudged, Problems, Readiness, Row, Totals, Translation};
use crate::{
    domain::{
        Completion, Language,
        polling::PollStatus,
        record::{Languages, Record},
        snapshot::{Shown, Snapshot, is_scale_suspect},
        targets::{Target, TargetEntry},
        twelve_decimals,
    },
    support::clock::{DAY, Timestamp, WEEK},
};
use std::{sync::Arc, time::Duration};

/// The minimum time that a rate is measured over: less would take an hour's burst for the pace of
/// weeks.
const RATE_NEEDS: Duration = DAY;

/// The end of the year 9999, the last one that RFC 3339 can express: the time at which a
/// translation without a gain will be ready.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_000);

impl Document {
    /// Judges a snapshot. Translations that are as in the `previous` document share its memory.
    pub fn judge(snapshot: &Snapshot, status: PollStatus, previous: Option<&Self>) -> Self {
        let known = snapshot.repositories.iter();
        let known = known.filter_map(|shown| shown.condition.known());
        let records = known.flat_map(|languages| languages.records.iter());
        let completions = records.filter_map(Record::completion).map(Completion::get);
        let is_scale_suspect =
            !snapshot.is_scale_chosen && is_scale_suspect(snapshot.completion_scale, completions);
        let judge = Judge {
            snapshot,
            is_scale_suspect,
            judged_for: DAY.max(status.interval * 3),
        };
        let shown = snapshot.repositories.iter();
        let rows: Vec<_> = shown
            .map(|shown| {
                let rows = previous.map_or(&[][..], |previous| &previous.rows);
                let index = rows.binary_search_by(|row| row.name().cmp(&shown.repository.name));
                judge.row(shown, index.ok().map(|index| &rows[index]))
            })
            .collect();
        Self {
            taken_at: snapshot.taken_at,
            totals: Totals::of(&rows),
            rows,
            filtered: snapshot.filtered,
            unnamed: snapshot.unnamed,
            unconfirmed: snapshot.unconfirmed,
            completion_scale: snapshot.completion_scale,
            is_scale_suspect,
            targets: Arc::clone(&snapshot.targets),
            thresholds: snapshot.thresholds,
            links: Arc::clone(&snapshot.links),
            status,
        }
    }
}

impl Judged {
    pub(super) fn new(translations: Box<[Translation]>) -> Self {
        let mut totals = Totals::default();
        translations.iter().for_each(|one| totals.add(one));
        Self {
            translations,
            totals,
        }
    }
}

/// The circumstances that all translations of a document share.
struct Judge<'a> {
    snapshot: &'a Snapshot,
    is_scale_suspect: bool,
    /// The age up to which data are judged.
    judged_for: Duration,
}

impl Judge<'_> {
    fn row(&self, shown: &Shown, previous: Option<&Row>) -> Row {
        let languages = shown.condition.known();
        let name = &shown.repository.name;
        let translations = languages.map(|languages| self.translations(name, languages));
        let translations = translations.unwrap_or_default();
        Row {
            repository: Arc::clone(&shown.repository),
            condition: shown.condition.clone(),
            judged: match previous {
                Some(before) if *before.known() == *translations => Arc::clone(&before.judged),
                _ => Arc::new(Judged::new(translations.into())),
            },
        }
    }

    fn translations(&self, name: &str, languages: &Languages) -> Vec<Translation> {
        let read_at = languages.read_at;
        let targets = self.snapshot.targets.of_repository(name);
        let listed = languages.records.iter();
        let mut translations: Vec<_> = listed
            .map(|record| self.translation(record, targets.entry(&record.language.code), read_at))
            .collect();
        for code in targets.required(name) {
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
        let now = self.snapshot.taken_at;
        let target = entry.map(|entry| entry.target).unwrap_or_default();
        let completion = record.completion();
        let ratio = completion.map(|completion| self.ratio(completion));
        let readiness = self.readiness(ratio, target);
        let fall = record.fall(now).map(|fall| Fall {
            from: self.ratio(fall.completion),
            at: fall.at,
        });
        let mut translation = Translation {
            language: Arc::clone(&record.language),
            is_missing: false,
            completion,
            ratio,
            is_suspect: self.is_scale_suspect,
            entry: entry.cloned(),
            last_progress: record.last_progress(now),
            is_new: !record.was_known_before(self.snapshot.taken_at.saturating_sub(WEEK)),
            fall: fall
                .filter(|_| readiness != Readiness::Resting)
                .map(Box::new),
            readiness,
            problems: Problems::default(),
            estimated_ready: None,
        };
        if let Readiness::Ready | Readiness::Resting = readiness {
            return translation;
        }
        if self.is_scale_suspect {
            translation.problems.not_judged = Some(NotJudged::SuspectScale);
        } else if now.since(read_at) > self.judged_for {
            translation.problems.not_judged = Some(NotJudged::OldData);
        } else {
            let forecast = self.forecast(record, ratio, target, read_at);
            translation.problems = self.problems(record, &translation, forecast);
            // A time that passed before the next read says nothing.
            translation.estimated_ready = forecast.filter(|at| (now..NEVER).contains(at));
        }
        translation
    }

    fn ratio(&self, completion: Completion) -> f64 {
        completion.ratio(self.snapshot.completion_scale)
    }

    fn readiness(&self, ratio: Option<f64>, target: Target) -> Readiness {
        match ratio {
            _ if target.rests() => Readiness::Resting,
            _ if self.is_scale_suspect => Readiness::Unknown,
            None => Readiness::Unknown,
            Some(ratio) if ratio >= target.ratio => Readiness::Ready,
            Some(_) => Readiness::Behind,
        }
    }

    fn problems(
        &self,
        record: &Record,
        one: &Translation,
        forecast: Option<Timestamp>,
    ) -> Problems {
        let (now, target) = (self.snapshot.taken_at, one.target());
        let limits = &self.snapshot.thresholds;
        let stalled_after = target.stalled_after.unwrap_or(limits.stalled_after);
        let is_deep = |from: f64| {
            let by = one.ratio.map(|ratio| twelve_decimals(from - ratio));
            by.is_some_and(|by| by >= limits.regressed_by)
        };
        let is_late = |due| forecast.is_some_and(|at| at > due);
        let is_near = |due: &Timestamp| *due >= now && due.since(now) <= limits.at_risk_within;
        let near = target.due.filter(is_near);
        let last = one.last_progress;
        let is_stalled = last.is_some_and(|at| now.since(at) >= stalled_after);
        let may_stall = !record.was_known_before(now.saturating_sub(stalled_after));
        let is_too_early = may_stall || near.is_some() && forecast.is_none();
        Problems {
            // In the order of `TranslationProblem::ALL`.
            has: [
                is_stalled,
                one.fall.as_ref().is_some_and(|fall| is_deep(fall.from)),
                near.is_some_and(is_late),
                target.due.is_some_and(|due| due < now),
            ],
            not_judged: match one.completion {
                None => Some(NotJudged::NoCompletion),
                Some(_) => is_too_early.then_some(NotJudged::TooEarly),
            },
        }
    }

    /// Extrapolates the gain to the target; `None` while the history is too short. It starts at the
    /// time of the last read, not at the present, because an outage of the API slows nobody down.
    fn forecast(
        &self,
        record: &Record,
        ratio: Option<f64>,
        target: Target,
        read_at: Timestamp,
    ) -> Option<Timestamp> {
        let (earlier, ratio) = record.earlier(self.snapshot.taken_at).zip(ratio)?;
        let span = read_at.since(earlier.at);
        if span < RATE_NEEDS {
            return None;
        }
        let gain = ratio - self.ratio(earlier.completion);
        // Without a gain, this is no duration.
        let left = (target.ratio - ratio) / gain * span.as_secs_f64();
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        Some(read_at.saturating_add(left).min(NEVER))
    }
}
