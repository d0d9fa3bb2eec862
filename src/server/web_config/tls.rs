//! `tls_server_config`, translated to rustls.

use super::{
    client::ClientVerifier,
    files::Files,
    section::{TlsSection, Version},
};
use crate::support::clock::Timestamp;
use anyhow::anyhow;
use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::NoServerSessionStorage,
    version::{TLS12, TLS13},
};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Builds the TLS configuration from the files that the section names. Returns it with the expiry
/// of the served certificate; `None` if that cannot be read.
pub fn acceptor(
    section: &TlsSection,
    files: &mut Files,
) -> anyhow::Result<(TlsAcceptor, Option<Timestamp>)> {
    let chain: Vec<CertificateDer> = files.pem("cert", &section.cert, &section.cert_file)?;
    let mut keys: Vec<PrivateKeyDer> = files.pem("key", &section.key, &section.key_file)?;
    let clients = ClientVerifier::new(section, files)?;
    // ASN.1 times end with the year 9999, so milliseconds cannot overflow.
    let expires = X509Certificate::from_der(&chain[0])
        .ok()
        .map(|(_, certificate)| {
            Timestamp::from_millis(certificate.validity().not_after.timestamp() * 1000)
        });
    let mut versions = Vec::new();
    if section.min_version != Some(Version::Tls13) {
        versions.push(&TLS12);
    }
    if section.max_version != Some(Version::Tls12) {
        versions.push(&TLS13);
    }
    let mut config = ServerConfig::builder_with_provider(default_provider().into())
        .with_protocol_versions(&versions)
        .and_then(|config| {
            config
                .with_client_cert_verifier(Arc::new(clients))
                .with_single_cert(chain, keys.swap_remove(0))
        })
        .map_err(|error| {
            anyhow!(
                "tls_server_config cannot be used: {error}; give a chain that begins with the \
                     certificate of the key, is of version 3, and has a key of P-256, P-384 or RSA of \
                     2048 bits or more, and versions that fit together"
            )
        })?;
    if section.client_auth_type.verifies() {
        // A resumed session would outlive the client certificate that was verified for it.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok((Arc::new(config).into(), expires))
}

#[cfg(test)]
mod tests {
    use super::super::section::Policy;
    use super::*;
    use crate::server::testing;
    use rustls::{
        ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConnection,
        pki_types::pem::PemObject as _,
    };

    /// Shakes hands in memory, and returns how the client did it.
    fn shake_hands(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
        let name = "localhost".try_into().unwrap();
        let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
        let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
        // Tickets follow the handshake.
        for _ in 0..4 {
            let mut sent = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut sent).unwrap();
            }
            let mut unread = &*sent;
            while !unread.is_empty() {
                server.read_tls(&mut unread).unwrap();
                server.process_new_packets().unwrap();
            }
            sent.clear();
            while server.wants_write() {
                server.write_tls(&mut sent).unwrap();
            }
            let mut unread = &*sent;
            while !unread.is_empty() {
                client.read_tls(&mut unread).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        client.handshake_kind().unwrap()
    }

    #[test]
    fn no_session_is_resumed_where_client_certificates_are_verified() {
        let authority = testing::authority();
        let (own, own_key) = testing::issue(&authority, "localhost");
        let (issued, issued_key) = testing::issue(&authority, "client");
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
        roots.add(root).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(issued.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued_key.as_bytes()).unwrap();
        for (policy, second) in [
            (Policy::NoClientCert, HandshakeKind::Resumed),
            (Policy::VerifyClientCertIfGiven, HandshakeKind::Full),
            (Policy::RequireAndVerifyClientCert, HandshakeKind::Full),
        ] {
            let mut section = TlsSection::default();
            (section.cert, section.key) = (own.clone(), own_key.clone());
            section.client_auth_type = policy;
            if policy.verifies() {
                section.client_ca = authority.pem();
            }
            let (tls, _) = acceptor(&section, &mut Files::beside("web.yml".as_ref())).unwrap();
            for version in [&TLS12, &TLS13] {
                let client = ClientConfig::builder_with_provider(default_provider().into())
                    .with_protocol_versions(&[version])
                    .unwrap()
                    .with_root_certificates(roots.clone())
                    .with_client_auth_cert(chain.clone(), key.clone_key());
                let (client, server) = (Arc::new(client.unwrap()), tls.config());
                assert_eq!(shake_hands(&client, server), HandshakeKind::Full);
                assert_eq!(shake_hands(&client, server), second, "{policy:?}");
            }
        }
    }
}
