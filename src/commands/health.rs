//! `health`: asks a running exporter with the same configuration whether it is healthy, for the
//! HEALTHCHECK of a container. Every failure ends with code 1, because Docker reserves the others.

use super::{RunError, read_config};
use crate::{api::causes, config::Options, support::blocking::off_the_runtime};
use anyhow::{Context as _, bail, ensure};
use reqwest::StatusCode;
use rustls::{AlertDescription as Alert, Error::AlertReceived};
use std::time::Duration;
use tokio::time::timeout;

/// The time limit of the command, below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

pub async fn check(options: Options) -> Result<(), RunError> {
    // reqwest needs a provider of cryptography. An installed one serves as well.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let asked = async {
        let web = off_the_runtime(move || read_config(&options))
            .await?
            .sections
            .web;
        // The configuration has at least one address.
        let mut host = web.listen_addresses[0].clone();
        if host.starts_with(':') {
            // A connection to 0.0.0.0 or [::] reaches loopback on Linux.
            host.insert_str(0, "0.0.0.0");
        }
        // The exporter may serve under an earlier content of its file, so both schemes are tried.
        // An answer counts, whatever it says.
        if web.config_file.is_some() {
            match ask("https", &host).await {
                Err(error) if error.is::<reqwest::Error>() => {}
                answered => return answered,
            }
        }
        ask("http", &host).await
    };
    let answered = timeout(LIMIT, asked).await;
    Ok(answered.unwrap_or_else(|_| bail!("the exporter does not answer in time"))?)
}

async fn ask(scheme: &str, host: &str) -> anyhow::Result<()> {
    let url = format!("{scheme}://{host}/-/healthy");
    answer(&url)
        .await
        .with_context(|| format!("{url} does not say that the exporter is healthy"))
}

async fn answer(url: &str) -> anyhow::Result<()> {
    // The connection stays on this machine, the certificate is for another name, and the request
    // contains no secret.
    let client = reqwest::Client::builder()
        .danger_accept_invalid_certs(true)
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    match client.get(url).send().await {
        Ok(mut response) => {
            let status = response.status();
            ensure!(status == StatusCode::OK, "it answered {status}");
            let body = response.chunk().await?.unwrap_or_default();
            ensure!(body == "healthy\n", "another program has its port");
            Ok(())
        }
        Err(error) if demands_certificate(&error) => Ok(()),
        Err(error) => Err(error.without_url().into()),
    }
}

/// Returns whether the error comes from a TLS alert that refuses a client without a certificate. An
/// exporter that hangs would not send it.
fn demands_certificate(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        matches!(
            cause.downcast_ref(),
            Some(AlertReceived(
                Alert::CertificateRequired | Alert::BadCertificate
            ))
        )
    })
}
