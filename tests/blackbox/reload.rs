//! Reloads: a valid configuration takes effect as a whole, an invalid one changes nothing.

use crate::support::{
    Api, Exporter, Setup, Target,
    api::KEY,
    eventually,
    http::{self, Response},
    until,
};
use std::{collections::BTreeMap, fs, path::PathBuf};

const SUCCESSFUL: &str = "translation_exporter_config_last_reload_successful";
const SUCCESS_TIME: &str = "translation_exporter_config_last_reload_success_timestamp_seconds";

/// Keys of the configuration and their values as YAML.
type Keys<'a> = &'a [(&'a str, &'a str)];

/// Changes that a reload refuses, each with the parts of its message.
const BAD: [(&[&str], Keys); 8] = [
    (&["api.page_size"], &[("api.page_size", "1001")]),
    (&["poll.interval"], &[("poll.interval", "soon")]),
    (&["filter.include"], &[("filter.include", "['[']")]),
    (&["poll.intervall"], &[("poll.intervall", "5s")]),
    (
        &["web.config_file"],
        &[("web.config_file", "/nowhere/web.yaml")],
    ),
    (
        &["api.key_file", "not shown"],
        &[("api.key", "''"), ("api.key_file", KEY)],
    ),
    (&["state.file", "restart"], &[("state.file", "state.json")]),
    (&["config.yaml"], &[("api.page_size", "[")]),
];

/// An exporter that is configured by a file alone.
struct Reloadable {
    exporter: Exporter,
    file: PathBuf,
    base_url: String,
}

impl Reloadable {
    fn start(api: &Api, keys: Keys) -> Self {
        let setup = Setup::new(&[]);
        let file = setup.file("config.yaml", &yaml(&api.base_url(), keys));
        let exporter = setup.arguments(&["--config.file", &file]).start();
        Self {
            exporter,
            file: file.into(),
            base_url: api.base_url(),
        }
    }

    fn write(&self, keys: Keys) {
        fs::write(&self.file, yaml(&self.base_url, keys)).unwrap();
    }

    fn reload(&self, method: &str) -> Response {
        http::request(method, self.exporter.address, "/-/reload", &[]).unwrap()
    }

    /// Writes these keys and asserts that the reload succeeds.
    fn change(&self, keys: Keys) {
        self.write(keys);
        let response = self.reload("POST");
        assert_eq!(
            (response.status, &*response.text()),
            (200, "reloaded\n"),
            "{keys:?}"
        );
    }

    /// Returns the success of the last reload and the time of the last successful one.
    fn reported(&self) -> (f64, f64) {
        let metrics = self.exporter.metrics();
        (
            metrics.value(SUCCESSFUL, &[]).unwrap(),
            metrics.value(SUCCESS_TIME, &[]).unwrap(),
        )
    }
}

/// Returns a configuration file with these keys and the keys that every test here needs.
fn yaml(base_url: &str, keys: Keys) -> String {
    let base = [
        ("api.base_url", base_url),
        ("api.key", KEY),
        ("api.requests_per_second", "0"),
        ("poll.interval", "1s"),
        ("web.listen_addresses", "['127.0.0.1:0']"),
        ("web.enable_lifecycle", "true"),
    ];
    let mut sections: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (key, value) in base.iter().chain(keys) {
        let (section, key) = key.split_once('.').unwrap();
        sections.entry(section).or_default().insert(key, value);
    }
    let section = |(section, keys): (&str, BTreeMap<_, _>)| {
        let keys: Vec<_> = keys
            .into_iter()
            .map(|(key, value)| format!("  {key}: {value}\n"))
            .collect();
        format!("{section}:\n{}", keys.concat())
    };
    sections.into_iter().map(section).collect()
}

/// Returns the page size in the newest request for the listing.
fn newest_limit(api: &Api) -> String {
    api.requests(Target::Listing)
        .last()
        .unwrap()
        .query("limit")
        .unwrap()
        .into()
}

#[test]
fn sighup_activates_a_valid_change_without_a_lost_series_or_scrape() {
    let api = Api::of(3);
    let daemon = Reloadable::start(&api, &[]);
    let exporter = &daemon.exporter;
    exporter.wait_until_fresh(3);
    for change in 1..=6_u32 {
        let exclude = if change % 2 == 1 {
            "['*/repo-2']"
        } else {
            "[]"
        };
        let size = (change + 1).to_string();
        daemon.write(&[
            ("filter.exclude", exclude),
            ("api.page_size", &size),
            ("api.concurrency", &size),
        ]);
        exporter.signal("HUP");
        let filtered = f64::from(change % 2);
        let metrics = exporter.wait_for("the filter is active", |metrics| {
            for kept in ["owner/repo-1", "owner/repo-3"] {
                assert_eq!(metrics.ratio(kept, "de"), Some(0.5), "{kept}");
                assert!(metrics.clock(kept, "de").is_some(), "{kept}");
            }
            metrics.repositories("filtered") == filtered
        });
        assert!(change % 2 == 0 || metrics.ratio("owner/repo-2", "de").is_none());
        assert_eq!(newest_limit(&api), size);
    }
    assert_eq!(
        exporter
            .metrics()
            .sum("translation_exporter_poll_failures_total", &[]),
        0.0
    );
}

