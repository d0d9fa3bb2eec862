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

/// Why something is read again, and so what is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A signal or a request: everything is read.
    Asked,
    /// What was asked for was refused, and the web configuration file has changed, which may put it right: everything is read.
    Refused,
    /// The web configuration file, or one that it names, has changed: these are read.
    WebFileChanged,
}

/// What is in force, and everything that must know of it.
#[derive(Debug)]
pub struct Reloader {
    pub options: Options,
    pub config: Arc<Config>,
    pub client: Client,
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub web: App,
    pub logs: telemetry::Handle,
    pub instruments: Arc<Instruments>,
    /// Whether the last reload that was asked for was refused.
    pub is_refused: bool,
}

impl Reloader {
    pub async fn run(
        mut self,
        mut hangup: Signal,
        mut requests: mpsc::Receiver<ReloadRequest>,
    ) -> Infallible {
        loop {
            // Both are safe to cancel: a signal or a request that is not taken yet stays where it is.
            let request = tokio::select! {
                Some(()) = hangup.recv() => None,
                Some(request) = requests.recv() => Some(request),
            };
            notify::reloading();
            let outcome = match request {
                Some(ReloadRequest::WebFileChanged) => self.follow_web_file().await,
                Some(ReloadRequest::Asked(_)) | None => self.reload(Cause::Asked).await,
            };
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

    async fn follow_web_file(&mut self) -> Result<(), ReloadError> {
        let outcome = if self.is_refused {
            self.reload(Cause::Refused).await
        } else {
            self.apply(Cause::WebFileChanged).await
        };
        if self.is_refused {
            // A mistake elsewhere must not hold back a renewed certificate. What was asked for stays refused.
            self.apply(Cause::WebFileChanged).await?;
        }
        outcome
    }

    async fn reload(&mut self, cause: Cause) -> Result<(), ReloadError> {
        let outcome = self.apply(cause).await;
        self.is_refused = outcome.is_err();
        outcome
    }

    /// Reads what is to be read, and puts it in force.
    async fn apply(&mut self, cause: Cause) -> Result<(), ReloadError> {
        let (options, client) = (self.options.clone(), self.client.clone());
        let (in_force, web) = (Arc::clone(&self.config), self.web.clone());
        let read = move || read(cause, &options, &in_force, &client, &web);
        let (config, client, web_config) = off_the_runtime(read).await?;
        if cause != Cause::Asked {
            let description = &web_config.description;
            tracing::info!(description, "the web configuration has changed");
        }
        if cause != Cause::WebFileChanged {
            self.logs.apply(&config.log);
            let changed = self.config.changes(&config).join(", ");
            if changed.is_empty() {
                tracing::info!("the configuration was read again; no key changed");
            } else {
                tracing::info!(changed, "the configuration was read again");
            }
            let settings = poll_settings(&config, client.clone());
            self.polling.send_replace(Arc::new(settings));
            (self.config, self.client) = (config, client);
        }
        self.web.replace(self.config.web.clone(), web_config);
        Ok(())
    }
}

/// Reads the configuration, except if only the web configuration file has changed, and everything that is built from files,
/// which blocks.
fn read(
    cause: Cause,
    options: &Options,
    in_force: &Arc<Config>,
    client: &Client,
    web: &App,
) -> Result<(Arc<Config>, Client, WebConfigFile), ReloadError> {
    let config = match cause {
        Cause::WebFileChanged => Arc::clone(in_force),
        Cause::Asked | Cause::Refused => Arc::new(load(options)?),
    };
    let fixed = in_force.restart_needed(&config);
    if !fixed.is_empty() {
        return Err(ReloadError::Fixed(fixed));
    }
    let web_config = WebConfigFile::load(config.web.config_file.as_deref())?;
    let weakened = web.weakened_by(&web_config);
    // A half-written file must never expose the metrics.
    if cause != Cause::Asked && !weakened.is_empty() {
        return Err(ReloadError::Weakened(weakened));
    }
    // Last, since its rate is in force at once.
    let client = match cause {
        Cause::WebFileChanged => client.clone(),
        Cause::Asked | Cause::Refused => client.reconfigured(&config.api)?,
    };
    if !weakened.is_empty() {
        tracing::warn!(
            weakened = weakened.join(", "),
            "the reload weakens the protection of the web endpoints"
        );
    }
    Ok((config, client, web_config))
}
