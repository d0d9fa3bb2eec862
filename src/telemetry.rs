//! Logs.

use crate::config::LogConfig;

#[derive(Debug, Clone)]
pub struct Handle;

impl Handle {
    pub fn apply(&self, config: &LogConfig) {
        let _ = config;
    }
}

pub fn init(config: &LogConfig) -> Handle {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    let _ = tracing_subscriber::registry()
        .with(tracing_subscriber::filter::Targets::new().with_target("translation_exporter", config.level))
        .with(
            tracing_subscriber::fmt::layer()
                .event_format(tracing_logfmt::EventsFormatter::default())
                .fmt_fields(tracing_logfmt::FieldsFormatter::default())
                .with_writer(std::io::stderr),
        )
        .try_init();
    Handle
}
