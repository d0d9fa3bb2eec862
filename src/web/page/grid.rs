//! The heat map of repositories by languages, and one language in all repositories.

use super::{
    lead::deadline,
    query::{Column, Query},
    table::Table,
    when::{ago, moment},
};
use crate::{
    model::Timestamp,
    report::summary::{Deadline, Percent, Row, Totals, Translation, day},
    snapshot::Condition,
    words::{Rough, grouped},
};
use maud::{Markup, html};
use std::collections::BTreeMap;

pub fn grid(table: &Table<'_>, query: &Query, now: Timestamp) -> Markup {
    html! {
        @if query.language.is_empty() { (heat_map(table, query, now)) } @else { (one_language(table, query, now)) }
    }
}

fn heat_map(table: &Table<'_>, query: &Query, now: Timestamp) -> Markup {
    html! {
        table {
            caption.hidden { "Completion of each repository in each language, in percent" }
            thead {
                tr {
                    (heading(query, Column::Name, "Repository"))
                    (heading(query, Column::Behind, "Ready"))
                    (heading(query, Column::Completion, "All"))
                    (heading(query, Column::Progress, "Last progress"))
                    @for (code, _) in &table.languages {
                        th scope="col" { span.code { (language_link(code, code, &table.names, query)) } }
                    }
                }
                tr.means {
                    th scope="row" { (means_heading(table)) }
                    (totals_cells(&table.totals))
                    td.last {}
                    @for (code, totals) in &table.languages { (mean_tile(code, totals, Some(query))) }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        th scope="row" { (repository(row, now)) }
                        (totals_cells(&row.totals))
                        (last_progress(row, now))
                        @for (code, _) in &table.languages {
                            @match row.language(code) { Some(translation) => (tile(&translation, query, now)), None => td {} }
                        }
                    }
                }
            }
        }
    }
}

