//! The log: one line on stderr for each event, as logfmt or JSON, in the style of Prometheus: `ts`,
//! `level`, `target`, `msg`, then the fields of the event.
//!
//! No value can split a line or reach a terminal as a control sequence. Other crates log from
//! `warn` on, at any level of ours: at finer levels some of them log request headers and with them
//! the API key. Spans are not shown: an event has all fields that its reader needs.
//!
//! Logging never blocks: see [`writer`].

mod writer;

use crate::support::{clock::Timestamp, escape::printable};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::{
    backtrace::Backtrace,
    fmt,
    io::{self, Write as _},
    panic::PanicHookInfo,
    sync::{LazyLock, OnceLock},
    time::Duration,
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    layer::{Context, SubscriberExt as _},
};
use writer::LineWriter;

/// The longest time that the end of the program waits for stderr.
pub const FLUSH: Duration = Duration::from_secs(1);

/// The writer to stderr.
static STDERR: LazyLock<LineWriter> = LazyLock::new(|| LineWriter::start(write_on_stderr));

/// A progress bar on the same terminal, which makes room for each line.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

const OURS: &str = env!("CARGO_CRATE_NAME");

/// The level and format of the log.
#[derive(Debug, Clone)]
pub struct LogSettings {
    pub(crate) level: Level,
    /// JSON instead of logfmt.
    pub(crate) json: bool,
}

/// Starts to log to stderr, panics included. A `bar` on the same terminal makes room for each line.
/// Only the first call in a process takes effect.
pub fn init(settings: &LogSettings, bar: Option<ProgressBar>) {
    if let Some(bar) = bar {
        let _ = BAR.set(bar);
    }
    let subscriber = subscriber(settings, |line| STDERR.write(line));
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(log_panic));
}

fn write_on_stderr(line: &str) {
    // A closed stderr leaves no place to report the error.
    let write = || drop(io::stderr().lock().write_all(line.as_bytes()));
    match BAR.get() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Prints a message on stderr, after all queued log lines. Gives up after a second if stderr
/// stalls.
pub fn print(message: &str) {
    let message = printable(message.trim_end());
    STDERR.write(format!("translation-exporter: {message}\n"));
    flush();
}

/// Waits until the log is written, but no longer than a second.
pub fn flush() {
    STDERR.flush(FLUSH);
}

/// Returns the number of lines that were dropped because stderr stalled, and the time of the last
/// one.
pub fn lines_dropped() -> Option<(u64, Timestamp)> {
    STDERR.dropped()
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    // Empty unless RUST_BACKTRACE is set.
    let backtrace = Backtrace::capture();
    tracing::error!(%panic, %backtrace, "a thread or task failed; this is a bug");
    flush();
}

/// Returns a subscriber that formats events as lines for `write`.
pub fn subscriber(
    settings: &LogSettings,
    write: impl Fn(String) + Send + Sync + 'static,
) -> impl Subscriber {
    let lines = Lines {
        json: settings.json,
        write: Box::new(write),
    };
    Registry::default().with(lines.with_filter(targets(settings.level)))
}

fn targets(level: Level) -> Targets {
    Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target(OURS, level)
}

/// The layer that formats and writes events.
pub struct Lines {
    json: bool,
    write: Box<dyn Fn(String) + Send + Sync>,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut entries = Fields(json!({
            "ts": format!("{:.3}", jiff::Timestamp::now()),
            "level": metadata.level().as_str().to_lowercase(),
            "target": metadata.target(),
        }));
        event.record(&mut entries);
        let line = if self.json {
            entries.0.to_string()
        } else {
            entries.logfmt()
        };
        // JSON leaves some control characters as they are. All of them are within quotes.
        (self.write)(printable(&line) + "\n");
    }
}

/// The names and values of a line, as a JSON object.
struct Fields(Value);

impl Fields {
    /// Adds a field. tracing passes the message of an event before its fields.
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        let name = match field.name() {
            "message" => "msg",
            name => name,
        };
        self.0[name] = value.into();
    }

    /// Formats the entries as logfmt. Values other than plain words are quoted as in JSON.
    fn logfmt(&self) -> String {
        let is_plain =
            |c: char| c.is_alphanumeric() || c.is_ascii_graphic() && !"\"=\\".contains(c);
        let mut words = Vec::new();
        for (key, value) in self.0.as_object().into_iter().flatten() {
            words.push(match value.as_str() {
                Some(text) if !text.is_empty() && text.chars().all(is_plain) => {
                    format!("{key}={text}")
                }
                _ => format!("{key}={value}"),
            });
        }
        words.join(" ")
    }
}

