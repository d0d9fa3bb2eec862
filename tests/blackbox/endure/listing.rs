//! Faults of the listing, one after the other in one process.

use super::{FAULTS, Row};
use crate::support::{
    Api, Exporter, Exposition, Reply, Setup, Target,
    exposition::{INFO, RATIO},
    repo,
};

fn started(api: &Api) -> Exporter {
    let setup = Setup::for_api(api).set("api.max_attempts", "1").set("api.timeout", "2s");
    let exporter = setup.set("api.max_response_size", "1MiB").start();
    exporter.wait_until_fresh(3);
    exporter
}

/// Waits until `translation_up` has this value; of the three repositories nothing may be lost at any time.
fn wait_until_up_is(up: f64, exporter: &Exporter, name: &str) -> Exposition {
    exporter.wait_for(name, |metrics| {
        assert_eq!((metrics.count(INFO), metrics.count(RATIO)), (3, 3), "{name}");
        metrics.up() == Some(up)
    })
}

/// The test of the languages goes through all faults; here there is one for each reason.
#[test]
fn a_listing_that_fails_loses_nothing_and_is_counted_by_its_reason() {
    let names = [
        "reset",
        "reset in the middle of the body",
        "never answered",
        "status 204",
        "status 404",
        "status 408",
        "status 503",
        "redirect to another host",
        "gzip of 1 GiB of zeros",
    ];
    let refusals: [Row; 2] =
        [("status 401", |_| Reply::status(401), "unauthorized"), ("status 403", |_| Reply::status(403), "forbidden")];
    let api = Api::of(3);
    let exporter = started(&api);
    for (name, fault, reason) in FAULTS.into_iter().filter(|(name, ..)| names.contains(name)).chain(refusals) {
        let before = exporter.metrics().failures("list_repositories", reason);
        api.script(Target::Listing, move |request| Some(fault(request)));
        let metrics = wait_until_up_is(0.0, &exporter, name);
        assert_eq!(metrics.failures("list_repositories", reason), before + 1.0, "{name}: {reason}");
        assert_eq!(metrics.value("translation_exporter_listing_complete", &[]), Some(0.0), "{name}");
        assert_eq!(exporter.status("/-/ready"), 200, "{name}: it stays ready");
        api.heal();
        let after = wait_until_up_is(1.0, &exporter, name);
        assert!(after.polls() <= metrics.polls() + 2.0, "{name}: within an interval after the poll under way");
    }
}

fn page(ids: &[u64]) -> Reply {
    let entries: Vec<_> = ids.iter().map(|id| repo(*id).entry).collect();
    Reply::json(format!("[{}]", entries.join(",")))
}

#[test]
fn a_cursor_that_does_not_rise_or_cannot_be_read_makes_the_listing_incomplete() {
    let api = Api::of(3);
    let exporter = started(&api);
    let rows: [Row; 3] = [
        ("a page that is repeated for ever", |_| page(&[1, 2]), "cursor"),
        (
            "a cursor that falls",
            |request| if request.query("after").is_none() { page(&[1, 3]) } else { page(&[1, 2]) },
            "cursor",
        ),
        (
            "a last entry whose id cannot be read",
            |_| Reply::json(format!("[{},{{\"name\":\"owner/x\"}}]", repo(1).entry)),
            "cursor",
        ),
    ];
    for (name, fault, reason) in rows {
        let before = exporter.metrics().failures("list_repositories", reason);
        api.forget();
        api.script(Target::Listing, move |request| Some(fault(request)));
        let metrics = wait_until_up_is(0.0, &exporter, name);
        assert_eq!(metrics.failures("list_repositories", reason), before + 1.0, "{name}");
        let requests = api.requests(Target::Listing).len();
        assert!(requests <= 4, "{name}: {requests} requests");
        api.heal();
        wait_until_up_is(1.0, &exporter, name);
    }
}

#[test]
fn a_listing_that_is_odd_and_yet_has_an_end_is_complete() {
    let api = Api::of(3);
    let exporter = started(&api);
    let rows: [(&str, super::Fault); 2] = [
        ("duplicates on one page and on two", |request| match request.query("after") {
            None => page(&[1, 1, 2]),
            Some("2") => page(&[1, 2, 3]),
            Some(_) => page(&[]),
        }),
        ("ids out of order", |request| if request.query("after").is_none() { page(&[2, 1, 3]) } else { page(&[]) }),
    ];
    for (name, listing) in rows {
        api.script(Target::Listing, move |request| Some(listing(request)));
        let metrics = exporter.wait_for_polls(2.0);
        assert_eq!(metrics.value("translation_exporter_listing_complete", &[]), Some(1.0), "{name}");
        for metric in [INFO, RATIO] {
            let repos = metrics.label_values(metric, "repo");
            assert_eq!(repos, ["owner/repo-1", "owner/repo-2", "owner/repo-3"], "{name}");
        }
    }
}

#[test]
fn a_repository_that_becomes_private_changes_its_label_alone() {
    let api = Api::of(3);
    let exporter = started(&api);
    let entry = r#"{"id":2,"name":"owner/repo-2","private":true,"created_at":"2024-05-06T07:08:09Z"}"#;
    api.put([repo(2).entry(entry)]);
    let labels = [("repo", "owner/repo-2"), ("id", "2"), ("private", "true")];
    let metrics = exporter.wait_for("its label changes", |metrics| metrics.value(INFO, &labels) == Some(1.0));
    assert_eq!((metrics.count(INFO), metrics.count(RATIO)), (3, 3));
}
