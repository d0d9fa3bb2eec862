//! `health`: asks the exporter that runs with the same configuration whether it is healthy, for a container's
//! HEALTHCHECK. Whatever is wrong ends with code 1, since Docker knows no other.

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

/// How long everything together may take: below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

/// How long an exporter may take to refuse a client without a certificate. TLS 1.3 does so only after the client's part.
const SILENCE: Duration = Duration::from_millis(300);

pub async fn check(options: Options) -> Result<(), RunError> {
    let end = Instant::now() + LIMIT;
    let read = off_the_runtime(move || where_to_ask(&options));
    let (addresses, is_tls) = timeout_at(end, read).await.unwrap_or_else(|_| {
        bail!(
            "the files of the configuration cannot be read in time; check the disks that hold them"
        )
    })?;
    Ok(ask_any(&addresses, is_tls, end).await?)
}

/// The addresses of the exporter, and whether it probably speaks TLS, as its web configuration file says. If that cannot be
/// used now, the previous one is still in force.
fn where_to_ask(options: &Options) -> anyhow::Result<(Vec<String>, bool)> {
    let (addresses, web_file) = config::load_address(options, &environment())?;
    let is_tls = match web_config::WebConfigFile::load(web_file.as_deref()) {
        Ok(file) => file.scheme() == "https",
        Err(_) => true,
    };
    Ok((addresses, is_tls))
}

/// One healthy address is enough: those that this machine lacks are not served.
async fn ask_any(addresses: &[String], is_tls: bool, end: Instant) -> anyhow::Result<()> {
    let asked = addresses.iter().map(|address| {
        let asked = async move {
            // The file may say otherwise than what is in force.
            match ask(address, is_tls).await {
                Err(error) => ask(address, !is_tls).await.or(Err(error)),
                healthy => healthy,
            }
        };
        Box::pin(async move {
            let answered = timeout_at(end, asked).await;
            answered
                .unwrap_or_else(|_| bail!("no answer in time"))
                .with_context(|| format!("the exporter at {address} is not healthy"))
        })
    });
    // The configuration has at least one.
    select_ok(asked).await?;
    Ok(())
}

async fn ask(address: &str, is_tls: bool) -> anyhow::Result<()> {
    // Linux takes 0.0.0.0 and [::] for loopback; without a host it is the first.
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
        // Its name does not matter, as its certificate does not.
        let name = ServerName::from(Ipv4Addr::LOCALHOST);
        let mut stream = connector().connect(name, stream).await?;
        // A request could make the connection break before the alert is read. What comes otherwise belongs to no answer.
        if let Ok(read) = timeout(SILENCE, stream.read_u8()).await {
            read?;
        }
        request(stream, &address).await
    };
    match answered.await {
        Err(error) if requires_certificate(&error) => Ok(()),
        answered => answered,
    }
}

/// By HTTP/1.1: only the status of the answer matters.
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
            "its answer begins with {:?}",
            String::from_utf8_lossy(other)
        ),
    }
}

/// Whether it is the alert of an exporter that requires client certificates, which one that hangs would not send.
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

/// Any server is trusted: it is the one on this machine, its certificate is for another name, and nothing secret is sent.
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
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
    async fn a_port_that_accepts_and_hangs_is_given_up_within_the_limit() {
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
