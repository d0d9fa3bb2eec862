//! Status 429 with a Retry-After that is longer than allowed.

use crate::support::{Api, Reply, Setup, Target};
use std::time::Duration;

#[test]
fn a_retry_after_of_a_year_is_obeyed_for_max_retry_after() {
    let api = Api::of(3);
    api.script(Target::Listing, |request| {
        let year = Reply::status(429).header("retry-after", "31536000");
        (request.nth == 0).then_some(year)
    });
    let exporter = Setup::for_api(&api)
        .set("poll.interval", "1h")
        .set("api.max_retry_after", "1s")
        .start();
    let metrics = exporter.wait_until_fresh(3);
    assert_eq!(metrics.failures("list_repositories", "rate_limited"), 1.0);
    let requests = api.requests(Target::Everything);
    let pause = requests[1].at - requests[0].at;
    assert!(pause >= Duration::from_millis(990), "{pause:?}");
}
