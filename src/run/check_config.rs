//! `check-config`: validates, prints the configuration in force, and checks the API if requested.

use super::{RunError, environment, online};
use crate::{
    api::Client,
    config::{self, Options},
    instruments::Instruments,
    web,
};
use anyhow::Context as _;
use std::{io::Write as _, sync::Arc};

pub(super) async fn check(options: &Options, online: bool) -> Result<(), RunError> {
    let config = config::load(options, &environment()).map_err(RunError::usage)?;
    let web_config =
        web::WebConfigFile::load(config.web.config_file.as_deref()).map_err(RunError::usage)?;
    Client::new(&config.api, Arc::new(Instruments::of_one_poll())).map_err(RunError::usage)?;
    let mut text = config.describe();
    let protection = web_config.description();
    if !protection.is_empty() {
        text = format!("{text}\nweb.config_file: {}\n", protection.join("; "));
    }
    let print = |text: &str| {
        std::io::stdout()
            .write_all(text.as_bytes())
            .context("cannot print the configuration")
    };
    print(&text)?;
    if online {
        print(&format!("\nonline:\n{}", online::check(&config).await?))?;
    }
    Ok(())
}
