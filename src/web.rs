//! The routes of the exporter: scrape, status page, probes and reload.
//!
//! A handler only reads what was published: no request here ever waits for a poll or calls the API.
//! Connections and responses are bounded by [`crate::server`].

mod events;
mod negotiate;
mod page;
mod router;
mod scrape;
mod state;
#[cfg(test)]
pub mod testing;
mod translations;

pub use page::describe_policy;
pub use router::router;
pub use state::{AppState, ReloadRequest};
