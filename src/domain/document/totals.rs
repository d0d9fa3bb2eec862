//! Counts and means of several translations.

use super::{NotJudged, Readiness, Row, Translation, translations};
use crate::{domain::TranslationProblem, support::clock::Timestamp};

/// A mean of ratios. Each is clamped to 0 to 1, so that one absurd value cannot outweigh all
/// others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

/// The totals of several translations. Resting ones are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// The translations that do not rest.
    pub all: usize,
    pub ready: usize,
    /// The translations whose readiness is unknown.
    pub unknown: usize,
    /// The translations with a target of 0.
    pub resting: usize,
    /// The number of translations with each problem, in the order of [`TranslationProblem::ALL`].
    problems: [usize; TranslationProblem::ALL.len()],
    /// The number of translations with unknown problems, by [`NotJudged::ALL`].
    not_judged: [usize; NotJudged::ALL.len()],
    /// The mean ratio that can be trusted, with resting translations.
    pub mean: Mean,
    /// The mean gap between ratio and target.
    pub missing: Mean,
    /// The earliest date of a translation that is not ready.
    pub due: Option<Timestamp>,
}

impl Totals {
    /// Sums up the translations of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>) -> Self {
        let mut totals = Self::default();
        for (_, translation) in translations(rows) {
            totals.add(translation);
        }
        totals
    }

    pub fn add(&mut self, translation: &Translation) {
        self.mean.add(translation.trusted_ratio());
        if translation.rests() {
            self.resting += 1;
            return;
        }
        self.all += 1;
        self.missing.add(translation.missing());
        match translation.readiness {
            Readiness::Ready => self.ready += 1,
            Readiness::Unknown => self.unknown += 1,
            Readiness::Behind | Readiness::Resting => {}
        }
        for (count, has) in self.problems.iter_mut().zip(translation.problems.has) {
            *count += usize::from(has);
        }
        if let Some(why) = translation.problems.not_judged {
            self.not_judged[why as usize] += 1;
        }
        if let Some(due) = translation.target().due
            && translation.is_behind()
        {
            self.due = Some(self.due.unwrap_or(due).min(due));
        }
    }

    /// Counts the translations with a problem.
    pub fn count(&self, kind: TranslationProblem) -> usize {
        self.problems[kind as usize]
    }

    /// Counts the translations with each problem that any of them has, the mildest first.
    pub fn problems(&self) -> impl DoubleEndedIterator<Item = (TranslationProblem, usize)> {
        let counts = TranslationProblem::ALL.iter().copied().zip(self.problems);
        counts.filter(|(_, count)| *count > 0)
    }

    /// Counts the translations with unknown problems, by each reason that there is.
    pub fn not_judged(&self) -> impl Iterator<Item = (NotJudged, usize)> {
        let counts = NotJudged::ALL.iter().copied().zip(self.not_judged);
        counts.filter(|(_, count)| *count > 0)
    }

    /// Returns whether there are translations and all of them are ready.
    pub fn is_ready(&self) -> bool {
        self.all > 0 && self.ready == self.all
    }

    /// Returns the share of the translations that are ready; `None` if there are none.
    pub fn ready_ratio(self) -> Option<f64> {
        let part = |count| u32::try_from(count).map_or(f64::INFINITY, f64::from);
        (self.all > 0).then(|| part(self.ready) / part(self.all))
    }

    /// Counts the translations that are not ready.
    pub fn behind(&self) -> usize {
        self.all - self.ready
    }

    /// Counts all translations, with resting ones.
    pub fn with_resting(&self) -> usize {
        self.all + self.resting
    }
}
