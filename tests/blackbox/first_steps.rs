//! The failures of the first ten minutes: each command reports them with a hint, and so do the log,
//! the status page and `/-/ready`.

use crate::support::{Api, Reply, Repo, Setup, Target, eventually, http, tls::Certificate, until};
use socket2::{Domain, Socket, Type};
use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// Returns the address of a proxy that answers each CONNECT with `status` and then connects to
/// `api`, for any requested host.
fn proxy(status: &'static str, api: Option<SocketAddr>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || tunnel(stream?, status, api));
        }
    });
    format!("http://{address}")
}

fn tunnel(mut client: TcpStream, status: &str, api: Option<SocketAddr>) -> io::Result<()> {
    let head = BufReader::new(client.try_clone()?)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    assert!(head.collect::<Vec<_>>()[0].starts_with("CONNECT "));
    let Some(api) = api else {
        return write!(client, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    };
    let mut server = TcpStream::connect(api)?;
    write!(client, "HTTP/1.1 {status}\r\n\r\n")?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut from_server, &mut to_client));
    io::copy(&mut client, &mut server)?;
    server.shutdown(Shutdown::Both)
}

/// Asserts that `once`, the log, `/-/ready` and the page mention all `words`.
fn each_place_says(setup: impl Fn() -> Setup, words: &[&str]) {
    let setup = || setup().set("poll.interval", "1h");
    let output = setup().arguments(&["once"]).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let last = output.stderr.lines().last().unwrap();
    assert!(
        words.iter().all(|word| last.contains(word)),
        "once says {last:?} and not {words:?}"
    );
    let exporter = setup().start();
    let ready = eventually("the answer says it", || {
        let ready = exporter.get("/-/ready");
        assert_eq!(ready.status, 503);
        Some(ready.text()).filter(|text| text.contains(words[0]))
    });
    until("the log says it", || {
        words.iter().all(|word| exporter.log().contains(word))
    });
    for (place, text) in [("/-/ready", ready), ("/", exporter.get("/").text())] {
        let text = text.replace("&#39;", "'");
        assert!(
            words.iter().all(|word| text.contains(word)),
            "{place} says {text:?} and not {words:?}"
        );
    }
}

#[test]
fn an_api_that_refuses_or_fails_is_reported_with_a_hint() {
    let api = Api::of(1);
    let not_an_api = [
        "the body is HTML instead of JSON",
        "check that api.base_url is the address of the API, not of a website or a proxy",
    ];
    let forbidden = [
        "403",
        "give the key's account access, or use the key of another account",
    ];
    let failing = ["answered 503", "the API itself fails", "wait"];
    let many_headers = (0..300).fold(Reply::json("[]"), |reply, number| {
        reply.header(&format!("x-{number}"), "b")
    });
    let too_many = [
        "message head is too large",
        "let the API answer with at most 256 headers, of 400 kB in all",
    ];
    for (target, reply, words) in [
        (
            Target::Everything,
            Reply::json("<html>a page</html>"),
            &not_an_api[..],
        ),
        (Target::Listing, Reply::status(403), &forbidden),
        (Target::Everything, Reply::status(503), &failing),
        (Target::Everything, many_headers, &too_many),
    ] {
        api.heal();
        api.fault(target, reply);
        each_place_says(|| Setup::for_api(&api), words);
    }
    api.heal();
    api.accept_key("another");
    let words = [
        "401 Unauthorized",
        "check the key in api.key_file or api.key, or create a new key in the account's \
         settings",
    ];
    each_place_says(|| Setup::for_api(&api), &words);
}

#[test]
fn a_wrong_address_is_reported_with_a_hint() {
    let (api, with_tls) = (Api::of(1), Api::start_tls(Certificate::Good));
    for (url, words) in [
        (
            format!("{}/v1", api.base_url()),
            [
                "answered 404",
                "check the host of api.base_url, and its path, which ends before /v1",
            ],
        ),
        (
            format!("https://{}", api.address),
            [
                "no TLS with the API",
                "check the scheme and the port of api.base_url: no TLS is spoken there",
            ],
        ),
        (
            with_tls.base_url(),
            ["UnknownIssuer", "a private CA belongs in api.ca_file"],
        ),
        (
            format!("http://{}", http::refusing_address()),
            ["Connection refused", "check host and port of api.base_url"],
        ),
    ] {
        each_place_says(|| Setup::for_url(&url), &words);
    }
    assert_eq!(
        with_tls.requests(Target::Everything).len(),
        0,
        "what is not trusted gets no key"
    );
}

#[test]
fn an_account_without_repositories_is_reported() {
    const NO_REPOSITORY: &str = "account of this key has no repositories";
    let api = Api::of(0);
    let output = Setup::for_api(&api).arguments(&["once"]).run();
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains(NO_REPOSITORY), "{}", output.stderr);
    let exporter = Setup::for_api(&api).start();
    until("it is ready", || exporter.status("/-/ready") == 200);
    until("the page says it", || {
        exporter.get("/").text().contains(NO_REPOSITORY)
    });
    exporter.wait_for_line(&[NO_REPOSITORY]);
}

