//! Round trips: every official parser reads the API's names and numbers byte for byte.

use crate::support::{
    Api, Exporter, Exposition, Repo, Setup, eventually,
    exporter::OPENMETRICS,
    exposition::{self, Family, Format, RATIO, Sample},
    http, until,
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
};

/// Names that expose wrong escaping, all of the form owner/repo.
const NAMES: [&str; 13] = [
    "quotes/\"double\" 'single'",
    "backslash/at the end\\",
    "backslash/before n: \\n and twice: \\\\n",
    "newline/in the\nmiddle",
    "newline/at the end\n",
    "carriage/return\rand tab\t",
    "braces/{a=\"b\"} 1",
    "hash/# HELP x y",
    "emoji/🦀 and family 👩‍👩‍👧‍👦",
    "rtl/שלום עולם ثم العربية",
    "combining/e\u{301} is not é",
    "control/\u{1}\u{7f}\u{85}\u{2028}\u{feff}",
    "spaces/  two at both ends  ",
];

/// Starts an exporter for repositories with these names.
fn odd_names() -> Exporter {
    let repo =
        |(id, name): (u64, &str)| Repo::new(id, name).languages(&[(name, 12.5), ("de", 100.0)]);
    let api = Api::start((1..).zip(NAMES).map(repo));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(13);
    exporter
}

/// Parses the scrape with the official Python parser of its format.
fn read_by_python(text: &str, format: &str) -> Exposition {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/blackbox/read_exposition.py"
    );
    let output = piped(
        Command::new("python3").args([script, format]),
        text.as_bytes(),
    );
    let sample = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let labels = serde_json::from_value(value["labels"].clone()).unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        Sample {
            name,
            labels,
            value: value["value"].as_f64().unwrap_or(f64::INFINITY),
        }
    };
    let samples = output.lines().map(sample).collect();
    Exposition {
        families: vec![Family {
            samples,
            ..Family::default()
        }],
    }
}

fn assert_has_the_odd_names(metrics: &Exposition) {
    for name in NAMES {
        assert_eq!(metrics.ratio(name, name), Some(0.125), "{name:?}");
        assert_eq!(metrics.ratio(name, "de"), Some(1.0), "{name:?}");
    }
    assert_eq!(metrics.count(RATIO), 2 * NAMES.len());
}

/// Runs a program with this stdin and asserts that it succeeds.
fn piped(command: &mut Command, input: &[u8]) -> String {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed by tests/run.sh");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    printed
}

#[test]
#[ignore = "needs Python's prometheus_client: tests/run.sh installs it"]
fn the_official_python_parsers_read_what_the_api_reports() {
    let exporter = odd_names();
    for (format, name) in [(Format::OpenMetrics, "openmetrics"), (Format::Text, "text")] {
        let text = exporter.scrape_text(format);
        let own = exposition::parse(&text, format).unwrap();
        let read = read_by_python(&text, name);
        assert_has_the_odd_names(&read);
        let count = |exposition: &Exposition| {
            exposition
                .families
                .iter()
                .map(|family| family.samples.len())
                .sum::<usize>()
        };
        assert_eq!(count(&read), count(&own));
    }
}

#[test]
#[ignore = "needs promtool and curl: tests/run.sh installs them"]
fn promtool_accepts_the_text_and_curl_reads_a_compressed_scrape() {
    let exporter = odd_names();
    let text = exporter.scrape_text(Format::Text);
    assert_eq!(
        piped(
            Command::new("promtool").args(["check", "metrics"]),
            text.as_bytes()
        ),
        ""
    );
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--noproxy",
        "*",
        "--compressed",
    ]);
    curl.args([
        "--header",
        &format!("accept: {OPENMETRICS}"),
        &format!("http://{}/metrics", exporter.address),
    ]);
    assert_has_the_odd_names(
        &exposition::parse(&piped(&mut curl, b""), Format::OpenMetrics).unwrap(),
    );
    let raw = http::get(exporter.address, "/metrics", &[("accept-encoding", "gzip")]).unwrap();
    assert!(raw.body.len() < text.len() / 2, "it is compressed");
}

#[test]
#[ignore = "needs Prometheus: tests/run.sh installs it"]
fn prometheus_stores_what_the_api_reports() {
    let exporter = odd_names();
    let setup = Setup::of("prometheus").arguments(&[
        "--config.file=config.yml",
        "--web.listen-address=127.0.0.1:0",
    ]);
    let targets = format!("[{{targets: [\"{}\"]}}]", exporter.address);
    let jobs = format!(
        "scrape_configs: [{{job_name: odd, scrape_interval: 1s, static_configs: {targets}}}]\n"
    );
    setup.file("config.yml", &jobs);
    let prometheus = setup.start();
    until("Prometheus is ready", || {
        prometheus.status("/-/ready") == 200
    });
    let query = |name: &str| -> Vec<Value> {
        let answer: Value = serde_json::from_str(
            &prometheus
                .get(&format!("/api/v1/query?query={name}"))
                .text(),
        )
        .unwrap();
        answer["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let series = eventually("the ratios are stored", || {
        Some(query(RATIO)).filter(|series| series.len() == 2 * NAMES.len())
    });
    for name in NAMES {
        for (language, value) in [(name, "0.125"), ("de", "1")] {
            let is_it = |labels: &Value| labels["repo"] == name && labels["language"] == language;
            let stored = series
                .iter()
                .find(|series| is_it(&series["metric"]))
                .map(|series| &series["value"][1]);
            assert_eq!(stored, Some(&json!(value)), "{name:?} {language:?}");
        }
    }
    assert_eq!(query("up")[0]["value"][1], "1");
}
