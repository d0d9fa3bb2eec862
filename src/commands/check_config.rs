//! `check-config`: validates the configuration, prints it, and checks the API with `--online`.

use super::{
    RunError, load, online,
    stdio::{print, print_on_stderr},
    warnings,
};
use crate::{
    api::Client, config::Options, metrics::instruments::Instruments,
    server::web_config::WebConfigFile, state::StateFile, support::escape::printable, web,
};
use std::{io::Write as _, sync::Arc};

pub async fn check(options: &Options, online: bool) -> Result<(), RunError> {
    let mut config = load(options)?;
    // `--online` promises one request of each kind, so that retries are off.
    config.api.max_attempts = 1;
    let web_config = WebConfigFile::load(config.web.config_file.as_deref())?;
    if let Some(path) = &config.state_file {
        StateFile::check(path, config.api.base_url.as_str())?;
    }
    let client = Client::new(&config.api, Arc::new(Instruments::of_one_poll()))?;
    let mut text = config.describe();
    let description = &web_config.description;
    if !description.is_empty() {
        text = format!("{text}\nweb.config_file: {description}\n");
    }
    print_text(&text)?;
    for warning in warnings(&config) {
        print_on_stderr(&warning);
    }
    if let Some(warning) = web::describe_policy(&web_config) {
        print_on_stderr(warning);
    }
    if online {
        let found = online::check(&config, &client).await?;
        print_text(&format!("\nonline:\n  {}\n", found.join("\n  ")))?;
    }
    Ok(())
}

fn print_text(text: &str) -> anyhow::Result<()> {
    print(|stdout| stdout.write_all(printable(text).as_bytes()))
}
