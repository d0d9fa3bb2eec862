//! What goes wrong in the first ten minutes ends in a message that tells the way on, whichever command is used: in the
//! terminal, in the log, on the status page and in the answer of `/-/ready`.

use crate::support::{Api, Reply, Repo, Setup, Target, eventually, tls::Flaw};
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

const NO_REPOSITORY: &str = "account of the key has no repositories";

fn api() -> Api {
    Api::start([Repo::new(1, "owner/repo")])
}

/// The address of a proxy that answers each CONNECT with `status`, and then connects to `api` whatever it was asked for.
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
    let head = BufReader::new(client.try_clone()?).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    assert!(head.collect::<Vec<_>>()[0].starts_with("CONNECT "));
    let Some(api) = api else { return write!(client, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n") };
    let mut server = TcpStream::connect(api)?;
    write!(client, "HTTP/1.1 {status}\r\n\r\n")?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut from_server, &mut to_client));
    io::copy(&mut client, &mut server)?;
    server.shutdown(Shutdown::Both)
}

fn prepared(setup: Setup) -> Setup {
    setup.set("api.max_attempts", "1").set("poll.interval", "1h")
}

/// Each command says each of `words`; none can go on.
fn each_command_says(setup: impl Fn() -> Setup, words: &[&str]) {
    let setup = || prepared(setup());
    for arguments in [["check-config", "--online"], ["once", "--output=table"]] {
        let output = arguments.iter().fold(setup(), |setup, argument| setup.argument(argument)).run();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        let last = error.lines().last().unwrap();
        assert!(words.iter().all(|word| last.contains(word)), "{arguments:?} says {last:?} and not {words:?}");
    }
    let exporter = setup().start();
    eventually("the poll has ended", || exporter.log().contains("poll ended").then_some(()));
    let ready = eventually("the page tells it", || {
        let ready = exporter.get("/-/ready");
        assert_eq!(ready.status, 503);
        ready.text().contains(words[0]).then_some(ready)
    });
    for (place, text) in [("/-/ready", ready.text()), ("log", exporter.log()), ("/", exporter.get("/").text())] {
        let text = text.replace("&#39;", "'");
        assert!(words.iter().all(|word| text.contains(word)), "{place} says {text:?} and not {words:?}");
    }
}

#[test]
fn a_wrong_path_is_told_with_what_base_url_should_be() {
    let api = api();
    let words = ["status 404", "set api.base_url to what stands before /v1 in the API's addresses"];
    each_command_says(|| Setup::for_api(&api).set("api.base_url", &format!("{}/v1", api.base_url())), &words);
}

#[test]
fn a_page_in_place_of_the_api_is_told() {
    let api = api();
    api.fault(Target::Everything, Reply::json("<html>a page</html>"));
    let words = ["the body is not a JSON array", "check that api.base_url is the API and not a page or proxy"];
    each_command_says(|| Setup::for_api(&api), &words);
}

#[test]
fn a_host_that_speaks_no_tls_is_told_to_be_none() {
    let api = api();
    let words = ["the server there does not speak TLS", "check the scheme and the port of api.base_url"];
    each_command_says(|| Setup::for_url(&format!("https://{}", api.address)), &words);
}

#[test]
fn an_authority_that_is_not_known_is_told_with_where_it_belongs() {
    let api = Api::start_tls([Repo::new(1, "owner/repo")], Flaw::None);
    let words = ["invalid peer certificate: UnknownIssuer", "a private CA belongs in api.ca_file"];
    each_command_says(|| Setup::for_url(&api.base_url()), &words);
}

#[test]
fn a_wrong_key_is_told_with_where_it_is_and_where_to_get_another() {
    let api = api();
    api.accept_key("another");
    let words = [
        "status 401 Unauthorized",
        "check the key that api.key_file or api.key gives, or create a new one in the account's settings",
    ];
    each_command_says(|| Setup::for_api(&api), &words);
}

#[test]
fn a_key_that_may_not_list_is_told() {
    let api = api();
    api.fault(Target::Listing, Reply::status(403));
    let words = ["status 403", "give the account of the key access to the API, or use the key of another account"];
    each_command_says(|| Setup::for_api(&api), &words);
}

#[test]
fn an_api_that_is_down_is_told() {
    let api = api();
    api.fault(Target::Everything, Reply::status(503));
    each_command_says(|| Setup::for_api(&api), &["status 503", "the API itself fails", "wait"]);
    api.refuse();
    let words = ["Connection refused", "check api.base_url, the network, and HTTPS_PROXY if there is a proxy"];
    each_command_says(|| Setup::for_api(&api), &words);
}

