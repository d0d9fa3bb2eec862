//! `check-config`: validates, prints the configuration in force, and checks the API if requested.

use super::{RunError, environment, online, print};
use crate::{
    api::Client,
    config::{self, Options},
    instruments::Instruments,
    text::printable,
    web,
};
use std::{io::Write as _, sync::Arc};

pub(super) async fn check(options: &Options, online: bool) -> Result<(), RunError> {
    let config = config::load(options, &environment()).map_err(RunError::usage)?;
    let web_config =
        web::WebConfigFile::load(config.web.config_file.as_deref()).map_err(RunError::usage)?;
    Client::new(&config.api, Arc::new(Instruments::of_one_poll())).map_err(RunError::usage)?;
    for warning in &config.warnings {
        // If stderr is closed, there is nowhere to report it.
        let _ = writeln!(
            std::io::stderr(),
            "translation-exporter: warning: {}",
            printable(&warning.to_string())
        );
    }
    let mut text = config.describe();
    let protection = web_config.description();
    if !protection.is_empty() {
        text = format!("{text}\nweb.config_file: {}\n", protection.join("; "));
    }
    print_text(&text)?;
    if online {
        print_text(&format!("\nonline:\n{}", online::check(&config).await?))?;
    }
    Ok(())
}

fn print_text(text: &str) -> anyhow::Result<()> {
    print(|stdout| stdout.write_all(printable(text).as_bytes()))
}
