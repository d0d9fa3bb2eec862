//! A minimal HTTP/1.0 client: one request per connection, with every byte of the response.

use flate2::read::GzDecoder;
use socket2::{Domain, Socket, Type};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// The headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
    }

    /// Returns the body, decompressed if needed from exactly one gzip member.
    pub fn text(&self) -> String {
        let bytes = match self.header("content-encoding") {
            None => self.body.clone(),
            Some("gzip") => {
                let mut decoder = GzDecoder::new(&*self.body);
                let mut bytes = Vec::new();
                decoder.read_to_end(&mut bytes).expect("a gzip member");
                assert_eq!(
                    decoder.into_inner().len(),
                    0,
                    "bytes after the first gzip member"
                );
                bytes
            }
            Some(other) => panic!("content-encoding {other}"),
        };
        String::from_utf8(bytes).expect("UTF-8")
    }
}

/// Returns a local address that stays reserved but refuses connections.
pub fn refusing_address() -> SocketAddr {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    std::mem::forget(socket);
    address
}

/// Requests `path` with GET and these headers.
pub fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
    request("GET", address, path, headers)
}

/// Sends a request without a body.
pub fn request(
    method: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<Response> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut head = format!("{method} {path} HTTP/1.0\r\nhost: {address}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes, method == "HEAD")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no HTTP response"))
}

fn parse(bytes: &[u8], no_body: bool) -> Option<Response> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let response = Response {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    };
    let length = response
        .header("content-length")
        .filter(|_| !no_body)
        .map_or(Some(response.body.len()), |length| length.parse().ok())?;
    (length == response.body.len()).then_some(response)
}
