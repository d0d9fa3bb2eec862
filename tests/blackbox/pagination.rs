//! Pagination: the listing is read to its end at any page size, with ids in any spelling.

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
fn the_page_size_is_obeyed_and_ids_of_any_spelling_are_exact() {
    let spelled = |id: u64, json: &str| {
        let entry =
            format!(r#"{{"id":{json},"name":"ids/{id}","created_at":"2024-05-06T07:08:09Z"}}"#);
        Repo::new(id, "").entry(&entry)
    };
    let api = Api::start([
        spelled(1, "1"),
        spelled(2, "\"2\""),
        // Doubles are exact up to 2^53.
        spelled(9_007_199_254_740_993, "9007199254740993"),
        spelled(9_223_372_036_854_775_806, "\"9223372036854775806\""),
        spelled(9_223_372_036_854_775_807, "9223372036854775807"),
    ]);
    let exporter = Setup::for_api(&api)
        .set("api.page_size", "2")
        .set("poll.interval", "1h")
        .start();
    let metrics = exporter.wait_until_fresh(5);
    for id in [
        "1",
        "2",
        "9007199254740993",
        "9223372036854775806",
        "9223372036854775807",
    ] {
        let labels = [
            ("repo", &*format!("ids/{id}")),
            ("id", id),
            ("private", "unknown"),
        ];
        assert_eq!(metrics.value(INFO, &labels), Some(1.0), "{id}");
        assert_eq!(
            api.requests(Target::Languages(id.parse().unwrap())).len(),
            1,
            "{id}"
        );
    }
    let targets: Vec<_> = api
        .requests(Target::Listing)
        .into_iter()
        .map(|request| request.target)
        .collect();
    let page = |after: &str| format!("/v1/repositories?limit=2{after}");
    let cursors = [
        "",
        "&after=2",
        "&after=9223372036854775806",
        "&after=9223372036854775807",
    ];
    assert_eq!(targets, cursors.map(page));
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
