use super::*;
use crate::{
    domain::{ProblemKind, Severity},
    testing::assert_generated,
};
use std::{collections::BTreeSet, fs, path::Path};

const PAGE: &str = "deploy/metrics.md";
const FILE: &str = "src/metrics/definition.rs";

/// Returns `page` with these rows in the table under `heading`.
fn with_table(page: &str, heading: &str, rows: &[String]) -> String {
    let mut lines = Vec::new();
    let mut is_under = false;
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with('#') {
            is_under = line == heading;
        }
        if is_inside && line.starts_with('|') {
            continue;
        }
        is_inside = false;
        lines.push(line);
        if is_under && line.starts_with("|---") {
            is_inside = true;
            lines.extend(rows.iter().map(String::as_str));
        }
    }
    lines.join("\n") + "\n"
}

/// Marks keys of the configuration as code.
fn marked(text: &str) -> String {
    let mark = |word: &str| {
        let key = word.trim_end_matches([',', ';', ':', '.']);
        let is_key =
            key.contains('.') && key.bytes().all(|b| matches!(b, b'a'..=b'z' | b'.' | b'_'));
        match word.strip_prefix(key) {
            Some(rest) if is_key => format!("`{key}`{rest}"),
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

fn row(metric: &MetricDefinition) -> String {
    let labels: Vec<_> = metric
        .labels
        .iter()
        .map(|label| format!("`{label}`"))
        .collect();
    let mut meaning = marked(metric.meaning);
    if let Some(situation) = metric.only {
        meaning = format!("{meaning}; only {situation}");
    }
    let (name, kind, labels) = (metric.name, metric.kind.as_str(), labels.join(", "));
    format!("| `{name}` | {kind} | {labels} | {meaning} |").replace("|  |", "| |")
}

#[test]
fn tables_of_the_metrics_are_generated() {
    let shipped = fs::read_to_string(PAGE).unwrap();
    let rows = |metrics: &[MetricDefinition]| metrics.iter().map(row).collect::<Vec<_>>();
    let kinds: Vec<_> = ProblemKind::ALL
        .iter()
        .map(|kind| {
            let definition = kind.definition();
            let alert = definition.alert.unwrap_or("none");
            let severities: Vec<_> = kind.severities().map(Severity::label).collect();
            let (label, severity) = (definition.label, severities.join(", "));
            format!(
                "| `{label}` | {severity} | {alert} | {} |",
                definition.meaning
            )
        })
        .collect();
    let page = with_table(&shipped, "## Translations", &rows(TRANSLATIONS));
    let page = with_table(&page, "## The exporter itself", &rows(EXPORTER));
    let page = with_table(&page, "## Problems", &kinds);
    assert_generated(PAGE, &page);
}

#[test]
fn each_metric_has_a_panel_or_an_alert_or_says_why_not() {
    let dashboards = fs::read_dir("grafana/dashboards").unwrap();
    let mut texts: Vec<_> = dashboards
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    texts.push(fs::read_to_string("deploy/prometheus/alerts.yaml").unwrap());
    let texts = texts.concat();
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let read: BTreeSet<_> = texts.split(|c| !is_of_names(c)).collect();
    for metric in [TRANSLATIONS, EXPORTER, PROCESS].concat() {
        let name = match metric.kind {
            MetricType::Histogram => format!("{}_bucket", metric.name),
            _ => metric.name.to_owned(),
        };
        if metric.unused.is_none() {
            assert!(read.contains(&*name), "no panel and no alert reads {name}");
        } else {
            assert!(!read.contains(&*name), "{name} is used, not `.unused`");
        }
    }
}

/// Adds the words of all sources in a folder to `words`, except of tests and definitions.
fn add_words(folder: &Path, words: &mut BTreeSet<String>) {
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            add_words(&path, words);
        } else if path.is_file() && !path.ends_with("tests.rs") && !path.ends_with(FILE) {
            let source = fs::read_to_string(&path).unwrap();
            let found = source.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.extend(found.map(str::to_owned));
        }
    }
}

/// A counter without labels is exposed even if nothing counts.
#[test]
fn each_definition_is_used() {
    let mut words = BTreeSet::new();
    add_words(Path::new("src"), &mut words);
    for name in NAMES {
        assert!(words.contains(*name), "nothing counts or shows {name}");
    }
}

#[test]
fn names_are_unique_and_help_needs_no_escaping() {
    let all = [TRANSLATIONS, EXPORTER, PROCESS].concat();
    let names: BTreeSet<_> = all.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), all.len());
    for MetricDefinition {
        name,
        kind,
        meaning,
        ..
    } in all
    {
        assert_eq!(
            name.ends_with("_total"),
            matches!(kind, MetricType::Counter),
            "{name}"
        );
        assert!(!meaning.contains(['"', '\\', '\n']), "{name}");
        assert!(!meaning.ends_with('.'), "{name}");
    }
}
