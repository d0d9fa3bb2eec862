//! `once`: polls once, prints what was read, and says by its exit code whether that is everything.

use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target, eventually,
    exposition::{self, Format},
    http,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
    thread,
};

fn two() -> Api {
    Api::start([Repo::new(1, "owner/one"), Repo::new(2, "owner/two \"\\\n").languages(&[("fr", 12.5)])])
}

fn once(api: &Api, output: &str) -> Setup {
    Setup::for_api(api).set("api.max_attempts", "1").argument("once").argument("--output").argument(output)
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// What was printed, read strictly.
fn printed(output: &Output, format: Format) -> Exposition {
    exposition::parse(stdout(output), format).unwrap_or_else(|error| panic!("{error}\n\n{}", stdout(output)))
}

#[test]
fn a_whole_poll_is_printed_and_ends_with_0() {
    let api = two();
    for (format, name) in [(Format::OpenMetrics, "openmetrics"), (Format::Text, "text")] {
        let output = once(&api, name).run();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let metrics = printed(&output, format);
        assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
        assert_eq!(metrics.ratio("owner/two \"\\\n", "fr"), Some(0.125));
        assert_eq!(metrics.value("translation_up", &[]), Some(1.0));
        assert_eq!(metrics.value("translation_exporter_polls_total", &[]), Some(1.0));
        assert_eq!(metrics.repositories("fresh"), 2.0);
    }
    let default = Setup::for_api(&api).argument("once").run();
    printed(&default, Format::OpenMetrics);
}

#[test]
fn the_table_is_coloured_only_on_a_terminal_and_without_no_color() {
    let api = two();
    let in_a_file = once(&api, "table").variable("TERM", "xterm").run();
    let in_a_file = stdout(&in_a_file);
    assert!(in_a_file.contains("owner/one") && in_a_file.contains("█████·····  50%"), "{in_a_file}");
    assert!(!in_a_file.contains('\u{1b}'), "{in_a_file}");
    // script(1) gives it a terminal.
    let on_a_terminal = || {
        let in_script = "exec script --quiet --return --command \"$0 $* 2>/dev/null\" /dev/null";
        once(&api, "table").variable("TERM", "xterm").after(in_script)
    };
    for (setup, is_coloured) in [(on_a_terminal(), true), (on_a_terminal().variable("NO_COLOR", "1"), false)] {
        let output = setup.run();
        let text = stdout(&output);
        assert!(text.contains("owner/one"), "{text}");
        assert_eq!(text.contains("\u{1b}[33m█████\u{1b}[0m"), is_coloured, "{text}");
    }
}

#[test]
fn one_repository_that_fails_ends_with_1_and_the_rest_is_printed() {
    let api = two();
    api.fault(Target::Languages(2), Reply::status(500));
    let output = once(&api, "text").run();
    assert_eq!(output.status.code(), Some(1));
    let metrics = printed(&output, Format::Text);
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    assert_eq!(metrics.repositories("pending"), 1.0);
    let last = stderr(&output).lines().last().unwrap();
    assert!(last.contains("1 of 2 repositories cannot be read"), "{last}");
}

#[test]
fn a_listing_that_breaks_ends_with_1_and_what_it_had_shown_is_printed() {
    let api = two();
    api.cap_pages(1);
    api.script(Target::Listing, |request| request.query("after").map(|_| Reply::status(503)));
    let output = once(&api, "openmetrics").run();
    assert_eq!(output.status.code(), Some(1));
    let metrics = printed(&output, Format::OpenMetrics);
    assert_eq!(metrics.ratio("owner/one", "de"), Some(0.5));
    assert_eq!(metrics.value("translation_up", &[]), Some(0.0));
    let last = stderr(&output).lines().last().unwrap();
    assert!(last.contains("list of repositories could not be read") && last.contains("503"), "{last}");
}

#[test]
fn an_api_that_refuses_or_is_gone_ends_with_1_and_a_valid_exposition() {
    let api = two();
    api.accept_key("another");
    let refused = once(&api, "text").run();
    assert_eq!(stderr(&refused).matches("status 401").count(), 1, "{}", stderr(&refused));
    api.refuse();
    let gone = once(&api, "text").run();
    for (output, said) in [(refused, "401"), (gone, "api.base_url")] {
        assert_eq!(output.status.code(), Some(1));
        let metrics = printed(&output, Format::Text);
        assert_eq!(metrics.value("translation_up", &[]), Some(0.0));
        assert_eq!(metrics.samples("translation_repository_info").count(), 0);
        let last = stderr(&output).lines().last().unwrap();
        assert!(last.contains(said), "{last}");
    }
}

#[test]
fn a_bad_command_line_or_configuration_ends_with_2_and_nothing_is_printed() {
    let api = two();
    for setup in [
        once(&api, "xml"),
        once(&api, "text").set("poll.interval", "soon"),
        once(&api, "text").unset("api.key"),
        once(&api, "text").argument("--no-such-option"),
    ] {
        let output = setup.run();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stdout(&output), "");
        assert!(!stderr(&output).is_empty());
    }
    assert_eq!(api.requests(Target::Everything).len(), 0);
}

