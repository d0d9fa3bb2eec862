//! Dates, spans of time and ratios in words for people.

use crate::{
    domain::{
        NotJudged, TranslationProblem,
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

/// Formats the date of a target as `24 December, in 12 days`.
pub fn due(due: Timestamp, now: Timestamp) -> String {
    format!("{}, {}", date(due, now), distance(due, now))
}

/// Formats the day of a date as [`due`] does, or says that there is none.
pub fn day(day: Option<Timestamp>, now: Timestamp) -> String {
    day.map_or_else(|| "no date".to_owned(), |day| due(day, now))
}

/// Formats a time as `2026-12-24 18:00 UTC`.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%F %H:%M UTC")
}

/// Formats the distance of a date from now in days of the calendar (UTC), such as `in 12 days` or
/// `3 days ago`.
fn distance(due: Timestamp, now: Timestamp) -> String {
    let [day, today] = [due, now].map(Timestamp::day_start);
    let days = |from: Timestamp, to: Timestamp| rough(to.since(from));
    match day.cmp(&today) {
        Ordering::Less => format!("{} ago", days(day, today)),
        Ordering::Equal => "today".to_owned(),
        Ordering::Greater => format!("in {}", days(today, day)),
    }
}

/// Counts the ready translations, and the resting ones apart, such as `2 of 2 translations ready,
/// 10 paused`.
pub fn ready(totals: &Totals) -> String {
    let (count, all) = (ready_count(totals), grouped(totals.counted()));
    let ready = format!("{count} of {all} translations ready");
    let resting = format!("{} paused", grouped(totals.resting()));
    match (totals.counted(), totals.resting()) {
        (0, 0) => "no translation known".to_owned(),
        (0, _) => resting,
        (_, 0) => ready,
        _ => format!("{ready}, {resting}"),
    }
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

/// Counts the ready translations; `?` if that is unknown of each.
fn ready_count(totals: &Totals) -> String {
    if totals.counted() > 0 && totals.unknown() == totals.counted() {
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
/// for how long it has made no progress, and how it fell.
pub fn way(one: &Translation, now: Timestamp) -> String {
    let idle = one.idle_since().map(|at| now.since(at));
    let idle = idle.filter(|idle| *idle >= DAY);
    let idle = idle.map(|idle| format!("no progress for {}", rough(idle)));
    let says_all = idle.is_some() && one.estimated_ready.is_none();
    let expected = (!says_all).then(|| expected(one, now));
    let parts = [expected, by_then(one, now), idle, fell(one, now)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats the ratio that an unready translation will have reached by its date at its pace, as `88
/// by then`; `None` if the date is past, or it will be ready.
fn by_then(one: &Translation, now: Timestamp) -> Option<String> {
    let (ratio, target) = (one.ratio?, one.target());
    let (at, due) = (one.estimated_ready?, target.due?);
    let share = due.since(now).as_secs_f64() / at.since(now).as_secs_f64();
    let reached = ratio + (target.ratio - ratio) * share;
    (due > now && due < at).then(|| format!("{} by then", whole(reached)))
}

/// Formats a ratio beside its target as `41 of 95`.
pub fn of_target(one: &Translation) -> String {
    let ratio = one
        .ratio
        .map_or("?".to_owned(), |ratio| whole(ratio).to_string());
    format!("{ratio} of {}", one.target().percent())
}

/// Names the problems, the worst first.
pub fn problems(one: &Translation) -> String {
    let kinds = one.problems.keys().rev();
    let words: Vec<_> = kinds.map(|kind| kind.words()).collect();
    words.join(", ")
}

/// Returns the marks of the problems, the worst first.
pub fn marks(one: &Translation) -> String {
    let kinds = one.problems.keys().rev();
    kinds.map(|kind| kind.mark()).collect()
}

/// Formats the time at which an unready translation is expected to be ready.
fn expected(translation: &Translation, now: Timestamp) -> String {
    match (translation.estimated_ready, translation.not_judged) {
        (Some(at), _) => format!("expected {}", date(at, now)),
        (None, Some(NotJudged::TooEarly)) => {
            let history = translation.history.as_ref();
            let since = history.and_then(|history| history.unready_since);
            let known_at = since.unwrap_or(now).saturating_add(DAY);
            format!("pace known on {}", date(known_at, now))
        }
        (None, Some(_)) => "pace not known".to_owned(),
        (None, None) if translation.does_not_move() => "does not move".to_owned(),
        (None, None) if translation.has(TranslationProblem::Stalled) => "stalled".to_owned(),
        (None, None) => "in years".to_owned(),
    }
}

/// Formats a fall as `fell from 96% on 24 November`; `None` without one.
fn fell(translation: &Translation, now: Timestamp) -> Option<String> {
    let fall = translation.fall.as_deref()?;
    let from = percent(Some(fall.ratio));
    Some(format!("fell from {from} on {}", date(fall.at, now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_to_a_date_are_those_of_the_calendar() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let now = at("2026-11-23T12:00:00Z");
        for (due, expected) in [
            ("2026-12-02T23:59:59Z", "in 9 days"),
            ("2026-11-24T00:00:00Z", "in 1 day"),
            ("2026-11-23T08:00:00Z", "today"),
            ("2026-11-23T23:59:59Z", "today"),
            ("2026-11-22T23:59:59Z", "1 day ago"),
            ("2026-10-25T23:59:59Z", "29 days ago"),
        ] {
            assert_eq!(distance(at(due), now), expected);
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
