//! `demo`: serves from the embedded demo API, whatever else is configured.

use super::{
    RunError, environment, off_the_runtime, print,
    serve::{self, Prepared},
};
use crate::{
    cli::DEMO_INTERVAL,
    clock::Clock,
    config::{self, Options, read_key},
    demo,
};
use anyhow::Context as _;
use secrecy::ExposeSecret as _;
use std::{collections::BTreeMap, io::Write as _};

pub(super) async fn demo(mut options: Options) -> Result<(), RunError> {
    let key = demo::random_key();
    options.defaults = BTreeMap::from([
        ("poll.interval", DEMO_INTERVAL.to_owned()),
        ("api.key", key.expose_secret().to_owned()),
        ("targets", demo::targets(Clock::system().now())),
    ]);
    // These win over all layers.
    let api = |base_url: &str| {
        [
            ("api.base_url", vec![base_url.to_owned()]),
            ("api.key_file", vec![String::new()]),
        ]
    };
    options.flags.extend(api("http://localhost"));
    serve::run(async {
        let asked = options.clone();
        let config = off_the_runtime(move || config::load(&asked, &environment())).await;
        let key = read_key(&config.map_err(RunError::usage)?.api.key).map_err(RunError::usage)?;
        let demo = demo::start(key)
            .await
            .context("cannot start the demo API")?;
        options.flags.extend(api(&demo.base_url));
        let prepared = Prepared::new(options, Some(demo)).await?;
        announce(&prepared);
        Ok(prepared)
    })
    .await
}

/// Prints where the demo is served.
fn announce(
    Prepared {
        config,
        web_config,
        listeners,
        ..
    }: &Prepared,
) {
    let (scheme, path) = (web_config.scheme(), &config.web.telemetry_path);
    let addresses = listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
        .map(|address| {
            let host = if address.ip().is_unspecified() {
                format!("localhost:{}", address.port())
            } else {
                address.to_string()
            };
            format!("{scheme}://{host}/ and {scheme}://{host}{path}")
        });
    let line = format!(
        "The demo is served at {} (Ctrl-C stops it)\n",
        addresses.collect::<Vec<_>>().join(", ")
    );
    // A closed stdout does not prevent serving.
    let _ = print(|stdout| stdout.write_all(line.as_bytes()));
    let base_url = &config.api.base_url;
    tracing::info!(%base_url, "serving the demo API; it accepts api.key if that is set");
}
