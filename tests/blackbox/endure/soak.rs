//! Soak: no data are lost and open files stay flat under random faults.

use crate::support::{Api, Reply, Setup, Target, exposition::RATIO};
use std::{
    env, thread,
    time::{Duration, Instant},
};

/// Returns a fault for a request; most of the time none.
fn fault(random: &mut fastrand::Rng) -> Option<Reply> {
    Some(match random.u32(0..400) {
        0..4 => Reply::reset(),
        4..8 => Reply::close(),
        8..12 => Reply::cut_short("[1,2,3,4,5,6]"),
        12..24 => Reply::status(500 + random.u16(0..5)),
        24..27 => Reply::status(400 + random.u16(0..30)),
        27..30 => Reply::json("[{]"),
        30..32 => Reply::html(),
        32..34 => Reply::redirect("/"),
        34 => Reply::never(),
        // The body arrives after the timeout. A complete list would be a valid response.
        35 => Reply::drip("[1,2,3]"),
        36 => Reply::gzip_bomb(),
        37 => Reply::status(429).header("retry-after", "1"),
        38 => Reply::endless_headers(),
        _ => return None,
    })
}

/// Runs for two minutes, or for `TRANSLATION_EXPORTER_SOAK_SECONDS`.
#[test]
#[ignore = "slow: two minutes"]
fn nothing_is_lost_and_open_files_stay_flat_under_random_faults() {
    let seconds = env::var("TRANSLATION_EXPORTER_SOAK_SECONDS")
        .map_or(120, |seconds| seconds.parse().unwrap());
    let duration = Duration::from_secs(seconds);
    let api = Api::of(60);
    api.cap_pages(25);
    let exporter = Setup::for_api(&api).set("api.timeout", "1s").start();
    exporter.wait_until_fresh(60);
    let random = std::sync::Mutex::new(fastrand::Rng::with_seed(5));
    api.script(Target::Everything, move |_| {
        fault(&mut random.lock().unwrap())
    });

    let begin = Instant::now();
    let mut open_files = Vec::new();
    while begin.elapsed() < duration {
        let metrics = exporter.metrics();
        assert_eq!(metrics.count(RATIO), 60, "nothing is lost");
        assert_eq!(exporter.status("/"), 200);
        open_files.push(metrics.value("process_open_fds", &[]).unwrap());
        api.forget();
        thread::sleep(Duration::from_millis(500));
    }
    // The first third of the run warms up.
    let third = open_files.len() / 3;
    let most = |files: &[f64]| files.iter().fold(0.0_f64, |most, count| most.max(*count));
    let (warm, last) = open_files[third..].split_at(third);
    assert!(
        most(last) <= most(warm) + 4.0,
        "open files grow: {open_files:?}"
    );
    api.heal();
    exporter.wait_for("it recovers", |metrics| {
        metrics.up() == Some(1.0) && metrics.repositories("failing") < 1.0
    });
}
