//! The page as HTML.

use super::{
    Page, STYLE,
    overview::{Counts, Level, Overview, grouped, repositories},
    query::{Column, Query, Sort},
    table::{self, Language, Row, Table, cells, is_stalled, ratio},
    when::{Rough, ago, ahead},
};
use crate::{
    exposition::Published,
    model::{Timestamp, Visibility},
    snapshot::{Condition, PollStatus, Reading},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fmt::{self, Display, Write};

/// Three bars of a heat map.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Crect width='16' height='4' y='1' rx='1.5' fill='%231d9a8a'/%3E\
    %3Crect width='11' height='4' y='6' rx='1.5' fill='%2366bdb0'/%3E\
    %3Crect width='6' height='4' y='11' rx='1.5' fill='%23f09a78'/%3E%3C/svg%3E";

pub(super) fn render(page: &Page<'_>) -> Markup {
    let overview = page.published.map(|published| Overview::new(published, page.now));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title(overview.as_ref())) }
                link rel="icon" href=(ICON);
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#repositories" { "Skip to the repositories" }
                (top(page))
                main {
                    @match (page.published, &overview) {
                        (Some(published), Some(overview)) => {
                            (state(overview, &published.status, page.now))
                            @if !overview.attention.is_empty() { (attention(overview, page.now)) }
                            @if overview.counts.repositories() > 0 {
                                (numbers(overview, published.snapshot.filtered))
                            }
                            (repository_section(published, page))
                        }
                        _ => (unborn()),
                    }
                }
            }
        }
    }
}

fn title(overview: Option<&Overview<'_>>) -> String {
    let mark = match overview.map(|overview| overview.level) {
        Some(Level::Well) => "\u{2713} ",
        Some(Level::Degraded) => "! ",
        Some(Level::Failing) => "\u{2717} ",
        Some(Level::Waiting) | None => "\u{2026} ",
    };
    format!("{mark}Translation progress")
}

fn top(page: &Page<'_>) -> Markup {
    let metrics = page.telemetry_path.trim_start_matches('/');
    html! {
        header.top {
            h1 { "Translation progress" }
            p { "translation-exporter " (env!("CARGO_PKG_VERSION")) }
            nav aria-label="Endpoints" {
                a href=(metrics) { "Metrics" }
                a href="-/ready" { "Ready" }
                a href="-/healthy" { "Healthy" }
            }
        }
    }
}

/// Nothing has been published yet.
fn unborn() -> Markup {
    html! {
        section.state.waiting #repositories {
            span.mark aria-hidden="true" { "\u{2026}" }
            h2 { "The exporter has just started" }
            p { "Nothing has been read yet. Load this page again in a moment." }
        }
    }
}

fn state(overview: &Overview<'_>, status: &PollStatus, now: Timestamp) -> Markup {
    let (class, mark) = match overview.level {
        Level::Well => ("well", "\u{2713}"),
        Level::Waiting => ("waiting", "\u{2026}"),
        Level::Degraded => ("degraded", "!"),
        Level::Failing => ("failing", "\u{2717}"),
    };
    html! {
        section class={ "state " (class) } aria-labelledby="state" {
            span.mark aria-hidden="true" { (mark) }
            h2 #state { (overview.headline) "." }
            dl {
                div { dt { "Last poll" } dd { (last_poll(status, now)) } }
                div { dt { "Next poll" } dd { (next_poll(status, now)) } }
                div { dt { "Last without a failure" } dd {
                    @match status.last_success_at { Some(at) => (moment(at, &ago(at, now))), None => "not yet" }
                } }
            }
        }
    }
}

fn last_poll(status: &PollStatus, now: Timestamp) -> Markup {
    let Some(last) = &status.last else { return html! { "none has ended yet" } };
    let (seconds, read) = (last.duration.as_secs_f64(), grouped(last.read));
    html! {
        (moment(last.ended_at, &ago(last.ended_at, now)))
        span.detail { "took " (format!("{seconds:.1}")) " s, read " (read) }
        @if last.failed > 0 { span.detail { (grouped(last.failed)) " failed" } }
        @if last.unreached > 0 { span.detail { (grouped(last.unreached)) " not reached" } }
    }
}

fn next_poll(status: &PollStatus, now: Timestamp) -> Markup {
    let every = format!("every {}", humantime::format_duration(status.interval));
    html! {
        @match (status.running_since, status.next_poll_at) {
            (Some(since), _) => { "under way" span.detail { "since " (moment(since, &ago(since, now))) } },
            (None, Some(at)) => { (moment(at, &ahead(at, now))) span.detail { (every) } },
            (None, None) => { "soon" span.detail { (every) } },
        }
    }
}

/// A time in words, with the exact one behind it.
fn moment(at: Timestamp, words: &str) -> Markup {
    html! { time datetime=(at) title=(at) { (words) } }
}

fn attention(overview: &Overview<'_>, now: Timestamp) -> Markup {
    html! {
        section.attention aria-labelledby="attention" {
            h2 #attention { "What needs attention" }
            ul {
                @for item in &overview.attention {
                    li {
                        p {
                            @for (index, subject) in item.subjects.iter().enumerate() {
                                @if index > 0 { ", " }
                                bdi.subject { (subject) }
                            }
                            @if item.more > 0 { " and " (grouped(item.more)) " more" }
                            span.detail { " for " (moment(item.trouble.since, &Rough(now.since(item.trouble.since)).to_string())) }
                        }
                        p.what { @if item.subjects.len() > 1 { "Such as: " } (item.trouble.what) }
                        p.mend { (item.trouble.mend) }
                    }
                }
            }
        }
    }
}