fn one_language(table: &Table<'_>, query: &Query, now: Timestamp) -> Markup {
    html! {
        table.single {
            caption.hidden { "Completion of one language in each repository, in percent, with its target" }
            thead {
                tr {
                    (heading(query, Column::Name, "Repository"))
                    (heading(query, Column::Completion, "Completion"))
                    (heading(query, Column::Behind, "Target"))
                    th scope="col" { "Due" }
                    (heading(query, Column::Progress, "Last progress"))
                }
            }
            tbody {
                @for row in &table.rows {
                    @for translation in row.translations() {
                        tr {
                            th scope="row" { (repository(row, now)) }
                            (tile(&translation, query, now))
                            td.target { (Percent(translation.target.ratio)) " %" }
                            td.date {
                                @if let (Some(due), Some(stands)) = (translation.target.due, translation.deadline(now)) {
                                    (moment(due, &day(due))) " " (deadline(stands, due, now))
                                }
                            }
                            (last_progress(row, now))
                        }
                    }
                }
            }
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

/// The name of a language with its code; the code alone if nothing names it.
pub fn language_name(code: &str, names: &BTreeMap<&str, &str>) -> String {
    match names.get(code) {
        None | Some(&"") => code.to_owned(),
        Some(name) => format!("{name} ({code})"),
    }
}

/// Leads to a language in all repositories.
pub fn language_link(
    words: &str,
    code: &str,
    names: &BTreeMap<&str, &str>,
    query: &Query,
) -> Markup {
    html! {
        a href=(query.of_language(code).link()) title=(language_name(code, names)) { bdi { (words) } }
    }
}

fn means_heading(table: &Table<'_>) -> String {
    match table.found {
        1 => "Mean".to_owned(),
        _ => format!("Mean of the {} read", grouped(table.read)),
    }
}

/// A repository's name, and what there is to know of it besides its languages.
fn repository(row: &Row<'_>, now: Timestamp) -> Markup {
    html! {
        (name(&row.shown.repository.name))
        @if row.shown.repository.private == Some(true) { " " span.tag { "private" } }
        (condition(&row.shown.condition, now))
        @if row.totals.stalled > 0 { " " span.tag.stalls { (row.totals.stalled) " stalled" } }
        @if let (Some(due), true) = (row.totals.due, row.totals.all > 1) {
            " " (deadline(Deadline::of(due, false, now), due, now))
        }
    }
}

/// How many are ready, marked if it is all of them, and the mean.
fn totals_cells(totals: &Totals) -> Markup {
    html! {
        td.count.ready[totals.is_ready()] {
            @if totals.all > 0 { (grouped(totals.ready)) "/" (grouped(totals.all)) }
        }
        (mean_tile("All", totals, None))
    }
}

fn last_progress(row: &Row<'_>, now: Timestamp) -> Markup {
    html! { td.last { @if let Some(at) = row.totals.last_progress { (moment(at, &ago(at, now))) } } }
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
        Condition::Restored(_) => { " " span.tag { "not read since the start" } },
        Condition::Failing(..) => { " " span.tag.fails { "failing for " (lasts) } },
        Condition::Stale { read_at, .. } => { " " span.tag.fails { "no data: last read " (ago(*read_at, now)) } },
        Condition::Pending(Some(_)) => { " " span.tag.fails { "not read yet: failing for " (lasts) } },
        Condition::Pending(None) => { " " span.tag { "not read yet" } },
    } }
}

/// One cell of the heat map: its colour says how near to ready it is, and its mark whether it is. It says which language
/// it is of for the layout without columns. The link is for the pointer; the heading has the same for the keyboard.
fn tile(translation: &Translation<'_>, query: &Query, now: Timestamp) -> Markup {
    let color = match translation.missing() {
        _ if translation.target.rests() => "rests".to_owned(),
        Some(missing) => heat(missing),
        None => "unknown".to_owned(),
    };
    let (mark, words) = match (translation.is_ready(), translation.deadline(now)) {
        (true, _) => ("ready", " ready"),
        (false, Some(Deadline::Missed)) => ("missed", " date missed"),
        (false, Some(Deadline::AtRisk)) => ("risk", " due soon"),
        (false, _) => ("", ""),
    };
    let is_stalled = translation.is_stalled(now);
    let code = translation.code();
    html! {
        td.(color).(mark).stalled[is_stalled] data-code=(code) {
            a href=(query.of_language(code).link()) tabindex="-1" { (percent(translation.ratio)) }
            @if !words.is_empty() || is_stalled { span.hidden { (words) @if is_stalled { " stalled" } } }
        }
    }
}

/// A cell for the mean of several; with a query it leads to the language.
fn mean_tile(code: &str, totals: &Totals, query: Option<&Query>) -> Markup {
    let Some(missing) = totals.missing.get() else {
        return html! { td {} };
    };
    let percent = percent(totals.mean.get());
    html! {
        td.(heat(missing)) data-code=(code) {
            @match query {
                Some(query) => a href=(query.of_language(code).link()) { (percent) },
                None => (percent),
            }
        }
    }
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), |ratio| Percent(ratio).to_string())
}

/// The class of a tile by how much is missing: one for every tenth, and another for nothing.
fn heat(missing: f64) -> String {
    let step = 10.0 - (missing * 10.0 - 1e-9).ceil().clamp(0.0, 10.0);
    format!("h{step}")
}

pub fn legend(table: &Table<'_>, state_is_kept: bool) -> Markup {
    html! {
        div.legend {
            p { "Completion in percent, rounded down; the colour says how near it is to its target: "
                span.scale aria-hidden="true" { @for step in 0..=10 { i.{ "h" (step) } {} } } }
            p { span.h10.ready.sample { "95" } " is ready: at its target, which is 100 unless targets says otherwise." }
            p { span.h3.missed.sample { "38" } " missed its date, " span.h8.risk.sample { "87" } " has to be ready within 14 days." }
            p { span.h3.stalled.sample { "38" } " is stalled: not ready, and no progress for 7 days." }
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
