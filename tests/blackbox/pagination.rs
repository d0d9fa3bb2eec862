//! Pagination: the listing is read to its end at any page size.

use crate::support::{Api, Reply, Repo, Setup, Target, exposition::INFO};

#[test]
fn reads_every_page_of_a_server_that_caps_them_below_the_limit() {
    let api = Api::of(503);
    api.cap_pages(100);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_until_fresh(503);
    let mut expected: Vec<_> = (1..=503).map(|id| format!("owner/repo-{id}")).collect();
    expected.sort();
    assert_eq!(metrics.label_values(INFO, "repo"), expected);

    let listing = api.requests(Target::Listing);
    let cursors: Vec<_> = listing
        .iter()
        .map(|request| request.query("after"))
        .collect();
    // The last request gets the empty page.
    assert_eq!(
        cursors,
        [
            None,
            Some("100"),
            Some("200"),
            Some("300"),
            Some("400"),
            Some("500"),
            Some("503")
        ]
    );
    assert!(
        listing
            .iter()
            .all(|request| request.query("limit") == Some("1000"))
    );
    assert_eq!(api.requests(Target::AllLanguages).len(), 503);
}

#[test]
fn the_path_prefix_of_the_base_url_is_kept() {
    let api = Api::start([]);
    api.script(Target::Everything, |request| {
        Some(match &*request.target {
            "/translation/v1/repositories?limit=1000" => {
                Reply::json(format!("[{}]", Repo::new(1, "owner/repo").entry))
            }
            "/translation/v1/repositories?limit=1000&after=1" => Reply::json("[]"),
            "/translation/v1/repositories/1/languages" => {
                Reply::json(r#"[{"code":"de","completion":25}]"#)
            }
            _ => return None,
        })
    });
    let exporter = Setup::for_url(&format!("{}/translation", api.base_url())).start();
    exporter.wait_for("the repository", |metrics| {
        metrics.ratio("owner/repo", "de") == Some(0.25)
    });
}
