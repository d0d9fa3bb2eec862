//! Ids are 64-bit integers, however they are spelled, and are never rounded.

use crate::support::{Api, Repo, Setup, Target};

#[test]
fn ids_as_integers_and_strings_are_exact_in_labels_and_paths() {
    let spelled = |id: u64, name: &str, as_string: bool| {
        let id_json = if as_string { format!("\"{id}\"") } else { id.to_string() };
        let entry = format!(r#"{{"id":{id_json},"name":"{name}","created_at":"2024-05-06T07:08:09Z"}}"#);
        Repo::new(id, name).entry(&entry)
    };
    let api = Api::start([
        spelled(1, "ids/one", false),
        spelled(2, "ids/two-as-string", true),
        spelled(9_007_199_254_740_993, "ids/beyond-doubles", false),
        spelled(9_007_199_254_740_995, "ids/beyond-doubles-as-string", true),
        spelled(9_223_372_036_854_775_806, "ids/largest-but-one", false),
        spelled(9_223_372_036_854_775_807, "ids/largest-as-string", true),
    ]);
    api.cap_pages(1);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 5.0);
    for (repo, id) in [
        ("ids/one", "1"),
        ("ids/two-as-string", "2"),
        ("ids/beyond-doubles", "9007199254740993"),
        ("ids/beyond-doubles-as-string", "9007199254740995"),
        ("ids/largest-but-one", "9223372036854775806"),
        ("ids/largest-as-string", "9223372036854775807"),
    ] {
        let labels = [("repo", repo), ("id", id), ("private", "unknown")];
        assert_eq!(metrics.value("translation_repository_info", &labels), Some(1.0), "{repo}");
        assert_eq!(api.requests(Target::Languages(id.parse().unwrap())).len(), 1, "{repo}");
    }
    let cursors: Vec<_> =
        api.requests(Target::Listing).into_iter().filter_map(|r| r.query("after").map(str::to_owned)).collect();
    assert_eq!(
        cursors,
        ["1", "2", "9007199254740993", "9007199254740995", "9223372036854775806", "9223372036854775807"]
    );
}
