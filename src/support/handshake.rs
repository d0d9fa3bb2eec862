//! The reasons of failed TLS handshakes, as the server finds and the metrics count them.

/// The reason of a failed TLS handshake with a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFailure {
    Timeout,
    /// The client sent something other than TLS, such as plain HTTP.
    NotTls,
    /// Client and server share no TLS version or cipher suite.
    Protocol,
    /// A client certificate is required, and the client sent none.
    NoCertificate,
    /// The server refused the client's certificate, or the client refused the server's.
    BadCertificate,
    /// The client closed the connection before the handshake ended.
    Closed,
}

impl HandshakeFailure {
    pub const ALL: [Self; 6] = [
        Self::Timeout,
        Self::NotTls,
        Self::Protocol,
        Self::NoCertificate,
        Self::BadCertificate,
        Self::Closed,
    ];

    /// Returns the value of the label `reason`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::NotTls => "not_tls",
            Self::Protocol => "protocol",
            Self::NoCertificate => "no_certificate",
            Self::BadCertificate => "bad_certificate",
            Self::Closed => "closed",
        }
    }
}
