//! The age at which data that the last poll did not read become stale.

use super::*;

#[tokio::test(start_paused = true)]
async fn data_that_become_stale_one_by_one_are_published_together() {
    let mut bench = Bench::new();
    bench.change(|api| api.takes = Duration::from_secs(1));
    bench.poll().await;
    // The first poll of the next process reads nothing, and all requests after it are held.
    bench.change(|api| api.has_no_key = true);
    bench.api.hold(24 * HOUR);
    let stale = |document: &Document| {
        let stale = document.count(|row| row.state.label() == "stale");
        (stale > 0).then(|| (document.taken_at.since(START).as_secs(), stale))
    };
    let setup = Setup {
        saved: Some(bench.saved()),
        start: bench.poller.clock.now(),
        ..Setup::of(bench.api.clone())
    };
    let mut published = setup.run(90, stale).await;
    published.dedup_by_key(|(_, stale)| *stale);
    assert_eq!(published, [(3603, 2), (3663, 3)]);
}

#[tokio::test(start_paused = true)]
async fn slow_polls_that_read_everything_make_nothing_stale() {
    const SLOW: Duration = Duration::from_secs(45 * 60);
    for polls in [
        &[SLOW][..],
        &[Duration::ZERO, SLOW, 4 * SLOW, SLOW, Duration::ZERO],
    ] {
        let api = FakeApi::new();
        let publish: Publish = Box::new(|document| {
            let stale = document.count(|row| row.state.label() == "stale");
            assert_eq!(stale, 0);
        });
        let mut poller = Setup {
            publish,
            ..Setup::of(api.clone())
        }
        .build();
        for takes in polls {
            api.responses().takes = *takes;
            assert!(poller.poll(pending()).await.is_success());
        }
    }
}
