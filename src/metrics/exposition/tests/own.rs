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
        ["# HELP ", "# TYPE ", "# UNIT ", ""]
            .into_iter()
            .any(name_on)
    };
    exposition
        .lines()
        .filter(about)
        .fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn openmetrics_names_a_counter_and_text_its_samples() {
    let instruments = Instruments::new("/metrics");
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
fn only_openmetrics_has_the_unit_of_a_histogram() {
    let instruments = Instruments::new("/metrics");
    let name = "translation_exporter_api_request_duration_seconds";
    let head = |format| {
        let family = family(&own(format, &instruments), name);
        family
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#'))
            .collect::<String>()
    };
    assert_eq!(
        head(Format::Text),
        "\
# HELP translation_exporter_api_request_duration_seconds Duration of API requests, bodies included.
# TYPE translation_exporter_api_request_duration_seconds histogram
"
    );
    assert_eq!(
        head(Format::OpenMetrics),
        head(Format::Text) + "# UNIT translation_exporter_api_request_duration_seconds seconds\n"
    );
}

#[test]
fn openmetrics_ends_with_eof_and_text_does_not() {
    let instruments = Instruments::new("/metrics");
    assert!(own(Format::OpenMetrics, &instruments).ends_with("\n# EOF\n"));
    assert!(!own(Format::Text, &instruments).contains("# EOF"));
}
