//! `demo`: serves the data of the embedded demo API, whatever `api.*` says.

use super::{RunError, serve};
use crate::{config::Options, demo, support::clock::Clock};
use anyhow::Context as _;

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
