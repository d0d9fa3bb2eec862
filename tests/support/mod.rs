//! The helpers of the black-box tests: a fake API, the built program, and parsers of its output.
//!
//! They use blocking sockets and threads, so that the program's own runtime and HTTP library do not
//! judge it.

pub mod api;
pub mod exporter;
pub mod exposition;
pub mod http;
pub mod reply;
pub mod tls;
pub mod wait;

pub use api::{Api, Repo, Target, repo};
pub use exporter::{Exporter, Setup};
pub use exposition::Exposition;
pub use reply::Reply;
pub use wait::{PATIENCE, eventually, until};
