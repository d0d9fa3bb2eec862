//! What the black-box tests use: an API that can do anything, the built program, and readers of what it serves.
//!
//! Everything here uses blocking sockets and threads of its own, so that nothing of the program under test, its
//! runtime and HTTP library included, is used to judge it.

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
