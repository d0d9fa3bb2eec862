//! The changes since an earlier day, which `--since` or `?since=` choose.

use super::words::{counts, date, whole};
use crate::{
    domain::{
        document::{Document, Translation},
        history::DAYS,
    },
    support::clock::{DAY, Timestamp, WEEK},
};

/// Returns the beginning of the day with which translations are compared unless another one is
/// chosen.
pub fn a_week_ago(now: Timestamp) -> Timestamp {
    now.saturating_sub(WEEK).day_start()
}

/// Parses a duration or a date of the last 14 days as the beginning of that day.
///
/// # Errors
/// Fails with the accepted range if `text` is neither.
pub fn parse_since(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let oldest = now.day_start().saturating_sub(DAY * DAYS);
    let since = match humantime::parse_duration(text) {
        Ok(ago) => Some(now.saturating_sub(ago)),
        Err(_) => Timestamp::parse(&format!("{text}T00:00:00Z")),
    };
    since
        .map(Timestamp::day_start)
        .filter(|day| (oldest..=now).contains(day))
        .ok_or_else(|| {
            let [oldest, newest] = [oldest, now].map(|at| at.strftime("%F"));
            format!(
                "give a duration of at most {DAYS}d or a date from {oldest} to {newest}, such as 7d"
            )
        })
}

/// Formats the change of a ratio as ` +4`, the difference of the percentages then and now; nothing
/// without a difference.
pub fn gain(document: &Document, translation: &Translation, since: Timestamp) -> String {
    let ratios = document.earlier(translation, since).zip(translation.ratio);
    match ratios.map(|(then, now)| whole(now) - whole(then)) {
        None | Some(0.0) => String::new(),
        Some(gain) => format!(" {gain:+}"),
    }
}

/// Returns the day that a document is compared with: the first one if `since` is earlier, and none on
/// that.
pub fn compared(document: &Document, since: Timestamp) -> Option<Timestamp> {
    let first = document.first_date()?;
    (first < document.taken_at.day_start()).then_some(since.max(first))
}

/// Counts the changes by kind, first those for the worse; `None` on the first day.
pub fn changed(document: &Document, since: Timestamp) -> Option<String> {
    let from = date(compared(document, since)?, document.taken_at);
    let changes = document.change_counts(since).into_iter();
    let mut clauses = counts(changes.map(|(change, count)| (count, change.words())));
    if clauses.is_empty() {
        clauses.push("nothing changed for better or worse".to_owned());
    }
    Some(format!("Since {from}: {}.", clauses.join(", ")))
}
