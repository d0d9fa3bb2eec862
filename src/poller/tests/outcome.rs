//! The outcome of a poll.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_outcome_has_the_first_reason_for_missing_data() {
    let failure_after = async |change: fn(&mut Responses)| {
        let mut bench = Bench::new();
        bench.change(change);
        let outcome = bench.poll().await;
        assert_eq!(outcome.is_success(), outcome.failure().is_none());
        outcome.failure()
    };
    assert_eq!(failure_after(|_| {}).await, None);
    let no_key = failure_after(|api| api.has_no_key = true).await;
    assert_eq!(no_key, Some(PollFailure::KeyFile));
    let repositories = failure_after(|api| api.completions.truncate(1)).await;
    assert_eq!(repositories, Some(PollFailure::Repositories));
    let listing_and_repositories = failure_after(|api| {
        api.listing_breaks = true;
        api.completions.truncate(1);
    });
    assert_eq!(listing_and_repositories.await, Some(PollFailure::Listing));
    let outage_of_a_small_account = failure_after(|api| {
        api.listing_breaks = true;
        api.is_unreachable = true;
        api.completions.clear();
    });
    let unavailable = Some(PollFailure::Unavailable);
    assert_eq!(outage_of_a_small_account.await, unavailable);
    let outage_of_the_listing_alone = failure_after(|api| {
        api.listing_breaks = true;
        api.is_unreachable = true;
    });
    let listing = Some(PollFailure::Listing);
    assert_eq!(outage_of_the_listing_alone.await, listing);
    let held_and_listing = failure_after(|api| {
        api.listing_breaks = true;
        api.end = Some(EndOfPoll::Number(2, PollFailure::Held));
    });
    assert_eq!(held_and_listing.await, Some(PollFailure::Held));
}

#[tokio::test(start_paused = true)]
async fn a_lasting_failure_keeps_the_time_of_its_first_poll() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| {
        api.listing_breaks = true;
        api.completions.retain(|(id, _)| *id != 2);
        api.end = Some(EndOfPoll::Number(2, PollFailure::Held));
    });
    let first = bench.poll().await;
    let since = Some(first.ended_at);
    pass(60).await;
    let second = bench.poll().await;
    assert_eq!(second.ended_at.since(first.ended_at), HOUR);
    bench.change(|api| api.end = None);
    bench.poll().await;
    let document = bench.poller.document();
    assert_eq!(document.rows[1].failing_since, since);
}
