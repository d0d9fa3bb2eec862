//! The page as HTML.

use super::{
    super::state::Site,
    grid::{grid, language_name, legend},
    lead::{due, numbers},
    query::{Query, Sort},
    table::{self, Table},
    when::{ago, ahead, moment},
};
use crate::{
    health::{self, Finding, Kind, Severity},
    model::Timestamp,
    report::summary::{self, Cause},
    snapshot::{PollStatus, Snapshot},
    words::{Rough, grouped, repositories},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet for windows in which the languages do not fit side by side; also part of the page.
pub const WRAPPED: &str = include_str!("wrapped.css");

/// Three bars of a heat map.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Crect width='16' height='4' y='1' rx='1.5' fill='%231d9a8a'/%3E\
    %3Crect width='11' height='4' y='6' rx='1.5' fill='%2366bdb0'/%3E\
    %3Crect width='6' height='4' y='11' rx='1.5' fill='%23f09a78'/%3E%3C/svg%3E";

pub fn render(site: &Site, query: &Query) -> Markup {
    let (published, now) = (site.published(), site.shared.clock.now());
    let (snapshot, status) = (&published.snapshot, &published.status);
    let findings = site.findings(&published);
    let worst = findings.iter().map(|finding| finding.kind.severity()).min();
    let (class, mark) = mark(worst);
    let only = Some(&*query.language).filter(|code| !code.is_empty());
    let rows = summary::rows(snapshot, only, now);
    let names = snapshot.language_names();
    let lead = html! {
        @if !rows.is_empty() { (numbers(&rows, snapshot.filtered, query)) (due(&rows, &names, query, now)) }
    };
    let table = Table::new(rows, names, query, now);
    let state = html! {
        section class={ "state " (class) } aria-labelledby="state" {
            span.mark aria-hidden="true" { (mark) }
            h2 #state { (health::headline(&findings)) "." }
            (polls(status, now))
        }
        (attention(&findings, snapshot, now))
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(mark, &table, query))
            body {
                a.skip href="#repositories" { "Skip to the repositories" }
                (top(&site.settings.telemetry_path))
                main {
                    // While the API cannot be read, the figures may be old.
                    @if worst == Some(Severity::Error) { (state) (lead) } @else { (lead) (state) }
                    (repository_section(&table, query, status.state_is_kept, now))
                }
            }
        }
    }
}

fn head(mark: &str, table: &Table<'_>, query: &Query) -> Markup {
    // Windows in which the columns do not fit side by side, by the widths in the stylesheet.
    let too_narrow = if query.language.is_empty() {
        format!(
            "(max-width: calc(30.3em + {} * 2.125em))",
            table.languages.len()
        )
    } else {
        "(max-width: 40rem)".to_owned()
    };
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (mark) " " @if !query.language.is_empty() { (query.language) " \u{2013} " } "Translation progress" }
            link rel="icon" href=(ICON);
            style { (PreEscaped(STYLE)) }
            style media=(too_narrow) { (PreEscaped(WRAPPED)) }
        }
    }
}

/// The class and the mark of how bad it is.
fn mark(worst: Option<Severity>) -> (&'static str, &'static str) {
    match worst {
        None => ("well", "\u{2713}"),
        Some(Severity::Notice) => ("waiting", "\u{2026}"),
        Some(Severity::Warning) => ("degraded", "!"),
        Some(Severity::Error) => ("failing", "\u{2717}"),
    }
}

fn top(telemetry_path: &str) -> Markup {
    html! {
        header.top {
            h1 { "Translation progress" }
            p { "translation-exporter " (env!("CARGO_PKG_VERSION")) }
            nav aria-label="Endpoints" {
                a href=(telemetry_path.trim_start_matches('/')) { "Metrics" }
                a href="-/ready" { "Ready" }
                a href="-/healthy" { "Healthy" }
            }
        }
    }
}

fn polls(status: &PollStatus, now: Timestamp) -> Markup {
    html! {
        dl {
            div { dt { "Last poll" } dd { (last_poll(status, now)) } }
            div { dt { "Next poll" } dd { (next_poll(status, now)) } }
            div { dt { "Last full poll" } dd {
                @match status.last_success_at { Some(at) => (moment(at, &ago(at, now))), None => "not yet" }
            } }
        }
    }
}

fn last_poll(status: &PollStatus, now: Timestamp) -> Markup {
    let Some(last) = &status.last else {
        return html! { "none has ended yet" };
    };
    let (seconds, read) = (last.duration.as_secs_f64(), grouped(last.read));
    html! {
        (moment(last.ended_at, &ago(last.ended_at, now)))
        span.detail { "took " (format!("{seconds:.1}")) " s, read " (read) }
        @if last.failed > 0 { span.detail { (grouped(last.failed)) " failed" } }
        @if last.postponed > 0 { span.detail { (grouped(last.postponed)) " that failed before left for later" } }
        @if last.unreached > 0 { span.detail { (grouped(last.unreached)) " not reached" } }
    }
}