#[test]
fn a_faster_rate_a_shorter_interval_and_a_new_key_take_effect_at_once() {
    let api = Api::of(3);
    let slow = [
        ("api.requests_per_second", "0.001"),
        ("poll.interval", "12h"),
    ];
    let daemon = Reloadable::start(&api, &slow);
    eventually("the first request", || {
        api.requests(Target::Listing).first().cloned()
    });
    daemon.change(&slow[1..]);
    daemon.exporter.wait_until_fresh(3);
    daemon.change(&[]);
    let metrics = daemon.exporter.wait_for_polls(2.0);
    assert_eq!(
        metrics.value("translation_exporter_poll_interval_seconds", &[]),
        Some(1.0)
    );
    api.accept_key("another-key-of-the-tests");
    daemon.exporter.wait_until_up_is(0.0);
    daemon.change(&[("api.key", "another-key-of-the-tests")]);
    daemon.exporter.wait_until_up_is(1.0);
    assert!(!daemon.exporter.log().contains("another-key"));
}

#[test]
fn a_reload_changes_log_scale_and_metrics_path_and_logs_the_changes() {
    let api = Api::of(3);
    let daemon = Reloadable::start(&api, &[]);
    daemon.exporter.wait_until_fresh(3);
    assert!(!daemon.exporter.log().contains("level=debug"));
    daemon.change(&[]);
    daemon
        .exporter
        .wait_for_line(&["the configuration was read again"]);
    daemon.change(&[("log.level", "debug"), ("api.page_size", "8")]);
    daemon.exporter.wait_for_line(&["level=debug"]);
    let line =
        daemon
            .exporter
            .wait_for_line(&["changed=", "api.page_size", "8", "log.level", "debug"]);
    assert!(!line.contains("poll.interval"), "{line}");
    daemon.change(&[("log.format", "json"), ("api.completion_scale", "200")]);
    until("it logs JSON", || {
        daemon
            .exporter
            .log()
            .lines()
            .last()
            .unwrap()
            .starts_with('{')
    });
    daemon.exporter.wait_for("the scale is active", |metrics| {
        metrics.ratio("owner/repo-1", "de") == Some(0.25)
    });
    daemon.change(&[("web.telemetry_path", "/elsewhere")]);
    assert_eq!(daemon.exporter.status("/metrics"), 404);
    assert_eq!(daemon.exporter.status("/elsewhere"), 200);
    let text = daemon.exporter.get("/elsewhere").text();
    assert!(
        text.contains("http_requests_total{path=\"/elsewhere\",code=\"200\"} 1\n"),
        "{text}"
    );
}

#[test]
fn a_bad_change_changes_nothing_and_shows_in_answer_log_and_metrics() {
    let api = Api::of(3);
    let daemon = Reloadable::start(&api, &[("api.page_size", "7")]);
    daemon.exporter.wait_until_fresh(3);
    let (successful, loaded_at) = daemon.reported();
    assert_eq!(successful, 1.0);
    for (named, keys) in BAD {
        daemon.write(&[&[("api.page_size", "8")], keys].concat());
        let response = daemon.reload("POST");
        let message = response.text();
        assert_eq!(response.status, 500, "{named:?}: {message}");
        assert!(
            named.iter().all(|part| message.contains(part)),
            "{named:?}: {message}"
        );
        assert_eq!(daemon.reported(), (0.0, loaded_at), "{named:?}");
        let logged = message
            .trim_end()
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        daemon.exporter.wait_for_line(&["level=error", &logged]);
        assert!(
            !message.contains(KEY) && !daemon.exporter.log().contains(KEY),
            "{named:?}"
        );
    }
    fs::remove_file(&daemon.file).unwrap();
    let lines = |part: &str| {
        daemon
            .exporter
            .log()
            .lines()
            .filter(|line| line.contains(part))
            .count()
    };
    let before = lines("config.yaml");
    daemon.exporter.signal("HUP");
    until("the log says it", || lines("config.yaml") > before);
    daemon.exporter.wait_for_polls(1.0);
    assert_eq!(
        (daemon.reported(), &*newest_limit(&api)),
        ((0.0, loaded_at), "7")
    );
    assert!(!daemon.exporter.folder.path().join("state.json").exists());

    daemon.write(&[("api.page_size", "9")]);
    assert_eq!(daemon.reload("PUT").status, 200);
    let (successful, reloaded_at) = daemon.reported();
    assert!(
        successful == 1.0 && reloaded_at > loaded_at,
        "{reloaded_at} after {loaded_at}"
    );
    until("the change is active", || newest_limit(&api) == "9");
    assert_eq!(daemon.exporter.metrics().repositories("fresh"), 3.0);
}

#[test]
fn a_problem_shows_long_before_the_next_poll() {
    let hours = ("poll.interval", "12h");
    let daemon = Reloadable::start(&Api::of(1), &[hours]);
    daemon.exporter.wait_until_fresh(1);
    for (keys, shown) in [
        (&[hours, ("poll.intervall", "5s")][..], 1.0),
        (&[hours], 0.0),
    ] {
        daemon.write(keys);
        daemon.exporter.signal("HUP");
        daemon.exporter.wait_for("it is judged", |metrics| {
            let kind = [("kind", "reload_refused")];
            metrics.sum("translation_exporter_problem", &kind) == shown
        });
    }
    assert_eq!(daemon.exporter.metrics().polls(), 1.0);
}
