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
        let reads_all = cause == Cause::Asked || self.is_pending;
        let (options, config) = (
            reads_all.then(|| self.options.clone()),
            Arc::clone(&self.config),
        );
        let (client, web) = (self.client.clone(), self.web.clone());
        let read = move || read(options.as_ref(), cause, config, &client, &web);
        let outcome = match off_the_runtime(read).await {
            Ok((config, web_config, client)) => {
                self.put_in_force(cause, config, web_config, client);
                Ok(())
            }
            Err(error) => Err(error),
        };
        if reads_all {
            self.is_pending = outcome.is_err();
        }
        let now = self.clock.now();
        let refused = outcome.as_ref().map(|&()| ()).map_err(|error| {
            let error = error.to_string();
            tracing::error!(
                error,
                "the new configuration is refused; the previous one stays in force"
            );
            let hint = match cause {
                Cause::Asked => "correct it, then reload again",
                Cause::WebFileChanged => "correct the file; it is read again when it changes",
            };
            Failure::new(now, error, hint)
        });
        self.instruments.config_loaded(refused, now);
        notify::ready();
        outcome
    }

    fn put_in_force(
        &mut self,
        cause: Cause,
        config: Arc<Config>,
        web_config: WebConfigFile,
        client: Client,
    ) {
        if cause == Cause::WebFileChanged {
            let in_force = web_config.description().join("; ");
            tracing::info!(in_force, "the web configuration has changed");
        }
        warn(&config);
        let weakened = self.web.weakened_by(&web_config).join(", ");
        if !weakened.is_empty() {
            tracing::warn!(
                weakened,
                "the reload weakens the protection of the web endpoints"
            );
        }
        self.web.replace(config.web.clone(), web_config);
        if !Arc::ptr_eq(&self.config, &config) {
            self.logs.apply(&config.log);
            match self.config.changes(&config).join(", ") {
                none if none.is_empty() => {
                    tracing::info!("the configuration was read again; no key changed");
                }
                changed => tracing::info!(changed, "the configuration was read again"),
            }
            let settings = poll_settings(&config, client.clone());
            self.polling.send_replace(Arc::new(settings));
            (self.config, self.client) = (config, client);
        }
    }
}

/// Reads the configuration, if there are `options` to read it by, and everything that is built from files, which blocks.
fn read(
    options: Option<&Options>,
    cause: Cause,
    mut config: Arc<Config>,
    client: &Client,
    web: &web::App,
) -> Result<(Arc<Config>, WebConfigFile, Client), ReloadError> {
    if let Some(options) = options {
        let new = config::load(options, &environment())?;
        let fixed = config.restart_needed(&new);
        if !fixed.is_empty() {
            return Err(ReloadError::Fixed(fixed));
        }
        config = Arc::new(new);
    }
    let web_config = WebConfigFile::load(config.web.config_file.as_deref())?;
    let weakened = web.weakened_by(&web_config);
    // A half-written file must never expose the metrics.
    if cause == Cause::WebFileChanged && !weakened.is_empty() {
        return Err(ReloadError::Weakened(weakened));
    }
    // Last, since its rate is in force at once.
    let client = client.reconfigured(&config.api)?;
    Ok((config, web_config, client))
}
