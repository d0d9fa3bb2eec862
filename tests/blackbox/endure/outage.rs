//! A listing without an end costs no data.

use crate::support::{Api, Reply, Setup, Target, exposition::INFO, repo};

#[test]
#[ignore = "slow: 201 pages of 1,000 entries in each poll"]
fn a_listing_that_never_ends_is_ended_and_nothing_of_it_is_taken_over() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_until_fresh(3);
    api.script(Target::Listing, |request| {
        let after: u64 = request
            .query("after")
            .map_or(0, |after| after.parse().unwrap());
        let entries: Vec<_> = (after + 1..=after + 1000)
            .map(|id| repo(id).entry)
            .collect();
        Some(Reply::json(format!("[{}]", entries.join(","))))
    });
    let metrics = exporter.wait_for("its poll has ended", |metrics| {
        assert_eq!(metrics.count(INFO), 3, "nothing new is taken over");
        metrics.up() == Some(0.0)
    });
    assert!(metrics.failures("list_repositories", "too_large") >= 1.0);
    let requests = api.requests(Target::Listing).len();
    // One more poll may be under way, and the first one found three repositories.
    let polls = exporter.metrics().polls() + 1.0;
    assert!(
        f64::from(u32::try_from(requests).unwrap()) <= 202.0 * polls,
        "{requests} requests in {polls} polls"
    );
    exporter.wait_for_line(&["more than 200000 repositories"]);
}
