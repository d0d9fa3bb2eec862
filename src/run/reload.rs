//! The one owner of what is in force: it decides about a signal, a request and a changed web configuration file alike, one
//! after the other. What can change while the exporter runs changes together, or nothing does; only a web configuration file
//! that changes comes into force even while something else is refused.

use super::{load, notify, off_the_runtime, poll_settings};
use crate::{
    api::{BuildError, Client},
    clock::Clock,
    config::{Config, ConfigError, Options},
    instruments::Instruments,
    model::Failure,
    poll::Settings,
    telemetry,
    web::{App, ReloadRequest, WebConfigError, WebConfigFile},
};
use std::{convert::Infallible, sync::Arc};
use tokio::{
    signal::unix::Signal,
    sync::{mpsc, watch},
};

/// Why the previous configuration stays in force.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("a reload cannot change {}; restart the exporter instead", .0.join(", "))]
    Fixed(Vec<&'static str>),
    #[error(transparent)]
    WebConfig(#[from] WebConfigError),
    #[error(
        "the changed web configuration file removes or weakens {}; reload or restart if that is intended",
        .0.join(", ")
    )]
    Weakened(Vec<&'static str>),
    #[error(transparent)]
    Client(#[from] BuildError),
}

/// What is in force, and everything that must know of it.
#[derive(Debug)]
pub struct Reloader {
    pub options: Options,
    pub config: Config,
    pub client: Client,
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub web: App,
    pub logs: telemetry::Handle,
    pub instruments: Arc<Instruments>,
    pub requests: mpsc::Receiver<ReloadRequest>,
    /// Whether the last reload that was asked for was refused.
    pub is_refused: bool,
}

impl Reloader {
    pub async fn run(mut self, mut hangup: Signal) -> Infallible {
        loop {
            // Both are safe to cancel: a signal or a request that is not taken yet stays where it is.
            let request = tokio::select! {
                Some(()) = hangup.recv() => None,
                Some(request) = self.requests.recv() => Some(request),
            };
            notify::reloading();
            let is_asked = !matches!(request, Some(ReloadRequest::WebFileChanged));
            let outcome;
            (self, outcome) = off_the_runtime(move || {
                let outcome = if is_asked {
                    self.reload(true)
                } else {
                    self.follow_web_file()
                };
                (self, outcome)
            })
            .await;
            let now = Clock::system().now();
            let hint = "correct it, then reload again; the web configuration file in force is read again when it changes";
            let outcome = outcome.map_err(|error| Failure::new(now, error.to_string(), hint));
            // It is logged and counted, since not everybody gets an answer.
            if let Err(Failure { what, .. }) = &outcome {
                tracing::error!(
                    error = &**what,
                    "the new configuration is refused; the previous one stays in force"
                );
            }
            self.instruments.config_loaded(outcome.clone(), now);
            notify::ready();
            if let Some(ReloadRequest::Asked(answer)) = request {
                // The client may be gone.
                let _ = answer.send(outcome.map_err(|failure| failure.what.to_string()));
            }
        }
    }

    fn follow_web_file(&mut self) -> Result<(), ReloadError> {
        // A mistake elsewhere must not hold back a renewed certificate.
        let outcome = self.apply(None, false);
        if self.is_refused {
            // The change may put right what was refused.
            return self.reload(false);
        }
        outcome
    }

    /// Reads everything.
    fn reload(&mut self, may_weaken: bool) -> Result<(), ReloadError> {
        let read = load(&self.options).map_err(ReloadError::from);
        let outcome = read.and_then(|config| self.apply(Some(config), may_weaken));
        self.is_refused = outcome.is_err();
        outcome
    }

    /// Puts in force this configuration, if one was read, and the web configuration file.
    fn apply(&mut self, read: Option<Config>, may_weaken: bool) -> Result<(), ReloadError> {
        let config = read.as_ref().unwrap_or(&self.config);
        let fixed = self.config.restart_needed(config);
        if !fixed.is_empty() {
            return Err(ReloadError::Fixed(fixed));
        }
        let web_file = WebConfigFile::load(config.web.config_file.as_deref())?;
        let weakened = self.web.weakened_by(&web_file);
        // A half-written file must never expose the metrics.
        if !may_weaken && !weakened.is_empty() {
            return Err(ReloadError::Weakened(weakened));
        }
        if let Some(config) = read {
            // Last of what can fail, since its rate is in force at once.
            self.client = self.client.reconfigured(&config.api)?;
            self.logs.apply(&config.log);
            let changed = self.config.changes(&config).join(", ");
            if changed.is_empty() {
                tracing::info!("the configuration was read again; no key changed");
            } else {
                tracing::info!(changed, "the configuration was read again");
            }
            let settings = poll_settings(&config, self.client.clone());
            self.polling.send_replace(Arc::new(settings));
            self.config = config;
        } else {
            let description = &web_file.description;
            tracing::info!(description, "the web configuration has changed");
        }
        if !weakened.is_empty() {
            tracing::warn!(
                weakened = weakened.join(", "),
                "the reload weakens the protection of the web endpoints"
            );
        }
        self.web.replace(self.config.web.clone(), web_file);
        Ok(())
    }
}
