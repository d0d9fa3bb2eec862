//! The routes of the exporter: scrape, status page, JSON, CSV and probes.
//!
//! Handlers read the last publication: no request waits for a poll or calls the API. The limits of
//! connections and responses are in [`crate::server`].

mod negotiate;
mod page;
mod render;
mod router;
mod scrape;
mod state;
#[cfg(test)]
pub mod testing;
mod translations;

pub use router::router;
pub use state::{AppState, Current};
