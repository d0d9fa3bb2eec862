//! Faults of the listing: one after the other in one process, several processes beside each other.

use super::{FAULTS, Row, failures, polls};
use crate::support::{Api, Exporter, Exposition, Reply, Repo, Setup, Target, api::Request};
use std::sync::atomic::{AtomicUsize, Ordering};

const INFO: &str = "translation_repository_info";

fn repositories() -> impl Iterator<Item = Repo> {
    (1..=3).map(|id| Repo::new(id, &format!("owner/repo-{id}")))
}

fn started(api: &Api) -> Exporter {
    let setup = Setup::for_api(api).set("api.max_attempts", "1").set("api.timeout", "1s");
    let exporter = setup.set("api.max_response_size", "1MiB").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
    exporter
}

fn up(metrics: &Exposition) -> bool {
    metrics.value("translation_up", &[]) == Some(1.0)
}

/// Lets each fault befall the listing's first page: all stays, the reason is counted, and it recovers.
fn endure(rows: &[Row]) {
    let api = Api::start(repositories());
    let exporter = started(&api);
    for (name, fault, reason) in rows.iter().copied() {
        let nothing_lost = |metrics: &Exposition| {
            assert_eq!(metrics.samples(INFO).count(), 3, "{name}");
            assert_eq!(metrics.samples("translation_completion_ratio").count(), 3, "{name}");
        };
        let before = failures(&exporter.metrics(), "list_repositories", reason);
        api.forget();
        api.script(Target::Listing, move |request| Some(fault(request)));
        let metrics = exporter.wait_for(name, |metrics| {
            nothing_lost(metrics);
            !up(metrics)
        });
        assert_eq!(failures(&metrics, "list_repositories", reason), before + 1.0, "{name}: {reason}");
        assert_eq!(metrics.value("translation_exporter_listing_complete", &[]), Some(0.0), "{name}");
        assert_eq!(exporter.status("/-/ready"), 200, "{name}: it stays ready");
        assert_eq!(exporter.status("/-/healthy"), 200, "{name}");
        let seen = polls(&metrics);
        api.heal();
        let metrics = exporter.wait_for("it recovers", |metrics| {
            nothing_lost(metrics);
            up(metrics)
        });
        assert!(polls(&metrics) <= seen + 2.0, "{name}: within an interval after the poll under way");
    }
    assert!(exporter.memory("VmHWM") < 96 * 1024, "it took {} KiB at most", exporter.memory("VmHWM"));
}

#[test]
fn faults_of_the_connection() {
    endure(&FAULTS[..8]);
}

#[test]
fn statuses_and_redirects() {
    endure(&FAULTS[8..25]);
    endure(&[
        ("status 401", |_| Reply::status(401), "unauthorized"),
        ("status 403", |_| Reply::status(403), "forbidden"),
    ]);
}

#[test]
fn bodies() {
    endure(&FAULTS[25..]);
}

#[test]
fn refused_connections() {
    let api = Api::start(repositories());
    let exporter = started(&api);
    api.refuse();
    let metrics = exporter.wait_for("the connections are refused", |metrics| !up(metrics));
    assert!(failures(&metrics, "list_repositories", "connect") >= 1.0);
    assert_eq!(exporter.wait_for_polls(2.0).samples("translation_completion_ratio").count(), 3);
    api.listen_again();
    exporter.wait_for("it recovers", up);
}

/// What the cursor of the listing runs into, and under which reason that makes the listing incomplete.
fn incomplete(name: &str, fault: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) {
    let api = Api::start(repositories());
    api.cap_pages(2);
    let exporter = started(&api);
    let before = failures(&exporter.metrics(), "list_repositories", "cursor");
    api.forget();
    api.script(Target::Listing, fault);
    let metrics = exporter.wait_for(name, |metrics| !up(metrics));
    assert_eq!(failures(&metrics, "list_repositories", "cursor"), before + 1.0, "{name}");
    assert_eq!(metrics.samples(INFO).count(), 3, "{name}");
    let polls_since = |metrics: &Exposition| polls(metrics);
    let seen = polls_since(&metrics);
    let metrics = exporter.wait_for("the next poll ends", |metrics| polls_since(metrics) > seen);
    assert_eq!(metrics.samples("translation_completion_ratio").count(), 3, "{name}");
    assert!(api.requests(Target::Listing).len() <= 12, "{name}: {} requests", api.requests(Target::Listing).len());
    api.heal();
    exporter.wait_for("it recovers", up);
}

fn page(ids: &[u64]) -> Reply {
    let entries: Vec<_> = ids.iter().map(|id| Repo::new(*id, &format!("owner/repo-{id}")).entry).collect();
    Reply::json(format!("[{}]", entries.join(",")))
}

