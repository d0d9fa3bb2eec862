//! Secrecy: the API key reaches the API's own origin and no other place.

use crate::support::{Api, Exporter, Reply, Setup, Target, api::KEY, exporter::OPENMETRICS};

/// Returns every output of the exporter in one text.
fn everything_shown(exporter: &Exporter) -> String {
    let pages = ["/", "/?q=owner", "/-/ready", "/-/healthy", "/nothing"];
    let pages = pages
        .map(|path| exporter.get(path))
        .map(|page| format!("{:?}\n{}", page.headers, page.text()));
    pages.concat()
        + &exporter.scrape("text/plain")
        + &exporter.scrape(OPENMETRICS)
        + &exporter.log()
}

#[test]
fn the_key_appears_nowhere_even_at_trace_level() {
    let api = Api::of(9);
    for format in ["logfmt", "json"] {
        api.accept_key(KEY);
        api.heal();
        let setup = Setup::for_api(&api)
            .set("log.level", "trace")
            .set("log.format", format);
        let exporter = setup.start();
        exporter.wait_until_fresh(9);
        let faults = [
            Reply::status(500),
            Reply::status(403),
            Reply::redirect(&format!("/{KEY}")),
            Reply::json("not JSON"),
            Reply::reset(),
            Reply::close(),
            Reply::cut_short("[1,2,3]"),
            Reply::json(format!("the key {KEY} is no good")).with_status(400),
        ];
        for (id, fault) in (1..).zip(faults) {
            api.fault(Target::Languages(id), fault);
        }
        exporter.wait_for("they fail", |metrics| metrics.repositories("failing") > 7.0);
        api.accept_key("another");
        exporter.wait_until_up_is(0.0);
        let shown = everything_shown(&exporter);
        assert!(
            shown.len() > 10_000,
            "trace level logs a lot: {}",
            shown.len()
        );
        assert!(
            !shown.contains(KEY),
            "{}",
            shown.lines().find(|line| line.contains(KEY)).unwrap()
        );
        let encoded = KEY
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat();
        assert!(!shown.contains(&encoded), "as hexadecimal digits");
        let decimals = KEY
            .bytes()
            .map(|byte| byte.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        assert!(!shown.contains(&decimals), "as a list of bytes");
    }
}

#[test]
fn no_redirect_is_followed() {
    let (elsewhere, api) = (Api::of(1), Api::of(1));
    let exporter = Setup::for_api(&api).start();
    exporter.wait_until_fresh(1);
    for (status, location) in [
        (301, format!("{}/v1/repositories", elsewhere.base_url())),
        (302, format!("{}/v1/repositories", elsewhere.base_url())),
        (303, "/v1/other".into()),
        (307, String::new()),
        (308, format!("{}/v1/repositories", elsewhere.base_url())),
    ] {
        api.fault(
            Target::Listing,
            Reply::redirect(&location).with_status(status),
        );
        let metrics = exporter.wait_until_up_is(0.0);
        assert!(
            metrics.failures("list_repositories", "redirect") >= 1.0,
            "{status} {location}"
        );
        api.heal();
        exporter.wait_until_up_is(1.0);
    }
    assert_eq!(elsewhere.requests(Target::Everything).len(), 0);
    let known = |path: &str| ["/v1/repositories", "/v1/repositories/1/languages"].contains(&path);
    assert!(
        api.requests(Target::Everything)
            .iter()
            .all(|request| known(request.path()))
    );
}
