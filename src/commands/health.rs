//! `health`: asks a running exporter with the same configuration whether it is healthy, for the
//! HEALTHCHECK of a container. Every failure ends with code 1, because Docker reserves the others.

use super::{RunError, environment, off_the_runtime};
use crate::{
    config::{self, Options},
    server::web_config,
};
use anyhow::{Context as _, bail};
use futures_util::future::select_ok;
use rustls::AlertDescription as Alert;
use std::{error::Error, io, time::Duration};
use tokio::time::{Instant, timeout_at};

/// The time limit of the command, below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

pub async fn check(options: Options) -> Result<(), RunError> {
    // reqwest needs a provider of cryptography. An installed one serves as well.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
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
    let scheme = if is_tls { "https" } else { "http" };
    // The connection stays on this machine, the certificate is for another name, and the request
    // contains no secret.
    let client = reqwest::Client::builder()
        .danger_accept_invalid_certs(true)
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let url = format!("{scheme}://{host}{address}/-/healthy");
    match client.get(url).send().await {
        Ok(response) if response.status() == reqwest::StatusCode::OK => Ok(()),
        Ok(response) => bail!("it answered {}", response.status()),
        Err(error) if demands_certificate(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the error comes from a TLS alert that refuses a client without a certificate. An
/// exporter that hangs would not send it.
fn demands_certificate(error: &(dyn Error + 'static)) -> bool {
    if let Some(rustls::Error::AlertReceived(alert)) = error.downcast_ref() {
        return [Alert::CertificateRequired, Alert::BadCertificate].contains(alert);
    }
    // The source of an I/O error is not its inner error, but the source of that.
    let cause = match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|inner| inner as _),
        None => error.source(),
    };
    cause.is_some_and(demands_certificate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test(start_paused = true)]
    async fn a_port_that_accepts_and_hangs_is_abandoned_in_time() {
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
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
