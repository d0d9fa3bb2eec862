//! The status page in a browser. Search, sorting and paging work without scripts, the colours apply
//! under the strict policy in light and dark mode, the answers are on the first screen, the
//! keyboard reaches all controls in order, and no content is cut off on any screen.

use crate::support::{Api, Exporter, Repo, Setup};
use std::{path::Path, process::Command};

/// Runs a test of `page.mjs`.
fn browse(test: &str, exporter: &Exporter) {
    let modules = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/npm");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blackbox/page.mjs");
    let mut node = Command::new("node");
    node.arg(script)
        .arg(modules)
        .args([test, &format!("http://{}", exporter.address)]);
    let output = node.output().expect("node is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Starts the demo, which has overdue and stalled translations above its table.
fn demo() -> Exporter {
    let exporter = Setup::new(&["demo"])
        .set("web.listen_addresses", "127.0.0.1:0")
        .start();
    exporter.wait_for("a poll has ended", |metrics| metrics.polls() > 0.0);
    exporter
}

#[test]
#[ignore = "needs Chromium and playwright-core: tests/run.sh installs them"]
fn search_sorting_and_paging_work_without_scripts() {
    let repositories = (1..=450u32).map(|number| {
        let owner = if number % 3 == 0 { "acme" } else { "other" };
        Repo::new(number.into(), &format!("{owner}/{number:03}"))
            .languages(&[("de", f64::from(number) / 5.0)])
    });
    let exporter = Setup::for_api(&Api::start(repositories))
        .set("poll.interval", "1h")
        .start();
    exporter.wait_until_fresh(450);
    browse("person", &exporter);
}

#[test]
#[ignore = "needs Chromium and playwright-core: tests/run.sh installs them"]
fn the_demo_has_its_colours_in_light_and_in_dark() {
    browse("colours", &demo());
}

#[test]
#[ignore = "needs Chromium and playwright-core: tests/run.sh installs them"]
fn the_answers_to_a_search_and_for_a_language_are_on_the_first_screen() {
    browse("distances", &demo());
}

#[test]
#[ignore = "needs Chromium and playwright-core: tests/run.sh installs them"]
fn the_keyboard_goes_through_the_page_from_top_to_bottom() {
    browse("keyboard", &demo());
}

#[test]
#[ignore = "needs Chromium and playwright-core: tests/run.sh installs them"]
fn scrolling_down_the_page_alone_shows_all_of_25_languages_and_200_rows() {
    let codes: Vec<String> = ('a'..='y').map(|letter| format!("l{letter}")).collect();
    let languages: Vec<_> = codes
        .iter()
        .zip(0..)
        .map(|(code, number)| (code.as_str(), f64::from(number) * 4.0))
        .collect();
    let long = |id| {
        format!(
            "some-organization/{}-{id:03}",
            "x".repeat(if id == 1 { 300 } else { 30 })
        )
    };
    let api = Api::start((1..=200).map(|id| Repo::new(id, &long(id)).languages(&languages)));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(200);
    browse("scrolling", &exporter);
}
