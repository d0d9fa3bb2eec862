//! The tables of the docs, and the panels and alerts, compared with everything that is exposed.

use super::{golden::every_condition, *};
use crate::support::parsed::Parsed;
use crate::{
    diagnosis::ProblemKind,
    domain::{links::Links, polling::PollOutcome},
    testing::assert_generated,
};
use std::{collections::BTreeSet, fs};

/// The metrics that no dashboard and no alert reads, because the diagnosis or another metric says
/// the same.
const UNUSED: [&str; 16] = [
    "translation_repository_created_timestamp_seconds",
    "translation_exporter_last_poll_timestamp_seconds",
    "translation_exporter_api_held_until_timestamp_seconds",
    "translation_exporter_completion_out_of_scale",
    "translation_exporter_state_writes_total",
    "translation_exporter_state_write_failures_total",
    "translation_exporter_tls_handshake_failures_total",
    "translation_exporter_http_requests_total",
    "translation_exporter_log_lines_dropped_total",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "process_threads",
    "process_open_fds",
    "process_max_fds",
    "process_virtual_memory_max_bytes",
];

const PAGE: &str = "docs/metrics.md";

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

/// A metric as it is exposed.
struct Exposed<'a> {
    name: &'a str,
    kind: &'a str,
    labels: Vec<&'a str>,
    help: &'a str,
}

impl Exposed<'_> {
    fn row(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|one| format!("`{one}`")).collect();
        let (name, kind, labels) = (self.name, self.kind, labels.join(", "));
        let (help, _) = self
            .help
            .split_once("; read from")
            .unwrap_or((self.help, ""));
        let meaning = marked(help.trim_end_matches('.'));
        format!("| `{name}` | {kind} | {labels} | {meaning} |").replace("|  |", "| |")
    }
}

/// Returns the text of an exporter that exposes each metric.
fn everything() -> String {
    let (mut snapshot, mut status) = every_condition();
    snapshot.settings.links = Links {
        repository: Parsed::parse_bounded("https://t.example.com/{owner}/{name}").unwrap(),
        language: Parsed(None),
    };
    status.running = Some(PollOutcome {
        since: at(1_795_224_645_000),
        ..PollOutcome::default()
    });
    let instruments = Instruments::new(Some("/metrics"));
    instruments.facts().certificate_expires_at = Some(at(0));
    text(
        &publication(snapshot, status),
        ExpositionFormat::Text,
        &instruments,
    )
}

fn exposed(text: &str) -> impl Iterator<Item = Exposed<'_>> {
    text.split("# HELP ").skip(1).map(|family| {
        let mut lines = family.lines();
        let (name, help) = lines.next().unwrap().split_once(' ').unwrap();
        let (_, kind) = lines.next().unwrap().rsplit_once(' ').unwrap();
        let mut labels = Vec::new();
        for part in lines.flat_map(|sample| sample.split('"').step_by(2)) {
            let label = part
                .strip_suffix('=')
                .and_then(|part| part.rsplit(['{', ',']).next());
            labels.extend(label.filter(|label| *label != "le" && !labels.contains(label)));
        }
        Exposed {
            name,
            kind,
            labels,
            help,
        }
    })
}

#[test]
fn tables_of_the_metrics_are_generated() {
    let shipped = fs::read_to_string(PAGE).unwrap();
    let text = everything();
    let is_process = |metric: &Exposed<'_>| metric.name.starts_with("process_");
    let (own, translations): (Vec<_>, Vec<_>) = exposed(&text)
        .filter(|metric| !is_process(metric))
        .partition(|one| one.name == "translation_up" || one.name.contains("_exporter_"));
    let rows = |metrics: &[Exposed<'_>]| metrics.iter().map(Exposed::row).collect::<Vec<_>>();
    let kinds: Vec<_> = ProblemKind::ALL
        .iter()
        .map(|kind| {
            let severities: Vec<_> = kind.severities().collect();
            let (label, severity) = (kind.label(), severities.join(", "));
            let (alert, meaning) = (kind.alert().unwrap_or("none"), kind.meaning());
            format!("| `{label}` | {severity} | {alert} | {meaning} |")
        })
        .collect();
    let page = with_table(&shipped, "## Translations", &rows(&translations));
    let page = with_table(&page, "## The exporter itself", &rows(&own));
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
    let text = everything();
    for metric in exposed(&text) {
        let name = match metric.kind {
            "histogram" => format!("{}_bucket", metric.name),
            _ => metric.name.to_owned(),
        };
        let is_read = read.contains(&*name);
        assert_ne!(is_read, UNUSED.contains(&&*name), "{name}");
    }
}

#[test]
fn help_needs_no_escaping() {
    for metric in exposed(&everything()) {
        assert!(!metric.help.contains(['"', '\\']), "{}", metric.name);
        assert!(metric.help.ends_with('.'), "{}", metric.name);
        let is_counter = metric.kind == "counter";
        assert_eq!(
            metric.name.ends_with("_total"),
            is_counter,
            "{}",
            metric.name
        );
    }
}
