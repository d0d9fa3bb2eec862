//! The events that the server reports.

use crate::support::clock::Timestamp;
use std::fmt::Debug;

/// Takes the events of a server, such as to count them.
pub trait Events: Debug + Send + Sync {
    /// A TLS handshake with a client failed.
    fn handshake_failed(&self, failure: HandshakeFailure);

    /// The certificate served from now on expires at `at`; `None` if none is served.
    fn certificate_expires(&self, at: Option<Timestamp>);
}

/// Why a TLS handshake with a client failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFailure {
    Timeout,
    /// The client sent something else than TLS, such as plain HTTP.
    NotTls,
    /// The client speaks TLS, but no offered version or cipher suite.
    Protocol,
    /// A client certificate is required, and the client sent none.
    NoCertificate,
    /// The client's certificate is not accepted, or the client does not accept ours.
    BadCertificate,
    /// The client closed the connection before the handshake ended.
    Closed,
}
