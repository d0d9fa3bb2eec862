//! The judgement of a translation: ready or not, and if not, the problems that it has.
//!
//! Page, table, Markdown, CSV, JSON, the gate and the metrics all show this one judgement.
//!
//! # The forecast
//!
//! The rate of a translation is its gain since an earlier reading, 7 to 14 days old, divided by the
//! time in between. So a week's rhythm of work evens out, and a burst counts for two weeks at most.
//! At this rate a translation that gains is expected to be ready at a certain time. A translation
//! is at risk if its date is near and that time is later, or if it has gained nothing.

use super::{Thresholds, TranslationProblem, targets::Target, twelve_decimals};
use crate::support::clock::Timestamp;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The age beyond which data are not judged.
const JUDGED_FOR: Duration = DAY;

/// The minimum time that a rate is measured over: less would take an hour's burst for the pace of
/// weeks.
const RATE_NEEDS: Duration = DAY;

/// The end of the year 9999, the last one that RFC 3339 can express.
const LATEST: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// A completion ratio at an earlier time.
#[derive(Debug, Clone, Copy)]
pub struct Earlier {
    pub ratio: f64,
    pub at: Timestamp,
}

/// The facts about one translation that its judgement depends on.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// `None` if no completion is reported.
    pub ratio: Option<f64>,
    /// The progress clock; `None` if no completion is reported.
    pub last_progress: Option<Timestamp>,
    /// The ratio before a fall of the last 7 days, and the time of that fall.
    pub fall: Option<Earlier>,
    /// The reading from which the rate is measured.
    pub earlier: Option<Earlier>,
    pub target: Target,
    /// The time at which the repository was last read in full.
    pub read_at: Timestamp,
}

/// The circumstances that all translations of a snapshot share.
#[derive(Debug, Clone, Copy)]
pub struct Standards {
    pub thresholds: Thresholds,
    /// True if `api.completion_scale` seems wrong, so that no ratio can be trusted.
    pub is_scale_suspect: bool,
    pub now: Timestamp,
}

/// The judgement of one translation. Each problem has the time that it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Judgement {
    /// True if the translation is ready; `None` if that is unknown.
    pub is_met: Option<bool>,
    /// The last progress.
    pub stalled: Option<Timestamp>,
    /// The time of the fall.
    pub regressed: Option<Timestamp>,
    /// The date that has passed.
    pub overdue: Option<Timestamp>,
    /// The date that is near.
    pub at_risk: Option<Timestamp>,
    /// The time at which the translation is expected to be ready; `None` if it is ready, or gains
    /// nothing.
    pub estimated_ready: Option<Timestamp>,
}

impl Judgement {
    /// Returns the time that a problem is about, or `None` if the translation does not have it.
    pub fn problem(&self, kind: TranslationProblem) -> Option<Timestamp> {
        match kind {
            TranslationProblem::Stalled => self.stalled,
            TranslationProblem::Regressed => self.regressed,
            TranslationProblem::Overdue => self.overdue,
            TranslationProblem::AtRisk => self.at_risk,
        }
    }

    /// Returns the problems, each with the time that it is about.
    pub fn problems(self) -> impl Iterator<Item = (TranslationProblem, Timestamp)> {
        let kinds = TranslationProblem::ALL.iter();
        kinds.filter_map(move |kind| Some((*kind, self.problem(*kind)?)))
    }

    /// Returns the labels of the problems.
    pub fn kinds(self) -> Vec<&'static str> {
        self.problems().map(|(kind, _)| kind.label()).collect()
    }
}

impl Standards {
    /// Judges one translation. Data older than a day, and data of a suspect scale, show no problem.
    pub fn judge(&self, evidence: &Evidence) -> Judgement {
        let Evidence { ratio, target, .. } = *evidence;
        let ready_or_not = Judgement {
            is_met: target.is_met(ratio),
            ..Judgement::default()
        };
        let is_old = self.now.since(evidence.read_at) > JUDGED_FOR;
        if ready_or_not.is_met == Some(true) || self.is_scale_suspect || is_old {
            return ready_or_not;
        }
        let limits = &self.thresholds;
        let stalled_after = target.stalled_after.unwrap_or(limits.stalled_after);
        let is_stalled = |at: &Timestamp| self.now.since(*at) >= stalled_after;
        let is_deep = |fall: &Earlier| {
            ratio.is_some_and(|now| twelve_decimals(fall.ratio - now) >= limits.regressed_by)
        };
        let estimated_ready = evidence.estimated_ready();
        let is_late = |due: &Timestamp| match estimated_ready {
            Some(at) => at > *due,
            // Less than a day of history gives no rate, but shows whether there was a gain.
            None => evidence.gain().is_none(),
        };
        let is_near = |due: &Timestamp| due.since(self.now) <= limits.at_risk_within;
        let (past, ahead) = match target.due {
            Some(due) if due < self.now => (Some(due), None),
            due => (None, due),
        };
        Judgement {
            stalled: evidence.last_progress.filter(is_stalled),
            regressed: evidence.fall.filter(is_deep).map(|fall| fall.at),
            overdue: past,
            at_risk: ahead.filter(is_near).filter(is_late),
            estimated_ready,
            ..ready_or_not
        }
    }
}

impl Evidence {
    /// Returns the gain since the earlier reading and the time that it took; `None` without a gain.
    fn gain(&self) -> Option<(f64, Duration)> {
        let Earlier { ratio, at } = self.earlier?;
        let gain = self.ratio? - ratio;
        (gain > 0.0).then_some((gain, self.read_at.since(at)))
    }

    /// Extrapolates the gain to the target. It starts at the time of the last read, not at the
    /// present, because an outage of the API slows nobody down.
    fn estimated_ready(&self) -> Option<Timestamp> {
        let (gain, span) = self.gain().filter(|(_, span)| *span >= RATE_NEEDS)?;
        let missing = self.target.ratio - self.ratio?;
        let left = Duration::try_from_secs_f64(missing / gain * span.as_secs_f64());
        let left = left.unwrap_or(Duration::MAX);
        Some(self.read_at.saturating_add(left).min(LATEST))
    }
}

#[cfg(test)]
mod tests;
