//! `check-config`: validates the configuration and prints it.

use super::{RunError, load, stdio::print};
use crate::{
    api::Client,
    config::Options,
    metrics::instruments::Instruments,
    support::{clock::Clock, escape::printable},
};

pub fn check(options: &Options, clock: Clock) -> Result<(), RunError> {
    let (config, _) = load(options, true)?;
    // This checks the certificates and the proxy.
    Client::new(&config.api, Instruments::new(None), clock)?;
    Ok(print(&printable(&config.yaml))?)
}
