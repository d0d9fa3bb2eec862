//! The progress clock: the time at which a language's completion was last seen to rise.
//!
//! The clock compares completions as the API reports them, so that a change of
//! `api.completion_scale` does not count as progress.

use crate::{domain::Completion, support::clock::Timestamp};

/// The progress clock of one language of one repository.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The last reported completion.
    pub completion: Completion,
    /// The time at which the completion was first seen, last rose, or fell from complete, whichever
    /// came last.
    pub at: Timestamp,
}

/// Returns the clock after `reading` at `now`; `scale` is the completion that means finished.
///
/// A drop leaves the clock alone, unless the language was finished: then new text has arrived, and
/// the translators' time starts.
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
    fn stands_while_the_completion_stands_or_falls() {
        assert_eq!(clock_after(&[50.0, 50.0, 48.0, 46.0], 100.0), 0);
    }

    #[test]
    fn moves_when_the_completion_rises_even_from_a_dip() {
        assert_eq!(clock_after(&[50.0, 49.0, 50.0], 100.0), 2);
    }

    #[test]
    fn restarts_when_a_finished_language_gets_new_text() {
        assert_eq!(clock_after(&[100.0, 100.0, 97.0, 97.0], 100.0), 2);
        assert_eq!(
            clock_after(&[110.0, 105.0], 100.0),
            0,
            "a completion above the scale is finished, too"
        );
    }

    #[test]
    fn a_change_of_scale_does_not_count_as_progress() {
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
