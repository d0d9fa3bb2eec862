//! Tests of the fake API that the other tests rely on.

use crate::support::{Api, Reply, Target};
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

#[test]
fn each_reply_has_the_length_and_the_end_that_its_name_says() {
    let api = Api::of(1);
    let outcome = |reply: Reply| {
        api.heal();
        api.fault(Target::Languages(1), reply);
        let mut stream = TcpStream::connect(api.address).unwrap();
        stream
            .write_all(b"GET /v1/repositories/1/languages HTTP/1.1\r\n\r\n")
            .unwrap();
        let mut bytes = Vec::new();
        let end = Read::by_ref(&mut stream)
            .take(1 << 22)
            .read_to_end(&mut bytes);
        (bytes.len(), end.map_err(|error| error.kind()))
    };
    let reset = Err(ErrorKind::ConnectionReset);
    assert_eq!(outcome(Reply::close()), (0, Ok(0)));
    assert_eq!(outcome(Reply::reset()), (0, reset));
    assert_eq!(outcome(Reply::reset_in_the_middle("[1,2]")).1, reset);
    let (length, end) = outcome(Reply::cut_short("[1,2]"));
    assert_eq!(end, Ok(length));
    for endless in [
        Reply::endless_headers(),
        Reply::endless_chunks(),
        Reply::gibibyte(),
    ] {
        assert_eq!(outcome(endless), (1 << 22, Ok(1 << 22)));
    }
    let (length, _) = outcome(Reply::gzip_bomb());
    assert!((1 << 19..1 << 21).contains(&length), "{length}");
}
