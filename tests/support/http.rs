//! A minimal HTTP/1.1 client. Tests keep their connections alive, as Prometheus does.

use super::PATIENCE;
use flate2::read::GzDecoder;
use socket2::{Domain, Socket, Type};
use std::{
    cell::RefCell,
    collections::HashMap,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
};

type Connection = BufReader<TcpStream>;

thread_local! {
    /// The connections that the last response left open. Each test has a thread of its own.
    static KEPT: RefCell<HashMap<SocketAddr, Connection>> = RefCell::default();
}

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

/// Requests `path` with GET and these headers, on the connection of the last request if that is
/// still open.
pub fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
    let mut head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    // A server may close an idle connection while a request is on its way.
    let kept = KEPT.with_borrow_mut(|kept| kept.remove(&address));
    let mut connection = match kept.map(|kept| send(kept, &head)) {
        Some(Ok(connection)) => connection,
        Some(Err(error)) if !is_closed(&error) => return Err(error),
        _ => send(connect(address)?, &head)?,
    };
    let response = read_response(&mut connection)?;
    let length_is_known = ["content-length", "transfer-encoding"].map(|name| response.header(name));
    if response.header("connection") != Some("close") && length_is_known != [None, None] {
        assert_eq!(connection.buffer(), b"", "bytes after the response");
        KEPT.with_borrow_mut(|kept| kept.insert(address, connection));
    }
    Ok(response)
}

fn connect(address: SocketAddr) -> io::Result<Connection> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

/// Sends a request, and waits for the first byte of its response.
fn send(mut connection: Connection, head: &str) -> io::Result<Connection> {
    connection.get_mut().write_all(head.as_bytes())?;
    if connection.fill_buf()?.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(connection)
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
    )
}

fn read_response(connection: &mut Connection) -> io::Result<Response> {
    let status = read_line(connection)?;
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut response = Response {
        status: status.ok_or(ErrorKind::InvalidData)?,
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let line = read_line(connection)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(ErrorKind::InvalidData)?;
        response
            .headers
            .push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    response.body = if response.header("transfer-encoding") == Some("chunked") {
        read_chunks(connection)?
    } else if let Some(length) = response.header("content-length") {
        read_exactly(connection, length.parse().map_err(io::Error::other)?)?
    } else {
        let mut body = Vec::new();
        connection.read_to_end(&mut body)?;
        body
    };
    Ok(response)
}

fn read_chunks(connection: &mut Connection) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length =
            usize::from_str_radix(&read_line(connection)?, 16).map_err(io::Error::other)?;
        body.extend(read_exactly(connection, length)?);
        if !read_line(connection)?.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(connection: &mut Connection, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    connection.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a line without its end.
fn read_line(connection: &mut Connection) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
    Ok(line.to_owned())
}