#[test]
fn an_account_without_repositories_is_told() {
    let api = Api::start([]);
    let online = Setup::for_api(&api).argument("check-config").argument("--online").run();
    assert_eq!(online.status.code(), Some(0));
    let once = Setup::for_api(&api).argument("once").argument("--output=table").run();
    assert_eq!(once.status.code(), Some(0));
    for output in [online, once] {
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(NO_REPOSITORY), "{text}");
    }
    let exporter = Setup::for_api(&api).start();
    eventually("it is ready", || (exporter.status("/-/ready") == 200).then_some(()));
    eventually("the page tells it", || exporter.get("/").text().contains(NO_REPOSITORY).then_some(()));
    eventually("the log tells it", || exporter.log().contains(NO_REPOSITORY).then_some(()));
}

#[test]
fn filters_and_a_scale_that_cannot_be_meant_are_pointed_out_before_the_start() {
    let api = Api::start([Repo::new(1, "owner/repo").languages(&[("de", 0.5)])]);
    let online = |setup: Setup| {
        let output = setup.argument("check-config").argument("--online").run();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = online(Setup::for_api(&api));
    assert!(text.contains("1 repository, and the filters leave 1 of them"), "{text}");
    assert!(text.contains("1 of them with a completion, 0.5 at most"), "{text}");
    assert!(text.contains("No completion is above 1, while api.completion_scale is 100; if the API"), "{text}");
    let text = online(Setup::for_api(&api).set("filter.include", "other/*"));
    assert!(text.contains("The filters leave out every repository, 1 in all; change filter.include"), "{text}");
    assert!(text.contains("repository \"owner/repo\" has 1 language"), "{text}");
    let text = online(Setup::for_api(&api).set("api.completion_scale", "1"));
    assert!(!text.contains("going by"), "{text}");
}

#[test]
fn a_proxy_that_works_is_used() {
    let api = Api::start_tls([Repo::new(1, "owner/repo")], Flaw::None);
    let proxy = proxy("200 OK", Some(api.address));
    // Nobody but the proxy knows what to connect to.
    let setup = || Setup::for_api(&api).set("api.base_url", "https://localhost:1").variable("HTTPS_PROXY", &proxy);
    let online = setup().argument("check-config").argument("--online").run();
    let text = String::from_utf8(online.stdout).unwrap();
    assert!(text.contains("https://localhost:1/ answers and accepts the key"), "{text}");
    assert!(text.contains("repository \"owner/repo\" has 1 language, 1 of them with a completion"), "{text}");
    let once = setup().argument("once").run();
    assert_eq!(once.status.code(), Some(0), "{}", String::from_utf8(once.stderr).unwrap());
    let exporter = setup().start();
    exporter.wait_for("all is read", |metrics| metrics.repositories("fresh") == 1.0);
}

#[test]
fn a_proxy_that_refuses_is_told() {
    let refuses = "the proxy of HTTPS_PROXY refuses to connect to it";
    let asks = "the proxy of HTTPS_PROXY asks for a user and a password";
    for (status, words) in [
        ("403 Forbidden", [refuses, "allow the host of api.base_url in the proxy, or put it into NO_PROXY"]),
        ("502 Bad Gateway", [refuses, "allow the host of api.base_url in the proxy, or put it into NO_PROXY"]),
        ("407 Proxy Authentication Required", [asks, "set HTTPS_PROXY to http://user:password@host:port"]),
    ] {
        let proxy = proxy(status, None);
        each_command_says(|| Setup::for_url("https://api.example.com").variable("HTTPS_PROXY", &proxy), &words);
    }
}

#[test]
fn a_proxy_that_is_gone_is_not_taken_for_the_api() {
    let proxy = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let words =
        ["the proxy of HTTPS_PROXY cannot be used (Connection refused", "check HTTPS_PROXY and that the proxy runs"];
    each_command_says(|| Setup::for_url("https://api.example.com").variable("HTTPS_PROXY", &proxy), &words);
}

#[test]
fn a_proxy_without_tls_is_not_taken_for_the_api() {
    let api = api();
    let proxy = format!("https://{}", api.address);
    let words = ["the proxy of HTTPS_PROXY cannot be used (", "check HTTPS_PROXY and that the proxy runs"];
    each_command_says(|| Setup::for_url("https://api.example.com").variable("HTTPS_PROXY", &proxy), &words);
}
