//! `targets` and `filter.exclude_languages`, and the gate `once --require-targets`.

use crate::support::{
    Api, Exporter, Reply, Repo, Setup, Target,
    exporter::Finished,
    exposition::{CLOCK, RATIO},
    until,
};

fn shop() -> Api {
    Api::start([
        Repo::new(1, "acme/shop").languages(&[("de", 95.0), ("eo", 3.0), ("fr", 71.25)]),
        Repo::new(2, "acme/docs").languages(&[("de", 100.0)]),
    ])
}

const MET: &str = "targets:\n  - languages: [fr]\n    ratio: 0.7\n\
    \x20 - {languages: [eo], ratio: 0}\n\
    \x20 - {repositories: [acme/shop], ratio: 0.95}\n";

fn once(api: &Api, targets: &str) -> Finished {
    let setup =
        Setup::for_api(api).arguments(&["once", "--output=openmetrics", "--require-targets"]);
    let file = setup.file("config.yaml", targets);
    setup.arguments(&["--config.file", &file]).run()
}

#[test]
fn the_gate_ends_with_0_if_all_targets_are_met_and_otherwise_with_3() {
    let api = shop();
    let met = once(&api, MET);
    assert_eq!(met.code, Some(0), "{}", met.stderr);
    assert!(!met.stderr.contains(": fr"), "{}", met.stderr);
    let missed =
        "targets: [{languages: [fr], ratio: 0.8, due: 2020-02-29}, {languages: [eo], ratio: 0}]\n";
    let not_met = once(&api, missed);
    let expected = "translation-exporter: below their targets:
    ✗ fr of acme/shop: 71% of 80%, due 29 February 2020, ";
    assert_eq!(not_met.code, Some(3), "{}", not_met.stderr);
    assert!(not_met.stderr.contains(expected), "{}", not_met.stderr);
    let verdict = "Not ready to ship: 1 of 3 translations ready, 1 paused, 1 overdue\n";
    assert!(not_met.stderr.ends_with(verdict), "{}", not_met.stderr);
    assert!(not_met.stdout.contains(RATIO), "what was read is printed");
}

#[test]
fn a_required_language_or_repository_that_does_not_exist_closes_the_gate() {
    let api = shop();
    let rest = "{languages: [\"*\"], ratio: 0}";
    let named = |repository: &str| {
        format!(
            "targets: [{{repositories: [{repository}], languages: [de, sv], ratio: 0.9}}, {rest}]\n"
        )
    };
    let missing = once(&api, &named("acme/shop"));
    missing.assert_failed(1, &["missing despite a target: sv of acme/shop"]);
    assert_eq!(once(&api, &named("\"acme/sh*\"")).code, Some(0));
    once(&api, &named("acme/gone")).assert_failed(1, &["missing despite a target: acme/gone"]);
    let filtered = format!("{}filter: {{exclude: [acme/shop]}}\n", named("acme/shop"));
    let left_out = "missing despite a target: acme/shop (left out by filter.exclude)";
    once(&api, &filtered).assert_failed(1, &[left_out]);
}

#[test]
fn a_suspect_scale_makes_everything_unknown_unless_it_is_set() {
    let api = Api::start([Repo::new(1, "acme/shop").languages(&[("de", 1.0), ("fr", 1.0)])]);
    let unknown = gate(&api, &["--require=0.005"]);
    let why = "ready, the scale of 2 translations is in doubt";
    unknown.assert_failed(1, &[why]);
    let lines: Vec<_> = unknown.stdout.lines().skip(1).collect();
    assert!(
        lines.iter().all(|line| line.ends_with(",unknown,,,,")),
        "{lines:?}"
    );
    let printed = |output| Setup::for_api(&api).arguments(&["once", output]).run();
    let badge = printed("--output=badge");
    assert!(badge.stdout.contains("? of 2 ready"), "{}", badge.stdout);
    for output in ["--output=table", "--output=markdown"] {
        let output = printed(output).stdout.replace("\n  ", " ");
        assert!(
            output.contains("2 not judged: the completion is not known"),
            "{output}"
        );
    }
    let chosen = Setup::for_api(&api)
        .set("api.completion_scale", "100")
        .arguments(&["once", "--output=openmetrics", "--require=0.01"])
        .run();
    assert_eq!(chosen.code, Some(0), "{}", chosen.stderr);
}

/// Runs the gate with one target for all languages, like a pipeline without a file.
fn gate(api: &Api, arguments: &[&str]) -> Finished {
    let words = [&["once", "--output=csv"], arguments].concat();
    Setup::for_api(api).arguments(&words).run()
}

