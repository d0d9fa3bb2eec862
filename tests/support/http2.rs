//! A client for HTTP/2 (RFC 9113) over TLS that does nothing on its own: no window opens and no PING is answered unless the
//! test says so.

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// A connection that trusts this root; the handshake follows with its first use.
pub fn tls(address: SocketAddr, root: &str, protocol: &str) -> TlsStream {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(root.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.into()];
    let tcp = TcpStream::connect(address).unwrap();
    tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp)
}

/// The types of frames (RFC 9113, 6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const WINDOW_UPDATE: u8 = 8;

const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// What there is of a response so far.
#[derive(Debug, Default, Clone)]
pub struct Received {
    pub status: u16,
    pub body: Vec<u8>,
    pub is_complete: bool,
}

#[derive(Debug)]
pub struct Http2 {
    stream: TlsStream,
    next: u32,
    /// How much the exporter lets each stream send at first, and how much it still lets all of them.
    windows: [usize; 2],
    pub responses: HashMap<u32, Received>,
}

impl Http2 {
    /// A connection each of whose streams may be sent so many bytes.
    pub fn connect(address: SocketAddr, root: &str, window: u32) -> Self {
        let mut client = Self {
            stream: tls(address, root, "h2"),
            next: 1,
            windows: [65_535; 2],
            responses: HashMap::new(),
        };
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        client.stream.write_all(preface).unwrap();
        // HEADER_TABLE_SIZE 0, so that headers need no memory to be read.
        let settings = [
            &[0, 1, 0, 0, 0, 0][..],
            &INITIAL_WINDOW_SIZE,
            &window.to_be_bytes()[..],
        ];
        let settings = settings.concat();
        client.send(SETTINGS, 0, 0, &settings).unwrap();
        // What comes before its answer is what the exporter says first.
        client.ping().unwrap();
        while client.read().unwrap().kind != PING {}
        client
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.stream.write_all(&[&head, payload].concat())
    }

    /// Sends a request without a body; returns its stream.
    pub fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> u32 {
        self.request("GET", path, headers, true)
    }

    /// Sends the head of a request; returns its stream.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        is_complete: bool,
    ) -> u32 {
        let pseudo = [
            (":method", method),
            (":scheme", "https"),
            (":path", path),
            (":authority", "localhost"),
        ];
        let mut block = Vec::new();
        for (name, value) in pseudo.iter().chain(headers) {
            // Literal and not indexed, with a new name, and neither in Huffman's code (RFC 7541, 6.2.2).
            block.push(0);
            for text in [name, value] {
                write_length(&mut block, text.len());
                block.extend(text.as_bytes());
            }
        }
        let stream = self.next;
        self.next += 2;
        let end = if is_complete { END_STREAM } else { 0 };
        self.send(HEADERS, END_HEADERS | end, stream, &block)
            .unwrap();
        stream
    }

    /// Sends a part of a body.
    pub fn data(&mut self, stream: u32, bytes: &[u8]) -> io::Result<()> {
        self.send(DATA, 0, stream, bytes)
    }

    /// Sends as much of the body of a new stream as the exporter lets it.
    pub fn fill(&mut self, stream: u32) -> io::Result<()> {
        let mut rest = self.windows[0].min(self.windows[1]);
        self.windows[1] -= rest;
        while rest > 0 {
            let size = rest.min(16_384);
            self.data(stream, &vec![b'x'; size])?;
            rest -= size;
        }
        Ok(())
    }

    /// Lets the exporter send more: on a stream, or on all if it is 0.
    pub fn open_window(&mut self, stream: u32, bytes: u32) -> io::Result<()> {
        self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
    }

    pub fn ping(&mut self) -> io::Result<()> {
        self.send(PING, 0, 0, &[0; 8])
    }

    /// Takes back a request (CANCEL).
    pub fn reset(&mut self, stream: u32) -> io::Result<()> {
        self.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
    }

    /// The next frame; what it says of a response is noted.
    pub fn read(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut frame = Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload: vec![0; length as usize],
        };
        self.stream.read_exact(&mut frame.payload)?;
        if frame.kind == SETTINGS && frame.flags & ACK == 0 {
            for setting in frame.payload.chunks(6) {
                if setting[..2] == INITIAL_WINDOW_SIZE {
                    self.windows[0] = number(&setting[2..]);
                }
            }
            self.send(SETTINGS, ACK, 0, &[])?;
        }
        if frame.kind == WINDOW_UPDATE && frame.stream == 0 {
            self.windows[1] += number(&frame.payload);
        }
        if frame.kind == HEADERS || frame.kind == DATA {
            let response = self.responses.entry(frame.stream).or_default();
            response.is_complete = frame.flags & END_STREAM != 0;
            if frame.kind == HEADERS {
                response.status = status(&frame.payload);
            } else {
                response.body.extend(&frame.payload);
            }
        }
        Ok(frame)
    }

    /// Reads until the head of this response has come; returns its status.
    pub fn status(&mut self, stream: u32) -> io::Result<u16> {
        loop {
            if let Some(response) = self.responses.get(&stream) {
                return Ok(response.status);
            }
            self.read()?;
        }
    }

    /// Reads until this response is complete.
    pub fn response(&mut self, stream: u32) -> io::Result<Received> {
        loop {
            if let Some(response) = self.responses.get(&stream)
                && response.is_complete
            {
                return Ok(response.clone());
            }
            self.read()?;
        }
    }
}

fn number(bytes: &[u8]) -> usize {
    u32::from_be_bytes(bytes.try_into().unwrap()) as usize
}

/// A length in 7 bits, or more bytes (RFC 7541, 5.1).
fn write_length(block: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(127) else {
        block.push(u8::try_from(length).unwrap());
        return;
    };
    block.push(127);
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).unwrap() | 128);
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap());
}

/// The status, which is the first header (RFC 7541, appendix A), after a change of the size of the table if there is one.
fn status(block: &[u8]) -> u16 {
    let start = block.iter().position(|byte| byte >> 5 != 1).unwrap();
    match block[start] {
        indexed @ 0x88..=0x8e => [200, 204, 206, 304, 400, 404, 500][usize::from(indexed - 0x88)],
        _ => literal_status(&block[start + 1..]),
    }
}

/// Three digits: as they are, or in Huffman's code, where 0 to 2 have 5 bits, and the others 6 (RFC 7541, appendix B).
fn literal_status(value: &[u8]) -> u16 {
    let (is_huffman, length) = (value[0] & 0x80 != 0, usize::from(value[0] & 0x7f));
    let value = &value[1..=length];
    if !is_huffman {
        return str::from_utf8(value).unwrap().parse().unwrap();
    }
    let bits: Vec<_> = value.iter().map(|byte| format!("{byte:08b}")).collect();
    let bits = bits.concat();
    let (mut rest, mut digits) = (&*bits, String::new());
    while digits.len() < 3 {
        let size = if rest.starts_with("000") { 5 } else { 6 };
        let code = u8::from_str_radix(&rest[..size], 2).unwrap();
        let digit = if size == 5 { code } else { code - 0x19 + 3 };
        digits += &digit.to_string();
        rest = &rest[size..];
    }
    digits.parse().unwrap()
}
