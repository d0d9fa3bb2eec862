//! The key goes to the API's own origin and nowhere else.

use crate::support::{Api, Reply, Repo, Setup, Target, api::KEY, exposition::Format};

/// Everything that the exporter says, in one text.
fn everything_told(exporter: &crate::support::Exporter) -> String {
    let pages = ["/", "/?q=owner", "/-/ready", "/-/healthy", "/-/reload", "/nothing"];
    let pages = pages.map(|path| exporter.get(path)).map(|page| format!("{:?}\n{}", page.headers, page.text()));
    pages.concat() + &exporter.scrape_text(Format::Text) + &exporter.scrape_text(Format::OpenMetrics) + &exporter.log()
}

#[test]
fn the_key_appears_nowhere_even_at_trace_level() {
    let api = Api::start((1..=8).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    for format in ["logfmt", "json"] {
        api.accept_key(KEY);
        api.heal();
        let exporter = Setup::for_api(&api)
            .set("log.level", "trace")
            .set("log.format", format)
            .set("api.max_attempts", "1")
            .start();
        exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 7.0);
        for (id, fault) in (1..).zip([
            Reply::status(500),
            Reply::status(403),
            Reply::redirect(&format!("/{KEY}")),
            Reply::json("not JSON"),
            Reply::reset(),
            Reply::close(),
            Reply::cut_short("[1,2,3]"),
        ]) {
            api.fault(Target::Languages(id), fault);
        }
        exporter.wait_for("they fail", |metrics| metrics.repositories("failing") > 2.0);
        api.accept_key("another");
        exporter.wait_for("the key is refused", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
        let told = everything_told(&exporter);
        assert!(told.len() > 10_000, "trace level tells a lot: {}", told.len());
        assert!(!told.contains(KEY), "{}", told.lines().find(|line| line.contains(KEY)).unwrap());
        let encoded = KEY.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert!(!told.contains(&encoded), "as hexadecimal digits");
        let decimals = KEY.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        assert!(!told.contains(&decimals), "as a list of bytes");
    }
}

#[test]
fn at_debug_level_each_request_has_one_line_without_a_header() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    api.script(Target::Languages(1), |request| (request.nth == 0).then(|| Reply::status(503)));
    let exporter = Setup::for_api(&api).set("log.level", "debug").set("poll.interval", "1h").start();
    exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    let log = exporter.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("operation=list_languages")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("status=503") && lines[0].contains("attempt=1") && lines[0].contains("duration="));
    assert!(lines[1].contains("status=200") && lines[1].contains("attempt=2"));
    assert!(!log.to_lowercase().contains("bearer"));
}

#[test]
fn a_response_that_echoes_the_key_does_not_make_it_known() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    api.fault(Target::Languages(1), Reply::json(format!("the key {KEY} is no good")).with_status(400));
    let exporter = Setup::for_api(&api).set("log.level", "debug").start();
    exporter.wait_for("it fails", |metrics| {
        metrics.sum("translation_exporter_api_request_failures_total", &[("reason", "client_error")]) > 0.0
    });
    assert!(!everything_told(&exporter).contains(KEY));
}

#[test]
fn no_redirect_is_followed() {
    let elsewhere = Api::start([Repo::new(1, "elsewhere/repo")]);
    let api = Api::start([Repo::new(1, "owner/repo")]);
    for location in [format!("{}/v1/repositories", elsewhere.base_url()), "/v1/other".into(), String::new()] {
        for status in [301, 302, 303, 307, 308] {
            api.heal();
            api.forget();
            api.fault(Target::Listing, Reply::redirect(&location).with_status(status));
            let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
            let metrics = exporter.wait_for("it ends", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
            let labels = [("operation", "list_repositories"), ("reason", "redirect")];
            let failures = metrics.value("translation_exporter_api_request_failures_total", &labels);
            assert_eq!(failures, Some(1.0), "{status} {location}");
            assert_eq!(api.requests(Target::Everything).len(), 1, "{status} {location}");
        }
    }
    assert_eq!(elsewhere.requests(Target::Everything).len(), 0);
}

#[test]
fn the_key_is_sent_as_a_bearer_token_with_every_request() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    let requests = api.requests(Target::Everything);
    assert!(requests.iter().all(|request| request.authorization.as_deref() == Some(&*format!("Bearer {KEY}"))));
    assert!(requests.iter().all(|request| request.method == "GET"));
}

#[test]
fn a_key_in_the_place_of_its_file_is_shown_nowhere() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let setup = Setup::for_api(&api).unset("api.key").set("api.key_file", "sk-live.a-key-that-was-pasted");
    for arguments in [&["serve"][..], &["check-config"], &["once"]] {
        let folder = arguments.iter().fold(Setup::new(&[]), |setup, argument| setup.argument(argument));
        let output =
            folder.set("api.base_url", &api.base_url()).set("api.key_file", "sk-live.a-key-that-was-pasted").run();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("api.key_file") && error.contains("not shown"), "{error}");
        assert!(!error.contains("pasted"), "{error}");
    }
    // A file of that name may be there at the start, and be gone at the next poll.
    let file = setup.file("sk-live.a-key-that-was-pasted", KEY);
    let exporter = setup.start();
    exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    std::fs::remove_file(file).unwrap();
    exporter.wait_for("the key is missing", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
    let said = everything_told(&exporter);
    assert!(said.contains("not shown") && !said.contains("pasted"), "{said}");
}
