//! The clock of the machine: its time is recorded, and a recorded time in the future is shown as
//! now.

use super::*;

/// The year 2099.
const AHEAD: Timestamp = Timestamp::from_millis(4_070_908_800_000);

#[tokio::test(start_paused = true)]
async fn a_clock_in_the_future_is_shown_as_now_until_the_next_progress() {
    let mut bench = Bench::new();
    bench.restart(AHEAD);
    bench.poll().await;
    bench.restart(START);
    bench.poll().await;
    let kept = |bench: &Bench| {
        let languages = bench.saved().repositories[0].languages.clone();
        languages.unwrap().records[0].known.unwrap().at
    };
    assert_eq!(kept(&bench), AHEAD);
    let document = bench.poller.document();
    assert_eq!(document.rows[0].known[0].last_progress, Some(START));
    bench.change(|api| api.completions = vec![(1, 99.0)]);
    bench.poll().await;
    assert_eq!(kept(&bench), START);
}
