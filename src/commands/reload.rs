//! Reloads: the [`Reloader`] owns the active configuration and replaces it on SIGHUP, on a request
//! to `/-/reload` and when the web configuration file changes.
//!
//! Triggers are handled one after the other. A reload replaces everything or nothing. A changed web
//! configuration file becomes active even while a mistake elsewhere refuses reloads.

use super::{Uses, load, notify, off_the_runtime, poller_settings};
use crate::{
    api::Client,
    config::{Config, Options},
    domain::Failure,
    metrics::instruments::Instruments,
    poller::Settings,
    server::{
        Server,
        web_config::{WebConfigError, WebConfigFile},
    },
    support::{clock::Clock, logging},
    web::{self, AppState, ReloadRequest},
};
use anyhow::{Context as _, bail};
use globset::GlobSet;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    signal::unix::Signal,
    sync::{mpsc, watch},
    time::timeout,
};

/// The time limit for reading the files of a reload.
const LIMIT: Duration = Duration::from_secs(10);

/// The cause of a reload.
enum Trigger {
    Signal,
    Request(ReloadRequest),
    WebFileChanged(Box<Result<WebConfigFile, WebConfigError>>),
}

/// The owner of the active configuration, with the parts of the program that follow a change.
pub struct Reloader {
    pub options: Options,
    pub config: Config,
    pub client: Client,
    /// The settings of the poller.
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub server: Server,
    pub state: Arc<AppState>,
    /// The changed web configuration file, or its mistake.
    pub web_file_changed: mpsc::Receiver<Result<WebConfigFile, WebConfigError>>,
    pub logs: logging::Handle,
    pub instruments: Arc<Instruments>,
    pub requests: mpsc::Receiver<ReloadRequest>,
    /// True if the last full reload was refused.
    pub is_refused: watch::Sender<bool>,
}

impl Reloader {
    /// Handles triggers forever.
    pub async fn run(mut self, mut hangup: Signal) -> Infallible {
        loop {
            // Cancel safety: signals, requests and notifications stay queued until they are
            // received.
            let trigger = tokio::select! {
                Some(()) = hangup.recv() => Trigger::Signal,
                Some(reply) = self.requests.recv() => Trigger::Request(reply),
                Some(read) = self.web_file_changed.recv() => Trigger::WebFileChanged(Box::new(read)),
            };
            let mut reply = None;
            let outcome = match trigger {
                Trigger::WebFileChanged(read) => self.follow_web_file(*read).await,
                Trigger::Signal => self.reload_and_notify().await,
                Trigger::Request(request) => {
                    reply = Some(request);
                    self.reload_and_notify().await
                }
            };
            let now = Clock::system().moment();
            let hint = "correct it, then reload; the web configuration file needs no reload, \
                        because the exporter notices changes of it";
            let outcome =
                outcome.map_err(|error| Failure::new(format!("{error:#}"), hint, now.wall));
            if let Err(Failure { what, .. }) = &outcome {
                tracing::error!(
                    error = &**what,
                    "the new configuration is refused; the previous one stays active"
                );
            }
            self.instruments.config_loaded(outcome.clone(), now);
            if let Some(reply) = reply {
                // The client may have disconnected.
                let _ = reply.send(outcome.map_err(|failure| failure.what.to_string()));
            }
        }
    }

    async fn reload_and_notify(&mut self) -> anyhow::Result<()> {
        notify::reloading();
        let outcome = self.reload().await;
        notify::ready();
        outcome
    }

    /// Activates the changed web configuration file.
    async fn follow_web_file(
        &mut self,
        read: Result<WebConfigFile, WebConfigError>,
    ) -> anyhow::Result<()> {
        // The web file comes first: a mistake elsewhere must not delay a renewed certificate.
        let active = self.server.protection();
        let outcome = match read.context("web.config_file") {
            // A reload was faster, or names another file now.
            Ok(web_file)
                if web_file.files == active.file.files
                    || web_file.files.web_config() != self.config.web.config_file.as_deref() =>
            {
                Ok(())
            }
            read => read.and_then(|web_file| self.apply(None, web_file)),
        };
        if *self.is_refused.borrow() {
            // The change may have corrected the refused configuration. Otherwise a mistake in the
            // web file itself is reported first.
            let all = self.reload().await;
            return if all.is_ok() { all } else { outcome.and(all) };
        }
        outcome
    }

    /// Reads all files and activates them.
    async fn reload(&mut self) -> anyhow::Result<()> {
        let (options, client) = (self.options.clone(), self.client.clone());
        let active = self.server.protection();
        let read = in_time(move || {
            let (config, web_file) = load(&options, Uses::WebConfig)?;
            let client = client.reconfigured(&config.api)?;
            let web_file = web_file
                .instead_of(&active.file)
                .context("web.config_file")?;
            Ok((config, client, web_file))
        });
        let outcome = read
            .await
            .and_then(|(config, client, web_file)| self.apply(Some((config, client)), web_file));
        self.is_refused.send_replace(outcome.is_err());
        outcome
    }

    /// Activates a configuration with its client, if given, and a web configuration file.
    fn apply(
        &mut self,
        read: Option<(Config, Client)>,
        web_file: WebConfigFile,
    ) -> anyhow::Result<()> {
        if let Some((config, _)) = &read {
            let fixed = self.config.restart_needed(config);
            if !fixed.is_empty() {
                let fixed = fixed.join(", ");
                bail!("a reload cannot change {fixed}; restart the exporter instead");
            }
        }
        if let Some((config, client)) = read {
            client.activate_rate();
            self.client = client;
            self.logs.apply(&config.log);
            let changed = self.config.changes(&config).join(", ");
            if changed.is_empty() {
                tracing::info!("the configuration was read again; no key changed");
            } else {
                tracing::info!(changed, "the configuration was read again");
            }
            let settings = poller_settings(&config, self.client.clone(), GlobSet::empty());
            self.polling.send_replace(settings);
            self.config = config;
        } else {
            let description = &web_file.description;
            let file = self.config.web.config_file.as_deref();
            let file = file.map(|path| tracing::field::display(path.display()));
            tracing::info!(file, description, "the web configuration has changed");
        }
        let protection = self.server.protection().renewed(web_file);
        self.state = self.state.reconfigured(self.config.web.clone());
        self.server
            .replace(web::router(&self.state, &protection), protection);
        Ok(())
    }
}

/// Reads files within [`LIMIT`]. Drops the result of a read that takes longer.
async fn in_time<T: Send + 'static>(
    read: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    timeout(LIMIT, off_the_runtime(read)).await.unwrap_or_else(|_| {
        bail!(
            "the files could not be read within {LIMIT:?}; look for a pipe, or a disk that does \
             not respond, among --config.file, api.key_file, api.ca_file, web.config_file and the \
             files that it names"
        )
    })
}
