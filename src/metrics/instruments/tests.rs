use super::*;
use crate::support::clock::Timestamp;
use std::time::Duration;

/// Returns the samples whose names begin with `name`, in alphabetical order.
fn samples(instruments: &Arc<Instruments>, name: &str) -> Vec<String> {
    let mut samples: Vec<_> = instruments
        .encode()
        .lines()
        .filter(|line| line.starts_with(name))
        .map(str::to_owned)
        .collect();
    samples.sort();
    samples
}

#[test]
fn requests_and_problems_have_labels() {
    let instruments = Instruments::new(Some("/metrics"));
    let operation = Operation::ListLanguages;
    let (kind, severity) = ("api_key", "warning");
    let problem = OfProblem { kind, severity };
    instruments.set_problems([(problem, true)]);
    let code = "429".to_owned();
    let requests = &instruments.api_requests;
    requests.get_or_create(&OfStatus { operation, code }).inc();
    let durations = &instruments.api_request_duration;
    let duration = durations.get_or_create_owned(&OfOperation { operation });
    duration.observe(0.03);
    duration.observe(60.0);
    let text = instruments.encode();
    for sample in [
        "api_requests_total{operation=\"list_languages\",code=\"429\"} 1",
        "api_requests_total{operation=\"list_languages\",code=\"error\"} 0",
        "api_request_duration_seconds_bucket{le=\"0.025\",operation=\"list_languages\"} 0",
        "api_request_duration_seconds_bucket{le=\"30.0\",operation=\"list_languages\"} 1",
        "api_request_duration_seconds_bucket{le=\"+Inf\",operation=\"list_languages\"} 2",
        "problem{kind=\"api_key\",severity=\"warning\"} 1",
    ] {
        let line = format!("\ntranslation_exporter_{sample}\n");
        assert!(text.contains(&line), "{sample}\n{text}");
    }
}

#[test]
fn help_texts_and_runbook_name_each_reason() {
    const SOURCE: &str = "src/metrics/instruments.rs";
    const RUNBOOK: &str = "deploy/prometheus/runbook.md";
    let mut missing = Vec::new();
    let text = Instruments::new(Some("/metrics")).encode();
    for family in text.split("# HELP ").skip(1) {
        let (help, samples) = family.split_once('\n').unwrap();
        let named = help
            .split_once("by reason: ")
            .map_or("", |(_, named)| named);
        let named: Vec<_> = named.split([',', ' ', '.']).collect();
        for sample in samples.lines() {
            let Some((_, reason)) = sample.split_once("reason=\"") else {
                continue;
            };
            let (reason, _) = reason.split_once('"').unwrap();
            if !named.contains(&reason) {
                missing.push(format!("{reason}: in {SOURCE}, the help {help:?}"));
            }
        }
    }
    let runbook = std::fs::read_to_string(RUNBOOK).unwrap();
    let (_, section) = runbook.split_once("### TranslationPollFailing").unwrap();
    let (section, _) = section.split_once("###").unwrap();
    let reasons = Reason::ALL.iter().map(|reason| reason.label());
    for reason in reasons.chain(PollFailure::ALL.iter().map(|reason| reason.label())) {
        if !section.contains(&format!("`{reason}`")) {
            missing.push(format!("{reason}: in {RUNBOOK}, TranslationPollFailing"));
        }
    }
    assert!(missing.is_empty(), "missing reasons: {missing:#?}");
}

#[test]
fn the_expiry_of_a_certificate_shows_while_one_is_served() {
    let instruments = Instruments::new(Some("/metrics"));
    let name = "translation_exporter_tls_certificate_expiry_timestamp_seconds";
    assert!(!instruments.encode().contains(name));
    instruments.facts().certificate_expires_at = Some(Timestamp::from_millis(1_795_224_645_000));
    assert_eq!(
        samples(&instruments, name),
        [format!("{name} 1795224645.0")]
    );
    instruments.facts().certificate_expires_at = None;
    assert!(!instruments.encode().contains(name));
}

/// Returns the instruments of a daemon that starts now.
fn of_daemon() -> Arc<Instruments> {
    let instruments = Instruments::new(Some("/metrics"));
    instruments.facts().started_at = Some(crate::support::clock::Clock::system().now());
    instruments
}

#[test]
fn process_metrics_are_named_as_in_the_official_clients() {
    let text = of_daemon().encode();
    for (name, kind) in [
        ("process_cpu_seconds", "counter"),
        ("process_open_fds", "gauge"),
        ("process_max_fds", "gauge"),
        ("process_virtual_memory_bytes", "gauge"),
        ("process_virtual_memory_max_bytes", "gauge"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_start_time_seconds", "gauge"),
        ("process_threads", "gauge"),
    ] {
        assert!(
            text.contains(&format!("\n# TYPE {name} {kind}\n")),
            "{name}\n{text}"
        );
    }
    let value = |name: &str| -> f64 {
        let sample = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        sample.and_then(|value| value.parse().ok()).unwrap()
    };
    let now = crate::support::clock::Clock::system().now().as_seconds();
    assert!((now - 3600.0..=now + 2.0).contains(&value("process_start_time_seconds")));
    assert!(value("process_cpu_seconds_total") < 3600.0);
    assert!((3.0..1000.0).contains(&value("process_open_fds")));
    assert!(value("process_max_fds") >= value("process_open_fds"));
    assert!((1e6..1e10).contains(&value("process_resident_memory_bytes")));
}

#[test]
fn the_cpu_time_is_that_of_the_process() {
    use rustix::time::{ClockId, clock_gettime};
    let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
    while used() < Duration::from_millis(50) {
        std::hint::black_box((0..100_000_u64).sum::<u64>());
    }
    let least = used().as_secs_f64() - 0.02;
    let sample = samples(&of_daemon(), "process_cpu_seconds_total").remove(0);
    let most = used().as_secs_f64() + 0.02;
    let shown: f64 = sample.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!((least..=most).contains(&shown), "{least} {shown} {most}");
}

#[test]
fn the_build_shows_its_version() {
    let text = Instruments::new(Some("/metrics")).encode();
    let name = "translation_exporter_build_info{version=\"";
    let mut builds = text.lines().filter_map(|line| line.strip_prefix(name));
    let build = builds.next().unwrap();
    assert!(build.starts_with(env!("CARGO_PKG_VERSION")) && build.ends_with("} 1"));
}

#[test]
fn the_metrics_of_one_poll_omit_process_and_web() {
    let printed = Instruments::new(None).encode();
    for of_daemon in ["process_", "http_requests"] {
        assert!(!printed.contains(of_daemon), "{of_daemon}: {printed}");
    }
    let served = Instruments::new(Some("/metrics")).encode();
    let is_served = |line: &str| served.contains(line);
    assert!(printed.lines().all(is_served), "the rest is the same");
}
