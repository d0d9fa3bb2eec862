//! The progress clock: when was a language's completion last seen to rise?
//!
//! A pure function of what was known, what was read, and the time. Completions are compared as the API reports them,
//! so that a change of `api.completion_scale` is no progress.

use crate::{domain::Completion, support::clock::Timestamp};

/// The clock of one language of one repository.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The last completion that was reported.
    pub completion: Completion,
    /// When it was first seen, last rose, or fell from complete, whichever was last.
    pub at: Timestamp,
}

/// The clock after `reading`, taken at `now`; `scale` is the completion that means finished.
///
/// A drop changes nothing, except that of a finished language: new text arrived, and its translators' time begins then.
pub fn advance(
    previous: Option<Progress>,
    reading: Completion,
    scale: f64,
    now: Timestamp,
) -> Progress {
    let at = match previous {
        Some(Progress { completion, at }) => {
            let rose = reading > completion;
            let fell_from_complete = completion.get() >= scale && reading.get() < scale;
            if rose || fell_from_complete { now } else { at }
        }
        None => now,
    };
    Progress {
        completion: reading,
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn clock_after(readings: &[f64], scale: f64) -> i64 {
        let mut clock = None;
        for (step, reading) in (0..).zip(readings) {
            let now = Timestamp::from_millis(START.as_millis() + step);
            clock = Some(advance(
                clock,
                Completion::new(*reading).unwrap(),
                scale,
                now,
            ));
        }
        clock.unwrap().at.as_millis() - START.as_millis()
    }

    #[test]
    fn starts_when_a_language_is_first_seen() {
        assert_eq!(clock_after(&[50.0], 100.0), 0);
    }

    #[test]
    fn stands_while_completion_stands_or_falls() {
        assert_eq!(clock_after(&[50.0, 50.0, 48.0, 46.0], 100.0), 0);
    }

    #[test]
    fn moves_when_completion_rises_even_from_a_dip() {
        assert_eq!(clock_after(&[50.0, 49.0, 50.0], 100.0), 2);
    }

    #[test]
    fn starts_anew_when_a_finished_language_gets_new_text() {
        assert_eq!(clock_after(&[100.0, 100.0, 97.0, 97.0], 100.0), 2);
        assert_eq!(
            clock_after(&[110.0, 105.0], 100.0),
            0,
            "above the scale it is still finished"
        );
    }

    #[test]
    fn a_change_of_scale_is_no_progress() {
        let before = advance(None, Completion::new(1.0).unwrap(), 1.0, START);
        let after = advance(
            Some(before),
            before.completion,
            100.0,
            START.saturating_add(std::time::Duration::from_secs(9)),
        );
        assert_eq!(after, before);
    }
}