/// Logs values of types without a method here as text.
impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn settings(level: Level, json: bool) -> LogSettings {
        LogSettings { level, json }
    }

    /// Returns the lines that `act` logs, without their timestamps.
    fn logged(settings: &LogSettings, act: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let subscriber = subscriber(settings, move |line| {
            sink.lock().unwrap().push(line);
        });
        tracing::subscriber::with_default(subscriber, act);
        let lines = lines.lock().unwrap();
        lines
            .iter()
            .map(|line| {
                let (start, rest) = line.split_once('Z').unwrap();
                let time = start
                    .trim_start_matches("{\"ts\":\"")
                    .trim_start_matches("ts=");
                assert_eq!(time.len(), "2024-01-02T03:04:05.678".len(), "{line}");
                rest.trim_start_matches("\",")
                    .trim_start_matches(' ')
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn logfmt_lines_look_like_the_lines_of_prometheus() {
        let lines = logged(&settings(Level::INFO, false), || {
            tracing::info!(
                repositories = 3,
                took = "1.5s",
                complete = true,
                ratio = 0.5,
                "poll ended"
            );
            tracing::warn!(repo = %"acme/app", error = "no route to \"host\"", empty = "", "");
        });
        let expected = [
            "level=info target=translation_exporter::support::logging::tests msg=\"poll ended\" \
             repositories=3 took=1.5s complete=true ratio=0.5\n",
            "level=warn target=translation_exporter::support::logging::tests msg=\"\" \
             repo=acme/app error=\"no route to \\\"host\\\"\" empty=\"\"\n",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn json_lines_are_json() {
        let lines = logged(&settings(Level::INFO, true), || {
            tracing::info!(
                n = 3_u64,
                repo = "a\"b\\c\n\u{1b}[31m\u{202e}\u{e0001}é😀",
                "poll ended"
            );
        });
        let value: serde_json::Value = serde_json::from_str(&format!("{{{}", lines[0])).unwrap();
        assert_eq!(value["msg"], "poll ended");
        assert_eq!(value["n"], 3);
        assert_eq!(value["repo"], "a\"b\\c\n\u{1b}[31m\u{202e}\u{e0001}é😀");
    }

    #[test]
    fn no_value_can_forge_a_line_or_control_a_terminal() {
        let lines = logged(&settings(Level::INFO, false), || {
            tracing::info!(
                repo = "a\nts=1 level=error\r\u{1b}]0;x\u{7}\u{9b}1m\u{202e}",
                "x\ny"
            );
        });
        let expected = "level=info target=translation_exporter::support::logging::tests \
                        msg=\"x\\ny\" \
                        repo=\"a\\nts=1 level=error\\r\\u001b]0;x\\u0007\\u009b1m\\u202e\"\n";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn other_crates_log_from_warn_on_even_at_trace() {
        let targets = targets(Level::TRACE);
        for other in [
            "hyper::proto",
            "h2::codec",
            "reqwest::connect",
            "rustls",
            "translation",
        ] {
            assert!(targets.would_enable(other, &Level::WARN), "{other}");
            assert!(!targets.would_enable(other, &Level::INFO), "{other}");
        }
        assert!(targets.would_enable("translation_exporter::api", &Level::TRACE));
        assert!(!super::targets(Level::ERROR).would_enable("hyper", &Level::WARN));
    }

    #[test]
    fn a_panic_is_a_line_of_the_log() {
        let lines = logged(&settings(Level::ERROR, false), || {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(log_panic));
            let _ = std::panic::catch_unwind(|| panic!("no {}\n", "way"));
            std::panic::set_hook(before);
        });
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert!(
            line.starts_with("level=error target=translation_exporter::support::logging msg="),
            "{line}"
        );
        assert!(
            line.contains(" panic=\"panicked at src/support/logging.rs:")
                && line.contains("\\nno way\\n"),
            "{line}"
        );
    }
}
