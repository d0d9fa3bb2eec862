//! The listing is read to its end, whatever the server does to the size of its pages.

use crate::support::{Api, Reply, Repo, Setup, Target};

#[test]
fn reads_every_page_of_a_server_that_caps_them_below_the_limit() {
    let api = Api::start((1..=2503).map(|id| Repo::new(id * 7, &format!("owner/repo-{id}"))));
    api.cap_pages(100);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter
        .wait_for("all are read", |metrics| metrics.repositories("fresh") + metrics.repositories("pending") > 2502.0);

    let mut expected: Vec<_> = (1..=2503).map(|id| format!("owner/repo-{id}")).collect();
    expected.sort();
    assert_eq!(metrics.label_values("translation_repository_info", "repo"), expected);

    let listing = api.requests(Target::Listing);
    let limits: Vec<_> = listing.iter().map(|request| request.query("limit").unwrap()).collect();
    assert_eq!(limits, ["1000"; 27]);
    let cursors: Vec<_> = listing.iter().map(|request| request.query("after")).collect();
    assert_eq!(cursors[0], None);
    assert_eq!(cursors[1], Some("700"));
    assert_eq!(cursors[25], Some("17500"));
    assert_eq!(cursors[26], Some("17521"), "one more request, which gets the empty page");
    exporter.wait_for("every repository is read", |metrics| metrics.repositories("fresh") > 2502.0);
    assert_eq!(api.requests(Target::AllLanguages).len(), 2503);
}

#[test]
fn asks_with_the_page_size_that_is_configured() {
    let api = Api::start((1..=5).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    let exporter = Setup::for_api(&api).set("api.page_size", "2").set("poll.interval", "1h").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 4.0);
    let targets: Vec<_> = api.requests(Target::Listing).into_iter().map(|request| request.target).collect();
    let page = |after: &str| format!("/v1/repositories?limit=2{after}");
    assert_eq!(targets, [page(""), page("&after=2"), page("&after=4"), page("&after=5")]);
}

#[test]
fn keeps_the_path_prefix_of_the_base_url() {
    let api = Api::start([]);
    api.script(Target::Everything, |request| {
        Some(match &*request.target {
            "/translation/v1/repositories?limit=1000" => Reply::json(format!("[{}]", Repo::new(1, "owner/repo").entry)),
            "/translation/v1/repositories?limit=1000&after=1" => Reply::json("[]"),
            "/translation/v1/repositories/1/languages" => Reply::json(r#"[{"code":"de","completion":25}]"#),
            _ => return None,
        })
    });
    let exporter = Setup::for_url(&format!("{}/translation", api.base_url())).start();
    exporter.wait_for("the repository", |metrics| metrics.ratio("owner/repo", "de") == Some(0.25));
}
