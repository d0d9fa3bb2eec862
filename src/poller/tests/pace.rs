//! An API that allows fewer requests than are configured: every repository is read, none is preferred.

use super::*;
use crate::api::testing::{LimitedApi, Refused};

fn limited(api: &LimitedApi) -> Poller<LimitedApi> {
    let fake = settings(&FakeApi::default());
    let settings = Settings {
        api: api.clone(),
        concurrency: 8,
        interval: Duration::from_secs(15),
        stale_after: fake.stale_after,
        max_repositories: fake.max_repositories,
        filter: fake.filter,
        only: fake.only,
        excluded_languages: fake.excluded_languages,
        completion_scale: fake.completion_scale,
        targets: fake.targets,
        links: fake.links,
    };
    Poller::new(
        watch::channel(Arc::new(settings)).1,
        None,
        None,
        Clock::following_tokio(START),
        Arc::new(Instruments::new("/metrics")),
        Box::new(discard),
    )
}

#[tokio::test(start_paused = true)]
async fn an_api_that_limits_requests_is_read_evenly_poll_after_poll() {
    let second = Some(Duration::from_secs(1));
    for allowed in [0.5, 2.0, 3.0, 10.0] {
        for (status, retry_after) in [(429, None), (429, second), (503, None), (503, second)] {
            let refused = Refused {
                status,
                retry_after,
            };
            let api = LimitedApi::new(100, allowed, refused);
            let mut poller = limited(&api);
            let start = Instant::now();
            for poll in 1..=10 {
                let outcome = poller.poll().await;
                assert!(outcome.stop.is_none(), "{allowed} {refused:?} {outcome:?}");
                assert!(
                    poll == 1 || outcome.is_success(),
                    "{allowed} {refused:?} {outcome:?}"
                );
                pass(1).await;
            }
            let (reads, requests) = api.change(|server| (server.reads.clone(), server.requests));
            let (least, most) = (reads.values().min().unwrap(), reads.values().max().unwrap());
            assert!(most - least <= 1, "{allowed} {refused:?} {reads:?}");
            let seconds = (start.elapsed().as_secs() - 600) / 10;
            println!(
                "| {allowed} | {status} | {retry_after:?} | {least} | {most} | {requests} | {seconds} | {:?} |",
                api.pace()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ten_429_in_a_row_at_the_lowest_pace_end_the_poll_as_held() {
    let refused = Refused {
        status: 429,
        retry_after: None,
    };
    let api = LimitedApi::new(20, 10.0, refused);
    let mut poller = limited(&api);
    assert!(poller.poll().await.is_success());
    api.change(|server| server.allowed = 0.0);
    let outcome = poller.poll().await;
    assert_eq!(outcome.failure(), Some(PollFailure::Held));
    assert!(outcome.duration < Duration::from_secs(180), "{outcome:?}");
    api.change(|server| server.allowed = 10.0);
    assert!(poller.poll().await.is_success());
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_503_is_no_matter_of_pace() {
    let refused = Refused {
        status: 503,
        retry_after: None,
    };
    let api = LimitedApi::new(100, 10.0, refused);
    let mut poller = limited(&api);
    assert!(poller.poll().await.is_success());
    let before = api.change(|server| {
        server.allowed = 0.0;
        server.requests
    });
    for _ in 0..5 {
        let outcome = poller.poll().await;
        assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
    }
    let requests = api.change(|server| {
        server.allowed = 10.0;
        server.requests
    });
    assert!(requests - before <= 150, "{} requests", requests - before);
    let outcome = poller.poll().await;
    assert!(outcome.is_success(), "{outcome:?}");
    assert!(outcome.duration < Duration::from_secs(60), "{outcome:?}");
}
