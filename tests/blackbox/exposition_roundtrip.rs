//! What the API said is what every official reader of the exposition reads, byte for byte.

use crate::support::{
    Api, Exporter, Exposition, Repo, Setup, eventually,
    exporter::OPENMETRICS,
    exposition::{Format, Labels, Sample},
    http,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
};

/// Names that break who escapes wrongly; each is of the form owner/repo.
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

fn odd_names() -> Api {
    Api::start((1..).zip(NAMES).map(|(id, name)| Repo::new(id, name).languages(&[(name, 12.5), ("de", 100.0)])))
}

fn started(setup: Setup, repositories: f64) -> Exporter {
    let exporter = setup.set("poll.interval", "1h").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") >= repositories);
    exporter
}

fn sorted(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by(|a, b| (&a.name, &a.labels).cmp(&(&b.name, &b.labels)));
    samples
}

/// All samples, in order.
fn samples(exposition: &Exposition) -> Vec<Sample> {
    sorted(exposition.families.iter().flat_map(|family| family.samples.clone()).collect())
}

/// All samples as the official Python parser of this format reads them.
fn read_by_python(text: &str, format: &str) -> Vec<Sample> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blackbox/read_exposition.py");
    let output = piped(Command::new("python3").args([script, format]), text.as_bytes());
    let sample = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let labels: Labels = serde_json::from_value(value["labels"].clone()).unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        Sample { name, labels, value: value["value"].as_f64().unwrap_or(f64::INFINITY) }
    };
    sorted(output.lines().map(sample).collect())
}

/// Runs a program that has to succeed with this on its stdin.
fn piped(command: &mut Command, input: &[u8]) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed by tests/run.sh");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn odd_names_come_back_exactly_in_both_formats() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    for format in [Format::OpenMetrics, Format::Text] {
        let metrics = exporter.scrape(format);
        for name in NAMES {
            assert_eq!(metrics.ratio(name, name), Some(0.125), "{name:?}");
            assert_eq!(metrics.ratio(name, "de"), Some(1.0), "{name:?}");
        }
        assert_eq!(metrics.samples("translation_completion_ratio").count(), 2 * NAMES.len());
    }
}

#[test]
fn both_formats_tell_the_same_domain_series() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    let domain = |format| {
        let mut samples = samples(&exporter.scrape(format));
        samples
            .retain(|sample| !sample.name.starts_with("translation_exporter_") && !sample.name.starts_with("process_"));
        samples
    };
    assert_eq!(domain(Format::OpenMetrics), domain(Format::Text));
}

#[test]
fn help_of_the_domain_metrics_says_when_they_are_read() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    for format in [Format::OpenMetrics, Format::Text] {
        let metrics = exporter.scrape(format);
        let domain = metrics.families.iter().filter(|family| {
            ["translation_completion", "translation_last", "translation_language", "translation_repository"]
                .iter()
                .any(|prefix| family.name.starts_with(prefix))
        });
        let mut count = 0;
        for family in domain {
            count += 1;
            assert!(family.help.contains("poll.interval"), "{}: {}", family.name, family.help);
            assert!(!family.help.contains(['"', '\\', '\n']), "{}: {}", family.name, family.help);
        }
        assert_eq!(count, 7);
    }
}

#[test]
#[ignore = "needs Python's prometheus_client: tests/run.sh installs it"]
fn the_official_python_parsers_read_what_the_api_said() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    for (format, name) in [(Format::OpenMetrics, "openmetrics"), (Format::Text, "text")] {
        let text = exporter.scrape_text(format);
        let own = crate::support::exposition::parse(&text, format).unwrap();
        let read = read_by_python(&text, name);
        let infinite = |sample: &&Sample| sample.labels.get("le").is_none_or(|le| le.parse::<f64>().is_ok());
        assert_eq!(read.iter().filter(infinite).count(), samples(&own).len());
        for name in NAMES {
            let ratio = |language: &str| {
                let is = |sample: &&Sample| {
                    sample.name == "translation_completion_ratio"
                        && sample.labels.get("repo").is_some_and(|repo| repo == name)
                        && sample.labels.get("language").is_some_and(|code| code == language)
                };
                read.iter().find(is).map(|sample| sample.value)
            };
            assert_eq!(ratio(name), Some(0.125), "{name:?}");
            assert_eq!(ratio("de"), Some(1.0), "{name:?}");
        }
    }
}

