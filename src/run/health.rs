//! `health`: asks the exporter that runs with the same configuration whether it is healthy, for a container's
//! HEALTHCHECK. Whatever is wrong ends with code 1, since Docker knows no other.

use super::{RunError, environment, off_the_runtime};
use crate::{
    config::{self, Options},
    web,
};
use anyhow::{Context as _, anyhow, bail};
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::{
        ResolvesClientCert,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
    sign::CertifiedKey,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// How long everything together may take: below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

pub(super) async fn check(options: Options) -> Result<(), RunError> {
    let asked = async {
        let (addresses, has_tls) = off_the_runtime(move || where_to_ask(&options)).await?;
        ask_any(&addresses, has_tls).await
    };
    let result = timeout(LIMIT, asked).await;
    Ok(result.unwrap_or_else(|_| Err(anyhow!("the exporter does not answer within {LIMIT:?}")))?)
}

/// The addresses of the exporter, and whether it speaks TLS there. If the web configuration file cannot be used now, TLS
/// is assumed: the previous file is still in force.
fn where_to_ask(options: &Options) -> anyhow::Result<(Vec<String>, bool)> {
    let (addresses, web_file) = config::load_address(options, &environment())?;
    let has_tls = web::WebConfigFile::load(web_file.as_deref()).map_or(true, |file| file.has_tls());
    Ok((addresses, has_tls))
}

/// One healthy address is enough: those that this machine lacks are not served.
async fn ask_any(addresses: &[String], has_tls: bool) -> anyhow::Result<()> {
    let mut result = Err(anyhow!("web.listen_addresses is empty"));
    for address in addresses {
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        let host = match host {
            "" | "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            host => host,
        };
        // Each gets its share of the time, also after one that never answers.
        let asked = timeout(LIMIT / u32::try_from(addresses.len())?, ask(host, port, has_tls)).await;
        result = asked.unwrap_or_else(|_| Err(anyhow!("no answer in time")));
        if result.is_ok() {
            return result;
        }
        result = result.with_context(|| format!("the exporter at {host}:{port} is not healthy"));
    }
    result
}

async fn ask(host: &str, port: &str, has_tls: bool) -> anyhow::Result<()> {
    let stream = TcpStream::connect(format!("{host}:{port}")).await?;
    if !has_tls {
        return exchange(stream, host).await;
    }
    let wants_certificate = Arc::new(WantsCertificate::default());
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
    let connector = TlsConnector::from(Arc::new(tls_config(Arc::clone(&wants_certificate))?));
    let answered = async { exchange(connector.connect(name, stream).await?, host).await }.await;
    match answered {
        // A server that asks for a certificate works, and nothing more can be learned without one.
        Err(_) if wants_certificate.0.load(Ordering::Relaxed) => Ok(()),
        answered => answered,
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, host: &str) -> anyhow::Result<()> {
    let request = format!("GET /-/healthy HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).await?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        Some(code) => bail!("its answer has status {code:?}"),
        None => bail!("it gives no answer"),
    }
}

/// Trusts any server: it is the one on this machine, and its certificate is for another name.
fn tls_config(wants_certificate: Arc<WantsCertificate>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyServer(Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_client_cert_resolver(wants_certificate))
}

/// Whether the server asked for a client certificate.
#[derive(Debug, Default)]
struct WantsCertificate(AtomicBool);

impl ResolvesClientCert for WantsCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
