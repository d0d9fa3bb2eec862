//! The server's events, counted by the instruments.

use crate::{
    metrics::instruments::Instruments,
    server::{Events, HandshakeFailure},
    support::clock::Timestamp,
};

impl Events for Instruments {
    fn handshake_failed(&self, failure: HandshakeFailure) {
        self.tls_handshake_failed(reason(failure));
    }

    fn certificate_expires(&self, at: Option<Timestamp>) {
        self.certificate_expires(at);
    }
}

/// Returns the value of the label `reason`.
fn reason(failure: HandshakeFailure) -> &'static str {
    match failure {
        HandshakeFailure::Timeout => "timeout",
        HandshakeFailure::NotTls => "not_tls",
        HandshakeFailure::Protocol => "protocol",
        HandshakeFailure::NoCertificate => "no_certificate",
        HandshakeFailure::BadCertificate => "bad_certificate",
        HandshakeFailure::Closed => "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_from_0() {
        let instruments = Instruments::new("/metrics");
        let count = |text: &str| text.matches("tls_handshake_failures_total{").count();
        let before = count(&instruments.encode());
        for failure in [
            HandshakeFailure::Timeout,
            HandshakeFailure::NotTls,
            HandshakeFailure::Protocol,
            HandshakeFailure::NoCertificate,
            HandshakeFailure::BadCertificate,
            HandshakeFailure::Closed,
        ] {
            instruments.handshake_failed(failure);
        }
        let after = instruments.encode();
        assert_eq!((before, count(&after)), (6, 6), "{after}");
    }
}
