//! Failing repositories and outages: a poll reads every repository that can be read.

use super::*;

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

/// Returns the ends of polls in seconds after the start.
async fn ends_of_polls(api: FakeApi, saved: Option<SavedState>) -> Vec<u64> {
    let setup = Setup {
        saved,
        ..Setup::of(api)
    };
    let ended_at = |document: &Document| {
        let last = document.status.last.as_ref()?;
        Some(last.ended_at.since(START).as_secs())
    };
    let mut ends = setup.run(12, ended_at).await;
    ends.dedup();
    ends
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
async fn a_late_api_is_tried_again_after_half_a_minute() {
    let ends = ends_of_polls(unreachable_api(), None).await;
    assert_eq!(ends[..4], [0, 30, 60, 90]);
    let mut bench = Bench::new();
    bench.poll().await;
    let ends = ends_of_polls(unreachable_api(), Some(bench.saved())).await;
    assert_eq!(ends, [0, 300, 600], "restored");
    let up_after_the_listing = FakeApi::new();
    up_after_the_listing.responses().listing_breaks = true;
    let ends = ends_of_polls(up_after_the_listing, None).await;
    assert_eq!(ends, [0, 300, 600], "the first poll read something");
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_the_first_poll_is_waited_for() {
    let api = FakeApi::new();
    api.responses().end = Some(EndOfPoll::Number(1, PollFailure::Held));
    assert_eq!(ends_of_polls(api, None).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_counts_failures_outside_the_row_as_failures_only() {
    let mut bench = Bench::of(60, |id| (6..=10).contains(id));
    bench.change(|api| api.is_unreachable = true);
    let outcome = bench.poll().await;
    assert_eq!(
        (outcome.read, outcome.failure()),
        (5, Some(PollFailure::Unavailable))
    );
}
