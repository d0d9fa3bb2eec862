//! What a poll reports at its end.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_poll_that_did_not_read_everything_says_why_and_of_several_reasons_the_first() {
    let failure_after = async |change: fn(&mut Answers)| {
        let mut bench = bench();
        bench.change(change);
        let outcome = bench.poll().await;
        assert_eq!(outcome.is_success(), outcome.failure().is_none());
        outcome.failure()
    };
    assert_eq!(failure_after(|_| {}).await, None);
    assert_eq!(
        failure_after(|answers| answers.has_no_key = true).await,
        Some(PollFailure::KeyFile)
    );
    assert_eq!(
        failure_after(|answers| answers.completions.truncate(1)).await,
        Some(PollFailure::Repositories)
    );
    let listing_and_repositories = failure_after(|answers| {
        answers.listing_breaks = true;
        answers.completions.truncate(1);
    });
    assert_eq!(listing_and_repositories.await, Some(PollFailure::Listing));
    let outage_of_a_small_account = failure_after(|answers| {
        answers.listing_breaks = true;
        answers.is_unreachable = true;
        answers.completions.clear();
    });
    assert_eq!(
        outage_of_a_small_account.await,
        Some(PollFailure::Unavailable)
    );
    let outage_of_the_listing_alone = failure_after(|answers| {
        answers.listing_breaks = true;
        answers.is_unreachable = true;
    });
    assert_eq!(
        outage_of_the_listing_alone.await,
        Some(PollFailure::Listing)
    );
    let held_and_listing = failure_after(|answers| {
        answers.listing_breaks = true;
        answers.stop_after = Some((2, PollFailure::Held));
    });
    assert_eq!(held_and_listing.await, Some(PollFailure::Held));
}

#[tokio::test(start_paused = true)]
async fn of_one_id_the_first_entry_counts_on_whatever_page_the_others_are() {
    let mut bench = bench();
    bench.change(|answers| {
        answers.pages = vec![
            vec![(1, "o/first"), (2, "o/b"), (1, "o/second"), (2, "o/b")],
            vec![(1, "o/third"), (3, "o/c")],
        ];
    });
    assert!(bench.poll().await.is_success());
    let names: Vec<_> = bench
        .poller
        .snapshot()
        .repositories
        .iter()
        .map(|shown| shown.repository.name.to_string())
        .collect();
    assert_eq!(names, ["o/b", "o/c", "o/first"]);
}
