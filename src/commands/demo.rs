//! `demo`: serves the data of the embedded demo API, whatever `api.*` says.

use super::{RunError, serve};
use crate::{config::Options, demo, support::clock::Clock};
use anyhow::Context as _;

pub async fn demo(mut options: Options, clock: Clock) -> Result<(), RunError> {
    let base_url = demo::start().await.context("cannot start the demo API")?;
    // Flags win over all other layers.
    options.extend([
        ("api.base_url", base_url),
        ("api.key", "demo".to_owned()),
        ("api.key_file", String::new()),
        ("poll.interval", "5s".to_owned()),
        ("poll.stale_after", String::new()),
    ]);
    serve::serve(options, true, clock).await
}
