//! Faults of the listing, one after the other in one process.

use super::Row;
use crate::support::{
    Api, Exporter, Exposition, Reply, Setup, Target,
    exposition::{INFO, RATIO},
    repo,
};

/// The faults that only a listing can have. The test of the languages covers those of any request.
const FAULTS: &[Row] = &[
    ("status 401", |_| Reply::status(401), "unauthorized"),
    ("status 403", |_| Reply::status(403), "forbidden"),
    (
        "a body above 16 MiB",
        |_| Reply::json(" ".repeat((16 << 20) + 1)),
        "too_large",
    ),
    (
        "a page that is repeated for ever",
        |_| page(&[1, 2]),
        "cursor",
    ),
    (
        "a cursor that falls",
        |request| {
            page(if request.query("after").is_none() {
                &[1, 3]
            } else {
                &[1, 2]
            })
        },
        "cursor",
    ),
    (
        "a last entry without an id",
        |_| Reply::json(format!("[{},{{\"name\":\"a/b\"}}]", repo(1).entry)),
        "cursor",
    ),
];

/// Waits until `translation_up` has this value, and asserts that the three repositories stay.
fn wait_until_up_is(up: f64, exporter: &Exporter, name: &str) -> Exposition {
    exporter.wait_for(name, |metrics| {
        assert_eq!(
            (metrics.count(INFO), metrics.count(RATIO)),
            (3, 3),
            "{name}"
        );
        metrics.up() == Some(up)
    })
}

fn page(ids: &[u64]) -> Reply {
    let entries: Vec<_> = ids.iter().map(|id| repo(*id).entry).collect();
    Reply::json(format!("[{}]", entries.join(",")))
}

#[test]
fn a_failed_listing_keeps_all_series_and_is_counted_by_reason() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_until_fresh(3);
    for (name, fault, reason) in FAULTS {
        let before = exporter.metrics();
        let failures = |metrics: &Exposition| metrics.failures("list_repositories", reason);
        api.forget();
        api.script(Target::Listing, move |request| Some(fault(request)));
        let metrics = wait_until_up_is(0.0, &exporter, name);
        // Several polls may have ended since, and the failure of one more may be counted already.
        let polls = metrics.polls() - before.polls();
        let failed = failures(&metrics) - failures(&before);
        assert!(
            failed >= 1.0 && failed <= polls + 1.0,
            "{name}: {reason} {failed} times in {polls} polls"
        );
        assert_eq!(exporter.status("/-/ready"), 200, "{name}: it stays ready");
        let requests = api.requests(Target::Listing).len();
        let polls = exporter.metrics().polls() - before.polls() + 1.0;
        assert!(
            f64::from(u32::try_from(requests).unwrap()) <= 4.0 * polls,
            "{name}: {requests} requests in {polls} polls"
        );
        api.heal();
        wait_until_up_is(1.0, &exporter, name);
    }
}
