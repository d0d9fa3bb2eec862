//! `health`: asks a running exporter with the same configuration whether it is healthy, for the
//! HEALTHCHECK of a container. Every failure ends with code 1, because Docker reserves the others.

use super::{RunError, environment, off_the_runtime};
use crate::{
    config::{self, Options},
    server::web_config,
};
use anyhow::{Context as _, bail};
use futures_util::future::select_ok;
use rustls::{
    AlertDescription, ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

/// The time limit of the command, below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

/// The time that an exporter has to refuse a client without a certificate. With TLS 1.3 the refusal
/// arrives only after the client has finished its handshake.
const REFUSAL: Duration = Duration::from_millis(300);

pub async fn check(options: Options) -> Result<(), RunError> {
    let end = Instant::now() + LIMIT;
    let read = off_the_runtime(move || where_to_ask(&options));
    let (addresses, is_tls) = timeout_at(end, read).await.unwrap_or_else(|_| {
        bail!("the configuration files cannot be read in time; check the disks that hold them")
    })?;
    Ok(ask_any(&addresses, is_tls, end).await?)
}

/// Returns the addresses of the exporter, and whether its web configuration file enables TLS.
/// Assumes TLS if that file is invalid now: the exporter then keeps its active configuration.
fn where_to_ask(options: &Options) -> anyhow::Result<(Vec<String>, bool)> {
    let (addresses, web_file) = config::load_address(options, &environment())?;
    let is_tls = match web_config::WebConfigFile::load(web_file.as_deref()) {
        Ok(file) => file.scheme() == "https",
        Err(_) => true,
    };
    Ok((addresses, is_tls))
}

/// Asks all addresses at once until one is healthy. The exporter does not serve the addresses that
/// this machine lacks.
async fn ask_any(addresses: &[String], is_tls: bool, end: Instant) -> anyhow::Result<()> {
    let asked = addresses.iter().map(|address| {
        let asked = async move {
            // The file may differ from the active configuration.
            match ask(address, is_tls).await {
                Err(error) => ask(address, !is_tls).await.or(Err(error)),
                healthy => healthy,
            }
        };
        Box::pin(async move {
            let answered = timeout_at(end, asked).await;
            answered
                .unwrap_or_else(|_| bail!("it does not respond in time"))
                .with_context(|| format!("the exporter at {address} is not healthy"))
        })
    });
    // The configuration has at least one.
    select_ok(asked).await?;
    Ok(())
}

async fn ask(address: &str, is_tls: bool) -> anyhow::Result<()> {
    // A connection to 0.0.0.0 or [::] reaches loopback on Linux.
    let host = if address.starts_with(':') {
        "0.0.0.0"
    } else {
        ""
    };
    let address = format!("{host}{address}");
    let stream = TcpStream::connect(&address).await?;
    if !is_tls {
        return request(stream, &address).await;
    }
    let answered = async {
        // `AnyCertificate` ignores the name.
        let name = ServerName::from(Ipv4Addr::LOCALHOST);
        let mut stream = connector().connect(name, stream).await?;
        // Reads the alert before the request: writing to a refused connection could break it first.
        if let Ok(read) = timeout(REFUSAL, stream.read_u8()).await {
            read?;
        }
        request(stream, &address).await
    };
    match answered.await {
        Err(error) if requires_certificate(&error) => Ok(()),
        answered => answered,
    }
}

/// Requests `/-/healthy` over HTTP/1.1 and checks the status of the response.
async fn request(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    host: &str,
) -> anyhow::Result<()> {
    let request = format!("GET /-/healthy HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut status = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut status).await?;
    match &status {
        b"HTTP/1.1 200" => Ok(()),
        other => bail!(
            "its response begins with {:?}",
            String::from_utf8_lossy(other)
        ),
    }
}

/// Returns whether the error is the TLS alert that demands a client certificate. An exporter that
/// hangs would not send it.
fn requires_certificate(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref().and_then(io::Error::get_ref);
    let required = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
    error.and_then(|error| error.downcast_ref()) == Some(&required)
}

fn connector() -> TlsConnector {
    let config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    Arc::new(config).into()
}

/// A verifier that trusts every server. The connection stays on this machine, the certificate is
/// for another name, and the request contains no secret.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_tls12_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test(start_paused = true)]
    async fn a_port_that_accepts_and_hangs_is_abandoned_in_time() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap().to_string();
        for is_tls in [false, true] {
            let end = Instant::now() + LIMIT;
            let error = ask_any(&[address.clone(), address.clone()], is_tls, end)
                .await
                .unwrap_err();
            assert!(error.to_string().contains(&address), "{error}");
            assert!(end.elapsed() <= Duration::from_millis(10));
        }
    }
}
