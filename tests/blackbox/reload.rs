//! A configuration that is read anew while the exporter runs: what is good is taken up whole, what is bad not at all.

use crate::support::{
    Api, Exporter, Repo, Setup, Target,
    api::KEY,
    eventually,
    exporter::OPENMETRICS,
    exposition::{self, Format},
    http::{self, Response},
};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

const SUCCESSFUL: &str = "translation_exporter_config_last_reload_successful";
const SUCCESS_TIME: &str = "translation_exporter_config_last_reload_success_timestamp_seconds";

fn three() -> Api {
    Api::start([Repo::new(1, "owner/one"), Repo::new(2, "owner/two"), Repo::new(3, "owner/three")])
}

/// An exporter whose whole configuration is a file.
struct Reloadable {
    exporter: Exporter,
    file: PathBuf,
    base_url: String,
}

impl Reloadable {
    fn start(api: &Api, keys: &[(&str, &str)]) -> Self {
        let setup = Setup::new(&[]);
        let file = PathBuf::from(setup.file("config.yaml", &yaml(&api.base_url(), keys)));
        let exporter = setup.argument("--config.file").argument(file.to_str().unwrap()).start();
        exporter.wait_for("a first poll", |metrics| metrics.repositories("fresh") > 0.0);
        Self { exporter, file, base_url: api.base_url() }
    }

    fn write(&self, keys: &[(&str, &str)]) {
        fs::write(&self.file, yaml(&self.base_url, keys)).unwrap();
    }

    fn reload(&self, method: &str) -> Response {
        http::request(method, self.exporter.address, "/-/reload", &[]).unwrap()
    }

    /// Whether the last reload was a success, and when the last successful one was.
    fn told(&self) -> (f64, f64) {
        let metrics = self.exporter.metrics();
        (metrics.value(SUCCESSFUL, &[]).unwrap(), metrics.value(SUCCESS_TIME, &[]).unwrap())
    }
}

/// A configuration file with these keys, on top of what every test here needs.
fn yaml(base_url: &str, keys: &[(&str, &str)]) -> String {
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
        let keys: Vec<_> = keys.into_iter().map(|(key, value)| format!("  {key}: {value}\n")).collect();
        format!("{section}:\n{}", keys.concat())
    };
    sections.into_iter().map(section).collect()
}

/// Also a test that fails ends the threads that wait for this.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The page size of the newest request for the listing.
fn newest_limit(api: &Api) -> String {
    api.requests(Target::Listing).last().unwrap().query("limit").unwrap().into()
}

#[test]
fn sighup_takes_a_good_change_up_without_a_lost_series_or_a_failed_scrape() {
    let api = three();
    let daemon = Reloadable::start(&api, &[]);
    let exporter = &daemon.exporter;
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
    let (_, loaded_at) = daemon.told();
    let (done, scrapes) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let response = http::get(exporter.address, "/metrics", &[("accept", OPENMETRICS)]).expect("a scrape");
                assert_eq!(response.status, 200);
                let metrics = exposition::parse(&response.text(), Format::OpenMetrics).expect("a whole scrape");
                for kept in ["owner/one", "owner/three"] {
                    assert_eq!(metrics.ratio(kept, "de"), Some(0.5), "{kept}");
                    let clock = [("repo", kept), ("language", "de")];
                    assert!(metrics.value("translation_last_progress_timestamp_seconds", &clock).is_some());
                }
                scrapes.fetch_add(1, Ordering::SeqCst);
            }
        });
        let _done = SetAtTheEnd(&done);
        for change in 1..=10_u32 {
            let exclude = if change % 2 == 1 { "['*/two']" } else { "[]" };
            let size = (change + 1).to_string();
            daemon.write(&[("filter.exclude", exclude), ("api.page_size", &size), ("api.concurrency", &size)]);
            exporter.signal("HUP");
            let filtered = f64::from(change % 2);
            let metrics = exporter.wait_for("the filter is in force", |metrics| {
                (metrics.repositories("filtered") - filtered).abs() < 0.5
            });
            assert!(change % 2 == 0 || metrics.ratio("owner/two", "de").is_none());
            assert_eq!(newest_limit(&api), size);
        }
    });
    assert!(scrapes.into_inner() > 10);
    let (successful, reloaded_at) = daemon.told();
    assert_eq!(successful, 1.0);
    assert!(reloaded_at > loaded_at);
    assert_eq!(exporter.metrics().sum("translation_exporter_poll_failures_total", &[]), 0.0);
}

