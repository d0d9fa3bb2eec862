//! The age at which data that the last poll did not read become stale, by any wall clock.

use super::*;
use std::sync::Mutex;

#[tokio::test(start_paused = true)]
async fn failing_data_are_shown_until_they_are_stale() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:failing 3:fresh");
    pass(60).await;
    let shown = bench.shown();
    assert_eq!(shown, "1:fresh 2:failing 3:fresh", "at the limit");
    sleep(Duration::from_millis(2)).await;
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:stale 3:fresh");
    bench.change(|api| api.completions.push((2, 20.0)));
    bench.poll().await;
    let snapshot = bench.poller.snapshot();
    let Condition::Fresh(languages) = &snapshot.repositories[1].condition else {
        panic!("not fresh")
    };
    let clock = languages.records[0].known.unwrap().progress_at;
    assert_eq!(clock, START, "the progress clock went on");
}

/// Returns the first publication with each number of stale repositories: the seconds since the
/// start, and that number. In an earlier process, each read took `takes`. Retry-After holds all
/// requests after the first poll, which reads nothing.
async fn published_stale(takes: Duration) -> Vec<(u64, usize)> {
    let mut bench = Bench::new();
    bench.change(|api| api.takes = takes);
    bench.poll().await;
    bench.change(|api| api.has_no_key = true);
    bench.api.hold(24 * HOUR).await;
    let stale = |snapshot: &Snapshot, _: &PollStatus| {
        let stale = snapshot.count(|condition| condition.label() == "stale");
        (stale > 0).then(|| (snapshot.taken_at.since(START).as_secs(), stale))
    };
    let setup = Setup {
        saved: Some(bench.saved()),
        start: bench.poller.clock.now(),
        ..Setup::of(bench.api.clone())
    };
    let mut published = setup.run(90, stale).await;
    published.dedup_by_key(|(_, stale)| *stale);
    published
}

#[tokio::test(start_paused = true)]
async fn data_become_stale_while_nothing_is_polled() {
    assert_eq!(published_stale(Duration::ZERO).await, [(3660, 3)]);
}

#[tokio::test(start_paused = true)]
async fn data_that_become_stale_one_by_one_are_published_together() {
    let published = published_stale(Duration::from_secs(1)).await;
    assert_eq!(published, [(3603, 2), (3663, 3)]);
}

/// Returns the largest number of stale repositories in one publication. A repository takes the
/// given time in each of the polls.
async fn most_stale(polls: &[Duration]) -> usize {
    let most = Arc::new(Mutex::new(0));
    let api = FakeApi::new();
    let counter = Arc::clone(&most);
    let publish: Publish = Box::new(move |snapshot, _| {
        let stale = snapshot.count(|condition| condition.label() == "stale");
        let mut most = counter.lock().unwrap();
        *most = stale.max(*most);
    });
    let mut poller = Setup {
        publish,
        ..Setup::of(api.clone())
    }
    .build();
    for takes in polls {
        api.responses().takes = *takes;
        assert!(poller.poll().await.is_success());
    }
    *most.lock().unwrap()
}

#[tokio::test(start_paused = true)]
async fn slow_polls_that_read_everything_make_nothing_stale() {
    const SLOW: Duration = Duration::from_secs(45 * 60);
    assert_eq!(most_stale(&[SLOW]).await, 0, "the first poll");
    let polls = [Duration::ZERO, SLOW, 4 * SLOW, SLOW, Duration::ZERO];
    assert_eq!(most_stale(&polls).await, 0, "slower than the last");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ahead_makes_nothing_stale() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.poller.clock = Clock::following_tokio(START.saturating_add(240 * HOUR));
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
    bench.change(|api| api.completions.clear());
    pass(1).await;
    bench.poll().await;
    assert_eq!(bench.shown(), "1:failing 2:failing 3:failing");
    pass(60).await;
    let shown = bench.shown();
    assert_eq!(shown, "1:stale 2:stale 3:stale", "an hour by any clock");
}
