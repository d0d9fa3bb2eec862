//! The instruments in both text formats.

use super::*;
use crate::domain::PollFailure;

/// Returns the lines of the metric family `name`, metadata included.
fn family(exposition: &str, name: &str) -> String {
    let about = |line: &&str| {
        let name_on = |start| {
            line.strip_prefix(start)
                .is_some_and(|rest: &str| rest.starts_with(name))
        };
        ["# HELP ", "# TYPE ", ""].into_iter().any(name_on)
    };
    exposition
        .lines()
        .filter(about)
        .fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn openmetrics_names_a_counter_and_text_its_samples() {
    let instruments = Instruments::new(Some("/metrics"));
    instruments.poll_ended(None);
    instruments.poll_ended(Some(PollFailure::Listing));
    assert_eq!(
        family(
            &own(Format::OpenMetrics, &instruments),
            "translation_exporter_polls"
        ),
        "\
# HELP translation_exporter_polls Polls of the API that have ended.
# TYPE translation_exporter_polls counter
translation_exporter_polls_total 2
"
    );
    assert_eq!(
        family(
            &own(Format::Text, &instruments),
            "translation_exporter_polls"
        ),
        "\
# HELP translation_exporter_polls_total Polls of the API that have ended.
# TYPE translation_exporter_polls_total counter
translation_exporter_polls_total 2
"
    );
}

#[test]
fn openmetrics_ends_with_eof_and_text_does_not() {
    let instruments = Instruments::new(Some("/metrics"));
    assert!(own(Format::OpenMetrics, &instruments).ends_with("\n# EOF\n"));
    assert!(!own(Format::Text, &instruments).contains("# EOF"));
}
