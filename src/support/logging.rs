//! The log: one line on stderr for each event, as logfmt or JSON, with the fields of its spans.
//!
//! No value can split a line or reach a terminal as a control sequence. Other crates log from
//! `warn` on, at any level of ours: at finer levels some of them log request headers and with them
//! the API key.
//!
//! Logging never blocks. A hung log driver, `less` or Ctrl-S can stall stderr, and writes then
//! block. A thread does them; lines that find its queue full are dropped and counted.

use crate::support::{
    escape::{inert, printable},
    lock::lock,
};
use serde_json::{Map, Value};
use std::{
    backtrace::Backtrace,
    fmt,
    io::{self, Write},
    panic::PanicHookInfo,
    sync::{LazyLock, Mutex, mpsc},
    thread,
    time::Duration,
};
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    Layer as _, Registry,
    filter::Targets,
    fmt::{
        FmtContext, FormatEvent, MakeWriter, format,
        format::{JsonFields, Writer},
    },
    layer::SubscriberExt as _,
};

/// The longest time that the end of the program waits for stderr.
pub const FLUSH: Duration = Duration::from_secs(1);

/// The capacity of the queue in lines, of which few exceed 300 bytes: about 1 MiB.
const CAPACITY: usize = 4096;

/// The queue of stderr, with the guard that empties it.
static STDERR: LazyLock<(NonBlocking, Mutex<Option<WorkerGuard>>)> = LazyLock::new(|| {
    let queue = NonBlockingBuilder::default().buffered_lines_limit(CAPACITY);
    let (queue, guard) = queue.finish(io::stderr());
    (queue, Mutex::new(Some(guard)))
});

/// Starts to log to stderr from `level` on, panics included. Only the first call in a process takes
/// effect.
pub fn init(level: Level, format: Format) {
    let _ = tracing::subscriber::set_global_default(subscriber(level, format, STDERR.0.clone()));
    std::panic::set_hook(Box::new(log_panic));
}

/// Prints a message on stderr, after all queued log lines.
pub fn print(message: &str) {
    let message = format!("translation-exporter: {}", message.trim_end());
    let lines: String = message.lines().map(|line| inert(line) + "\n").collect();
    // The queue takes a line or counts it as dropped.
    let _ = STDERR.0.clone().write_all(printable(&lines).as_bytes());
}

/// Ends the log: waits until stderr has all lines, but no longer than [`FLUSH`].
pub fn end() {
    let guard = lock(&STDERR.1).take();
    let (ended, end) = mpsc::channel::<()>();
    // The guard prints on stdout if the queue is full, and stdout may stall as well.
    thread::spawn(move || drop((guard, ended)));
    let _ = end.recv_timeout(FLUSH);
}

/// Returns the number of lines that were dropped because stderr stalled.
pub fn lines_dropped() -> u64 {
    STDERR.0.error_counter().dropped_lines() as u64
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    // Empty unless RUST_BACKTRACE is set.
    let backtrace = Backtrace::capture();
    tracing::error!(%panic, %backtrace, "a thread or task failed; this is a bug");
}

/// Returns a subscriber that writes each event as a line.
fn subscriber(
    level: Level,
    format: Format,
    writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    let layer = tracing_subscriber::fmt::layer()
        .fmt_fields(JsonFields::new())
        .event_format(format)
        .with_writer(writer);
    Registry::default().with(layer.with_filter(targets(level)))
}

fn targets(level: Level) -> Targets {
    Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target(env!("CARGO_CRATE_NAME"), level)
}

/// The format of the log: JSON, or the same as logfmt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Logfmt,
    Json,
}

impl FormatEvent<Registry, JsonFields> for Format {
    fn format_event(
        &self,
        context: &FmtContext<'_, Registry, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        format()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .format_event(context, Writer::new(&mut line), event)?;
        if *self == Self::Logfmt {
            let entries = serde_json::from_str(&line).map_err(|_| fmt::Error)?;
            line = inert(&logfmt(entries)) + "\n";
        }
        // JSON leaves some control characters as they are. All of them are within quotes.
        writer.write_str(&printable(&line))
    }
}

