//! What the page leads with: how much is ready, what is due, and how far that is from ready.

use super::{
    grid::{language_link, language_name},
    query::Query,
    when::{ago, moment},
};
use crate::{
    model::Timestamp,
    report::summary::{self, Deadline, Due, Percent, Row, Totals, Translation, day, days},
    words::{counted, grouped, repositories},
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// How many dates are shown, and how many translations are named for each.
const MOST_DATES: usize = 6;
const MOST_NAMED: usize = 3;

/// How much of these repositories is ready.
pub fn numbers(rows: &[Row<'_>], filtered: usize, query: &Query) -> Markup {
    let totals = Totals::of(rows);
    let with_languages = rows.iter().filter(|row| row.totals.all > 0).count();
    let ready = rows.iter().filter(|row| row.totals.is_ready()).count();
    html! {
        section.numbers aria-label="Numbers" {
            div.figure {
                (ring(&totals))
                div {
                    p { b { (grouped(totals.ready)) } " of " (counted(totals.all, "translation", "translations")) " ready" }
                    @if let Some(mean) = totals.mean.get() { p.detail { (Percent(mean)) " % translated on average" } }
                }
            }
            @if query.language.is_empty() {
                div.figure {
                    p { b { (grouped(ready)) } " of " (repositories(with_languages)) " ready" }
                    (states(rows, filtered))
                }
            }
            div.figure {
                p { b { (grouped(totals.stalled)) } " stalled" }
                p.detail { "not ready, and without progress for 7 days" }
            }
        }
    }
}

/// How many repositories are in which state.
fn states(rows: &[Row<'_>], filtered: usize) -> Markup {
    let count = |label| {
        let rows = rows.iter();
        rows.filter(|row| row.shown.condition.label() == label)
            .count()
    };
    html! {
        p.detail {
            (grouped(count("fresh"))) " up to date"
            @for (count, words) in [
                (count("failing"), "failing"), (count("stale"), "stale"), (count("pending"), "not read yet"),
                (filtered, "left out by filters"),
            ] {
                @if count > 0 { ", " (grouped(count)) " " (words) }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn percent_ready(totals: &Totals) -> f64 {
    100.0 * totals.ready as f64 / totals.all.max(1) as f64
}

fn ring(totals: &Totals) -> Markup {
    let part = format!("{:.1} 100", percent_ready(totals));
    html! {
        svg.ring viewBox="0 0 40 40" width="64" height="64" aria-hidden="true" {
            circle.track cx="20" cy="20" r="16" fill="none" stroke-width="6" {}
            circle.part cx="20" cy="20" r="16" fill="none" stroke-width="6" pathLength="100" stroke-dasharray=(part) transform="rotate(-90 20 20)" {}
        }
    }
}

/// What must be ready by which date, the earliest first.
pub fn due(
    rows: &[Row<'_>],
    names: &BTreeMap<&str, &str>,
    query: &Query,
    now: Timestamp,
) -> Markup {
    let dates = summary::dates(rows, MOST_NAMED, now);
    let line = |translation: &Translation<'_>| named(translation, names, query, now);
    html! {
        @if !dates.is_empty() {
            section.due aria-labelledby="due" {
                h2 #due { "What is due" }
                ol {
                    @for (at, due) in dates.iter().take(MOST_DATES) { (date(*at, due, &line, now)) }
                }
                @if dates.len() > MOST_DATES { p.detail { "and " (grouped(dates.len() - MOST_DATES)) " later dates" } }
            }
        }
    }
}

fn date(
    at: Timestamp,
    Due { totals, furthest }: &Due<'_>,
    line: &impl Fn(&Translation<'_>) -> Markup,
    now: Timestamp,
) -> Markup {
    let bar = format!("{:.1}", percent_ready(totals));
    let more = totals.behind() - furthest.len();
    html! {
        li {
            p.date { (moment(at, &day(at))) " " (deadline(Deadline::of(at, totals.is_ready(), now), at, now)) }
            div.part-ready {
                svg.meter viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                    rect.empty width="100" height="8" {}
                    rect.full width=(bar) height="8" {}
                }
                p { b { (grouped(totals.ready)) } " of " (grouped(totals.all)) " ready" }
            }
            @if !furthest.is_empty() {
                ul {
                    @for translation in furthest { li { (line(translation)) } }
                    @if more > 0 { li.detail { "and " (grouped(more)) " more" } }
                }
            }
        }
    }
}

/// How a date stands: in words, and by colour.
pub fn deadline(deadline: Deadline, due: Timestamp, now: Timestamp) -> Markup {
    let days = days(due, now);
    html! { @match deadline {
        Deadline::Missed => span.tag.fails { "missed " (days) },
        Deadline::AtRisk => span.tag.stalls { (days) },
        Deadline::Ahead => span.tag { (days) },
        Deadline::Met if due < now => span.tag.met { "ready" },
        Deadline::Met => span.tag.met { "ready, " (days) },
    } }
}

/// A translation that is behind: which, how far, and when it last moved.
fn named(
    translation: &Translation<'_>,
    names: &BTreeMap<&str, &str>,
    query: &Query,
    now: Timestamp,
) -> Markup {
    let code = translation.code();
    let target = Percent(translation.target.ratio);
    let progress = translation.reading.progress();
    html! {
        @if query.language.is_empty() { (language_link(&language_name(code, names), code, names, query)) " of " }
        bdi { (translation.repository) }
        @match translation.ratio {
            Some(ratio) => { ": " b { (Percent(ratio)) "\u{a0}%" } " of " (target) "\u{a0}%" },
            None => ": reports no completion",
        }
        @if let Some(progress) = progress {
            span.detail { "last progress " (moment(progress.at, &ago(progress.at, now))) }
        }
    }
}
