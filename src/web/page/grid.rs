//! The heat map: repositories by languages.

use super::{
    query::{Column, Query},
    table::Table,
    when::{ago, moment},
};
use crate::{
    model::{Timestamp, Visibility},
    report::summary::{Language, Percent, Row, is_stalled, ratio},
    snapshot::Condition,
    words::{Rough, grouped},
};
use maud::{Markup, html};

pub fn grid(table: &Table<'_>, query: &Query, now: Timestamp) -> Markup {
    html! {
        table {
            caption.hidden { "Completion of each repository in each language, in percent" }
            thead {
                tr {
                    (heading(query, Column::Name, "Repository"))
                    (heading(query, Column::Completion, "All"))
                    (heading(query, Column::Progress, "Last progress"))
                    @for language in &table.languages { (language_heading(language)) }
                }
                tr.means {
                    th scope="row" { (means_heading(table)) }
                    (tile("All", table.mean.get(), false))
                    td.last {}
                    @for language in &table.languages { (tile(language.code, language.mean.get(), false)) }
                }
            }
            tbody { @for row in &table.rows { (table_row(row, table, now)) } }
        }
    }
}

fn heading(query: &Query, column: Column, name: &str) -> Markup {
    let sorted = (query.sort.column == column).then_some(if query.sort.descending {
        "descending"
    } else {
        "ascending"
    });
    html! {
        th scope="col" aria-sort=[sorted] {
            a href={ (Query { sort: query.sort.toggled(column), page: 1, ..query.clone() }.link()) "#repositories" } { (name) }
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

fn means_heading(table: &Table<'_>) -> String {
    match (table.found, table.read) {
        (1, _) => "Mean".to_owned(),
        (found, read) if found == read => format!("Mean of all {}", grouped(found)),
        (_, read) => format!("Mean of the {} read", grouped(read)),
    }
}

fn table_row(row: &Row<'_>, table: &Table<'_>, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" {
                (name(&row.shown.repository.name))
                @if row.shown.repository.visibility == Visibility::Private { " " span.tag { "private" } }
                (condition(&row.shown.condition, now))
                @if row.stalled > 0 { " " span.tag.stalls { (row.stalled) " stalled" } }
            }
            @if row.mean.get().is_some() { (tile("All", row.mean.get(), false)) } @else { td {} }
            td.last { @if let Some(at) = row.last_progress { (moment(at, &ago(at, now))) } }
            @for Language { code, .. } in &table.languages {
                @if let Some(reading) = row.reading(code) {
                    (tile(code, ratio(reading, table.scale), is_stalled(reading, table.scale, now)))
                } @else { td {} }
            }
        }
    }
}

/// A name that may wrap after its slash.
fn name(name: &str) -> Markup {
    let (owner, rest) = name.split_at(name.find('/').map_or(0, |slash| slash + 1));
    html! { bdi.name { @if !owner.is_empty() { (owner) wbr; } (rest) } }
}

fn condition(condition: &Condition, now: Timestamp) -> Markup {
    let lasts = condition
        .failure()
        .map(|failure| Rough(now.since(failure.since)).to_string())
        .unwrap_or_default();
    html! { @match condition {
        Condition::Fresh(_) => {},
        Condition::Failing(..) => { " " span.tag.fails { "failing for " (lasts) } },
        Condition::Stale { read_at, .. } => { " " span.tag.fails { "no data: last read " (ago(*read_at, now)) } },
        Condition::Pending(Some(_)) => { " " span.tag.fails { "not read yet: failing for " (lasts) } },
        Condition::Pending(None) => { " " span.tag { "not read yet" } },
    } }
}

/// One cell of the heat map. It says which language it is of for the layout without columns.
fn tile(code: &str, ratio: Option<f64>, is_stalled: bool) -> Markup {
    html! { @match ratio {
        None => td.unknown data-code=(code) { "?" },
        Some(ratio) => {
            td.(heat(ratio)).stalled[is_stalled] data-code=(code) {
                (Percent(ratio))
                @if is_stalled { span.hidden { " stalled" } }
            }
        },
    } }
}

/// The class of a tile: one for every tenth, and another for complete.
fn heat(ratio: f64) -> String {
    let step = if ratio < 1.0 {
        (ratio.max(0.0) * 10.0 + 1e-10).floor().min(9.0)
    } else {
        10.0
    };
    format!("h{step}")
}

pub fn legend(table: &Table<'_>, state_is_kept: bool) -> Markup {
    html! {
        div.legend {
            p { "Completion in percent, rounded down: "
                span.scale aria-hidden="true" { @for step in 0..=10 { i.{ "h" (step) } {} } }
                " from 0 to 100." }
            p { span.h3.stalled.sample { "38" } " is stalled: incomplete, and no progress for 7 days." }
            p { span.unknown.sample { "?" } " reports no completion. An empty cell: not a target language." }
            p { "Last progress is when a completion was last seen to rise, or otherwise first seen"
                @if !state_is_kept { " since the exporter started; with state.file it survives a restart" }
                "." }
            @if table.left_out > 0 {
                p { (table.left_out) " rarer languages are not shown here; search for a repository to see all of its languages." }
            }
        }
    }
}
