//! The API that the other tests stand on does what they say it does.

use crate::support::{Api, Reply, Repo, Target, api::KEY, http};
use std::io::{Read, Write};
use std::net::TcpStream;

fn ask(api: &Api, path: &str) -> std::io::Result<http::Response> {
    http::get(api.address, path, &[("authorization", &format!("Bearer {KEY}"))])
}

#[test]
fn answers_as_the_specification_says() {
    let api = Api::start((1..=25).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    api.cap_pages(10);
    let page = |query: &str| {
        let response = ask(&api, &format!("/v1/repositories{query}")).unwrap();
        (response.status, response.text().matches("\"id\"").count())
    };
    assert_eq!(page("?limit=1000"), (200, 10));
    assert_eq!(page("?limit=7&after=10"), (200, 7));
    assert_eq!(page("?limit=1000&after=20"), (200, 5));
    assert_eq!(page("?limit=1000&after=25"), (200, 0));
    assert_eq!(page("?limit=1001").0, 400);
    assert_eq!(page("?after=0").0, 400);
    assert_eq!(
        ask(&api, "/v1/repositories/3/languages").unwrap().text(),
        r#"[{"code":"de","completion":50.0,"name":"de"}]"#
    );
    assert_eq!(ask(&api, "/v1/repositories/26/languages").unwrap().status, 404);
    assert_eq!(http::get(api.address, "/v1/repositories", &[]).unwrap().status, 401);
    assert_eq!(api.requests(Target::Listing).len(), 7);
    assert_eq!(api.requests(Target::Languages(26)).len(), 1);
}

#[test]
fn does_what_its_script_says() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let fate = |reply: Reply| {
        api.heal();
        api.fault(Target::Languages(1), reply);
        let mut stream = TcpStream::connect(api.address).unwrap();
        stream.write_all(b"GET /v1/repositories/1/languages HTTP/1.1\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        let end = Read::by_ref(&mut stream).take(1 << 22).read_to_end(&mut bytes);
        (bytes.len(), end.map_err(|error| error.kind()))
    };
    let reset = Err(std::io::ErrorKind::ConnectionReset);
    assert_eq!(fate(Reply::close()), (0, Ok(0)));
    assert_eq!(fate(Reply::reset()), (0, reset));
    assert_eq!(fate(Reply::reset_in_the_middle("[1,2]")).1, reset);
    let (length, end) = fate(Reply::cut_short("[1,2]"));
    assert_eq!(end, Ok(length));
    for endless in [Reply::endless_headers(), Reply::endless_chunks(), Reply::gibibyte()] {
        assert_eq!(fate(endless), (1 << 22, Ok(1 << 22)));
    }
    let (length, _) = fate(Reply::gzip_bomb());
    assert!((1 << 19..1 << 21).contains(&length), "{length}");
}

#[test]
fn refuses_connections_and_takes_them_again() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    assert!(ask(&api, "/v1/repositories").is_ok());
    api.refuse();
    assert!(ask(&api, "/v1/repositories").is_err());
    api.listen_again();
    assert!(ask(&api, "/v1/repositories").is_ok());
}