fn numbers(overview: &Overview<'_>, filtered: usize) -> Markup {
    let Counts { fresh, failing, stale, pending, languages, complete, stalled } = overview.counts;
    html! {
        section.numbers aria-label="Numbers" {
            div.figure {
                (ring(overview.completion))
                p { b { (percent(overview.completion)) } " translated" }
            }
            div.figure { p { b { (grouped(overview.counts.repositories())) } " repositories" }
                p.detail {
                    (grouped(fresh)) " up to date"
                    @for (count, what) in [(failing, "failing"), (stale, "too old to show"), (pending, "not read yet"), (filtered, "left out by filters")] {
                        @if count > 0 { ", " (grouped(count)) " " (what) }
                    }
                }
            }
            div.figure { p { b { (grouped(languages)) } " translations" }
                p.detail { (grouped(complete)) " complete" }
            }
            div.figure { p { b { (grouped(stalled)) } " stalled" }
                p.detail { "incomplete, and no progress for 7 days" }
            }
        }
    }
}

fn ring(completion: Option<f64>) -> Markup {
    let part = format!("{:.1} 100", completion.unwrap_or(0.0) * 100.0);
    html! {
        svg.ring viewBox="0 0 40 40" width="56" height="56" aria-hidden="true" {
            circle.track cx="20" cy="20" r="16" fill="none" stroke-width="6" {}
            circle.part cx="20" cy="20" r="16" fill="none" stroke-width="6" pathLength="100" stroke-dasharray=(part) transform="rotate(-90 20 20)" {}
        }
    }
}

/// Rounded down, so that only what is complete is told as 100 %.
fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("\u{2013}".to_owned(), |ratio| format!("{} %", Percent(ratio)))
}

/// A ratio in whole per cent, short however absurd it is.
struct Percent(f64);

impl Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A ratio such as 0.29 is a little below 29 hundredths.
        let percent = (self.0 * 100.0 + 1e-9).floor();
        match percent {
            ..-999.0 => f.write_str("<-999"),
            999.1.. => f.write_str(">999"),
            percent => write!(f, "{}", percent + 0.0),
        }
    }
}

fn repository_section(published: &Published, page: &Page<'_>) -> Markup {
    let table = Table::new(&published.snapshot, &page.query, page.now);
    html! {
        section.repositories #repositories aria-labelledby="heading" {
            div.bar {
                h2 #heading { "Repositories" }
                (search(&page.query))
            }
            p.found role="status" { (found(&table, &page.query)) }
            @if !table.rows.is_empty() {
                div.scroll role="region" aria-labelledby="heading" tabindex="0" { (grid(&table, page)) }
                (pager(&table, &page.query))
                (legend(&table, published.status.state_is_kept))
            }
        }
    }
}

fn search(query: &Query) -> Markup {
    html! {
        form role="search" method="get" action="?" {
            label for="q" { "Search" }
            input #q type="search" name="q" value=(query.search) placeholder="owner/repo" maxlength="200" autocomplete="off" spellcheck="false";
            label for="sort" { "Sort" }
            select #sort name="sort" {
                @for (sort, parameter, name) in Sort::ALL {
                    option value=(parameter) selected[sort == query.sort] { (name) }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn found(table: &Table<'_>, query: &Query) -> Markup {
    let first = (table.page - 1) * table::ROWS + 1;
    let searched = !query.search.is_empty();
    html! {
        @match (table.found, searched) {
            (0, false) => "There is no repository to show.",
            (0, true) => "No repository",
            (found, _) => (repositories(found)),
        }
        @if searched { " found for \u{201c}" bdi { (query.search) } "\u{201d}" }
        @if table.pages > 1 { ", " (grouped(first)) " to " (grouped(first + table.rows.len() - 1)) " shown" }
        @if searched { ". " a href=(Query { search: String::new(), page: 1, ..query.clone() }.link()) { "Show all" } }
    }
}

fn pager(table: &Table<'_>, query: &Query) -> Markup {
    let link = |page: usize, words: &str, rel: Option<&str>| {
        html! {
            @if page == table.page { span aria-disabled="true" { (words) } }
            @else { a href={ (query.at_page(page).link()) "#repositories" } rel=[rel] { (words) } }
        }
    };
    html! {
        @if table.pages > 1 {
            nav.pager aria-label="Pages" {
                (link(1, "First", None))
                (link(table.page.saturating_sub(1).max(1), "Previous", Some("prev")))
                span aria-current="page" { "Page " (table.page) " of " (table.pages) }
                (link((table.page + 1).min(table.pages), "Next", Some("next")))
                (link(table.pages, "Last", None))
            }
        }
    }
}

fn legend(table: &Table<'_>, state_is_kept: bool) -> Markup {
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

fn grid(table: &Table<'_>, page: &Page<'_>) -> Markup {
    html! {
        table {
            caption.hidden { "Completion of each repository in each language, in per cent" }
            thead {
                tr {
                    (heading(&page.query, Column::Name, "Repository"))
                    (heading(&page.query, Column::Completion, "All"))
                    (heading(&page.query, Column::Progress, "Last progress"))
                    @for language in &table.languages { (language_heading(language)) }
                }
                tr.means {
                    th scope="row" { @if table.found == 1 { "Mean" } @else { "Mean of all " (grouped(table.found)) } }
                    (mean_cell(table.completion))
                    td {}
                    @for language in &table.languages { (mean_cell(language.completion)) }
                }
            }
            tbody { @for row in &table.rows { (table_row(row, table, page.now)) } }
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
    let lasts = condition.trouble().map(|trouble| Rough(now.since(trouble.since)).to_string()).unwrap_or_default();
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
