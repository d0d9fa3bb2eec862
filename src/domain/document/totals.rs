//! Counts and means of several translations.

use super::{NotJudged, Readiness, Translation};
use crate::{domain::TranslationProblem, support::clock::Timestamp};
use std::collections::BTreeMap;

/// A mean of ratios.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, ratio: Option<f64>) {
        if let Some(ratio) = ratio {
            self.sum += ratio;
            self.count += 1;
        }
    }

    /// Returns the mean, or `None` if no ratio was added.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// The totals of several translations. Resting ones are counted apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// The translations that do not rest.
    pub counted: usize,
    pub ready: usize,
    /// The translations whose completion is not known.
    pub unknown: usize,
    /// The translations with a target of 0.
    pub resting: usize,
    /// The number of translations with each problem that any of them has, the mildest first.
    pub problems: BTreeMap<TranslationProblem, usize>,
    /// The number of translations that are not judged, by each reason that there is.
    pub not_judged: BTreeMap<NotJudged, usize>,
    /// The mean of the known ratios.
    pub mean: Mean,
    /// The mean gap between ratio and target.
    pub gap: Mean,
    /// The earliest date of a translation that is not ready.
    pub due: Option<Timestamp>,
}

impl Totals {
    /// Sums up these translations.
    pub fn of<'a>(translations: impl IntoIterator<Item = &'a Translation>) -> Self {
        let mut totals = Self::default();
        for translation in translations {
            totals.add(translation);
        }
        totals
    }

    pub fn add(&mut self, translation: &Translation) {
        if translation.rests() {
            self.resting += 1;
            return;
        }
        self.counted += 1;
        self.mean.add(translation.ratio);
        self.gap.add(translation.gap());
        match translation.readiness {
            Readiness::Ready => self.ready += 1,
            Readiness::Unknown => self.unknown += 1,
            Readiness::Behind | Readiness::Resting => {}
        }
        for problem in &translation.problems {
            *self.problems.entry(problem.kind).or_default() += 1;
        }
        if let Some(why) = translation.not_judged {
            *self.not_judged.entry(why).or_default() += 1;
        }
        if translation.is_unready() {
            let dates = [self.due, translation.target().due];
            self.due = dates.into_iter().flatten().min();
        }
    }

    /// Counts the translations with a problem.
    pub fn count(&self, kind: TranslationProblem) -> usize {
        self.problems.get(&kind).copied().unwrap_or_default()
    }

    /// Returns whether there are translations and all of them are ready.
    pub fn is_ready(&self) -> bool {
        self.counted > 0 && self.ready == self.counted
    }

    /// Counts the translations that are known to be below their targets.
    pub fn behind(&self) -> usize {
        self.unready() - self.unknown
    }

    /// Counts the translations that are not ready, or not known to be.
    pub fn unready(&self) -> usize {
        self.counted - self.ready
    }

    /// Counts all translations, with resting ones.
    pub fn with_resting(&self) -> usize {
        self.counted + self.resting
    }
}