/// When the German translation of the first repository was last seen to rise.
fn last_progress(output: &Output) -> f64 {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let labels = [("repo", "owner/one"), ("language", "de")];
    printed(output, Format::Text).value("translation_last_progress_timestamp_seconds", &labels).unwrap()
}

#[test]
fn the_progress_clock_outlives_a_run_with_a_state_file() {
    let api = two();
    let setup = once(&api, "text").set("state.file", "state.json");
    let first = last_progress(&setup.run());
    assert_eq!(last_progress(&setup.run()), first, "nothing has risen");
    api.put([Repo::new(1, "owner/one").languages(&[("de", 51.0)])]);
    assert!(last_progress(&setup.run()) > first);
    let without = setup.argument("--state.file=");
    assert!(last_progress(&without.run()) > first);
}

#[test]
fn what_was_read_before_is_printed_where_the_api_is_down() {
    let api = two();
    let setup = once(&api, "text").set("state.file", "state.json");
    assert_eq!(setup.run().status.code(), Some(0));
    api.fault(Target::Everything, Reply::status(503));
    let output = setup.run();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(printed(&output, Format::Text).ratio("owner/one", "de"), Some(0.5));
}

#[test]
fn beside_a_daemon_that_has_the_state_file_it_says_how_to_do_without() {
    let api = two();
    let daemon = Setup::for_api(&api).set("state.file", "state.json").set("poll.interval", "12h").start();
    let path = daemon.folder.path().join("state.json");
    let written = "translation_exporter_state_writes_total";
    daemon.wait_for("the state is written", |metrics| metrics.value(written, &[]) == Some(1.0));
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let beside = || once(&api, "text").set("state.file", path.to_str().unwrap());
    let refused = beside().run();
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), ""));
    for words in [path.to_str().unwrap(), "in use by another process", "--state.file="] {
        assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
    }
    let without = beside().argument("--state.file=").run();
    assert_eq!(without.status.code(), Some(0), "{}", stderr(&without));
    assert_eq!(before, (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()));
}

#[test]
fn on_a_terminal_the_bar_begins_at_0_and_is_drawn_once_after_a_line_of_the_log() {
    let api = Api::start((1..=4).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    api.fault(Target::Languages(2), Reply::status(500));
    let terminal = "exec script -qfec \"$0 $* >/dev/null\" /dev/null";
    // Slowly enough for each step to be drawn.
    let setup = once(&api, "json").set("api.requests_per_second", "10").set("api.concurrency", "1");
    let output = setup.variable("TERM", "xterm").after(terminal).run();
    let frames: Vec<_> =
        stdout(&output).split(['\r', '\n']).filter(|frame| frame.contains(" repositories read")).collect();
    let mut positions: Vec<_> =
        frames.iter().filter_map(|frame| frame.split_once("/4")?.0.split(' ').next_back()).collect();
    assert_eq!(positions.len(), 6, "the one line of the log makes room, and the bar comes back: {positions:?}");
    positions.dedup();
    assert_eq!(positions, ["0", "1", "2", "3", "4"]);
}

#[test]
#[ignore = "needs prometheus-node-exporter: tests/run.sh installs it"]
fn the_textfile_collector_of_node_exporter_exposes_what_is_printed() {
    let api = two();
    let setup = once(&api, "text");
    let folder = setup.folder.path().to_owned();
    fs::write(folder.join("translations.prom"), setup.run().stdout).unwrap();
    let mut node_exporter = Command::new("prometheus-node-exporter")
        .args(["--collector.disable-defaults", "--collector.textfile", "--web.listen-address=127.0.0.1:0"])
        .arg(format!("--collector.textfile.directory={}", folder.display()))
        .stderr(Stdio::piped())
        .spawn()
        .expect("prometheus-node-exporter: tests/run.sh installs it");
    let mut log = BufReader::new(node_exporter.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = log.find_map(|line| line.split_once("address=")?.1.split(' ').next()?.parse().ok());
    thread::spawn(move || log.for_each(drop));
    let scrape = address.map(|address| {
        eventually("node_exporter answers", || http::get(address, "/metrics", &[("accept", "text/plain")]).ok())
    });
    node_exporter.kill().unwrap();
    node_exporter.wait().unwrap();
    let scrape = scrape.expect("the address of node_exporter");
    let text = scrape.text();
    assert_eq!(scrape.status, 200, "{text}");
    assert!(text.contains("\nnode_textfile_scrape_error 0\n"), "{text}");
    assert!(text.contains("translation_completion_ratio{language=\"de\",repo=\"owner/one\"} 0.5\n"), "{text}");
    assert_eq!(text.matches("\nprocess_start_time_seconds ").count(), 1, "its own alone");
}
