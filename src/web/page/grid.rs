//! The heat map: repositories by languages.

use super::{
    html::moment,
    overview::grouped,
    query::{Column, Query},
    table::{Language, Row, Table, cells, is_stalled, ratio},
    when::{Rough, ago},
};
use crate::{
    model::{Timestamp, Visibility},
    snapshot::{Condition, Reading},
};
use maud::{Markup, PreEscaped, html};
use std::fmt::{self, Display, Write};

pub(super) fn grid(table: &Table<'_>, query: &Query, now: Timestamp) -> Markup {
    html! {
        table {
            caption.hidden { "Completion of each repository in each language, in per cent" }
            thead {
                tr {
                    (heading(query, Column::Name, "Repository"))
                    (heading(query, Column::Completion, "All"))
                    (heading(query, Column::Progress, "Last progress"))
                    @for language in &table.languages { (language_heading(language)) }
                }
                tr.means {
                    th scope="row" { @if table.found == 1 { "Mean" } @else { "Mean of all " (grouped(table.found)) } }
                    (mean_cell(table.completion))
                    td {}
                    @for language in &table.languages { (mean_cell(language.completion)) }
                }
            }
            tbody { @for row in &table.rows { (table_row(row, table, now)) } }
        }
    }
}

fn heading(query: &Query, column: Column, name: &str) -> Markup {
    let sorted =
        (query.sort.column == column).then_some(if query.sort.descending { "descending" } else { "ascending" });
    html! {
        th scope="col" aria-sort=[sorted] {
            a href={ (query.sorted(query.sort.toggled(column)).link()) "#repositories" } { (name) }
        }
    }
}

fn language_heading(language: &Language<'_>) -> Markup {
    html! {
        th scope="col" {
            @if language.name.is_empty() { bdi.code { (language.code) } }
            @else { abbr title=(language.name) { bdi.code { (language.code) } } }
        }
    }
}

fn mean_cell(completion: Option<f64>) -> Markup {
    html! { @match completion {
        Some(ratio) => { td class=(heat(ratio)) { (Percent(ratio)) } },
        None => td.unknown { "?" },
    } }
}

fn table_row(row: &Row<'_>, table: &Table<'_>, now: Timestamp) -> Markup {
    let mut tiles = String::with_capacity(table.languages.len() * 24);
    for cell in cells(row, &table.languages) {
        tile(&mut tiles, cell, table.scale, now);
    }
    html! {
        tr {
            th scope="row" {
                bdi.name { (row.shown.repository.name) }
                @if row.shown.repository.visibility == Visibility::Private { " " span.tag { "private" } }
                (condition(&row.shown.condition, now))
                @if row.stalled > 0 { " " span.tag.stalls { (row.stalled) " stalled" } }
            }
            @match row.completion {
                Some(ratio) => { td class={ "all " (heat(ratio)) } { (Percent(ratio)) } },
                None => td.all {},
            }
            td.last { @if let Some(at) = row.last_progress { (moment(at, &ago(at, now))) } }
            (PreEscaped(tiles))
        }
    }
}

fn condition(condition: &Condition, now: Timestamp) -> Markup {
    let lasts = condition.failure().map(|failure| Rough(now.since(failure.since)).to_string()).unwrap_or_default();
    html! { @match condition {
        Condition::Fresh(_) => {},
        Condition::Failing(..) => { " " span.tag.fails { "failing for " (lasts) } },
        Condition::Stale { read_at, .. } => { " " span.tag.fails { "no data: last read " (ago(*read_at, now)) } },
        Condition::Pending(Some(_)) => { " " span.tag.fails { "not read yet: failing for " (lasts) } },
        Condition::Pending(None) => { " " span.tag { "not read yet" } },
    } }
}

/// One cell of the heat map. There are thousands on a page, and no text of others in them: written straight.
fn tile(out: &mut String, reading: Option<&Reading>, scale: f64, now: Timestamp) {
    let written = match reading.map(|reading| (reading, ratio(reading, scale))) {
        None => write!(out, "<td></td>"),
        Some((_, None)) => write!(out, "<td class=unknown>?</td>"),
        Some((reading, Some(ratio))) if is_stalled(reading, scale, now) => {
            write!(
                out,
                "<td class=\"{} stalled\">{}<span class=hidden> stalled</span></td>",
                heat(ratio),
                Percent(ratio)
            )
        }
        Some((_, Some(ratio))) => write!(out, "<td class={}>{}</td>", heat(ratio), Percent(ratio)),
    };
    debug_assert!(written.is_ok(), "writing into a String does not fail");
}

/// The class of a tile: a step for every tenth, and one of its own for what is complete.
fn heat(ratio: f64) -> &'static str {
    const STEPS: [&str; 11] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10"];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 10")]
    let step = (ratio.clamp(0.0, 1.0) * 10.0 + 1e-10).floor().min(10.0) as usize;
    if ratio < 1.0 { STEPS[step.min(9)] } else { STEPS[10] }
}

pub(super) fn legend(table: &Table<'_>, state_is_kept: bool) -> Markup {
    html! {
        div.legend {
            p { "Completion in per cent, rounded down: "
                span.scale aria-hidden="true" { @for step in 0..=10 { i class={ "h" (step) } {} } }
                " from 0 to 100." }
            p { span.h3.stalled.sample { "38" } " is stalled: incomplete, and no progress for 7 days." }
            p { span.unknown.sample { "?" } " reports no completion. An empty cell: not a target language." }
            @if !state_is_kept {
                p { "Progress is counted from the start of the exporter; with state.file it outlives a restart." }
            }
            @if table.left_out > 0 {
                p { (table.left_out) " rarer languages are not shown here; search for a repository to see all of its languages." }
            }
        }
    }
}

/// A ratio in whole per cent, short however absurd it is, and without anything that HTML would have to escape.
pub(super) struct Percent(pub f64);

impl Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A ratio such as 0.29 is a little below 29 hundredths.
        let percent = (self.0 * 100.0 + 1e-9).floor();
        match percent {
            ..-999.0 => f.write_str("\u{2264}-999"),
            999.1.. => f.write_str("\u{2265}999"),
            percent => write!(f, "{}", percent + 0.0),
        }
    }
}
