//! `check-config`: validates the configuration, prints it, and checks the API with `--online`.

use super::{RunError, load, online, stdio::print};
use crate::{
    api::Client, config::Options, metrics::instruments::Instruments, support::escape::printable,
};

pub async fn check(options: &Options, is_online: bool) -> Result<(), RunError> {
    let (config, _) = load(options, true)?;
    // This checks the certificates and the proxy.
    Client::new(&config.api, Instruments::new(None))?;
    print(&printable(&config.yaml))?;
    if is_online {
        let mut found = Vec::new();
        let checked = online::check(&config, &mut found).await;
        if !found.is_empty() {
            let found = format!("# online:\n#   {}\n", found.join("\n#   "));
            print(&printable(&found))?;
        }
        checked?;
    }
    Ok(())
}
