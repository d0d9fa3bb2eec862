//! Dates, spans of time and ratios in words for people.

use crate::{
    domain::{
        NotJudged, Standing, TranslationProblem,
        document::{Totals, Translation},
    },
    support::{
        clock::{DAY, Timestamp},
        humanize::{grouped, rough},
    },
};
use std::cmp::Ordering;

/// Formats the day of a time as `24 December`, with its year unless that is the current one.
pub fn date(at: Timestamp, now: Timestamp) -> String {
    let is_this_year = at.strftime("%Y") == now.strftime("%Y");
    at.strftime(if is_this_year { "%-d %B" } else { "%-d %B %Y" })
}

/// Formats the date of a target as `24 December, in 12 days`, which are days of the calendar (UTC).
pub fn due(due: Timestamp, now: Timestamp) -> String {
    let [day, today] = [due, now].map(Timestamp::day_start);
    let distance = match day.cmp(&today) {
        Ordering::Less => format!("{} ago", rough(today.since(day))),
        Ordering::Equal => "today".to_owned(),
        Ordering::Greater => format!("in {}", rough(day.since(today))),
    };
    format!("{}, {distance}", date(due, now))
}

/// Formats the day of a date as [`due`] does, or says that there is none.
pub fn day(day: Option<Timestamp>, now: Timestamp) -> String {
    day.map_or_else(|| "no date".to_owned(), |day| due(day, now))
}

/// Formats a time as `2026-12-24 18:00 UTC`.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%F %H:%M UTC")
}

/// Returns a clause for each count above 0.
pub fn counts(counts: impl IntoIterator<Item = (usize, &'static str)>) -> Vec<String> {
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts
        .map(|(count, words)| format!("{} {words}", grouped(count)))
        .collect()
}

/// Counts the ready translations, and the resting ones apart, such as `2 of 2 translations ready,
/// 10 paused`.
pub fn ready(totals: &Totals) -> String {
    let resting = counts([(totals.resting(), "paused")]);
    let ready = match totals.counted() {
        0 if resting.is_empty() => "no translation known".to_owned(),
        0 => return resting.concat(),
        all => {
            let ready = ready_count(totals);
            format!("{ready} of {} translations ready", grouped(all))
        }
    };
    [vec![ready], resting].concat().join(", ")
}

/// Formats the ready translations of a repository as `3/10`.
pub fn fraction(totals: &Totals) -> String {
    match totals.counted() {
        0 if totals.resting() > 0 => "paused".to_owned(),
        0 => "none".to_owned(),
        all => format!("{}/{}", ready_count(totals), grouped(all)),
    }
}

/// Formats the mean gap as `24%`, rounded up; `None` without one.
pub fn missing(totals: &Totals) -> Option<String> {
    let gap = totals.gap().filter(|gap| *gap > 0.0)?;
    Some(format!("{}%", (gap * 100.0 - 1e-9).ceil()))
}

/// Counts the ready translations among some; `?` if that is unknown of each.
fn ready_count(totals: &Totals) -> String {
    if totals.unknown() == totals.counted() {
        "?".to_owned()
    } else {
        grouped(totals.ready())
    }
}

/// Returns a known ratio, which is 0 to 1, in whole percent, rounded down: 100 means complete.
pub fn whole(ratio: f64) -> f64 {
    // Without the 1e-9, 0.29 would show as 28: 0.29 * 100 is 28.999999999999996.
    (ratio * 100.0 + 1e-9).floor()
}

/// Formats a ratio as `29%`, or as `?` if it is not known.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), |ratio| format!("{}%", whole(ratio)))
}

/// Says when an unready translation is expected to be ready, what it will have reached by its date,
/// and how it fell.
pub fn way(translation: &Translation, now: Timestamp) -> String {
    let fell = translation.fall.as_deref().map(|fall| {
        let from = percent(Some(fall.ratio));
        format!("fell from {from} on {}", date(fall.at, now))
    });
    let by_due = by_due(translation, now);
    let is_late = by_due > translation.ratio && translation.standing() != Standing::Expected;
    let clauses = [
        translation.is_unready().then(|| expected(translation, now)),
        is_late.then(|| format!("{} by its date", percent(by_due))),
        fell,
    ];
    clauses.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the ratio that a translation will have reached by its date at its pace; the present one
/// if the date is past, or the pace not known.
pub fn by_due(translation: &Translation, now: Timestamp) -> Option<f64> {
    let (ratio, target) = (translation.ratio?, translation.target());
    let share = match (translation.estimated_ready, *target.due) {
        (Some(at), Some(due)) => due.since(now).as_secs_f64() / at.since(now).as_secs_f64(),
        _ => 0.0,
    };
    Some(ratio + (target.ratio() - ratio) * share.min(1.0))
}

/// Formats a ratio beside its target as `41% of 95%`.
pub fn of_target(translation: &Translation) -> String {
    let target = translation.target().percent();
    format!("{} of {target}%", percent(translation.ratio))
}

/// Names the problems, the worst first.
pub fn problems(translation: &Translation) -> String {
    let words = translation.kinds().rev().map(TranslationProblem::words);
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the marks of the problems, the worst first.
pub fn marks(translation: &Translation) -> String {
    translation
        .kinds()
        .rev()
        .map(TranslationProblem::mark)
        .collect()
}

/// Formats the time at which an unready translation is expected to be ready, or its pace is known,
/// or for how long it has made no progress.
fn expected(translation: &Translation, now: Timestamp) -> String {
    let idle = translation.idle_since().map_or(DAY, |at| now.since(at));
    match (translation.estimated_ready, translation.not_judged) {
        (Some(at), _) => format!("expected {}", date(at, now)),
        (None, Some(NotJudged::TooEarly)) => {
            let history = translation.history.as_ref();
            let since = history.and_then(|history| history.unready_since);
            let known_at = since.unwrap_or(now).saturating_add(DAY);
            format!("pace known on {}", date(known_at, now))
        }
        (None, Some(_)) => "pace not known".to_owned(),
        (None, None) if idle < DAY => "no forecast".to_owned(),
        (None, None) => format!("no progress for {}", rough(idle)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_to_a_date_are_those_of_the_calendar() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let now = at("2026-11-23T12:00:00Z");
        let due_in = |text| due(at(text), now);
        for (due, expected) in [
            ("2026-12-02T23:59:59Z", "in 9 days"),
            ("2026-11-24T00:00:00Z", "in 1 day"),
            ("2026-11-23T08:00:00Z", "today"),
            ("2026-11-23T23:59:59Z", "today"),
            ("2026-11-22T23:59:59Z", "1 day ago"),
            ("2026-10-25T23:59:59Z", "29 days ago"),
        ] {
            assert!(due_in(due).ends_with(&format!(", {expected}")));
        }
    }

    #[test]
    fn a_date_names_its_year_unless_that_is_the_current_one() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let now = at("2026-11-23T12:00:00Z");
        assert_eq!(date(at("2026-12-02T23:59:59Z"), now), "2 December");
        assert_eq!(date(at("2027-01-31T18:05:00Z"), now), "31 January 2027");
    }
}
