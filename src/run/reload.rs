//! Reloads: all that can change while the exporter runs changes together, or nothing does.

use super::{Loader, notify, poll_settings};
use crate::{
    api::Client,
    clock::Clock,
    config::{Config, Loaded, restart_needed},
    instruments::Instruments,
    poll::Settings,
    telemetry, web,
};
use anyhow::bail;
use std::sync::Arc;
use tokio::sync::watch;

/// Takes up new configurations.
#[derive(Debug)]
pub(super) struct Reloader {
    pub loader: Loader,
    /// What is in force.
    pub config: Config,
    pub client: Client,
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub web: web::App,
    pub logs: telemetry::Handle,
    pub instruments: Arc<Instruments>,
    pub clock: Clock,
}

impl Reloader {
    /// Reads the configuration anew and takes it up.
    ///
    /// # Errors
    /// Says why it was refused; nothing has changed then.
    pub fn reload(&mut self) -> Result<(), String> {
        notify::reloading();
        let result = self.take_up();
        self.instruments.config_loaded(result.is_ok(), self.clock.now());
        notify::ready();
        match result {
            Ok(()) => {
                tracing::info!("the configuration was read anew");
                Ok(())
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::error!(error, "the new configuration is refused; the one before stays in force");
                Err(error)
            }
        }
    }

    fn take_up(&mut self) -> anyhow::Result<()> {
        let Loaded { config, warnings, .. } = self.loader.load()?;
        let fixed = restart_needed(&self.config, &config);
        if !fixed.is_empty() {
            bail!("a reload cannot change {}; restart the exporter instead", fixed.join(", "));
        }
        let web_config = web::WebConfigFile::load(config.web.config_file.as_deref())?;
        let client = self.client.reconfigured(&config.api)?;
        self.logs.apply(&config.log);
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        self.polling.send_replace(Arc::new(poll_settings(&config, client.clone())));
        self.web.replace(config.web.clone(), web_config);
        self.client = client;
        self.config = config;
        Ok(())
    }
}
