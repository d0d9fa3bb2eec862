//! Logs: one line on stderr for each event, as logfmt or JSON, in the manner of Prometheus' own: `ts`, `level`, `target`,
//! `msg`, then the fields of the event. Level and format can change while the program runs.
//!
//! Nothing in a line can break it in two or reach a terminal as a control sequence. Other crates log from `warn` on,
//! whatever the level: below it some of them log the headers of requests, and so the API key. Spans are not shown: the
//! fields of an event say everything.

use crate::{clock::Clock, config::LogConfig, text::is_invisible};
use indicatif::ProgressBar;
use std::{
    backtrace::BacktraceStatus,
    fmt::{self, Write as _},
    io::Write as _,
    panic::PanicHookInfo,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    layer::{Context, SubscriberExt as _},
    reload,
};

const OURS: &str = env!("CARGO_CRATE_NAME");

/// Changes what is logged.
#[derive(Debug, Clone)]
pub struct Handle {
    filter: reload::Handle<Targets, Registry>,
    json: Arc<AtomicBool>,
}

impl Handle {
    /// Logs as `config` says from now on.
    pub fn apply(&self, config: &LogConfig) {
        self.json.store(config.json, Ordering::Relaxed);
        // It fails only if the subscriber is gone, and then there is nothing to filter.
        let _ = self.filter.reload(targets(config.level));
    }
}

/// Starts logging to stderr, including panics. A `bar` on the same terminal makes room for each line. Only the first call
/// in a process takes effect.
pub fn init(config: &LogConfig, bar: Option<ProgressBar>) -> Handle {
    let (subscriber, telemetry) = subscriber(config, move |line| {
        let write = || {
            // If stderr is closed, there is nowhere to report it.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        };
        bar.as_ref().map_or_else(write, |bar| bar.suspend(write));
    });
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(log_panic));
    telemetry
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let backtrace = std::backtrace::Backtrace::capture();
    let backtrace =
        (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(
        panic = message,
        place,
        backtrace,
        "a thread or task failed; this is a bug"
    );
}

fn subscriber(
    config: &LogConfig,
    write: impl Fn(&str) + Send + Sync + 'static,
) -> (impl Subscriber, Handle) {
    let (filter, handle) = reload::Layer::new(targets(config.level));
    let json = Arc::new(AtomicBool::new(config.json));
    let lines = Lines {
        json: Arc::clone(&json),
        write,
    };
    (
        tracing_subscriber::registry().with(filter).with(lines),
        Handle {
            filter: handle,
            json,
        },
    )
}

fn targets(level: Level) -> Targets {
    Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target(OURS, level)
}

struct Lines<W> {
    json: Arc<AtomicBool>,
    write: W,
}

impl<S: Subscriber, W: Fn(&str) + Send + Sync + 'static> Layer<S> for Lines<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = Line {
            json: self.json.load(Ordering::Relaxed),
            text: String::new(),
            message: String::new(),
        };
        event.record(&mut line);
        let fields = std::mem::take(&mut line.text);
        line.value("ts", &timestamp());
        line.value(
            "level",
            metadata.level().as_str().to_ascii_lowercase().as_str(),
        );
        line.value("target", metadata.target());
        let message = std::mem::take(&mut line.message);
        line.value("msg", &message);
        line.text.push_str(&fields);
        let text = line.text.trim_start_matches([',', ' ']);
        (self.write)(&if line.json {
            format!("{{{text}}}\n")
        } else {
            format!("{text}\n")
        });
    }
}

fn timestamp() -> String {
    let now = Clock::system().now();
    jiff::Timestamp::from_millisecond(now.as_millis())
        .map_or_else(|_| now.to_string(), |time| format!("{time:.3}"))
}

/// A line while it is written, each entry after its separator.
struct Line {
    json: bool,
    text: String,
    message: String,
}

