//! The times at which polls begin and the poller publishes.

use super::*;
use std::collections::BTreeSet;

#[tokio::test(start_paused = true)]
async fn an_overrun_poll_is_followed_at_once_and_a_broken_one_is_not() {
    let end = Some(EndOfPoll::Number(2, PollFailure::Unauthorized));
    for (end, starts) in [(None, [0, 600, 1200]), (end, [0, 700, 1400])] {
        let api = FakeApi::new();
        api.responses().takes = Duration::from_secs(200);
        api.responses().end = end;
        let begun = Setup::of(api).run(35, |document| {
            let running = document.status.running.as_ref()?;
            Some(running.since.since(START).as_secs())
        });
        let begun = BTreeSet::from_iter(begun.await);
        assert!(begun.iter().take(3).eq(&starts), "{begun:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_publishes_at_least_every_five_seconds() {
    let api = FakeApi::new();
    api.responses().takes = Duration::from_secs(40);
    let during_poll = |document: &Document| {
        let status = &document.status;
        status
            .running
            .as_ref()
            .map(|_| document.taken_at.since(START))
    };
    let times = Setup::of(api).run(3, during_poll).await;
    let longest = times
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .max();
    assert_eq!(longest, Some(Duration::from_secs(5)));
    assert!(times[0] < Duration::from_secs(1));
    assert!(times.last() >= Some(&Duration::from_secs(115)));
}

#[tokio::test(start_paused = true)]
async fn translations_are_judged_every_minute_between_polls() {
    let setup = Setup {
        interval: Duration::from_secs(86_400),
        ..Setup::of(FakeApi::new())
    };
    let times = setup.run(120, |document| Some(document.taken_at));
    let times = times.await;
    let waits = times
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_secs());
    assert_eq!(waits.max(), Some(60));
    assert!(times.len() > 119);
}

#[tokio::test(start_paused = true)]
async fn a_slow_listing_publishes_its_progress_every_five_seconds() {
    let api = FakeApi::new();
    api.responses().page_takes = Duration::from_secs(60);
    let progress = |document: &Document| {
        let running = document
            .status
            .running
            .as_ref()
            .filter(|poll| !poll.is_listed)?;
        Some((document.taken_at.since(START), running.total))
    };
    let published = Setup::of(api).run(4, progress).await;
    let longest = published
        .windows(2)
        .map(|pair| pair[1].0.saturating_sub(pair[0].0))
        .max();
    assert_eq!(longest, Some(Duration::from_secs(5)));
    let first_with = |count| {
        let first = published.iter().find(|(_, shown)| *shown == count);
        first.unwrap().0.as_secs()
    };
    assert!((60..=65).contains(&first_with(2)), "{}", first_with(2));
    assert!((120..=125).contains(&first_with(3)), "{}", first_with(3));
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_poll_is_published_with_the_next_start() {
    let next_poll = |document: &Document| {
        let next = document
            .status
            .next_poll_at
            .map(|at| at.since(START).as_secs());
        Some(next)
    };
    let mut published = Setup::of(FakeApi::new()).run(9, next_poll).await;
    published.dedup();
    assert_eq!(published, [Some(300), Some(600)]);
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_published_until_it_ends() {
    let api = FakeApi::new();
    let polling = Setup::of(api.clone()).run(9, |document| {
        let held_until = document
            .status
            .held_until
            .map(|at| at.since(START).as_secs());
        Some((document.taken_at.since(START).as_secs(), held_until))
    });
    let hold = async {
        // The hold begins while no poll is under way.
        pass(4).await;
        api.responses().takes = Duration::from_secs(60);
        api.hold(Duration::from_secs(120));
    };
    let (mut published, ()) = tokio::join!(polling, hold);
    published.dedup_by_key(|(_, held_until)| *held_until);
    let until: Vec<_> = published.iter().map(|(_, until)| *until).collect();
    assert_eq!(until, [None, Some(360), None], "{published:?}");
    assert!((360..=420).contains(&published[2].0), "{published:?}");
}

#[tokio::test(start_paused = true)]
async fn publications_share_the_records_of_a_repository_that_a_language_left() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| api.without_languages = true);
    bench.poll().await;
    let shown = |bench: &Bench| {
        let document = bench.poller.document();
        Arc::clone(&document.rows[0].known)
    };
    assert_eq!(shown(&bench).len(), 0);
    bench.poller.publish();
    assert!(Arc::ptr_eq(&shown(&bench), &shown(&bench)));
}
