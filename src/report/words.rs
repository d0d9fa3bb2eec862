//! Dates, spans of time and ratios in words for people.

use crate::{
    domain::{TranslationProblem, document::Totals},
    support::{
        clock::Timestamp,
        humanize::{Rough, counted, grouped},
    },
};
use std::time::Duration;

const DAY: u64 = 24 * 3600;

/// Formats a date as `2026-12-24`, or as `2026-12-24 18:00 UTC` if it is not the end of the day.
pub fn day(due: Timestamp) -> String {
    let time = due.to_string();
    match time.strip_suffix("T23:59:59Z") {
        Some(day) => day.to_owned(),
        None => format!("{:.16} UTC", time.replace('T', " ")),
    }
}

/// Formats the day of an estimate, whose time of day would say nothing.
pub fn date(at: Timestamp) -> String {
    format!("{:.10}", at.to_string())
}

/// Formats the distance of a date from now, such as `12 days left`, or `3 days overdue` if a
/// translation with this date is judged so. Counts the days of the calendar (UTC), because a date
/// is the end of its day.
pub fn days(due: Timestamp, now: Timestamp, totals: &Totals) -> String {
    let (distance, words) = if due >= now {
        (due.since(now), "left")
    } else if totals.count(TranslationProblem::Overdue) > 0 {
        (now.since(due), "overdue")
    } else {
        (now.since(due), "past")
    };
    let day = |at: Timestamp| at.since(Timestamp::default()).as_secs() / DAY;
    let distance = match day(due).abs_diff(day(now)) {
        days if distance.as_secs() >= DAY => span(Duration::from_secs(days * DAY)),
        _ => span(distance),
    };
    format!("{distance} {words}")
}

/// Formats a duration in days, or in a smaller unit below a day.
pub fn span(duration: Duration) -> String {
    match usize::try_from(duration.as_secs() / DAY) {
        Ok(0) | Err(_) => Rough(duration).to_string(),
        Ok(days) => counted(days, "day", "days"),
    }
}

/// Counts the ready translations; `?` if that is unknown of each.
pub fn ready_count(totals: &Totals) -> String {
    if totals.counted > 0 && totals.unknown == totals.counted {
        "?".to_owned()
    } else {
        grouped(totals.ready)
    }
}

/// Formats a ratio in whole percent, at most four columns wide. Rounds down, so that 100 means
/// complete.
pub fn percent(ratio: f64) -> String {
    // Without the 1e-9, 0.29 would show as 28: 0.29 * 100 is 28.999999999999996.
    match (ratio * 100.0 + 1e-9).floor() {
        _ if ratio < 0.0 => "<0".to_owned(),
        percent if percent > 999.0 => ">999".to_owned(),
        percent => percent.to_string(),
    }
}

/// Formats a ratio as `29%`, or as `?` if it is unknown.
pub fn figure(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), |ratio| percent(ratio) + "%")
}

/// Formats the ready translations of a repository as `3/10`.
pub fn fraction(totals: &Totals) -> String {
    match totals.counted {
        0 if totals.resting > 0 => "resting".to_owned(),
        0 => String::new(),
        all => format!("{}/{}", ready_count(totals), grouped(all)),
    }
}

/// Counts the items left out of a list; `None` without any.
pub fn more(count: usize) -> Option<String> {
    (count > 0).then(|| format!("and {} more", grouped(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_to_a_date_are_those_of_the_calendar() {
        let at = |text: &str| Timestamp::at_civil(text.parse().unwrap());
        let now = at("2026-11-23T12:00:00");
        for (due, expected) in [
            ("2026-12-02T23:59:59", "9 days left"),
            ("2026-11-24T23:59:59", "1 day left"),
            ("2026-11-24T08:00:00", "20 h left"),
            ("2026-11-23T23:59:59", "11 h left"),
            ("2026-11-22T23:59:59", "12 h past"),
            ("2026-11-21T23:59:59", "2 days past"),
            ("2026-10-25T23:59:59", "29 days past"),
        ] {
            assert_eq!(days(at(due), now, &Totals::default()), expected);
        }
    }
}
