//! An API that allows fewer requests than configured: every repository is read, none is preferred.

use super::*;
use crate::{
    api::testing::{LimitedApi, Refused},
    domain::RepositoryId,
};

fn limited(api: &LimitedApi) -> Poller<LimitedApi> {
    let setup = Setup {
        concurrency: 8,
        interval: Duration::from_secs(15),
        ..Setup::of(api.clone())
    };
    setup.build()
}

#[tokio::test(start_paused = true)]
async fn a_limited_api_is_read_evenly_poll_after_poll() {
    let second = Some(Duration::from_secs(1));
    for allowed in [0.5, 2.0, 3.0, 10.0] {
        for (status, retry_after) in [(429, None), (429, second), (503, None), (503, second)] {
            let refused = Refused {
                status,
                retry_after,
            };
            let api = LimitedApi::new(100, allowed, refused);
            let mut poller = limited(&api);
            for poll in 1..=10 {
                let outcome = poller.poll().await;
                assert!(outcome.stop.is_none(), "{allowed} {refused:?} {outcome:?}");
                assert!(
                    poll == 1 || outcome.is_success(),
                    "{allowed} {refused:?} {outcome:?}"
                );
                pass(1).await;
            }
            let reads = api.change(|server| server.reads.clone());
            let (least, most) = (reads.values().min().unwrap(), reads.values().max().unwrap());
            assert!(most - least <= 1, "{allowed} {refused:?} {reads:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_that_is_always_refused_slows_down_no_later_poll() {
    let refused = Refused {
        status: 429,
        retry_after: None,
    };
    let api = LimitedApi::new(100, 100.0, refused);
    api.change(|server| server.unwilling = RepositoryId::new(7));
    let mut poller = limited(&api);
    let first = poller.poll().await;
    assert_eq!((first.read, first.failed), (99, 1), "{first:?}");
    assert!(first.duration < Duration::from_secs(10 * 60), "{first:?}");
    for _ in 0..12 {
        let outcome = poller.poll().await;
        assert_eq!((outcome.read, outcome.failed), (99, 1), "{outcome:?}");
    }
    let last = poller.poll().await;
    assert!(last.duration < Duration::from_secs(12), "{last:?}");
    api.change(|server| server.unwilling = None);
    assert!(poller.poll().await.is_success());
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
async fn an_outage_with_503_ends_the_poll_and_leaves_the_pace() {
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
