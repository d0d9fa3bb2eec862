//! `once` polls once and prints the result. Its exit code says if the result is complete.

use crate::support::{Api, Exposition, Reply, Repo, Setup, Target, exposition::INFO, until};
use std::fs;

fn two() -> Api {
    Api::start([
        Repo::new(1, "owner/one"),
        Repo::new(2, "owner/two \"\\\n").languages(&[("fr", 12.5)]),
    ])
}

fn once(api: &Api, output: &str) -> Setup {
    Setup::for_api(api).arguments(&["once", "--output", output])
}

#[test]
fn a_stdout_that_nobody_reads_any_more_is_no_error_and_a_full_one_is() {
    let api = two();
    let closed = "mkfifo pipe; : < pipe & exec > pipe; wait";
    for format in ["openmetrics", "table"] {
        let output = once(&api, format).after(closed).run();
        assert_eq!(output.code, Some(0), "{format}: {}", output.stderr);
        let output = once(&api, format).after("exec > /dev/full").run();
        output.assert_failed(1, &["cannot print the result"]);
    }
}

#[test]
fn the_table_is_coloured_only_on_a_terminal_and_without_no_color() {
    let api = two();
    let in_a_file = once(&api, "table").variable("TERM", "xterm").run().stdout;
    assert!(
        in_a_file.contains("owner/one") && in_a_file.contains("█████·····  50%"),
        "{in_a_file}"
    );
    assert!(!in_a_file.contains('\u{1b}'), "{in_a_file}");
    // script(1) provides a terminal.
    let in_script = "exec script --quiet --return --command \"$0 $* 2>/dev/null\" /dev/null";
    for (variable, is_coloured) in [("LANG", true), ("NO_COLOR", false)] {
        let setup = once(&api, "table")
            .variable("TERM", "xterm")
            .variable(variable, "1");
        let text = setup.after(in_script).run().stdout;
        assert!(text.contains("owner/one"), "{text}");
        assert_eq!(
            text.contains("\u{1b}[33m█████·····\u{1b}[0m"),
            is_coloured,
            "{text}"
        );
    }
}

#[test]
fn no_name_can_control_a_terminal_in_any_format() {
    let name = "owner/\u{1b}]0;title\u{7}\u{9b}1m\u{202e}";
    let api = Api::start([Repo::new(1, name)]);
    // script(1) provides a terminal.
    let in_script = "exec script --quiet --return --command \"$0 $* 2>/dev/null\" /dev/null";
    for format in ["openmetrics", "text", "json", "csv", "markdown"] {
        let text = once(&api, format).after(in_script).run().stdout;
        assert!(text.contains("title"), "{format}: {text}");
        let raw = |c: char| !"\r\n".contains(c) && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(raw), "{format}: {text:?}");
        assert!(!text.contains("\\u000d"), "{format}: {text}");
        // Elsewhere names stay as they are.
        let piped = once(&api, format).run().stdout;
        assert!(!piped.contains("\\u009b"), "{format}: {piped}");
    }
}

#[test]
fn several_outputs_come_from_one_poll() {
    let api = two();
    let both = once(&api, "badge").arguments(&["--output=languages"]).run();
    assert!(
        both.stdout.starts_with('{') && both.stdout.ends_with('\n'),
        "{}",
        both.stdout
    );
    let setup = Setup::for_api(&api);
    let (json, badge) = (setup.file("a.json", ""), setup.file("b=c.json", ""));
    let (to_json, to_badge) = (
        format!("--output=json={json}"),
        format!("--output=badge={badge}"),
    );
    let setup = setup
        .arguments(&["once", "--require=0.5", "--output=languages"])
        .arguments(&[&to_json, &to_badge]);
    let output = setup.run();
    assert_eq!(output.stdout, "de\n", "{}", output.stderr);
    assert_eq!(output.code, Some(3));
    let json = fs::read_to_string(json).unwrap();
    assert!(json.contains("\"summary\""), "{json}");
    let badge = fs::read_to_string(badge).unwrap();
    assert!(badge.contains("\"message\":\"1 of 2 ready\""), "{badge}");
}

#[test]
fn an_output_that_cannot_be_written_keeps_no_other_back() {
    let api = two();
    let setup = once(&api, "json=/dev/full").arguments(&["--require=0.5"]);
    let csv = setup.file("a.csv", "");
    let to_csv = format!("--output=csv={csv}");
    let setup = setup.arguments(&["--output=languages", &to_csv]);
    let output = setup.run();
    let words = "cannot write the result to /dev/full: No space left on device (os error 28); ";
    output.assert_failed(1, &[words, "mount its folder"]);
    assert_eq!(output.stdout, "de\n");
    assert!(fs::read_to_string(csv).unwrap().contains("owner/one"));
}

