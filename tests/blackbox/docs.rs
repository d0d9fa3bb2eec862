//! The tables in the docs, compared with the metrics, outputs and paths of the program.

use crate::support::{Api, Exporter, Exposition, Setup, http};
use std::collections::{BTreeMap, BTreeSet};

const CONFIGURATION: &str = include_str!("../../deploy/configuration.md");
const METRICS: &str = include_str!("../../deploy/metrics.md");
const ONCE: &str = include_str!("../../deploy/once.md");

/// Returns the rows of all tables of `page` whose header begins with `head`, without backquotes.
fn rows(page: &str, head: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut within = false;
    for line in page.lines() {
        if !line.starts_with('|') {
            within = false;
        } else if line.starts_with(head) {
            within = true;
        } else if within && !line.starts_with("|---") {
            let cells = line
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().replace('`', ""));
            rows.push(cells.collect());
        }
    }
    assert!(!rows.is_empty(), "no table begins with {head}");
    rows
}

/// Starts an exporter that exposes at least one sample of each family.
fn exporter_that_shows_everything(api: &Api) -> Exporter {
    let setup = Setup::for_api(api)
        .set("web.enable_lifecycle", "true")
        .set("links.repository", "https://l10n.example.com/{repo}")
        .set("state.file", "state.json");
    let exporter = setup.start();
    exporter.wait_until_fresh(1);
    exporter.wait_until_up_is(1.0);
    exporter
}

#[test]
fn the_exposed_metrics_are_documented() {
    let rows = rows(METRICS, "| metric | type |");
    let documented: BTreeMap<_, _> = rows
        .iter()
        .map(|row| {
            let labels = row[2].split(", ").filter(|label| !label.is_empty());
            let labels: BTreeSet<_> = labels.map(str::to_owned).collect();
            (row[0].clone(), (row[1].clone(), labels))
        })
        .collect();
    let exposed = exposed(&exporter_that_shows_everything(&Api::of(1)).metrics());
    assert!(exposed.len() > 35, "{exposed:?}");
    for (name, metric) in &exposed {
        assert_eq!(documented.get(name), Some(metric), "{name}");
    }
}

/// Returns each metric as stored by Prometheus: name, type and all labels, of exporter and domain.
fn exposed(metrics: &Exposition) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut exposed = BTreeMap::new();
    for family in metrics
        .families
        .iter()
        .filter(|family| !family.name.starts_with("process_"))
    {
        let suffix = if family.kind == "counter" {
            "_total"
        } else {
            ""
        };
        let labels = family
            .samples
            .iter()
            .flat_map(|sample| sample.labels.keys().cloned());
        let labels = labels.filter(|label| label != "le").collect();
        assert!(!family.samples.is_empty(), "{} has samples", family.name);
        exposed.insert(
            format!("{}{suffix}", family.name),
            (family.kind.clone(), labels),
        );
    }
    exposed
}

#[test]
fn the_table_of_outputs_is_what_once_offers() {
    let rows = rows(ONCE, "| `--output` |");
    let outputs = rows.iter().flat_map(|row| row[0].split(", "));
    let documented: BTreeSet<_> = outputs
        .map(|output| output.trim_end_matches(" (default)"))
        .collect();
    let help = Setup::new(&["once", "--help"]).run().stdout;
    let (_, offered) = help.split_once("--output <FORMAT>").unwrap();
    let (offered, _) = offered.split_once(';').unwrap();
    let offered = offered.split(',').map(str::trim).collect();
    assert_eq!(documented, offered);
}

#[test]
fn the_table_of_endpoints_is_what_is_served() {
    let exporter = exporter_that_shows_everything(&Api::of(1));
    let mut paths = BTreeSet::new();
    for row in rows(CONFIGURATION, "| path | methods |") {
        let (path, methods) = (&row[0], row[1].split(", ").collect::<BTreeSet<_>>());
        paths.insert(path.clone());
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let response = http::request(method, exporter.address, path, &[]).unwrap();
            if methods.contains(method) {
                assert_eq!(response.status, 200, "{method} {path}");
            } else {
                assert_eq!(response.status, 405, "{method} {path}");
                let allowed: BTreeSet<_> = response
                    .header("allow")
                    .unwrap()
                    .split(',')
                    .map(str::trim)
                    .collect();
                assert_eq!(allowed, methods, "{method} {path}");
            }
        }
    }
    assert_eq!(exporter.status("/nothing-here"), 404);
    let metrics = exporter.metrics();
    let mut counted: BTreeSet<_> = metrics
        .label_values("translation_exporter_http_requests_total", "path")
        .into_iter()
        .collect();
    assert!(counted.remove("other"));
    assert_eq!(paths, counted);
}
