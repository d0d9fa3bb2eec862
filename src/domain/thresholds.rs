//! The thresholds of the judgement.

use crate::support::clock::DAY;
use std::time::Duration;

/// The limits at which a translation that is not ready becomes a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The time without progress after which a translation has stalled, unless its target has
    /// another one.
    pub(crate) stalled_after: Duration,
    /// The difference of ratios, above 0 and at most 1, by which a translation has regressed.
    pub(crate) regressed_by: f64,
    /// The time before its date within which a translation can be at risk.
    pub(crate) at_risk_within: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            stalled_after: DAY * 7,
            regressed_by: 0.2,
            at_risk_within: DAY * 14,
        }
    }
}