impl Line {
    fn value(&mut self, key: &str, value: &str) {
        let plain = |c: char| {
            c.is_alphanumeric() || (c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\'))
        };
        if !self.json && !value.is_empty() && value.chars().all(plain) {
            self.bare(key, value);
        } else {
            self.bare(key, &Quoted(value).to_string());
        }
    }

    fn bare(&mut self, key: &str, value: &str) {
        // Writing to a string cannot fail.
        let _ = if self.json {
            write!(self.text, ",{}:{value}", Quoted(key))
        } else {
            write!(self.text, " {key}={value}")
        };
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.value(name, value),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field.name(), &value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field.name(), &value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field.name(), &value.to_string());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.bare(field.name(), &value.to_string());
        } else {
            self.value(field.name(), &value.to_string());
        }
    }
}

/// A JSON string, which logfmt's quoted values are too. What a terminal would interpret, hide or reorder is escaped.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if c.is_control() || is_invisible(c) => {
                    c.encode_utf16(&mut [0; 2])
                        .iter()
                        .try_for_each(|unit| write!(f, "\\u{unit:04x}"))?;
                }
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn config(level: Level, json: bool) -> LogConfig {
        LogConfig { level, json }
    }

    /// What is logged by `act`, with the time cut off.
    fn logged(config: &LogConfig, act: impl FnOnce(&Handle)) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let (subscriber, telemetry) = subscriber(config, move |line| {
            sink.lock().unwrap().push(line.to_owned());
        });
        tracing::subscriber::with_default(subscriber, || act(&telemetry));
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
    fn logfmt_lines_read_like_those_of_prometheus() {
        let lines = logged(&config(Level::INFO, false), |_| {
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
            "level=info target=translation_exporter::telemetry::tests msg=\"poll ended\" repositories=3 took=1.5s complete=true ratio=0.5\n",
            "level=warn target=translation_exporter::telemetry::tests msg=\"\" repo=acme/app error=\"no route to \\\"host\\\"\" empty=\"\"\n",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn json_lines_are_json() {
        let lines = logged(&config(Level::INFO, true), |_| {
            tracing::info!(
                n = 3_u64,
                f = f64::NAN,
                repo = "a\"b\\c\n\u{1b}[31m\u{202e}é😀",
                "poll ended"
            );
        });
        let value: serde_json::Value = serde_json::from_str(&format!("{{{}", lines[0])).unwrap();
        assert_eq!(value["msg"], "poll ended");
        assert_eq!(value["n"], 3);
        assert_eq!(value["f"], "NaN");
        assert_eq!(value["repo"], "a\"b\\c\n\u{1b}[31m\u{202e}é😀");
    }

    #[test]
    fn nothing_logged_can_forge_a_line_or_steer_a_terminal() {
        let lines = logged(&config(Level::INFO, false), |_| {
            tracing::info!(
                repo = "a\nts=1 level=error\r\u{1b}]0;x\u{7}\u{9b}1m\u{202e}",
                "x\ny"
            );
        });
        let expected = "level=info target=translation_exporter::telemetry::tests msg=\"x\\ny\" \
                        repo=\"a\\nts=1 level=error\\r\\u001b]0;x\\u0007\\u009b1m\\u202e\"\n";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn other_crates_are_heard_from_warn_on_even_at_trace() {
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
        let lines = logged(&config(Level::ERROR, false), |_| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(log_panic));
            let _ = std::panic::catch_unwind(|| panic!("no {}\n", "way"));
            std::panic::set_hook(before);
        });
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert!(
            line.starts_with("level=error target=translation_exporter::telemetry msg="),
            "{line}"
        );
        assert!(
            line.contains(" panic=\"no way\\n\" place=src/telemetry.rs:"),
            "{line}"
        );
    }

    #[test]
    fn level_and_format_change_while_running() {
        let lines = logged(&config(Level::ERROR, true), |telemetry| {
            tracing::debug!("unheard");
            telemetry.apply(&config(Level::DEBUG, false));
            tracing::debug!("heard");
        });
        assert_eq!(
            lines,
            ["level=debug target=translation_exporter::telemetry::tests msg=heard\n"]
        );
    }
}
