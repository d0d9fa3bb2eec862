//! `check-config`: validates the configuration, prints it, and checks the API with `--online`.

use super::{RunError, Uses, load, online, stdio::print, warnings};
use crate::{
    api::Client,
    cli::{CheckConfig, Form},
    config::Options,
    metrics::instruments::Instruments,
    support::{escape::printable, logging},
};
use std::io::Write as _;

pub async fn check(options: &Options, arguments: CheckConfig) -> Result<(), RunError> {
    let (config, web_config) = load(options, Uses::All)?;
    let client = Client::new(&config.api, Instruments::new(None))?;
    if arguments.output == Form::Yaml {
        print_text(&config.yaml())?;
        return Ok(());
    }
    let mut text = config.describe();
    let description = &web_config.description;
    if !description.is_empty() {
        text = format!("{text}\nweb.config_file: {description}\n");
    }
    print_text(&text)?;
    for warning in warnings(&config) {
        logging::print(&warning);
    }
    if arguments.online {
        let mut found = Vec::new();
        let checked = online::check(&config, &client, &mut found).await;
        if !found.is_empty() {
            print_text(&format!("\nonline:\n  {}\n", found.join("\n  ")))?;
        }
        checked?;
    }
    Ok(())
}

fn print_text(text: &str) -> anyhow::Result<()> {
    print(|stdout| stdout.write_all(printable(text).as_bytes()))
}