#[test]
fn an_output_with_no_place_is_refused_before_the_poll() {
    let api = two();
    let setup = once(&api, "table");
    let state = setup.file("state.json", "");
    let to_state = format!("--output=json={state}");
    for (arguments, words) in [
        (
            ["--output=json=/none/a.json", "--log.level=warn"],
            "--output to /none/a.json: cannot be written: No such file",
        ),
        (
            ["--output=json=/", "--log.level=warn"],
            "--output to /: cannot be written: is a directory",
        ),
        (
            [&*to_state, &*format!("--state.file={state}")],
            "another key or option names ",
        ),
    ] {
        once(&api, "table")
            .arguments(&arguments)
            .run()
            .assert_failed(2, &[words]);
    }
    assert_eq!(api.requests(Target::Everything).len(), 0);
}

#[test]
fn since_needs_a_state_file_and_a_day_of_the_last_14() {
    let api = two();
    let setup = || once(&api, "table").set("state.file", "state.json");
    for since in ["20d", "2026-02-30", "tomorrow", "9999-01-01"] {
        let output = setup().arguments(&["--since", since]).run();
        let range = "give a duration of at most 14d or a date from ";
        output.assert_failed(2, &[&format!("--since {since}: "), range]);
    }
    let output = once(&api, "table").arguments(&["--since=7d"]).run();
    output.assert_failed(
        2,
        &["--since 7d: without state.file nothing is known of the past"],
    );
    assert_eq!(api.requests(Target::Everything).len(), 0);
    let output = setup().arguments(&["--since=7d"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn a_poll_that_fails_ends_with_1_and_what_was_read_is_printed() {
    let api = two();
    api.cap_pages(1);
    let page_2: fn(&Api) = |api| {
        api.script(Target::Listing, |request| {
            request.query("after").map(|_| Reply::status(503))
        });
    };
    let language: fn(&Api) = |api| api.fault(Target::Languages(2), Reply::status(500));
    for (fail, up, read, words) in [
        (
            language,
            1.0,
            Some(0.5),
            &["1 of 2 repositories cannot be read"][..],
        ),
        (
            page_2,
            0.0,
            Some(0.5),
            &["list of repositories could not be read", "503"],
        ),
        (
            |api| api.fault(Target::Everything, Reply::close()),
            0.0,
            None,
            &["api.base_url"],
        ),
        (
            |api| api.accept_key("another"),
            0.0,
            None,
            &["401 Unauthorized"],
        ),
    ] {
        api.heal();
        fail(&api);
        let output = once(&api, "text").run();
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        let metrics = Exposition::parse(&output.stdout);
        assert_eq!(
            (metrics.up(), metrics.ratio("owner/one", "de")),
            (Some(up), read),
            "{words:?}"
        );
        assert_eq!(metrics.count(INFO) == 0, read.is_none());
        let last = output.stderr.lines().last().unwrap();
        assert!(words.iter().all(|word| last.contains(word)), "{last}");
        assert!(
            output.stderr.matches("401 Unauthorized").count() < 2,
            "it is said once: {}",
            output.stderr
        );
    }
}

#[test]
fn once_beside_a_daemon_says_how_to_run_without_a_state_file() {
    let api = two();
    let daemon = Setup::for_api(&api)
        .set("state.file", "state.json")
        .set("poll.interval", "12h")
        .start();
    let path = daemon.folder.path().join("state.json");
    until("the only poll is saved to its end", || {
        fs::read_to_string(&path).is_ok_and(|state| state.contains("\"last_success_at\":1"))
    });
    let file = || {
        (
            fs::read(&path).unwrap(),
            fs::metadata(&path).unwrap().modified().unwrap(),
        )
    };
    let before = file();
    let beside = || once(&api, "text").set("state.file", path.to_str().unwrap());
    let refused = beside().run();
    refused.assert_failed(
        2,
        &[
            path.to_str().unwrap(),
            "in use by another process",
            "--state.file=",
        ],
    );
    assert_eq!(refused.stdout, "");
    let without = beside().arguments(&["--state.file="]).run();
    assert_eq!(without.code, Some(0), "{}", without.stderr);
    assert_eq!(file(), before);
}

#[test]
fn the_bar_shares_no_line_with_a_message_and_messages_are_sentences() {
    let api = Api::of(4);
    api.fault(Target::Languages(2), Reply::status(500));
    api.fault(Target::Languages(3), Reply::json(r#"[{"code":"de"},7]"#));
    let terminal = "exec script -qfec \"stty cols 60 rows 24; $0 $* >/dev/null\" /dev/null";
    // The poll lasts beyond its second publication, which draws the bar even if the first came
    // before the list of repositories.
    let setup = once(&api, "json")
        .set("api.requests_per_second", "0.8")
        .set("api.concurrency", "1");
    let output = setup.variable("TERM", "xterm").after(terminal).run().stdout;
    assert!(output.contains("/4 repositories"), "{output:?}");
    assert!(!output.contains("ts="), "{output:?}");
    let messages = output.match_indices("translation-exporter: ");
    let mut before = messages.map(|(at, _)| &output[..at]);
    assert!(
        before.all(|before| before.is_empty() || before.ends_with(['K', '\n'])),
        "a message shares its line with the bar: {output:?}"
    );
    assert_eq!(output.matches("not_an_object").count(), 1, "{output:?}");
}
