//! Reloads: the [`Reloader`] owns the active configuration and replaces it on SIGHUP, on a request
//! to `/-/reload` and when the web configuration file changes.
//!
//! Triggers are handled one after the other. A reload replaces everything or nothing. A changed web
//! configuration file becomes active even while a mistake elsewhere refuses reloads.

use super::{Uses, load, notify, off_the_runtime, poller_settings};
use crate::{
    api::Client,
    config::{Config, Options, WebConfig},
    domain::Failure,
    poller::Settings,
    server::{
        Server,
        web_config::{Digest, WebConfigFile},
    },
    support::clock::Clock,
    web::{self, AppState, ReloadRequest},
};
use anyhow::{Context as _, ensure};
use globset::GlobSet;
use std::{convert::Infallible, future::pending, mem, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    signal::unix::Signal,
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

/// The time limit for reading the files of a reload.
const LIMIT: Duration = Duration::from_secs(10);

/// The interval at which the web configuration file is read. A file that somebody is writing rarely
/// looks the same twice.
const CHECK_EVERY: Duration = Duration::from_secs(30);

/// The owner of the active configuration, with the parts of the program that follow a change.
pub struct Reloader {
    pub options: Options,
    pub config: Config,
    pub client: Client,
    /// The settings of the poller.
    pub polling: watch::Sender<Arc<Settings<Client>>>,
    pub server: Server,
    pub state: Arc<AppState>,
    pub requests: mpsc::Receiver<ReloadRequest>,
    /// The content of the web configuration file that was read last.
    pub seen: Digest,
    /// If the last reload was refused, the content of the web configuration file with which it is
    /// not repeated. It is empty if files could not be read in time.
    pub refused: Option<Digest>,
}

impl Reloader {
    /// Handles triggers forever.
    pub async fn run(mut self, mut hangup: Signal) -> Infallible {
        loop {
            let mut reply = None;
            let web_file = self.config.web.config_file.clone();
            // Cancel safety: signals and requests stay queued until they are received, and a
            // dropped read starts again from the beginning.
            let outcome = tokio::select! {
                Some(()) = hangup.recv() => self.reload().await,
                Some(request) = self.requests.recv() => {
                    reply = Some(request);
                    self.reload().await
                }
                (digest, read) = read_later(web_file) => match self.follow(digest, read).await {
                    Some(outcome) => outcome,
                    None => continue,
                },
            };
            let now = Clock::system().now();
            let hint = "correct it, then reload; the web configuration file needs no reload, \
                        because the exporter notices changes of it";
            let outcome = outcome.map_err(|error| Failure::new(format!("{error:#}"), hint, now));
            if let Err(Failure { what, .. }) = &outcome {
                tracing::error!(
                    error = &**what,
                    "the new configuration is refused; the previous one stays active"
                );
            }
            self.state.instruments.config_loaded(outcome.clone(), now);
            if let Some(reply) = reply {
                // The client may have disconnected.
                let _ = reply.send(outcome.map_err(|failure| failure.what.to_string()));
            }
        }
    }

    /// Activates a web configuration file that two reads in a row agree on. Returns `None` if
    /// there is nothing new.
    async fn follow(
        &mut self,
        digest: Digest,
        read: anyhow::Result<WebConfigFile>,
    ) -> Option<anyhow::Result<()>> {
        let is_settled = mem::replace(&mut self.seen, digest.clone()) == digest;
        let active = self.server.file();
        if !is_settled || *self.refused.as_ref().unwrap_or(&active.digest) == digest {
            return None;
        }
        // The web file comes first: a mistake elsewhere must not delay a renewed certificate.
        let mut outcome = Ok(());
        if active.digest != digest {
            let settings = self.config.web.clone();
            let activated = read.and_then(|file| self.activate(settings, file));
            outcome = activated.context("web.config_file");
        }
        if self.refused.is_some() {
            // The change may have corrected the refused configuration.
            outcome = self.reload().await;
        }
        self.refused = outcome.is_err().then_some(digest);
        Some(outcome)
    }

    /// Reads all files and activates them.
    async fn reload(&mut self) -> anyhow::Result<()> {
        notify::reloading();
        let (options, client) = (self.options.clone(), self.client.clone());
        let read = in_time(move || {
            let (config, web_file) = load(&options, Uses::WebConfig)?;
            let client = client.reconfigured(&config.api)?;
            Ok((config, client, web_file))
        });
        let outcome = read
            .await
            .and_then(|(config, client, web_file)| self.apply(config, client, web_file));
        // A web configuration file that has not been read since is another content, which repeats
        // the reload. Files that could not be read in time may be right already.
        self.refused = outcome.as_ref().err().map(|error| {
            if error.is::<TookTooLong>() {
                Digest::default()
            } else {
                self.seen.clone()
            }
        });
        notify::ready();
        outcome
    }

    /// Activates a configuration with its client and its web configuration file.
    fn apply(
        &mut self,
        config: Config,
        client: Client,
        web_file: WebConfigFile,
    ) -> anyhow::Result<()> {
        let (mut fixed, mut changed) = (Vec::new(), Vec::new());
        for (old, new) in self.config.changes(&config) {
            let path = old.key.path;
            changed.push(format!("{path} ({:?} -> {:?})", old.value, new.value));
            fixed.extend(old.key.needs_restart.then_some(path));
        }
        let fixed = fixed.join(", ");
        let changed = (!changed.is_empty()).then(|| changed.join(", "));
        ensure!(
            fixed.is_empty(),
            "a reload cannot change {fixed}; restart the exporter instead"
        );
        self.activate(config.web.clone(), web_file)
            .context("web.config_file")?;
        client.activate_rate();
        self.client = client;
        tracing::info!(changed, "the configuration was read again");
        let settings = poller_settings(&config, self.client.clone(), GlobSet::empty());
        self.polling.send_replace(settings);
        self.config = config;
        Ok(())
    }

    /// Activates a web configuration file with the settings of the web side. An empty file replaces
    /// none with content: it may be half written.
    fn activate(&mut self, settings: WebConfig, web_file: WebConfigFile) -> anyhow::Result<()> {
        let active = self.server.file();
        ensure!(
            active.is_empty || !web_file.is_empty,
            "the file is empty; to serve without protection, set no file"
        );
        if active.digest != web_file.digest {
            let description = &web_file.description;
            tracing::info!(description, "the web configuration has changed");
        }
        self.state = self.state.reconfigured(settings);
        let instruments = &self.state.instruments;
        instruments.certificate_expires(web_file.expires());
        self.server
            .replace(web_file, |file| web::router(&self.state, file));
        Ok(())
    }
}

/// Reads the web configuration file after [`CHECK_EVERY`], if there is one.
async fn read_later(path: Option<PathBuf>) -> (Digest, anyhow::Result<WebConfigFile>) {
    let Some(path) = path else {
        return pending().await;
    };
    sleep(CHECK_EVERY).await;
    off_the_runtime(move || WebConfigFile::read(&path)).await
}

/// Reads files within [`LIMIT`]. Drops the result of a read that takes longer.
async fn in_time<T: Send + 'static>(
    read: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let read = timeout(LIMIT, off_the_runtime(read)).await;
    read.map_err(|_| TookTooLong)?
}

/// The failure of [`in_time`].
#[derive(Debug, thiserror::Error)]
#[error(
    "the files could not be read within {LIMIT:?}; look for a pipe, or a disk that does not \
     respond, among --config.file, api.key_file, api.ca_file, web.config_file and the files that \
     it names"
)]
struct TookTooLong;

#[cfg(test)]
mod tests;
