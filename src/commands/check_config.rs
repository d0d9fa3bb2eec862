//! `check-config`: validates the configuration, prints it, and checks the API with `--online`.

use super::{RunError, Uses, load, online, stdio::print};
use crate::{
    api::Client, config::Options, metrics::instruments::Instruments, support::escape::printable,
};
use std::io::Write as _;

pub async fn check(options: &Options, is_online: bool) -> Result<(), RunError> {
    let (config, web_config) = load(options, Uses::All)?;
    // This checks the certificates and the proxy.
    Client::new(&config.api, Instruments::new(None))?;
    print_text(&config.yaml)?;
    let description = &web_config.description;
    if !description.is_empty() {
        print_text(&format!("# web.config_file: {description}\n"))?;
    }
    if is_online {
        let mut found = Vec::new();
        let checked = online::check(&config, &mut found).await;
        if !found.is_empty() {
            print_text(&format!("# online:\n#   {}\n", found.join("\n#   ")))?;
        }
        checked?;
    }
    Ok(())
}

fn print_text(text: &str) -> anyhow::Result<()> {
    print(|stdout| stdout.write_all(printable(text).as_bytes()))
}