#[test]
fn once_points_out_omitted_zeros_and_an_implausible_scale() {
    let languages = r#"[{"code":"de","completion":0.5},{"code":"fr"}]"#;
    let api = Api::start([Repo::new(1, "owner/repo").languages_json(languages)]);
    for (omits_zeros, is_said) in [("false", true), ("true", false)] {
        let setup = Setup::for_api(&api).set("api.omits_zeros", omits_zeros);
        let stderr = setup.arguments(&["once"]).run().stderr;
        assert_eq!(stderr.contains("set api.omits_zeros to true"), is_said);
        assert!(stderr.contains("No completion is above 1"), "{stderr}");
    }
}

#[test]
fn a_proxy_that_works_is_used() {
    let api = Api::start_tls(Certificate::Good);
    let proxy = proxy("200 OK", Some(api.address));
    // The host has no address: only the proxy can reach the API.
    let setup = || {
        Setup::for_api(&api)
            .set("api.base_url", "https://api.example.com:1")
            .variable("HTTPS_PROXY", &proxy)
    };
    let once = setup().arguments(&["once", "--output=openmetrics"]).run();
    assert_eq!(once.code, Some(0), "{}", once.stderr);
    setup().start().wait_until_fresh(1);
}

#[test]
fn a_host_in_no_proxy_is_reached_without_the_proxy() {
    let api = Api::start_tls(Certificate::Good);
    let proxy = format!("http://{}", http::refusing_address());
    let setup = |no_proxy: &str| {
        Setup::for_api(&api)
            .variable("HTTPS_PROXY", &proxy)
            .variable("NO_PROXY", no_proxy)
            .arguments(&["once", "--output=openmetrics"])
    };
    let host = api.base_url();
    let host = host.trim_start_matches("https://");
    let host = &host[..host.rfind(':').unwrap()];
    assert_eq!(setup("elsewhere.test").run().code, Some(1));
    assert_eq!(setup(host).run().code, Some(0));
}

#[test]
#[ignore = "slow: four attempts of 10 s"]
fn a_host_that_accepts_no_connection_costs_10_s_an_attempt() {
    // Linux drops what the queue of a listener cannot take.
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    full.bind(&any_port.into()).unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        queued.push(stream);
    }
    let once = Setup::for_url(&format!("http://{address}"))
        .set("api.timeout", "1h")
        .arguments(&["once", "--output=openmetrics"]);
    once.run().assert_failed(
        1,
        &["no answer in time; check host and port of api.base_url"],
    );
}

#[test]
fn a_proxy_that_refuses_or_does_not_work_is_reported_with_a_hint() {
    let api = Api::of(1);
    let hint = "of HTTPS_PROXY: check that, too";
    let refusing = format!("http://{}", http::refusing_address());
    for (proxy, why) in [
        (proxy("403 Forbidden", None), "unsuccessful"),
        (
            proxy("407 Proxy Authentication Required", None),
            "proxy authorization required",
        ),
        (refusing, "refused"),
        (format!("https://{}", api.address), "no TLS is spoken there"),
    ] {
        each_place_says(
            || Setup::for_url("https://api.example.com").variable("HTTPS_PROXY", &proxy),
            &[why, hint],
        );
    }
}

#[test]
fn a_bad_command_line_is_refused_even_if_nobody_can_read_why() {
    let setup = Setup::new(&["--bad"]).after("exec 2> /dev/full");
    assert_eq!(setup.run().code, Some(2));
}

#[test]
fn the_demo_prints_where_it_is_served() {
    let certified = rcgen::generate_simple_self_signed(["demo.test".to_owned()]).unwrap();
    let tls = "tls_server_config: {cert_file: cert.pem, key_file: key.pem}";
    for (web_file, scheme) in [("", "http"), (tls, "https")] {
        let setup = Setup::new(&["demo"]).set("web.listen_addresses", "127.0.0.1:0");
        setup.file("cert.pem", &certified.cert.pem());
        setup.file("key.pem", &certified.signing_key.serialize_pem());
        let file = setup.file("web.yaml", web_file);
        let demo = setup.set("web.config_file", &file).start();
        let url = format!("The demo is served at {scheme}://{}/ ", demo.address);
        demo.wait_for_line(&[&url]);
    }
}

#[test]
fn the_demo_leaves_a_state_file_that_is_not_its_own_alone() {
    let api = Api::of(1);
    let real = Setup::for_api(&api)
        .set("state.file", "state.json")
        .arguments(&["once", "--output=openmetrics"]);
    assert_eq!(real.run().code, Some(0));
    let path = real.folder.path().join("state.json");
    let state = fs::read(&path).unwrap();
    for content in [state.as_slice(), b"damaged"] {
        fs::write(&path, content).unwrap();
        let file = path.to_str().unwrap();
        let demo = Setup::new(&["demo"])
            .set("web.listen_addresses", "127.0.0.1:0")
            .set("state.file", file);
        demo.run().assert_failed(2, &["state.file", file]);
        assert_eq!(fs::read(&path).unwrap(), content);
        let names = fs::read_dir(real.folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !names
                .iter()
                .any(|name| name.to_string_lossy().contains("aside")),
            "{names:?}"
        );
    }
}
