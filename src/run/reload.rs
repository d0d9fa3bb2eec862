//! The one owner of what is in force: it decides about a signal, a request and a changed web configuration file alike, one
//! after the other. What can change while the exporter runs changes together, or nothing does.

use super::{environment, notify, off_the_runtime, poll_settings, warn};
use crate::{
    api::{BuildError, Client},
    clock::Clock,
    config::{self, Config, ConfigError, Options},
    instruments::Instruments,
    model::Failure,
    poll::Settings,
    telemetry,
    web::{self, ReloadRequest, WebConfigError, WebConfigFile},
};
use std::{convert::Infallible, sync::Arc};
use tokio::{
    signal::unix::Signal,
    sync::{mpsc, watch},
};

/// Why the previous configuration stays in force.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
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

impl ReloadError {
    fn hint(&self) -> &'static str {
        match self {
            Self::Config(_) | Self::Fixed(_) | Self::Client(_) => "correct it, then reload again",
            Self::WebConfig(_) | Self::Weakened(_) => {
                "correct the file; the one in force is read again when it changes, another one by the next reload"
            }
        }
    }
}

/// What is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A signal or a request: everything is.
    Asked,
    /// The web configuration file or one that it names: these are, and everything else too if the last reload that was asked
    /// for was refused, so that it is made up for once the files are right.
    WebFileChanged,
}

/// What is in force, and everything that must know of it.
#[derive(Debug)]
pub(super) struct Reloader {
    pub options: Options,
    pub config: Arc<Config>,
    pub client: Client,
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub web: web::App,
    pub logs: telemetry::Handle,
    pub instruments: Arc<Instruments>,
    pub clock: Clock,
    /// Whether the last reload that was asked for was refused.
    pub is_pending: bool,
}

impl Reloader {
    pub async fn run(
        mut self,
        mut hangup: Signal,
        mut requests: mpsc::Receiver<ReloadRequest>,
    ) -> Infallible {
        loop {
            // Both may be cancelled: neither takes anything before it is done.
            let request = tokio::select! {
                Some(()) = hangup.recv() => None,
                Some(request) = requests.recv() => Some(request),
            };
            let cause = match &request {
                Some(ReloadRequest::WebFileChanged) => Cause::WebFileChanged,
                Some(ReloadRequest::Asked(_)) | None => Cause::Asked,
            };
            // The outcome is also logged and counted, since not everybody gets an answer.
            let outcome = self.reload(cause).await;
            if let Some(ReloadRequest::Asked(answer)) = request {
                // The client may be gone.
                let _ = answer.send(outcome.map_err(|error| error.to_string()));
            }
        }
    }

    async fn reload(&mut self, cause: Cause) -> Result<(), ReloadError> {
        notify::reloading();
        let mut outcome = if cause == Cause::Asked || self.is_pending {
            let outcome = self.apply(cause, Some(self.options.clone())).await;
            self.is_pending = outcome.is_err();
            outcome
        } else {
            self.apply(cause, None).await
        };
        // A mistake elsewhere must not hold back a renewed certificate. What was asked for stays refused.
        if cause == Cause::WebFileChanged
            && self.is_pending
            && let Err(error) = self.apply(cause, None).await
        {
            outcome = Err(error);
        }
        let now = self.clock.now();
        let refused = outcome.as_ref().map(|&()| ()).map_err(|error| {
            let (hint, error) = (error.hint(), error.to_string());
            tracing::error!(
                error,
                "the new configuration is refused; the previous one stays in force"
            );
            Failure::new(now, error, hint)
        });
        self.instruments.config_loaded(refused, now);
        notify::ready();
        outcome
    }

    /// Reads the configuration by `options`, if there are any, and the web configuration file; puts both in force.
    async fn apply(&mut self, cause: Cause, options: Option<Options>) -> Result<(), ReloadError> {
        let config = Arc::clone(&self.config);
        let (client, web) = (self.client.clone(), self.web.clone());
        let read = move || read(options.as_ref(), cause, &config, &client, &web);
        let (anew, web_config) = off_the_runtime(read).await?;
        self.put_in_force(cause, anew, web_config);
        Ok(())
    }

    fn put_in_force(
        &mut self,
        cause: Cause,
        anew: Option<(Client, Config)>,
        web_config: WebConfigFile,
    ) {
        if cause == Cause::WebFileChanged {
            let in_force = web_config.description().join("; ");
            tracing::info!(in_force, "the web configuration has changed");
        }
        let weakened = self.web.weakened_by(&web_config).join(", ");
        if !weakened.is_empty() {
            tracing::warn!(
                weakened,
                "the reload weakens the protection of the web endpoints"
            );
        }
        if let Some((client, config)) = anew {
            warn(&config);
            self.logs.apply(&config.log);
            match self.config.changes(&config).join(", ") {
                none if none.is_empty() => {
                    tracing::info!("the configuration was read again; no key changed");
                }
                changed => tracing::info!(changed, "the configuration was read again"),
            }
            let settings = poll_settings(&config, client.clone());
            self.polling.send_replace(Arc::new(settings));
            (self.config, self.client) = (Arc::new(config), client);
        }
        self.web.replace(self.config.web.clone(), web_config);
    }
}

/// Reads the configuration, if there are `options` to read it by, and everything that is built from files, which blocks.
fn read(
    options: Option<&Options>,
    cause: Cause,
    in_force: &Config,
    client: &Client,
    web: &web::App,
) -> Result<(Option<(Client, Config)>, WebConfigFile), ReloadError> {
    let new = match options {
        Some(options) => Some(config::load(options, &environment())?),
        None => None,
    };
    let config = new.as_ref().unwrap_or(in_force);
    let fixed = in_force.restart_needed(config);
    if !fixed.is_empty() {
        return Err(ReloadError::Fixed(fixed));
    }
    let web_config = WebConfigFile::load(config.web.config_file.as_deref())?;
    let weakened = web.weakened_by(&web_config);
    // A half-written file must never expose the metrics.
    if cause == Cause::WebFileChanged && !weakened.is_empty() {
        return Err(ReloadError::Weakened(weakened));
    }
    let anew = match new {
        None => None,
        // Last, since its rate is in force at once.
        Some(config) => Some((client.reconfigured(&config.api)?, config)),
    };
    Ok((anew, web_config))
}
