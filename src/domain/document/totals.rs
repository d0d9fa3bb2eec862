//! Counts and means of several translations.

use super::{NotJudged, Row, Standing, Translation, furthest_first};
use crate::{domain::TranslationProblem, support::clock::Timestamp};
use std::{cmp::Ordering, collections::BTreeMap};

/// The tone in which outputs tell a verdict, the worst first: each has its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    Overdue,
    /// A translation has another problem, or is not known; or a repository is not.
    Troubled,
    /// Something is behind, or in doubt.
    Behind,
    /// No completion is known, or everything rests.
    Silent,
    Ready,
}

/// The totals of several translations. Resting ones are counted apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// The number of translations in each state, by [`Standing`].
    standings: [usize; Standing::ALL.len()],
    /// The number of translations with each problem that any of them has, the mildest first.
    pub problems: BTreeMap<TranslationProblem, usize>,
    /// The number of translations without a judgement, by reason.
    pub not_judged: BTreeMap<NotJudged, usize>,
    /// The sum of the known ratios.
    ratios: f64,
    /// The sum of the gaps between these ratios and their targets.
    gaps: f64,
    /// The earliest date of a translation that is not ready.
    pub due: Option<Timestamp>,
    /// The latest time at which a translation is expected to be ready.
    pub last_expected: Option<Timestamp>,
    /// The number of unready translations that are judged and have no expected day: they do not move,
    /// have stalled, take years, or should be ready by now.
    pub without_forecast: usize,
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

    /// Sums up the shown translations of these rows.
    pub fn of_rows(rows: &[Row]) -> Self {
        Self::of(rows.iter().flat_map(Row::translations))
    }

    pub fn add(&mut self, translation: &Translation) {
        self.standings[translation.standing() as usize] += 1;
        if translation.rests() {
            return;
        }
        self.ratios += translation.ratio.unwrap_or_default();
        self.gaps += translation.gap().unwrap_or_default();
        for kind in translation.kinds() {
            *self.problems.entry(kind).or_default() += 1;
        }
        if let Some(why) = translation.not_judged {
            *self.not_judged.entry(why).or_default() += 1;
        }
        if translation.is_unready() {
            self.due = self.due.into_iter().chain(*translation.target().due).min();
            let forecast = (translation.estimated_ready, translation.not_judged);
            self.without_forecast += usize::from(forecast == (None, None));
        }
        self.last_expected = self.last_expected.max(translation.estimated_ready);
    }

    /// Counts the translations in a state.
    pub fn standing(&self, standing: Standing) -> usize {
        self.standings[standing as usize]
    }

    pub fn ready(&self) -> usize {
        self.standing(Standing::Ready)
    }

    /// Counts the translations whose completion is not known.
    pub fn unknown(&self) -> usize {
        self.standing(Standing::Unknown)
    }

    /// Counts the translations with a target of 0.
    pub fn resting(&self) -> usize {
        self.standing(Standing::Resting)
    }

    /// Counts the translations that do not rest.
    pub fn counted(&self) -> usize {
        self.with_resting() - self.resting()
    }

    /// Compares by urgency: first what is not ready, by date and then by gap.
    pub fn urgency(&self, other: &Self) -> Ordering {
        let key = |totals: &Self| (totals.due.is_none(), totals.due, totals.unready() == 0);
        let by_date = key(self).cmp(&key(other));
        by_date.then(furthest_first(self.gap(), other.gap()))
    }

    /// Returns the tone of the figures.
    pub fn tone(&self) -> Tone {
        match () {
            () if self.problems.contains_key(&TranslationProblem::Overdue) => Tone::Overdue,
            () if self.unknown() == self.counted() => Tone::Silent,
            () if self.unknown() > 0 || !self.problems.is_empty() => Tone::Troubled,
            () if self.behind() > 0 => Tone::Behind,
            () => Tone::Ready,
        }
    }

    /// Returns the mean of the known ratios; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        self.mean_of(self.ratios)
    }

    /// Returns the mean gap between the known ratios and their targets; `None` without any.
    pub fn gap(&self) -> Option<f64> {
        self.mean_of(self.gaps)
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53")]
    fn mean_of(&self, sum: f64) -> Option<f64> {
        let known = self.counted() - self.unknown();
        (known > 0).then(|| sum / known as f64)
    }

    /// Counts the translations that are known to be below their targets.
    pub fn behind(&self) -> usize {
        self.unready() - self.unknown()
    }

    /// Counts the translations behind their targets, and the unknown ones.
    pub fn unready(&self) -> usize {
        self.counted() - self.ready()
    }

    /// Counts all translations, with resting ones.
    pub fn with_resting(&self) -> usize {
        self.standings.iter().sum()
    }
}