fn next_poll(status: &PollStatus, now: Timestamp) -> Markup {
    let every = format!("every {}", humantime::format_duration(status.interval));
    html! {
        @match (status.running().map(|running| running.since), status.next_poll_at()) {
            (Some(since), _) => { "under way" span.detail { "since " (moment(since, &ago(since, now))) } },
            (None, Some(at)) => { (moment(at, &ahead(at, now))) span.detail { (every) } },
            (None, None) => { "soon" span.detail { (every) } },
        }
    }
}

/// How many repositories with the same failure are named.
const MOST_NAMED: usize = 5;

/// What is wrong, the worst first; the headline covers a notice. Why repositories fail is listed by cause.
fn attention(findings: &[Finding], snapshot: &Snapshot, now: Timestamp) -> Markup {
    let causes = |snapshot| {
        let mut causes = summary::causes(snapshot);
        causes.retain(|cause| health::is_named(cause.failure, findings));
        causes
    };
    let mut findings = findings
        .iter()
        .filter(|finding| finding.kind.severity() != Severity::Notice)
        .peekable();
    html! {
        @if findings.peek().is_some() {
            section.attention aria-labelledby="attention" {
                h2 #attention { "What needs attention" }
                ul {
                    @for Finding { kind, what, since, detail, hint } in findings {
                        @let causes = if *kind == Kind::RepositoriesFailing { causes(snapshot) } else { Vec::new() };
                        @let is_a_cause = causes.iter().any(|cause| Some(&cause.failure.what) == detail.as_ref());
                        li {
                            p { span.subject { (what) } (lasting(*since, now)) }
                            @if !is_a_cause {
                                @if let Some(detail) = detail { p.what { (detail) } }
                                p.hint { (hint) }
                            }
                            @for cause in causes { (failing(&cause, now)) }
                        }
                    }
                }
            }
        }
    }
}

/// Repositories that fail for one cause.
fn failing(
    Cause {
        repositories,
        failure,
    }: &Cause<'_>,
    now: Timestamp,
) -> Markup {
    html! {
        div.cause {
            p {
                @for (index, name) in repositories.iter().take(MOST_NAMED).enumerate() {
                    @if index > 0 { ", " }
                    bdi.subject { (name) }
                }
                @if repositories.len() > MOST_NAMED { " and " (grouped(repositories.len() - MOST_NAMED)) " more" }
                (lasting(Some(failure.since), now))
            }
            p.what { @if repositories.len() > 1 { "Such as: " } (failure.what) }
            p.hint { (failure.hint) }
        }
    }
}

fn lasting(since: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let Some(since) = since {
            span.detail { " for " (moment(since, &Rough(now.since(since)).to_string())) }
        }
    }
}

fn repository_section(
    table: &Table<'_>,
    query: &Query,
    state_is_kept: bool,
    now: Timestamp,
) -> Markup {
    html! {
        section.repositories #repositories aria-labelledby="heading" {
            div.bar {
                h2 #heading {
                    @if query.language.is_empty() { "Repositories" } @else { (language_name(&query.language, &table.names)) " in all repositories" }
                }
                (search(query))
            }
            p.found role="status" { (found(table, query)) }
            @if !table.rows.is_empty() {
                div.sheet { (grid(table, query, now)) }
                (pager(table, query))
                (legend(table, state_is_kept))
            }
        }
    }
}

fn search(query: &Query) -> Markup {
    html! {
        form role="search" method="get" action="?" {
            @if !query.language.is_empty() { input type="hidden" name="language" value=(query.language); }
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
            (0, false) if query.language.is_empty() => "There is no repository to show.",
            (0, false) => { "No repository has the language \u{201c}" bdi { (query.language) } "\u{201d}." },
            (0, true) => "No repository",
            (found, _) => (repositories(found)),
        }
        @if searched { " found for \u{201c}" bdi { (query.search) } "\u{201d}" }
        @if table.pages > 1 { ", " (grouped(first)) " to " (grouped(first + table.rows.len() - 1)) " shown" }
        @if searched { ". " a href=(Query { search: String::new(), page: 1, ..query.clone() }.link()) { "Show all" } }
        @if !query.language.is_empty() { ". " a href=(query.of_language("").link()) { "All languages" } }
    }
}

fn pager(table: &Table<'_>, query: &Query) -> Markup {
    let link = |page: usize, words: &str, rel: Option<&str>| {
        html! {
            @if page == table.page { span aria-disabled="true" { (words) } }
            @else { a href={ (Query { page, ..query.clone() }.link()) "#repositories" } rel=[rel] { (words) } }
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
