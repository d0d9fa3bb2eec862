//! `check-config`: validates the configuration and prints it.

use super::{RunError, load, stdio::print};
use crate::{
    api::Client,
    config::Options,
    metrics::instruments::Instruments,
    state::StateFile,
    support::{clock::Clock, escape::printable},
};

pub fn check(options: &Options, clock: Clock) -> Result<(), RunError> {
    let (config, _) = load(options, None)?;
    if let Some(path) = &config.state_file {
        StateFile::check_content(path, config.api.base_url().as_str())?;
    }
    // This checks the proxy.
    Client::new(&config.api, Instruments::new(None), clock)?;
    Ok(print(&printable(&config.yaml))?)
}
