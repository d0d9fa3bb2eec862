//! The events that the server reports.

use crate::support::clock::Timestamp;
use std::fmt::Debug;

/// A receiver of the server's events, for example to count them.
pub trait Events: Debug + Send + Sync {
    /// Takes a failed TLS handshake with a client.
    fn handshake_failed(&self, failure: HandshakeFailure);

    /// Takes the expiry of the newly served certificate; `None` without one.
    fn certificate_expires(&self, at: Option<Timestamp>);
}

/// The reason of a failed TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFailure {
    Timeout,
    /// The client sent something other than TLS, such as plain HTTP.
    NotTls,
    /// Client and server share no TLS version or cipher suite.
    Protocol,
    /// A client certificate is required, and the client sent none.
    NoCertificate,
    /// The server refused the client's certificate, or the client refused ours.
    BadCertificate,
    /// The client closed the connection before the handshake ended.
    Closed,
}
