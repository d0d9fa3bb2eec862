//! A key that is revoked or replaced, or whose file cannot be read.

use crate::support::{Api, Exporter, Setup, Target, api::KEY, exposition::RATIO, until};
use std::fs;

struct WithKeyFile {
    api: Api,
    exporter: Exporter,
    file: String,
}

fn started() -> WithKeyFile {
    let api = Api::of(20);
    let setup = Setup::for_api(&api)
        .set("api.key", "")
        .set("api.concurrency", "1");
    let file = setup.file("key", KEY);
    let exporter = setup.set("api.key_file", &file).start();
    exporter.wait_until_fresh(20);
    WithKeyFile {
        api,
        exporter,
        file,
    }
}

impl WithKeyFile {
    fn wait_until_up_is(&self, up: f64) {
        self.exporter.wait_for("translation_up changes", |metrics| {
            assert_eq!(metrics.count(RATIO), 20, "nothing is lost");
            metrics.up() == Some(up)
        });
    }
}

#[test]
fn polls_stop_while_the_key_file_is_empty_missing_or_unreadable() {
    let run = started();
    let breakages: [fn(&str); 3] = [
        |file| fs::write(file, "\n").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        // Root can read any file, but even root cannot read a folder as a file.
        |file| {
            fs::remove_file(file)
                .and_then(|()| fs::create_dir(file))
                .unwrap();
        },
    ];
    for (number, breakage) in breakages.into_iter().enumerate() {
        breakage(&run.file);
        run.wait_until_up_is(0.0);
        run.api.forget();
        run.exporter.wait_for_polls(1.0);
        assert_eq!(
            run.api.requests(Target::Everything).len(),
            0,
            "without a key nothing is sent"
        );
        until(&format!("breakage {number} is logged"), || {
            run.exporter.log().contains("the API key file ")
        });
        fs::remove_dir(&run.file).ok();
        fs::write(&run.file, KEY).unwrap();
        run.wait_until_up_is(1.0);
    }
}

#[test]
fn a_rotated_key_costs_at_most_one_poll() {
    let run = started();
    fs::write(&run.file, "the-new-key\n").unwrap();
    run.api.accept_key("the-new-key");
    let metrics = run.exporter.wait_for_polls(3.0);
    let failed = metrics.sum("translation_exporter_poll_failures_total", &[]);
    assert!(failed <= 1.0, "{failed} polls failed");
    run.exporter.wait_until_fresh(20);
}