/// Formats the entries and the fields of the spans as logfmt, in the style of Prometheus. Values
/// other than plain words are quoted as in JSON, which parsers of logfmt expect; those reject the
/// escapes of Rust, and with them the whole line.
fn logfmt(mut entries: Map<String, Value>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() && !"\"=\\".contains(c);
    let spans = entries.shift_remove("spans").unwrap_or_default();
    let fields = spans
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flatten()
        .filter(|(key, _)| *key != "name");
    if let Some(Value::String(level)) = entries.get_mut("level") {
        level.make_ascii_lowercase();
    }
    let words = entries.iter().chain(fields).map(|(key, value)| {
        let key = match &**key {
            "timestamp" => "ts",
            "message" => "msg",
            key => key,
        };
        match value.as_str() {
            Some(text) if !text.is_empty() && text.chars().all(is_plain) => format!("{key}={text}"),
            _ => format!("{key}={value}"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::escape::is_unprintable;
    use serde_json::json;
    use std::{io::Seek as _, sync::Arc};

    const TARGET: &str = "target=translation_exporter::support::logging::tests";

    /// Returns the lines that `act` logs, without their timestamps.
    fn logged(level: Level, format: Format, act: impl FnOnce()) -> Vec<String> {
        let file = Arc::new(tempfile::tempfile().unwrap());
        tracing::subscriber::with_default(subscriber(level, format, Arc::clone(&file)), act);
        (&*file).rewind().unwrap();
        let lines = io::read_to_string(&*file).unwrap();
        let lines = lines.split_inclusive('\n').map(|line| {
            let (start, rest) = line.split_once('Z').unwrap();
            let time = start.trim_start_matches("{\"timestamp\":\"");
            let time = time.trim_start_matches("ts=");
            assert_eq!(time.len(), "2024-01-02T03:04:05.678901".len(), "{line}");
            rest.trim_start_matches("\",").trim_start().to_owned()
        });
        lines.collect()
    }

    fn log_in_spans() {
        let _poll = tracing::error_span!("poll", poll = 7_u64).entered();
        let _repository = tracing::error_span!("repository", repo = "acme/my app").entered();
        tracing::info!(
            read = 3,
            took = "1.5s",
            complete = true,
            ratio = 0.5,
            "poll ended"
        );
    }

    #[test]
    fn logfmt_looks_like_prometheus_and_ends_with_the_fields_of_the_spans() {
        let lines = logged(Level::INFO, Format::Logfmt, || {
            log_in_spans();
            tracing::warn!(repo = %"acme/app", error = "no route to \"host\"", empty = "", "");
            // No value can forge a line or control a terminal.
            tracing::info!(
                repo = "a\nts=1 level=error\r\u{1b}]0;x\u{7}\u{9b}1m\u{202e}",
                "x\ny"
            );
        });
        let repo = "a\\nts=1 level=error\\r\\u001b]0;x\\u0007\\u009b1m\\u202e";
        let expected = [
            format!(
                "level=info msg=\"poll ended\" read=3 took=1.5s complete=true ratio=0.5 {TARGET} \
                 poll=7 repo=\"acme/my app\"\n"
            ),
            format!(
                "level=warn msg=\"\" repo=acme/app error=\"no route to \\\"host\\\"\" empty=\"\" \
                 {TARGET}\n"
            ),
            format!("level=info msg=\"x\\ny\" repo=\"{repo}\" {TARGET}\n"),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn json_lines_keep_types_and_list_the_spans() {
        let name = "a\"b\\c\n\u{1b}[31m\u{202e}\u{e0001}é😀";
        let lines = logged(Level::INFO, Format::Json, || {
            log_in_spans();
            tracing::info!(repo = name, "");
        });
        let values = lines.iter().map(|line| {
            assert!(!line.trim_end().contains(is_unprintable), "{line}");
            serde_json::from_str(&format!("{{{line}")).unwrap()
        });
        let [of_poll, of_name]: [Value; 2] = values.collect::<Vec<_>>().try_into().unwrap();
        let expected = json!({
            "level": "INFO",
            "message": "poll ended",
            "read": 3,
            "took": "1.5s",
            "complete": true,
            "ratio": 0.5,
            "target": "translation_exporter::support::logging::tests",
            "spans": [
                {"poll": 7, "name": "poll"},
                {"repo": "acme/my app", "name": "repository"},
            ],
        });
        assert_eq!(of_poll, expected);
        assert_eq!(of_name["repo"], name);
    }

    #[test]
    fn other_crates_log_from_warn_on_even_at_trace() {
        let targets = targets(Level::TRACE);
        for other in ["hyper::proto", "reqwest::connect", "rustls", "translation"] {
            assert!(targets.would_enable(other, &Level::WARN), "{other}");
            assert!(!targets.would_enable(other, &Level::INFO), "{other}");
        }
        assert!(targets.would_enable("translation_exporter::api", &Level::TRACE));
        assert!(!super::targets(Level::ERROR).would_enable("hyper", &Level::WARN));
    }

    #[test]
    fn a_panic_is_a_line_of_the_log() {
        let lines = logged(Level::ERROR, Format::Logfmt, || {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(log_panic));
            let _ = std::panic::catch_unwind(|| panic!("no {}\n", "way"));
            std::panic::set_hook(before);
        });
        for part in [
            "level=error msg=\"a thread or task failed; this is a bug\" ",
            " panic=\"panicked at src/support/logging.rs:",
            "\\nno way\\n",
        ] {
            assert!(lines[0].contains(part), "{lines:?}");
        }
    }
}
