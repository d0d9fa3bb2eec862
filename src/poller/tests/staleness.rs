//! When data become stale, and what a wall clock that jumps has to do with it: nothing.

use super::*;
use crate::domain::snapshot::Shown;

#[tokio::test(start_paused = true)]
async fn failing_data_are_shown_until_they_are_stale_and_the_clock_goes_on() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.completions.retain(|(id, _)| *id != 2));
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:failing 3:fresh");
    pass(60).await;
    assert_eq!(
        bench.shown(),
        "1:fresh 2:failing 3:fresh",
        "at the limit they are still shown"
    );
    tokio::time::sleep(Duration::from_millis(2)).await;
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:stale 3:fresh");
    bench.change(|answers| answers.completions.push((2, 20.0)));
    bench.poll().await;
    let snapshot = bench.poller.snapshot();
    let Condition::Fresh(languages) = &snapshot.repositories[1].condition else {
        panic!("not fresh")
    };
    assert_eq!(languages.readings[0].progress().unwrap().at, START);
}

/// When was published how many stale repositories, in seconds, while a Retry-After holds all requests for a day
/// after a poll in which each repository took so long.
async fn growing_stale(takes: Duration) -> Vec<(u64, usize)> {
    let published = Arc::new(Mutex::new(Vec::new()));
    let api = bench().api;
    let log = Arc::clone(&published);
    let publish = move |snapshot: Arc<Snapshot>, _| {
        let stale = snapshot
            .repositories
            .iter()
            .filter(|shown| shown.condition.label() == "stale")
            .count();
        if stale > 0 {
            log.lock()
                .unwrap()
                .push((snapshot.taken_at.since(START).as_secs(), stale));
        }
    };
    let poller = polling(&api, None, publish);
    api.0.lock().unwrap().held_until = Some(Instant::now() + Duration::from_secs(86_400));
    api.0.lock().unwrap().takes = takes;
    poller.run(pass(90)).await;
    let published = published.lock().unwrap();
    published.clone()
}

#[tokio::test(start_paused = true)]
async fn data_turn_stale_while_nothing_is_polled() {
    assert_eq!(growing_stale(Duration::ZERO).await, [(3600, 3)]);
}

#[tokio::test(start_paused = true)]
async fn what_turns_stale_bit_by_bit_is_not_published_bit_by_bit() {
    assert_eq!(
        growing_stale(Duration::from_secs(1)).await,
        [(3601, 1), (3606, 3)]
    );
}

/// The most repositories that were published as stale at once, in polls in which a repository took so long, one after
/// the other.
async fn most_stale(polls: &[Duration]) -> usize {
    let most = Arc::new(Mutex::new(0));
    let api = bench().api;
    let counter = Arc::clone(&most);
    let publish = move |snapshot: Arc<Snapshot>, _| {
        let is_stale = |shown: &&Shown| shown.condition.label() == "stale";
        let now = snapshot.repositories.iter().filter(is_stale).count();
        let mut most = counter.lock().unwrap();
        *most = now.max(*most);
    };
    let mut poller = polling(&api, None, publish);
    for takes in polls {
        api.0.lock().unwrap().takes = *takes;
        assert!(poller.poll().await.is_success());
    }
    *most.lock().unwrap()
}

#[tokio::test(start_paused = true)]
async fn while_polls_follow_each_other_nothing_becomes_stale_however_long_they_take() {
    const SLOW: Duration = Duration::from_secs(45 * 60);
    assert_eq!(most_stale(&[SLOW]).await, 0, "the first poll");
    assert_eq!(
        most_stale(&[Duration::ZERO, SLOW, 4 * SLOW, SLOW, Duration::ZERO]).await,
        0,
        "slower than the last"
    );
}

#[tokio::test(start_paused = true)]
async fn an_outage_makes_data_stale_as_a_failure_of_a_repository_does() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.stop_after = Some((1, PollFailure::Unavailable)));
    pass(61).await;
    bench.change(|answers| answers.completions.clear());
    bench.poll().await;
    assert_eq!(bench.shown(), "1:stale 2:stale 3:stale");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ahead_makes_nothing_stale() {
    let mut bench = bench();
    bench.poll().await;
    bench.poller.clock =
        Clock::following_tokio(START.saturating_add(Duration::from_secs(10 * 86_400)));
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
    pass(61).await;
    assert_eq!(
        bench.shown(),
        "1:stale 2:stale 3:stale",
        "an hour is an hour by any clock"
    );
}