#[test]
fn a_gate_without_a_file_ends_with_a_sentence_and_its_code() {
    let api = shop();
    for (arguments, code, last) in [
        (
            &["--require=0.95"][..],
            3,
            "Not ready to ship: 2 of 4 translations ready",
        ),
        (
            &["--require=0.03"],
            0,
            "Ready to ship: 4 of 4 translations ready",
        ),
        (
            &["acme/docs", "--require=1"],
            0,
            "Ready to ship: 1 of 1 translations ready",
        ),
        (
            &["--language=f?", "--require=1"],
            3,
            "Not ready to ship: 0 of 1 translations ready",
        ),
        (
            &["--language=it", "--require=0"],
            1,
            "nothing matches --language it; check the spelling and the filters",
        ),
    ] {
        let output = gate(&api, arguments);
        assert_eq!(output.code, Some(code), "{}", output.stderr);
        let sentence = format!("translation-exporter: {last}\n");
        let is_last =
            output.stderr.ends_with(&sentence) || output.stderr.ends_with(&format!("\n{last}\n"));
        assert!(is_last, "{}", output.stderr);
    }
    assert_eq!(gate(&api, &["--require=2"]).code, Some(2));
}

#[test]
fn each_glob_on_the_command_line_must_match_something() {
    let api = shop();
    for (arguments, code, unmatched) in [
        (
            &["acme/shop", "a/typo", "b/*", "--language=de"][..],
            1,
            "nothing matches a/typo, b/*;",
        ),
        (
            &["acme/docs", "a/typo", "--language=de", "--language=fr"],
            1,
            "nothing matches a/typo, --language fr;",
        ),
        (
            &["a/typo", "--language=de"],
            1,
            "nothing matches a/typo, --language de;",
        ),
        (&["acme/*", "--language=e?"], 0, "Nothing to ship: 1 paused"),
    ] {
        let output = gate(&api, &[arguments, &["--require=0"]].concat());
        assert_eq!(output.code, Some(code), "{}", output.stderr);
        assert!(output.stderr.contains(unmatched), "{}", output.stderr);
    }
}

#[test]
fn a_gate_on_one_of_a_thousand_repositories_reads_no_other() {
    let api = Api::of(1000);
    let output = gate(&api, &["owner/repo-500", "--require=0.5"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout.lines().count(), 2, "a heading and a line");
    let listing = api.requests(Target::Listing).len();
    assert_eq!(
        listing, 2,
        "the page of all, and the empty one that ends it"
    );
    let read = api.requests(Target::AllLanguages);
    let read: Vec<_> = read
        .iter()
        .filter_map(|request| request.repository())
        .collect();
    assert_eq!(read, ["500"]);
}

#[test]
fn what_was_not_read_and_an_account_without_a_language_end_with_1() {
    let api = shop();
    api.fault(Target::Languages(2), Reply::status(500));
    assert_eq!(once(&api, MET).code, Some(1));
    let empty = Api::start([Repo::new(1, "acme/shop").languages(&[])]);
    once(&empty, "").assert_failed(1, &["no translation known"]);
    once(&Api::start([]), "").assert_failed(1, &["The account of this key has no repositories"]);
}

/// Starts an exporter with this configuration file.
fn configured(api: &Api, text: &str) -> Exporter {
    let setup = Setup::for_api(api);
    let file = setup.file("config.yaml", text);
    setup.arguments(&["--config.file", &file]).start()
}

#[test]
fn an_entry_that_matches_nothing_is_reported_by_page_log_and_once() {
    let api = shop();
    let text = "targets:\n  - {languages: [xx], ratio: 0.5}\n";
    let exporter = configured(&api, text);
    let what = "1 entry of targets applies to no language: xx";
    exporter.wait_for_line(&["level=info", what]);
    until("the page says it", || {
        exporter.get("/").text().contains(what)
    });
    assert!(once(&api, text).stderr.contains(what));
}

#[test]
fn an_excluded_language_appears_nowhere() {
    let exporter = configured(&shop(), "filter: {exclude_languages: [fr, x-*]}\n");
    let metrics = exporter.wait_until_fresh(2);
    assert_eq!(metrics.ratio("acme/shop", "fr"), None);
    assert_eq!(metrics.count(CLOCK), 3);
    let languages = metrics.value("translation_repository_languages", &[("repo", "acme/shop")]);
    assert_eq!(languages, Some(2.0));
    assert_eq!(metrics.count("translation_language_info"), 2);
    assert!(!exporter.get("/").text().contains("?language=fr"));
}