#[test]
#[ignore = "needs promtool: tests/run.sh installs it"]
fn promtool_accepts_the_text_format() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    let told =
        piped(Command::new("promtool").args(["check", "metrics"]), exporter.scrape_text(Format::Text).as_bytes());
    assert_eq!(told, "");
}

#[test]
#[ignore = "needs curl: tests/run.sh installs it"]
fn curl_reads_the_whole_of_a_compressed_scrape() {
    let api = odd_names();
    let exporter = started(Setup::for_api(&api), 13.0);
    let url = format!("http://{}/metrics", exporter.address);
    let header = format!("accept: {OPENMETRICS}");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*"]);
    let text = piped(curl.args(["--compressed", "--header", &header, &url]), b"");
    let metrics = crate::support::exposition::parse(&text, Format::OpenMetrics).unwrap();
    assert_eq!(metrics.ratio(NAMES[3], "de"), Some(1.0));
    let raw = http::get(exporter.address, "/metrics", &[("accept-encoding", "gzip")]).unwrap();
    assert!(raw.body.len() < exporter.scrape_text(Format::Text).len() / 2, "it is compressed");
}

#[test]
#[ignore = "needs Prometheus: tests/run.sh installs it"]
fn prometheus_stores_what_the_api_said_over_both_formats() {
    let api = odd_names();
    let odd = started(Setup::for_api(&api), 13.0);
    let demo = Setup::new(&["demo", "--web.listen-address=127.0.0.1:0"]).start();
    demo.wait_for("the demo shows all its repositories", |metrics| {
        metrics.samples("translation_repository_info").count() > 23
    });
    let prometheus = Prometheus::start(&[
        ("odd-openmetrics", odd.address),
        ("odd-text", only_text(odd.address)),
        ("demo-openmetrics", demo.address),
        ("demo-text", only_text(demo.address)),
    ]);
    for job in ["odd-openmetrics", "odd-text"] {
        let series = eventually("the ratios are stored", || {
            let series = prometheus.query(&format!("translation_completion_ratio{{job=\"{job}\"}}"));
            (series.len() == 2 * NAMES.len()).then_some(series)
        });
        for name in NAMES {
            let has = |language: &str, value: &str| {
                series
                    .iter()
                    .any(|(labels, found)| labels["repo"] == name && labels["language"] == language && found == value)
            };
            assert!(has(name, "0.125") && has("de", "1"), "{job}: {name:?}");
        }
        assert_eq!(prometheus.query(&format!("up{{job=\"{job}\"}} == 1")).len(), 1);
    }
    for job in ["demo-openmetrics", "demo-text"] {
        for (query, least) in [
            (format!("translation_completion_ratio{{job=\"{job}\"}}"), 150),
            (format!("translation_repository_info{{job=\"{job}\"}}"), 24),
            (format!("translation_exporter_api_requests_total{{job=\"{job}\",code=\"200\"}} > 0"), 2),
            (format!("translation_exporter_api_request_duration_seconds_bucket{{job=\"{job}\",le=\"+Inf\"}} > 0"), 2),
            (format!("changes(translation_exporter_polls_total{{job=\"{job}\"}}[1m]) > 0"), 1),
        ] {
            eventually(&query, || (prometheus.query(&query).len() >= least).then_some(()));
        }
    }
}

/// Forwards scrapes, asking for 0.0.4 alone: old versions of Prometheus cannot be told to.
fn only_text(exporter: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = forward(stream, exporter);
        }
    });
    address
}

fn forward(mut stream: TcpStream, exporter: SocketAddr) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let accept = [("accept", "text/plain;version=0.0.4"), ("accept-encoding", "gzip")];
    let response = http::get(exporter, "/metrics", &accept)?;
    let mut head =
        format!("HTTP/1.1 {} x\r\nconnection: close\r\ncontent-length: {}\r\n", response.status, response.body.len());
    for name in ["content-type", "content-encoding"] {
        head += &response.header(name).map(|value| format!("{name}: {value}\r\n")).unwrap_or_default();
    }
    stream.write_all(&[head.as_bytes(), b"\r\n", &response.body].concat())
}

/// A real Prometheus, which scrapes every second and forgets all when it is dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn start(jobs: &[(&str, SocketAddr)]) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let mut config = "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n".to_owned();
        for (job, target) in jobs {
            config += &format!("  - {{job_name: {job}, static_configs: [{{targets: [\"{target}\"]}}]}}\n");
        }
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
        // What is not read would stop it.
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
