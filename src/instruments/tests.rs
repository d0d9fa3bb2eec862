use super::*;

fn encoded(instruments: &Instruments, format: Format) -> String {
    let mut out = String::new();
    instruments.encode_events(format, &mut out);
    instruments.encode_live(format, &mut out);
    out
}

/// What is told of the metric family `name`, its metadata included.
fn family(exposition: &str, name: &str) -> String {
    exposition
        .lines()
        .filter(|line| {
            line.trim_start_matches("# HELP ")
                .trim_start_matches("# TYPE ")
                .trim_start_matches("# UNIT ")
                .starts_with(name)
        })
        .fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn counters_of_known_labels_start_at_0_in_the_order_of_their_labels() {
    let text = encoded(&Instruments::new("/metrics"), Format::Text);
    assert_eq!(
        family(&text, "translation_exporter_api_requests"),
        "\
# HELP translation_exporter_api_requests_total Requests to the API, retries included, by status; the code is error where no answer came.
# TYPE translation_exporter_api_requests_total counter
translation_exporter_api_requests_total{operation=\"list_languages\",code=\"200\"} 0
translation_exporter_api_requests_total{operation=\"list_languages\",code=\"error\"} 0
translation_exporter_api_requests_total{operation=\"list_repositories\",code=\"200\"} 0
translation_exporter_api_requests_total{operation=\"list_repositories\",code=\"error\"} 0
"
    );
    assert_eq!(text.matches("\ntranslation_exporter_api_request_failures_total{").count(), 28);
    assert_eq!(text.matches("\ntranslation_exporter_invalid_entries_total{").count(), 20);
    for zero in [
        "polls_total 0",
        "poll_failures_total 0",
        "poll_overruns_total 0",
        "state_writes_total 0",
        "state_write_failures_total 0",
        "api_retries_total{operation=\"list_languages\"} 0",
        "http_requests_total{path=\"/metrics\",code=\"200\"} 0",
    ] {
        assert!(text.contains(&format!("\ntranslation_exporter_{zero}\n")), "{zero}");
    }
}

#[test]
fn openmetrics_names_the_family_and_text_the_samples() {
    let instruments = Instruments::new("/metrics");
    instruments.poll_ended(true);
    instruments.poll_ended(false);
    assert_eq!(
        family(&encoded(&instruments, Format::OpenMetrics), "translation_exporter_polls"),
        "\
# HELP translation_exporter_polls Polls of the API that have ended.
# TYPE translation_exporter_polls counter
translation_exporter_polls_total 2
"
    );
    assert_eq!(
        family(&encoded(&instruments, Format::Text), "translation_exporter_polls"),
        "\
# HELP translation_exporter_polls_total Polls of the API that have ended.
# TYPE translation_exporter_polls_total counter
translation_exporter_polls_total 2
"
    );
    assert_eq!(
        family(&encoded(&instruments, Format::Text), "translation_exporter_poll_failures").lines().last(),
        Some("translation_exporter_poll_failures_total 1")
    );
}

#[test]
fn text_has_no_units_and_openmetrics_has_them() {
    let instruments = Instruments::new("/metrics");
    assert!(!encoded(&instruments, Format::Text).contains("# UNIT"));
    let open_metrics = encoded(&instruments, Format::OpenMetrics);
    assert!(open_metrics.contains("# UNIT translation_exporter_api_request_duration_seconds seconds\n"));
    assert!(!open_metrics.contains("# EOF"));
}

#[test]
fn requests_are_counted_by_what_became_of_them() {
    let instruments = Instruments::new("/metrics");
    instruments.api_request(Operation::ListLanguages, Some(429), Duration::from_millis(30));
    instruments.api_failure(Operation::ListLanguages, Reason::RateLimited);
    instruments.api_request(Operation::ListLanguages, None, Duration::from_secs(60));
    instruments.api_retry(Operation::ListLanguages);
    instruments.invalid_entry(Operation::ListRepositories, Defect::Id);
    instruments.http_request("other", 405);
    let text = encoded(&instruments, Format::Text);
    for sample in [
        "api_requests_total{operation=\"list_languages\",code=\"429\"} 1",
        "api_requests_total{operation=\"list_languages\",code=\"error\"} 1",
        "api_request_failures_total{operation=\"list_languages\",reason=\"rate_limited\"} 1",
        "api_request_duration_seconds_bucket{le=\"0.025\",operation=\"list_languages\"} 0",
        "api_request_duration_seconds_bucket{le=\"0.05\",operation=\"list_languages\"} 1",
        "api_request_duration_seconds_bucket{le=\"30.0\",operation=\"list_languages\"} 1",
        "api_request_duration_seconds_bucket{le=\"+Inf\",operation=\"list_languages\"} 2",
        "api_request_duration_seconds_count{operation=\"list_languages\"} 2",
        "api_retries_total{operation=\"list_languages\"} 1",
        "invalid_entries_total{operation=\"list_repositories\",reason=\"id\"} 1",
        "http_requests_total{path=\"other\",code=\"405\"} 1",
    ] {
        assert!(text.contains(&format!("\ntranslation_exporter_{sample}\n")), "{sample}\n{text}");
    }
}

#[test]
fn a_refused_reload_keeps_the_time_of_the_last_good_one() {
    let instruments = Instruments::new("/metrics");
    assert_eq!(family(&encoded(&instruments, Format::Text), "translation_exporter_config"), "");
    instruments.config_loaded(true, Timestamp::from_millis(1_795_224_645_123));
    instruments.config_loaded(false, Timestamp::from_millis(1_795_224_999_000));
    assert_eq!(
        family(&encoded(&instruments, Format::Text), "translation_exporter_config"),
        "\
# HELP translation_exporter_config_last_reload_successful 1 if the last configuration that was read is in force, 0 if it was refused.
# TYPE translation_exporter_config_last_reload_successful gauge
translation_exporter_config_last_reload_successful 0
# HELP translation_exporter_config_last_reload_success_timestamp_seconds When the configuration in force was loaded.
# TYPE translation_exporter_config_last_reload_success_timestamp_seconds gauge
translation_exporter_config_last_reload_success_timestamp_seconds 1795224645.123
"
    );
}

#[test]
fn a_good_web_configuration_does_not_hide_that_the_rest_was_refused() {
    let instruments = Instruments::new("/metrics");
    let successful = |change: &dyn Fn(&Instruments)| {
        change(&instruments);
        encoded(&instruments, Format::Text).contains("\ntranslation_exporter_config_last_reload_successful 1\n")
    };
    let now = Timestamp::from_millis(0);
    assert!(successful(&|instruments| instruments.config_loaded(true, now)));
    assert!(!successful(&|instruments| instruments.web_config_loaded(false, now)));
    assert!(!successful(&|instruments| instruments.config_loaded(false, now)));
    assert!(!successful(&|instruments| instruments.web_config_loaded(true, now)));
    assert!(successful(&|instruments| instruments.config_loaded(true, now)));
}

#[test]
fn the_process_is_told_as_the_official_clients_tell_it() {
    let text = encoded(&Instruments::new("/metrics"), Format::Text);
    for (name, kind) in [
        ("process_cpu_seconds_total", "counter"),
        ("process_open_fds", "gauge"),
        ("process_max_fds", "gauge"),
        ("process_virtual_memory_bytes", "gauge"),
        ("process_virtual_memory_max_bytes", "gauge"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_start_time_seconds", "gauge"),
        ("process_threads", "gauge"),
    ] {
        assert!(text.contains(&format!("\n# TYPE {name} {kind}\n{name} ")), "{name}\n{text}");
    }
    let started: f64 = text
        .lines()
        .find_map(|line| line.strip_prefix("process_start_time_seconds "))
        .and_then(|seconds| seconds.parse().ok())
        .unwrap();
    let now = crate::clock::Clock::system().now().as_seconds();
    assert!((now - 3600.0..=now + 2.0).contains(&started), "started at {started}, now {now}");
}

#[test]
fn the_build_tells_its_version() {
    let text = encoded(&Instruments::new("/metrics"), Format::Text);
    assert!(text.contains(concat!(
        "\ntranslation_exporter_build_info{version=\"",
        env!("CARGO_PKG_VERSION"),
        "\",revision=\""
    )));
}

#[test]
fn help_texts_hold_no_quote_and_no_backslash() {
    let instruments = Instruments::new("/metrics");
    instruments.config_loaded(true, Timestamp::from_millis(0));
    let open_metrics = encoded(&instruments, Format::OpenMetrics);
    for help in open_metrics.lines().filter(|line| line.starts_with("# HELP ")) {
        assert!(!help.contains(['"', '\\']) && help.ends_with('.'), "{help}");
    }
}

#[test]
fn what_is_printed_of_one_poll_tells_nothing_of_process_or_http() {
    for format in [Format::Text, Format::OpenMetrics] {
        let printed = encoded(&Instruments::of_one_poll("/metrics"), format);
        let served = encoded(&Instruments::new("/metrics"), format);
        assert!(!printed.contains("process_") && !printed.contains("http_requests"), "{printed}");
        assert!(served.starts_with(&printed), "the rest is the same");
    }
}
