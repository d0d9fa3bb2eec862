//! `demo`: serves the data of the embedded demo API, whatever `api.*` says.

use super::{RunError, serve, stdio::print};
use crate::{config::Options, demo, state::SavedState, support::clock::Clock};
use anyhow::Context as _;
use std::net::Ipv4Addr;
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

/// Prints the addresses of the page. The demo serves even if stdout is closed.
pub fn announce(listeners: &[TcpListener]) {
    for mut address in listeners.iter().flat_map(TcpListener::local_addr) {
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        print(&format!(
            "The demo is served at http://{address}/ (Ctrl-C stops it)\n"
        ))
        .ok();
    }
}
