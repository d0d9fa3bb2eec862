//! Hostile names: every output shows names as text, even if a terminal, browser, spreadsheet or
//! forge would interpret them.

use crate::support::{Api, Repo, Setup};
use std::collections::BTreeSet;

const COUNT: u32 = 10;

/// Each of these is the name of a repository and, in every repository, of a language.
const NAMES: [&str; COUNT as usize] = [
    "pipe|`code`/<script>alert(1)</script>",
    "=cmd|' /C calc'!A0/x",
    " @SUM(A1)/mail@example.com",
    "+1/-1",
    "-1/x",
    "control/\u{1b}[31m\u{7}\u{9b}1m\r\n\"x\", 2\t3",
    "bidi/\u{202e}gpj.\u{2066}x",
    "invisible/a\u{200b}\u{ad}\u{2060}b\u{feff}\u{e0041}",
    "links/[x](javascript:1) www.example.com https://example.com",
    "::add-mask::x/@octocat #12 <!-- ![](//example.com/x.png)",
];

/// Returns an API with repositories of these names.
fn hostile() -> Api {
    let languages: Vec<_> = NAMES.iter().map(|name| (*name, 12.5)).collect();
    let repositories = (1..).zip(NAMES);
    Api::start(repositories.map(|(id, name)| Repo::new(id, name).languages(&languages)))
}

/// Returns the stdout of `once --output FORMAT` and the stderr of its failing gate.
fn once(api: &Api, format: &str) -> String {
    let output = Setup::for_api(api)
        .variable("COLUMNS", "120")
        .arguments(&["once", "--require=0.5", "--output", format])
        .run();
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_shows_text_alone("stderr", &output.stderr);
    assert!(output.stderr.contains("=cmd|' /C calc'!A0"));
    output.stdout
}

/// Asserts that a text for people contains no control sequence and no invisible character.
fn assert_shows_text_alone(output: &str, text: &str) {
    let is_hidden = |c: &char| {
        (c.is_control() && *c != '\n')
            || ('\u{200b}'..='\u{200f}').contains(c)
            || ('\u{202a}'..='\u{202e}').contains(c)
            || ('\u{2060}'..='\u{206f}').contains(c)
            || ['\u{ad}', '\u{feff}', '\u{e0041}'].contains(c)
    };
    let hidden: BTreeSet<_> = text.chars().filter(is_hidden).collect();
    assert_eq!(hidden, BTreeSet::new(), "{output}");
}

#[test]
fn the_table_has_one_line_for_each_name() {
    let text = once(&hostile(), "table");
    assert_shows_text_alone("table", &text);
    let bars = text.lines().filter(|line| line.contains('█'));
    assert_eq!(bars.count(), NAMES.len(), "{text}");
}

#[test]
fn markdown_shows_names_without_markup_mentions_or_links() {
    let text = once(&hostile(), "markdown");
    assert_shows_text_alone("markdown", &text);
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + NAMES.len(), "{text}");
    for row in &rows {
        let separators = row.replace("\\|", "").matches('|').count();
        assert_eq!(separators, 6, "{row}");
    }
    for raw in [
        "<", "[x]", "@octocat", "#12", "www.e", "://", "@example", "![", " `",
    ] {
        assert!(!text.contains(raw), "{raw}: {text}");
    }
}

#[test]
fn csv_has_a_record_for_each_language_and_no_formula() {
    let text = once(&hostile(), "csv");
    let text = text.strip_prefix('\u{feff}').unwrap();
    assert_shows_text_alone("csv", &text.replace("\r\n", "\n"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), NAMES.len() * NAMES.len());
    let formula = ['=', '+', '-', '@'];
    for field in records.iter().flatten() {
        assert!(!field.trim_start().starts_with(formula), "{field}");
    }
}

#[test]
fn the_page_and_its_file_show_names_as_text() {
    let api = hostile();
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(COUNT);
    let pages = [once(&api, "html"), exporter.get("/").text()];
    for (html, output) in pages.iter().zip(["once --output html", "/"]) {
        assert_shows_text_alone(output, html);
        let lower = html.to_lowercase();
        for tag in ["<script", "<img", "<!-- !", "href=\"javascript"] {
            assert!(!lower.contains(tag), "{output}: {tag}");
        }
        assert!(html.contains("&#60;script&#62;"), "{output}: {html}");
    }
}