#[test]
fn a_page_that_is_repeated_for_ever() {
    incomplete("repeated", |_| Some(page(&[1, 2])));
}

#[test]
fn a_cursor_that_falls() {
    incomplete("falling", |request| {
        Some(match request.query("after") {
            None => page(&[1, 3]),
            Some(_) => page(&[1, 2]),
        })
    });
}

#[test]
fn a_last_entry_whose_id_cannot_be_read() {
    incomplete("unreadable", |_| {
        Some(Reply::json(format!("[{},{{\"name\":\"owner/x\"}}]", Repo::new(1, "owner/repo-1").entry)))
    });
}

/// A listing that is odd and yet can be read to its end.
fn complete(exporter: &Exporter, expected: &[&str]) {
    let metrics = exporter.wait_for_polls(3.0);
    assert_eq!(metrics.value("translation_exporter_listing_complete", &[]), Some(1.0));
    assert_eq!(metrics.label_values(INFO, "repo"), expected);
    assert_eq!(metrics.label_values("translation_completion_ratio", "repo"), expected);
}

#[test]
fn duplicates_on_one_page_and_on_two_are_shown_once() {
    let api = Api::start(repositories());
    let exporter = started(&api);
    api.script(Target::Listing, |request| {
        Some(match request.query("after") {
            None => page(&[1, 1, 2]),
            Some("2") => page(&[1, 2, 3]),
            Some(_) => page(&[]),
        })
    });
    complete(&exporter, &["owner/repo-1", "owner/repo-2", "owner/repo-3"]);
}

#[test]
fn ids_out_of_order_on_a_page_lose_nothing() {
    let api = Api::start(repositories());
    let exporter = started(&api);
    api.script(Target::Listing, |request| {
        Some(if request.query("after").is_none() { page(&[2, 1, 3]) } else { page(&[]) })
    });
    complete(&exporter, &["owner/repo-1", "owner/repo-2", "owner/repo-3"]);
}

#[test]
fn an_empty_page_in_the_middle_of_a_growing_list_removes_nothing_for_good() {
    let api = Api::start((1..=10).map(|id| Repo::new(id, &format!("owner/repo-{id:02}"))));
    api.cap_pages(3);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 9.0);
    let polled = AtomicUsize::new(0);
    api.script(Target::Listing, move |request| {
        let in_the_middle = request.query("after") == Some("3");
        (in_the_middle && polled.fetch_add(1, Ordering::SeqCst).is_multiple_of(3)).then(|| page(&[]))
    });
    let begin = polls(&exporter.metrics());
    exporter.wait_for("five polls, and nothing left", |metrics| {
        assert_eq!(metrics.samples(INFO).count(), 10);
        api.put([Repo::new(11, "owner/repo-11")]);
        api.remove(11);
        polls(metrics) > begin + 5.0
    });
}

#[test]
fn a_repository_that_is_deleted_between_listing_and_read_stays_until_the_next_listing_lacks_it() {
    let api = Api::start(repositories());
    let exporter = started(&api);
    api.fault(Target::Languages(2), Reply::status(404));
    let metrics = exporter.wait_for("its read fails", |metrics| metrics.repositories("failing") > 0.0);
    assert_eq!(metrics.ratio("owner/repo-2", "de"), Some(0.5));
    assert!(failures(&metrics, "list_languages", "not_found") >= 1.0);
    api.remove(2);
    let metrics = exporter.wait_for("it leaves", |metrics| metrics.samples(INFO).count() == 2);
    assert_eq!(metrics.repositories("failing"), 0.0);
}

#[test]
fn a_repository_that_becomes_private_changes_its_label_alone_or_is_filtered() {
    let api = Api::start(repositories());
    let private = Repo::new(2, "owner/repo-2")
        .entry(r#"{"id":2,"name":"owner/repo-2","private":true,"created_at":"2024-05-06T07:08:09Z"}"#);
    let all = started(&api);
    let public = Setup::for_api(&api).set("filter.private", "false").start();
    public.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
    api.put([private]);
    let labels = [("repo", "owner/repo-2"), ("id", "2"), ("private", "true")];
    let metrics = all.wait_for("its label changes", |metrics| metrics.value(INFO, &labels) == Some(1.0));
    assert_eq!(metrics.samples(INFO).count(), 3);
    assert_eq!(metrics.ratio("owner/repo-2", "de"), Some(0.5));
    let metrics = public.wait_for("it is filtered", |metrics| metrics.repositories("filtered") > 0.0);
    assert_eq!(metrics.label_values(INFO, "repo"), ["owner/repo-1", "owner/repo-3"]);
}
