//! `health`: asks a running exporter with the same configuration whether it is healthy, for the
//! HEALTHCHECK of a container. Every failure ends with code 1, because Docker reserves the others.

use super::{RunError, environment};
use crate::{
    api::causes,
    config::{self, Options},
    support::blocking::off_the_runtime,
};
use anyhow::{Context as _, bail, ensure};
use reqwest::StatusCode;
use rustls::AlertDescription as Alert;
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
        let (schemes, host) = off_the_runtime(move || port(&options)).await?;
        let mut answered = Ok(());
        for scheme in schemes {
            let url = format!("{scheme}://{host}/-/healthy");
            answered = ask(&url)
                .await
                .with_context(|| format!("{url} does not say that the exporter is healthy"));
            // An answer counts, whatever it says. Only without one is the next scheme tried.
            if !answered
                .as_ref()
                .is_err_and(anyhow::Error::is::<reqwest::Error>)
            {
                break;
            }
        }
        answered
    };
    let answered = timeout(LIMIT, asked).await;
    Ok(answered.unwrap_or_else(|_| bail!("the exporter does not answer in time"))?)
}

/// Returns the first address and the schemes to try. With a web configuration file these are both:
/// the exporter may serve under an earlier content of the file.
fn port(options: &Options) -> anyhow::Result<(Vec<&'static str>, String)> {
    let web = config::load_address(options, &environment())?;
    // The configuration has at least one.
    let address = &web.listen_addresses[0];
    let schemes = match *web.config_file {
        Some(_) => vec!["https", "http"],
        None => vec!["http"],
    };
    // A connection to 0.0.0.0 or [::] reaches loopback on Linux.
    let host = if address.starts_with(':') {
        "0.0.0.0"
    } else {
        ""
    };
    Ok((schemes, format!("{host}{address}")))
}

async fn ask(url: &str) -> anyhow::Result<()> {
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
    let refusals = [Alert::CertificateRequired, Alert::BadCertificate];
    causes(error).any(|cause| match cause.downcast_ref() {
        Some(rustls::Error::AlertReceived(alert)) => refusals.contains(alert),
        _ => false,
    })
}
