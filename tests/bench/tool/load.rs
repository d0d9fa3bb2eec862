//! A client that scrapes as fast as it can, over one connection.

use crate::Outcome;
use serde_json::json;
use std::{
    error::Error,
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

/// The size of a read, large enough that the client is not the bottleneck.
const BUFFER: usize = 1024 * 1024;

/// The header Accept, reduced to the format that Prometheus prefers.
const ACCEPT: &str = "Accept: application/openmetrics-text;version=1.0.0\r\n";

/// The minimum number of measured scrapes, however long they take.
const LEAST: usize = 5;

pub fn run(url: &str, seconds: &str, gzip: bool) -> Outcome {
    let (host, path) = url
        .trim_start_matches("http://")
        .split_once('/')
        .ok_or("the URL has no path")?;
    let encoding = if gzip {
        "Accept-Encoding: gzip\r\n"
    } else {
        ""
    };
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{ACCEPT}{encoding}\r\n");
    let stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let mut client = Client {
        stream,
        buffer: vec![0; BUFFER],
    };
    let mut size = client.scrape(&request)?;
    let mut took = Vec::new();
    let (started, limit) = (Instant::now(), Duration::from_secs_f64(seconds.parse()?));
    while started.elapsed() < limit || took.len() < LEAST {
        let before = Instant::now();
        size = client.scrape(&request)?;
        took.push(before.elapsed().as_secs_f64());
    }
    let rate = 1.0 / (took.iter().sum::<f64>() / f64::from(u32::try_from(took.len())?));
    took.sort_by(f64::total_cmp);
    let percentile = |hundredths: usize| took[(took.len() * hundredths / 100).min(took.len() - 1)];
    let figures = json!({
        "requests": took.len(), "rate": rate, "bytes": size,
        "p50": percentile(50), "p99": percentile(99),
    });
    println!("{figures}");
    Ok(())
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Sends a request, reads the whole response and returns the size of its body.
    fn scrape(&mut self, request: &str) -> Result<usize, Box<dyn Error>> {
        self.stream.write_all(request.as_bytes())?;
        let mut head = Vec::new();
        let body_start = loop {
            let read = self.stream.read(&mut self.buffer)?;
            if read == 0 {
                return Err("the server closed the connection before it responded".into());
            }
            head.extend_from_slice(&self.buffer[..read]);
            if let Some(at) = head.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let headers = String::from_utf8_lossy(&head[..body_start]).to_ascii_lowercase();
        let length = headers
            .strip_prefix("http/1.1 200 ")
            .and_then(|rest| rest.split_once("content-length:")?.1.lines().next());
        let length: usize = length
            .ok_or_else(|| format!("no response with a length: {headers}"))?
            .trim()
            .parse()?;
        let mut size = head.len() - body_start;
        while size < length {
            match self.stream.read(&mut self.buffer)? {
                0 => return Err("the body was cut short".into()),
                read => size += read,
            }
        }
        Ok(size)
    }
}
