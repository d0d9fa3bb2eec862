//! The clock of the machine: a recorded time in the future becomes now.

use super::*;

/// The year 2099.
const AHEAD: Timestamp = Timestamp::from_millis(4_070_908_800_000);

#[tokio::test(start_paused = true)]
async fn a_clock_in_the_future_becomes_now_at_the_next_read() {
    let mut bench = Bench::new();
    bench.restart(AHEAD);
    bench.poll().await;
    bench.restart(START);
    bench.poll().await;
    let kept = |bench: &Bench| {
        let kept = bench.saved().repositories.into_values().next().unwrap();
        kept.records[0].current().unwrap().progress_at
    };
    assert_eq!(kept(&bench), START);
    let document = bench.poller.document();
    assert_eq!(document.rows[0].known[0].last_progress(), Some(START));
}