#[test]
fn a_shorter_interval_does_not_wait_for_the_end_of_the_longer_one() {
    let api = three();
    let daemon = Reloadable::start(&api, &[("poll.interval", "12h")]);
    let interval = |seconds| {
        daemon.exporter.wait_for("the interval is told", |metrics| {
            metrics.value("translation_exporter_poll_interval_seconds", &[]) == Some(seconds)
        });
    };
    interval(43_200.0);
    daemon.write(&[("poll.interval", "1s")]);
    for method in ["POST", "PUT"] {
        let response = daemon.reload(method);
        assert_eq!((response.status, &*response.text()), (200, "reloaded\n"), "{method}");
    }
    interval(1.0);
    daemon.exporter.wait_for_polls(2.0);
}

#[test]
fn a_new_key_is_sent_from_the_next_poll_on() {
    let api = three();
    let daemon = Reloadable::start(&api, &[]);
    api.accept_key("another-key-of-the-tests");
    daemon.exporter.wait_for("it is refused", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
    daemon.write(&[("api.key", "another-key-of-the-tests")]);
    assert_eq!(daemon.reload("POST").status, 200);
    let metrics =
        daemon.exporter.wait_for("it is accepted", |metrics| metrics.value("translation_up", &[]) == Some(1.0));
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    assert!(!daemon.exporter.log().contains("another-key"));
}

#[test]
fn level_and_format_of_the_log_the_scale_and_the_path_of_the_metrics_change() {
    let api = three();
    let daemon = Reloadable::start(&api, &[]);
    assert!(!daemon.exporter.log().contains("level=debug"));
    daemon.write(&[("log.level", "debug")]);
    assert_eq!(daemon.reload("POST").status, 200);
    eventually("it logs more", || daemon.exporter.log().contains("level=debug").then_some(()));
    daemon.write(&[("log.format", "json"), ("api.completion_scale", "200")]);
    assert_eq!(daemon.reload("POST").status, 200);
    eventually("it logs JSON", || daemon.exporter.log().lines().last().unwrap().starts_with('{').then_some(()));
    daemon.exporter.wait_for("the scale is in force", |metrics| metrics.ratio("owner/one", "de") == Some(0.25));
    daemon.write(&[("web.telemetry_path", "/elsewhere")]);
    assert_eq!(daemon.reload("POST").status, 200);
    assert_eq!(daemon.exporter.status("/metrics"), 404);
    assert_eq!(daemon.exporter.status("/elsewhere"), 200);
    let text = daemon.exporter.get("/elsewhere").text();
    let counted = text.lines().find(|line| line.contains("http_requests_total{path=\"/elsewhere\",code=\"200\"}"));
    assert_eq!(counted.and_then(|line| line.split(' ').next_back()), Some("1"));
}

#[test]
fn a_bad_change_changes_nothing_and_shows_in_answer_log_and_metrics() {
    let api = three();
    let good = [("api.page_size", "7")];
    let daemon = Reloadable::start(&api, &good);
    let (successful, loaded_at) = daemon.told();
    assert_eq!(successful, 1.0);
    let bad: [(&str, &[(&str, &str)]); 6] = [
        ("api.page_size", &[("api.page_size", "1001")]),
        ("poll.interval", &[("api.page_size", "8"), ("poll.interval", "soon")]),
        ("filter.include", &[("api.page_size", "8"), ("filter.include", "['[']")]),
        ("poll.intervall", &[("api.page_size", "8"), ("poll.intervall", "5s")]),
        ("web.config_file", &[("api.page_size", "8"), ("web.config_file", "/nowhere/web.yaml")]),
        ("config.yaml", &[("api.page_size", "[")]),
    ];
    for (named, keys) in bad {
        daemon.write(keys);
        let response = daemon.reload("POST");
        assert_eq!(response.status, 500, "{named}");
        let message = response.text();
        assert!(message.contains(named), "{named}: {message}");
        assert!(!message.contains(KEY));
        assert_eq!(daemon.told(), (0.0, loaded_at), "{named}");
        let said = message.trim_end().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        eventually("the log says it", || {
            let log = daemon.exporter.log();
            let line = log.lines().find(|line| line.contains("level=error") && line.contains(&said));
            line.map(|line| assert!(!line.contains(KEY)))
        });
        daemon.exporter.wait_for_polls(1.0);
        assert_eq!(newest_limit(&api), "7", "{named}");
    }
    fs::remove_file(&daemon.file).unwrap();
    daemon.exporter.signal("HUP");
    eventually("the log says it", || daemon.exporter.log().contains("config.yaml").then_some(()));
    assert_eq!(daemon.told(), (0.0, loaded_at));

    daemon.write(&[("api.page_size", "9")]);
    assert_eq!(daemon.reload("PUT").status, 200);
    let (successful, reloaded_at) = daemon.told();
    assert_eq!(successful, 1.0);
    assert!(reloaded_at > loaded_at);
    eventually("it is in force", || (newest_limit(&api) == "9").then_some(()));
    assert_eq!(daemon.exporter.metrics().repositories("fresh"), 3.0);
}

#[test]
fn what_needs_a_restart_is_refused_by_name() {
    let api = three();
    let daemon = Reloadable::start(&api, &[]);
    let before = newest_limit(&api);
    let fixed = [
        ("api.base_url", "http://127.0.0.1:1"),
        ("state.file", "state.json"),
        ("web.listen_addresses", "['127.0.0.1:0', '[::1]:0']"),
    ];
    for (key, value) in fixed {
        daemon.write(&[(key, value), ("api.page_size", "8")]);
        let response = daemon.reload("POST");
        let message = response.text();
        assert_eq!(response.status, 500, "{message}");
        for (other, _) in fixed {
            assert_eq!(message.contains(other), other == key, "{message}");
        }
        assert!(message.contains("restart"), "{message}");
        assert_eq!(daemon.told().0, 0.0);
    }
    daemon.write(&fixed);
    let message = daemon.reload("POST").text();
    assert!(fixed.iter().all(|(key, _)| message.contains(key)), "{message}");
    daemon.exporter.wait_for_polls(1.0);
    assert_eq!(newest_limit(&api), before);
    assert!(!daemon.exporter.folder.path().join("state.json").exists());
}

#[test]
fn a_faster_rate_is_in_force_at_once() {
    let api = three();
    let setup = Setup::new(&[]);
    let slow = [("api.requests_per_second", "0.001")];
    let file = setup.file("config.yaml", &yaml(&api.base_url(), &slow));
    let exporter = setup.argument("--config.file").argument(&file).start();
    eventually("the first request", || api.requests(Target::Listing).first().cloned());
    fs::write(&file, yaml(&api.base_url(), &[])).unwrap();
    exporter.signal("HUP");
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
}

#[test]
fn a_reload_logs_what_changed_with_secrets_hidden() {
    let api = three();
    let daemon = Reloadable::start(&api, &[("api.page_size", "7")]);
    assert_eq!(daemon.reload("POST").status, 200);
    daemon.write(&[("api.page_size", "7")]);
    assert_eq!(daemon.reload("POST").status, 200);
    eventually("it says that nothing changed", || daemon.exporter.log().contains("no key changed").then_some(()));
    api.accept_key("another-key-of-the-tests");
    daemon.write(&[("api.page_size", "8"), ("log.level", "debug"), ("api.key", "another-key-of-the-tests")]);
    assert_eq!(daemon.reload("POST").status, 200);
    let line = eventually("it says what changed", || {
        let log = daemon.exporter.log();
        log.lines().find(|line| line.contains("changed=")).map(str::to_owned)
    });
    for words in ["api.page_size", "7", "8", "log.level", "debug", "api.key"] {
        assert!(line.contains(words), "{line}");
    }
    assert!(!line.contains("poll.interval"), "{line}");
    assert!(!daemon.exporter.log().contains("another-key"));
}

#[test]
fn a_reload_that_takes_passwords_away_warns_of_it() {
    let api = three();
    let setup = Setup::for_api(&api).set("web.enable_lifecycle", "true");
    let users = format!("basic_auth_users: {{someone: {}}}\n", bcrypt::hash("secret", 4).unwrap());
    let file = setup.file("web.yaml", &users);
    let exporter = setup.set("web.config_file", &file).start();
    fs::write(&file, "{}\n").unwrap();
    exporter.signal("HUP");
    eventually("it warns", || {
        let log = exporter.log();
        let line = log.lines().find(|line| line.contains("level=warn") && line.contains("basic_auth_users"));
        line.map(str::to_owned)
    });
}

#[test]
fn a_key_in_the_place_of_its_file_is_shown_by_no_reload() {
    let api = three();
    let daemon = Reloadable::start(&api, &[]);
    let with_key_file = fs::read_to_string(&daemon.file).unwrap().replace("  key: ", "  key_file: ");
    fs::write(&daemon.file, with_key_file).unwrap();
    let response = daemon.reload("POST");
    assert_eq!(response.status, 500);
    let message = response.text();
    assert!(message.contains("api.key_file") && message.contains("not shown"), "{message}");
    assert!(!message.contains(KEY) && !daemon.exporter.log().contains(KEY));
}
