//! What the API reports is what every official reader of the exposition reads, byte for byte.

use crate::support::{
    Api, Exporter, Exposition, Repo, Setup, eventually,
    exporter::OPENMETRICS,
    exposition::{self, Family, Format, RATIO, Sample},
    http,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
};

/// Names that reveal wrong escaping; each has the form owner/repo.
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

/// An exporter of repositories with these names.
fn odd_names() -> Exporter {
    let repo = |(id, name): (u64, &str)| Repo::new(id, name).languages(&[(name, 12.5), ("de", 100.0)]);
    let api = Api::start((1..).zip(NAMES).map(repo));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(13);
    exporter
}

/// The scrape as the official Python parser of this format reads it.
fn read_by_python(text: &str, format: &str) -> Exposition {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blackbox/read_exposition.py");
    let output = piped(Command::new("python3").args([script, format]), text.as_bytes());
    let sample = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let labels = serde_json::from_value(value["labels"].clone()).unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        Sample { name, labels, value: value["value"].as_f64().unwrap_or(f64::INFINITY) }
    };
    let samples = output.lines().map(sample).collect();
    Exposition { families: vec![Family { samples, ..Family::default() }] }
}

fn assert_has_the_odd_names(metrics: &Exposition) {
    for name in NAMES {
        assert_eq!(metrics.ratio(name, name), Some(0.125), "{name:?}");
        assert_eq!(metrics.ratio(name, "de"), Some(1.0), "{name:?}");
    }
    assert_eq!(metrics.count(RATIO), 2 * NAMES.len());
}

/// Runs a program with this on its stdin; it must succeed.
fn piped(command: &mut Command, input: &[u8]) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed by tests/run.sh");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command:?}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

#[test]
fn odd_names_come_back_exactly_in_both_formats() {
    let exporter = odd_names();
    for format in [Format::OpenMetrics, Format::Text] {
        assert_has_the_odd_names(&exporter.scrape(format));
    }
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
        let count =
            |exposition: &Exposition| exposition.families.iter().map(|family| family.samples.len()).sum::<usize>();
        assert_eq!(count(&read), count(&own));
    }
}

#[test]
#[ignore = "needs promtool and curl: tests/run.sh installs them"]
fn promtool_accepts_the_text_format_and_curl_reads_the_whole_of_a_compressed_scrape() {
    let exporter = odd_names();
    let text = exporter.scrape_text(Format::Text);
    assert_eq!(piped(Command::new("promtool").args(["check", "metrics"]), text.as_bytes()), "");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*", "--compressed"]);
    curl.args(["--header", &format!("accept: {OPENMETRICS}"), &format!("http://{}/metrics", exporter.address)]);
    assert_has_the_odd_names(&exposition::parse(&piped(&mut curl, b""), Format::OpenMetrics).unwrap());
    let raw = http::get(exporter.address, "/metrics", &[("accept-encoding", "gzip")]).unwrap();
    assert!(raw.body.len() < text.len() / 2, "it is compressed");
}

#[test]
#[ignore = "needs Prometheus: tests/run.sh installs it"]
fn prometheus_stores_what_the_api_reports() {
    let exporter = odd_names();
    let prometheus = Prometheus::start(exporter.address);
    let series = eventually("the ratios are stored", || {
        Some(prometheus.query(RATIO)).filter(|series| series.len() == 2 * NAMES.len())
    });
    for name in NAMES {
        for (language, value) in [(name, "0.125"), ("de", "1")] {
            let is_it = |labels: &Value| labels["repo"] == name && labels["language"] == language;
            assert!(series.iter().any(|(labels, stored)| is_it(labels) && stored == value), "{name:?} {language:?}");
        }
    }
    assert_eq!(prometheus.query("up == 1").len(), 1);
}

/// A real Prometheus that scrapes every second; it is killed when this is dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn start(target: SocketAddr) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             scrape_configs: [{{job_name: odd, static_configs: [{{targets: [\"{target}\"]}}]}}]\n"
        );
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let mut child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--storage.tsdb.retention.time=1d"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it is installed by tests/run.sh");
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listening = log.by_ref().find(|line| line.contains("Listening on")).expect("Prometheus listens");
        let address = listening.split_once("address=").unwrap().1.parse().unwrap();
        // If nothing read its log, it would stop.
        thread::spawn(move || log.for_each(drop));
        let prometheus = Self { child, address, _folder: folder };
        eventually("Prometheus is ready", || {
            http::get(address, "/-/ready", &[]).ok().filter(|response| response.status == 200)
        });
        prometheus
    }

    /// The series of an instant query: labels and value.
    fn query(&self, query: &str) -> Vec<(Value, String)> {
        let encoded = query.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        let response = http::get(self.address, &format!("/api/v1/query?query={encoded}"), &[]).unwrap();
        let answer: Value = serde_json::from_str(&response.text()).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap().iter();
        series.map(|series| (series["metric"].clone(), series["value"][1].as_str().unwrap().to_owned())).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
