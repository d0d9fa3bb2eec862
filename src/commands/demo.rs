//! `demo`: serves the data of the embedded demo API, whatever `api.*` says.

use super::{RunError, serve, stdio::print};
use crate::{
    config::{Config, Options},
    demo,
    server::web_config::WebConfigFile,
    state::SavedState,
    support::clock::Clock,
};
use anyhow::Context as _;
use tokio::net::TcpListener;

pub async fn demo(mut options: Options) -> Result<(), RunError> {
    let targets = demo::targets(Clock::system().now());
    options.defaults = format!("poll: {{interval: 5s}}\napi: {{key: demo}}\n{targets}");
    let base_url = demo::start().await.context("cannot start the demo API")?;
    // Flags win over all other layers.
    options
        .flags
        .extend([("api.base_url", base_url), ("api.key_file", String::new())]);
    serve::serve(options, true).await
}

/// Returns the state that a demo starts with, unless its state file has one.
pub fn state() -> SavedState {
    let now = Clock::system().now();
    SavedState {
        repositories: demo::history(now).collect(),
        ..SavedState::default()
    }
}

/// Prints the addresses of the demo.
pub fn announce(config: &Config, web_file: &WebConfigFile, listeners: &[TcpListener]) {
    let scheme = if web_file.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let mut addresses = Vec::new();
    for address in listeners.iter().flat_map(TcpListener::local_addr) {
        let host = if address.ip().is_unspecified() {
            format!("localhost:{}", address.port())
        } else {
            address.to_string()
        };
        addresses.push(format!("{scheme}://{host}/"));
    }
    let addresses = addresses.join(", ");
    // The demo serves even if stdout is closed.
    let _ = print(&format!(
        "The demo is served at {addresses} (Ctrl-C stops it)\n"
    ));
    let base_url = config.api.base_url();
    tracing::info!(%base_url, "serving the demo API; it accepts any key");
}
