//! A hardened HTTP server: listeners, connections, TLS, authentication, limits, and the web
//! configuration file of Prometheus' exporter-toolkit.
//!
//! The server knows nothing of the routes that it serves. A [`Server`] takes an [`axum::Router`]
//! and a [`web_config::WebConfigFile`], both of which a reload replaces between two requests.

mod accept;
mod active;
mod auth;
mod connection;
mod handshake;
mod limit;
pub mod listen;
mod protection;
mod supervisor;
#[cfg(test)]
pub mod testing;
pub mod web_config;

pub use accept::run;
pub use active::Server;
pub use protection::protect;
pub use supervisor::max_waiting;
