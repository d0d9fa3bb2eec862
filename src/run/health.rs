//! `health`: asks the exporter that runs with the same configuration whether it is healthy, for a container's
//! HEALTHCHECK. Whatever is wrong ends with code 1, since Docker knows no other.

use super::{RunError, environment, off_the_runtime};
use crate::{
    config::{self, Options},
    web,
};
use anyhow::{Context as _, anyhow, ensure};
use reqwest::{StatusCode, redirect::Policy};
use rustls::crypto::ring;
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};

/// How long everything together may take: below the promised 3 seconds.
const LIMIT: Duration = Duration::from_millis(2500);

pub(super) async fn check(options: Options) -> Result<(), RunError> {
    let asked = async {
        let (addresses, scheme) = off_the_runtime(move || where_to_ask(&options)).await?;
        ask_any(&addresses, scheme).await
    };
    let result = timeout(LIMIT, asked).await;
    Ok(result.unwrap_or_else(|_| Err(anyhow!("the exporter does not answer within {LIMIT:?}")))?)
}

/// The addresses of the exporter, and the scheme of its URLs: https if the web configuration file cannot be used now, since
/// the previous one is still in force.
fn where_to_ask(options: &Options) -> anyhow::Result<(Vec<String>, &'static str)> {
    let (addresses, web_file) = config::load_address(options, &environment())?;
    let scheme =
        web::WebConfigFile::load(web_file.as_deref()).map_or("https", |file| file.scheme());
    Ok((addresses, scheme))
}

/// One healthy address is enough: those that this machine lacks are not served.
async fn ask_any(addresses: &[String], scheme: &str) -> anyhow::Result<()> {
    let mut result = Err(anyhow!("web.listen_addresses is empty"));
    for address in addresses {
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        let address = match host {
            "" | "0.0.0.0" => format!("127.0.0.1:{port}"),
            "[::]" => format!("[::1]:{port}"),
            _ => address.clone(),
        };
        // Each gets its share of the time, also after one that never answers.
        let asked = timeout(
            LIMIT / u32::try_from(addresses.len())?,
            ask(&address, scheme),
        )
        .await;
        result = asked.unwrap_or_else(|_| Err(anyhow!("no answer in time")));
        if result.is_ok() {
            return result;
        }
        result = result.with_context(|| format!("the exporter at {address} is not healthy"));
    }
    result
}

async fn ask(address: &str, scheme: &str) -> anyhow::Result<()> {
    // reqwest takes its cryptography from here. It fails only if that is set already.
    let _ = ring::default_provider().install_default();
    // Any server is trusted: it is the one on this machine, and its certificate is for another name.
    let client = reqwest::Client::builder()
        .tls_danger_accept_invalid_certs(true)
        .redirect(Policy::none())
        .no_proxy();
    let answer = match client
        .build()?
        .get(format!("{scheme}://{address}/-/healthy"))
        .send()
        .await
    {
        // An exporter that requires client certificates ends the connection at once; one that hangs would not answer.
        Err(_) if scheme == "https" => return Ok(TcpStream::connect(address).await.map(drop)?),
        answer => answer?,
    };
    ensure!(
        answer.status() == StatusCode::OK,
        "its answer has status {}",
        answer.status().as_u16()
    );
    Ok(())
}
