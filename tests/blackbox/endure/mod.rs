//! Endurance: the exporter under every known fault of the API and of the network between.
//!
//! Each row of a table is a fault and the reason under which it is counted. No series is lost
//! meanwhile.

mod key;
mod languages;
mod listing;
mod outage;
mod soak;
mod tls;

use crate::support::{Reply, api::Request};

/// A function that makes the reply to a request.
type Fault = fn(&Request) -> Reply;

/// A fault with its name and the reason under which it is counted.
type Row = (&'static str, Fault, &'static str);

const LIST: &str = r#"[{"id":1,"code":"de","name":"owner/repo",
"completion":77.0,"created_at":"2024-05-06T07:08:09Z"}]"#;

/// The faults that any request can meet and that do not end the poll.
const FAULTS: &[Row] = &[
    ("reset", |_| Reply::reset(), "connect"),
    ("closed before headers", |_| Reply::close(), "connect"),
    (
        "closed in the middle of the body",
        |_| Reply::cut_short(LIST),
        "truncated",
    ),
    (
        "reset in the middle of the body",
        |_| Reply::reset_in_the_middle(LIST),
        "truncated",
    ),
    ("never answered", |_| Reply::never(), "timeout"),
    ("one byte a second", |_| Reply::drip(LIST), "timeout"),
    ("endless headers", |_| Reply::endless_headers(), "connect"),
    ("not HTTP", |_| Reply::garbage(), "connect"),
    ("status 400", |_| Reply::status(400), "client_error"),
    ("status 404", |_| Reply::status(404), "not_found"),
    ("status 408", |_| Reply::status(408), "server_error"),
    ("status 409", |_| Reply::status(409), "server_error"),
    ("status 410", |_| Reply::status(410), "client_error"),
    ("status 418", |_| Reply::status(418), "client_error"),
    ("status 500", |_| Reply::status(500), "server_error"),
    (
        "status 502",
        |_| Reply::html().with_status(502),
        "server_error",
    ),
    ("status 503", |_| Reply::status(503), "server_error"),
    ("status 504", |_| Reply::status(504), "server_error"),
    (
        "an HTML page with status 200",
        |_| Reply::html(),
        "not_json",
    ),
    (
        "redirect to another host",
        |_| Reply::redirect("https://elsewhere.test/"),
        "redirect",
    ),
    ("empty body", |_| Reply::json(""), "truncated"),
    (
        "truncated JSON",
        |_| Reply::json(&LIST[..LIST.len() - 9]),
        "truncated",
    ),
    (
        "an object",
        |_| Reply::json(r#"{"repositories":[],"languages":[]}"#),
        "decode",
    ),
    ("a string", |_| Reply::json("\"[]\""), "decode"),
    ("two arrays", |_| Reply::json("[] []"), "decode"),
    (
        "brackets that never close",
        |_| Reply::json("[".repeat(100_000)),
        "truncated",
    ),
    ("a zero byte", |_| Reply::json(*b"[]\0"), "decode"),
    (
        "not gzip, though it says so",
        |_| Reply::json(LIST).header("content-encoding", "gzip"),
        "not_json",
    ),
    (
        "brotli, which was not asked for",
        |_| Reply::json(LIST).header("content-encoding", "br"),
        "decode",
    ),
    ("a body of 1 GiB", |_| Reply::gibibyte(), "too_large"),
    (
        "gzip of 1 GiB of zeros",
        |_| Reply::gzip_bomb(),
        "too_large",
    ),
    ("endless chunks", |_| Reply::endless_chunks(), "too_large"),
    ("a bad chunk size", |_| Reply::bad_chunk(), "truncated"),
];
