//! Reloads: everything that can change while the exporter runs changes together, or nothing does.

use super::{environment, notify, off_the_runtime, poll_settings};
use crate::{
    api::Client,
    clock::Clock,
    config::{self, Config, Options},
    instruments::Instruments,
    model::Failure,
    poll::Settings,
    telemetry, web,
};
use anyhow::bail;
use std::sync::Arc;
use tokio::sync::watch;

/// Applies new configurations.
#[derive(Debug)]
pub(super) struct Reloader {
    pub options: Options,
    /// What is in force.
    pub config: Arc<Config>,
    pub client: Client,
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub web: web::App,
    pub logs: telemetry::Handle,
    pub instruments: Arc<Instruments>,
    pub clock: Clock,
}

impl Reloader {
    /// Reads the configuration again and applies it.
    ///
    /// # Errors
    /// Why it was refused; nothing has changed then.
    pub async fn reload(&mut self) -> Result<(), String> {
        notify::reloading();
        let (options, config, client) = (
            self.options.clone(),
            Arc::clone(&self.config),
            self.client.clone(),
        );
        let result = match off_the_runtime(move || read(&options, &config, &client)).await {
            Ok((config, web_config, client)) => {
                self.take_up(config, web_config, client);
                Ok(())
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::error!(
                    error,
                    "the new configuration is refused; the previous one stays in force"
                );
                Err(error)
            }
        };
        let now = self.clock.now();
        let refused =
            |error: &String| Failure::new(now, error.as_str(), "correct it, then reload again");
        self.instruments
            .config_loaded(result.as_ref().map(|&()| ()).map_err(refused), now);
        notify::ready();
        result
    }

    fn take_up(&mut self, config: Config, web_config: web::WebConfigFile, client: Client) {
        self.logs.apply(&config.log);
        let changes = self.config.changes(&config);
        if changes.is_empty() {
            tracing::info!("the configuration was read again; no key changed");
        } else {
            tracing::info!(
                changed = changes.join(", "),
                "the configuration was read again"
            );
        }
        let weakened = self.web.weakened_by(&web_config).join(", ");
        if !weakened.is_empty() {
            tracing::warn!(
                weakened,
                "the reload weakens the protection of the web endpoints"
            );
        }
        self.polling
            .send_replace(Arc::new(poll_settings(&config, client.clone())));
        self.web.replace(config.web.clone(), web_config);
        self.client = client;
        self.config = Arc::new(config);
    }
}

/// Reads the configuration and everything that is built from its files, which blocks.
fn read(
    options: &Options,
    in_force: &Config,
    client: &Client,
) -> anyhow::Result<(Config, web::WebConfigFile, Client)> {
    let config = config::load(options, &environment())?;
    let fixed = in_force.restart_needed(&config);
    if !fixed.is_empty() {
        bail!(
            "a reload cannot change {}; restart the exporter instead",
            fixed.join(", ")
        );
    }
    let web_config = web::WebConfigFile::load(config.web.config_file.as_deref())?;
    let client = client.reconfigured(&config.api)?;
    Ok((config, web_config, client))
}
