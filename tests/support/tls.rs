//! The API's certificates, good and bad.

use super::wait::PATIENCE;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use std::{
    net::{SocketAddr, TcpStream},
    sync::Arc,
};

/// The kind of certificate that the API presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    Good,
    Expired,
    SelfSigned,
    /// Self-signed, and that of an authority, as a plain `openssl req -x509` makes it.
    SelfSignedAuthority,
    WrongName,
}

impl Certificate {
    fn is_self_signed(self) -> bool {
        matches!(self, Self::SelfSigned | Self::SelfSignedAuthority)
    }
}

/// A certificate authority for one test, with the server configuration for its certificate.
#[derive(Debug)]
pub struct Identity {
    /// The trusted root in PEM.
    pub authority: String,
    pub server: Arc<ServerConfig>,
}

/// Returns a certificate of this kind for `host`, 127.0.0.1 and api.example.com, and its key, in
/// PEM.
pub fn identity(kind: Certificate, host: &str) -> (Identity, [String; 2]) {
    Authority::new().identity(kind, host)
}

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: String,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "Root of one test");
        let root = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, root }
    }

    /// Works like [`identity`], with the same authority each time.
    pub fn identity(&self, kind: Certificate, host: &str) -> (Identity, [String; 2]) {
        let key = KeyPair::generate().unwrap();
        let names = if kind == Certificate::WrongName {
            vec!["elsewhere.test"]
        } else {
            vec![host, "127.0.0.1", "api.example.com"]
        };
        let mut params =
            CertificateParams::new(names.into_iter().map(str::to_owned).collect::<Vec<_>>())
                .unwrap();
        if kind == Certificate::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 2, 1);
        }
        if kind == Certificate::SelfSignedAuthority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let certificate = if kind.is_self_signed() {
            params.self_signed(&key).unwrap()
        } else {
            params.signed_by(&key, &self.issuer).unwrap()
        };
        let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(certificate.der().to_vec())],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let identity = Identity {
            authority: self.root.clone(),
            server: Arc::new(server),
        };
        (identity, [certificate.pem(), key.serialize_pem()])
    }
}

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Opens a TLS connection that trusts this root, and may present this certificate with its key. The
/// handshake follows with its first use.
pub fn connect(address: SocketAddr, root: &str, client: Option<[&str; 2]>) -> TlsStream {
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(root)).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some([chain, key]) => {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder
                .with_client_auth_cert(vec![certificate(chain)], key)
                .unwrap()
        }
    };
    let tcp = TcpStream::connect(address).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp)
}
