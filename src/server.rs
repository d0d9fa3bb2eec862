//! A hardened HTTP server: listeners, connections, TLS, authentication, limits, and the web
//! configuration file of Prometheus' exporter-toolkit.
//!
//! The server knows nothing of the routes that it serves. A [`Server`] takes an [`axum::Router`]
//! and a [`Protection`], both of which a reload replaces between two requests, and reports its
//! [`Events`].

mod accept;
mod active;
mod auth;
mod connection;
mod departed;
mod events;
mod follow;
mod handshake;
mod limit;
pub mod listen;
pub mod policy;
mod protection;
mod supervisor;
pub mod web_config;

pub use accept::serve;
pub use active::Server;
pub use departed::ClientDeparture;
pub use events::{Events, HandshakeFailure};
pub use follow::follow;
pub use protection::Protection;
pub use supervisor::{ResponseMemory, Shared};
