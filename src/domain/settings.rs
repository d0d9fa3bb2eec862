//! The settings of polls and of the judgement, made once from the configuration. The poller and
//! each published document carry the same ones.

use super::{Completion, filter::Filter, links::Links, targets::Targets, twelve_decimals};
use crate::support::{
    keys::section,
    parsed::{HOUR, Parsed, YEAR},
};
use std::time::Duration;

/// The settings of polling and judgement.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `poll.interval`: the time from the start of one poll to the start of the next.
    pub interval: Duration,
    /// `poll.stale_after`: the age at which data become stale, unless polls take longer.
    pub stale_after: Duration,
    /// `api.concurrency`: the number of requests in flight at once, at least 1.
    pub concurrency: usize,
    /// The number of attempts for a request in one poll, at least 1.
    pub max_attempts: u32,
    pub filter: Filter,
    pub scale: Scale,
    pub targets: Targets,
    pub thresholds: Thresholds,
    pub links: Links,
}

/// The unit of completions. The API specification leaves it open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// `api.completion_scale`: the completion that means finished, at least 1.
    pub finished: f64,
    /// True if the operator set it. It is then never suspect.
    pub is_chosen: bool,
}

impl Scale {
    /// The scale unless the operator sets another one.
    pub const PERCENT: Self = Self {
        finished: 100.0,
        is_chosen: false,
    };

    /// The share of the scale by which rounding may take a completion out of it.
    const ROUNDING: f64 = 1e-6;

    /// Returns the completion as a ratio from 0 to 1, or `None` if it lies outside the scale.
    /// Rounds to 12 decimals, because a binary fraction rarely equals a decimal one: 92.3 / 100
    /// must reach a target of 0.923.
    pub fn ratio(self, completion: Completion) -> Option<f64> {
        let ratio = completion.get() / self.finished;
        let is_known = (-Self::ROUNDING..=1.0 + Self::ROUNDING).contains(&ratio);
        is_known.then(|| twelve_decimals(ratio).clamp(0.0, 1.0))
    }

    /// Returns whether the completions look like 0 to 1 although the scale is larger: at least one
    /// is above 0 and none is above 1.
    pub fn is_suspect(self, mut completions: impl Iterator<Item = Completion> + Clone) -> bool {
        !self.is_chosen
            && self.finished > 1.0
            && completions
                .clone()
                .all(|completion| completion.get() <= 1.0)
            && completions.any(|completion| completion > Completion::ZERO)
    }
}

section! {
    /// The section `thresholds`: the limits at which a translation that is not ready becomes a
    /// problem.
    thresholds: Thresholds {
        /// time without progress and without being ready after which a translation has stalled
        stalled_after: Parsed<Duration, HOUR, { 100 * YEAR }> = "7d";
        /// a translation has regressed if its ratio is at least this much, above 0, below the highest
        /// of the last 7 days
        regressed_by: Parsed<f64, 0, 1> = "0.2";
        /// time before its date from which a translation is at risk if at its recent pace it will
        /// miss that date
        at_risk_within: Parsed<Duration, HOUR, { 100 * YEAR }> = "14d";
    }
}
