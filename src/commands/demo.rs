//! `demo`: serves the data of the embedded demo API, whatever `api.*` says.

use super::{RunError, serve, stdio::print};
use crate::{config::Options, demo, state::SavedState, support::clock::Clock};
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

/// Prints the address of the page. The demo serves even if stdout is closed.
pub fn announce(listeners: &[TcpListener]) {
    for address in listeners.iter().flat_map(TcpListener::local_addr) {
        let port = address.port();
        let line = format!("The demo is served at http://localhost:{port}/ (Ctrl-C stops it)\n");
        print(&line).ok();
    }
}
