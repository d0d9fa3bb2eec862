//! Failing repositories and outages: a poll reads every repository that can be read.

use super::*;
use crate::{
    domain::RepositoryId,
    poller::ledger::{Ledger, MOST_LANGUAGES},
};

#[tokio::test(start_paused = true)]
async fn with_100_of_140_forbidden_the_others_stay_fresh() {
    let mut bench = Bench::of(140, |id| !(21..=120).contains(id));
    for poll in 0..50 {
        let is_blip = poll == 20;
        if is_blip {
            bench.change(|api| api.completions.retain(|(id, _)| *id != 7));
        }
        if poll == 30 {
            bench.restart(bench.poller.clock.now());
            assert_eq!(bench.count("pending") + bench.count("failing"), 140);
        }
        bench.poll().await;
        if is_blip {
            bench.change(|api| api.completions.push((7, 50.0)));
        }
        let requests = bench.requested().len();
        assert!(poll == 0 || requests <= 60, "{requests} requests");
        let fresh = 40 - usize::from(is_blip);
        assert_eq!(bench.count("fresh"), fresh, "poll {poll}");
        pass(5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_that_ends_each_poll_keeps_no_other_from_being_read() {
    for (ends, failing) in [(1, 0), (7, 0), (40, 0), (7, 5)] {
        let mut bench = Bench::of(40 + failing, |id| *id <= 40);
        let end = EndOfPoll::Repository(ends, PollFailure::Unauthorized);
        bench.change(|api| api.end = Some(end));
        for poll in 0..6 {
            let outcome = bench.poll().await;
            if poll > 0 {
                assert_eq!(bench.count("fresh"), 39, "{ends}, poll {poll}");
                assert!(outcome.read >= 39, "{ends}, poll {poll}: {outcome:?}");
            }
        }
        bench.change(|api| api.completions.extend((41..=45).map(|id| (id, 1.0))));
        for _ in 0..3 {
            bench.poll().await;
        }
        assert_eq!(bench.count("fresh") as u64, 39 + failing, "{ends}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_failing_repository_is_tried_again_within_five_polls() {
    let mut bench = Bench::of(140, |id| *id > 100);
    for _ in 0..30 {
        bench.poll().await;
    }
    bench.requested();
    for _ in 0..5 {
        bench.poll().await;
    }
    let requested = bench.requested();
    assert!((1..=140).all(|id| requested.contains(&id)));
}

/// The hanging repositories are at the end of the listing, so that all requests in flight hang.
#[tokio::test(start_paused = true)]
async fn hanging_repositories_are_told_from_an_outage_in_three_polls() {
    let mut bench = Bench::of(140, |id| *id <= 40);
    bench.change(|api| {
        api.is_unreachable = true;
        api.takes = Duration::from_secs(3);
    });
    let setup = Setup {
        concurrency: 50,
        ..Setup::of(bench.api.clone())
    };
    bench.poller = setup.build();
    for _ in 0..3 {
        bench.poll().await;
    }
    let outcome = bench.poll().await;
    assert_eq!((outcome.read, outcome.failed), (40, 20));
    assert_eq!(outcome.failure(), Some(PollFailure::Repositories));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_api_is_no_failure_of_a_repository() {
    let mut bench = Bench::of(400, |_| true);
    bench.poll().await;
    let completions = std::mem::take(&mut bench.api.responses().completions);
    bench.change(|api| api.is_unreachable = true);
    bench.requested();
    for _ in 0..30 {
        let outcome = bench.poll().await;
        assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
        let requests = bench.requested().len();
        assert!(requests <= 20, "{requests} requests");
    }
    bench.change(|api| api.completions = completions);
    bench.poll().await;
    assert_eq!(bench.requested().len(), 400);
    assert_eq!(bench.count("fresh"), 400);
}

/// Returns the ends of polls in seconds after the start.
async fn ends_of_polls(api: FakeApi, memory: Option<Memory>) -> Vec<u64> {
    let setup = Setup {
        memory,
        ..Setup::of(api)
    };
    let ended_at = |_: &Snapshot, status: &PollStatus| {
        let last = status.last.as_ref()?;
        Some(last.ended_at.since(START).as_secs())
    };
    let mut ends = setup.run(12, ended_at).await;
    ends.dedup();
    ends
}

/// Returns a memory whose languages were read `age` before the start.
async fn memory_of_age(age: Duration) -> Memory {
    let mut bench = Bench::new();
    bench.poll().await;
    let mut memory = bench.memory();
    for remembered in &mut memory.repositories {
        let languages = Arc::make_mut(remembered.languages.as_mut().unwrap());
        let age = i64::try_from(age.as_millis()).unwrap();
        languages.read_at = Timestamp::from_millis(START.as_millis() - age);
    }
    memory
}

/// Returns an API that no request reaches.
fn unreachable_api() -> FakeApi {
    let api = FakeApi::new();
    *api.responses() = Responses {
        listing_breaks: true,
        is_unreachable: true,
        ..Responses::default()
    };
    api
}

#[tokio::test(start_paused = true)]
async fn a_late_api_is_tried_after_a_second_doubling_to_a_minute() {
    let stale = memory_of_age(8 * HOUR).await;
    for memory in [None, Some(stale.clone())] {
        let ends = ends_of_polls(unreachable_api(), memory).await;
        assert_eq!(ends[..9], [0, 1, 3, 7, 15, 31, 63, 123, 183]);
    }
    let young = memory_of_age(Duration::from_secs(60)).await;
    let ends = ends_of_polls(unreachable_api(), Some(young)).await;
    assert_eq!(ends, [0, 300, 600]);
    let up_after_the_listing = unreachable_api();
    up_after_the_listing.responses().completions = vec![(1, 50.0)];
    let ends = ends_of_polls(up_after_the_listing, Some(stale)).await;
    assert_eq!(ends, [0, 300, 600], "the first poll read something");
}

#[tokio::test(start_paused = true)]
async fn a_late_api_that_lists_nothing_is_tried_sooner_for_two_minutes() {
    let api = unreachable_api();
    let up = async {
        sleep(Duration::from_millis(500)).await;
        api.responses().is_unreachable = false;
    };
    let (ends, ()) = tokio::join!(ends_of_polls(api.clone(), None), up);
    assert_eq!(ends, [0, 1, 3, 7, 15, 31, 63, 123, 423]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_holds_the_first_poll_is_tried_when_the_hold_ends() {
    let api = FakeApi::new();
    api.responses().end = Some(EndOfPoll::Number(1, PollFailure::Held));
    api.responses().held_until = Some(Instant::now() + Duration::from_secs(20));
    assert_eq!(ends_of_polls(api, None).await[..2], [0, 20]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_refuses_the_first_poll_without_a_hold_gets_a_pause() {
    let api = FakeApi::new();
    api.responses().end = Some(EndOfPoll::Number(1, PollFailure::Held));
    assert_eq!(ends_of_polls(api, None).await, [0, 300, 600]);
}

#[test]
fn the_languages_of_all_repositories_are_bounded() {
    let ledger = Ledger::default();
    let id = RepositoryId::new(1).unwrap();
    assert!(ledger.has_room(id, MOST_LANGUAGES));
    assert!(!ledger.has_room(id, MOST_LANGUAGES + 1));
}
