//! The hardened HTTP server: listeners, connections, TLS, authentication and limits.

pub mod accept;
pub mod activity;
pub mod auth;
pub mod connection;
pub mod fair_share;
pub mod handshake;
pub mod limit;
pub mod listen;
pub mod web_config;
