//! `serve`: polls on an interval and serves the result, until the process is asked to stop.

use super::{
    RunError, load, notify, off_the_runtime, open_state, poll_settings, publish,
    reload::Reloader,
    start_logging,
    stop::{self, StopSignals},
};
use crate::{
    api::Client,
    config::{Config, Options},
    metrics::instruments::Instruments,
    server::{self, Protection, Server, listen, web_config::WebConfigFile},
    support::{clock::Clock, logging},
    web::{self, AppState},
};
use anyhow::anyhow;
use std::{sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::SignalKind,
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long all tasks together may take to end. With the flush of the log it is below the promised 5
/// seconds.
const SHUTDOWN: Duration = Duration::from_millis(4700).saturating_sub(logging::FLUSH);

/// Prints where the demo is served.
pub type Announce = fn(&Config, &WebConfigFile, &[TcpListener]);

/// Runs the exporter until a signal says to stop; as the demo, if it is to be announced.
pub async fn serve(options: Options, announce: Option<Announce>) -> Result<(), RunError> {
    let (mut signals, hangup) = (StopSignals::listen()?, stop::listen(SignalKind::hangup())?);
    // Files may block forever, such as pipes and network disks: no thread that answers signals waits for them.
    let (stop, mut tasks, reloader) = tokio::select! {
        started = off_the_runtime(move || start(options, announce)) => started?,
        _ = signals.received() => return Ok(()),
    };
    notify::ready();
    let result = tokio::select! {
        Some(ended) = tasks.join_next() => {
            Err(anyhow!("a task of the exporter ended unexpectedly; this is a bug: {ended:?}"))
        }
        _ = signals.received() => Ok(()),
        never = reloader.run(hangup) => match never {},
    };
    notify::stopping();
    stop.cancel();
    let ended = async { while tasks.join_next().await.is_some() {} };
    if timeout(SHUTDOWN, ended).await.is_err() {
        tracing::warn!(
            "not everything ended in time, such as a write of the state file; stopping anyway"
        );
    }
    Ok(result?)
}

/// Reads and opens everything that the configuration names, and starts all tasks, which end when the token is cancelled.
fn start(
    options: Options,
    announce: Option<Announce>,
) -> Result<(CancellationToken, JoinSet<()>, Reloader), RunError> {
    let config = load(&options)?;
    let logs = start_logging(&config.log, None)?;
    let web_file = WebConfigFile::load(config.web.config_file.as_deref())?;
    let instruments = Arc::new(Instruments::new(&config.web.telemetry_path));
    // Before the listeners, so that a second process reports the state file, not the port.
    let state = open_state(&config, announce.is_some(), &instruments)?;
    let listeners = listen::bind(&config.web.listen_addresses).map_err(anyhow::Error::new)?;
    let client = Client::new(&config.api, Arc::clone(&instruments))?;
    instruments.config_loaded(Ok(()), Clock::system().now());
    if let Some(announce) = announce {
        announce(&config, &web_file, &listeners);
    }

    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    let (polling, settings) = watch::channel(Arc::new(poll_settings(&config, client.clone())));
    let (published, alive) =
        publish::start(settings, state, &instruments, stop.clone(), &mut tasks)?;
    let (reload, requests) = mpsc::channel(1);
    let state = AppState::new(
        published,
        alive.clone(),
        Arc::clone(&instruments),
        reload,
        Clock::system(),
        config.web.clone(),
    );
    let description = &web_file.description;
    if !description.is_empty() {
        tracing::info!(description, "the web configuration is in force");
    }
    let protection = Protection::new(web_file);
    let server = Server::new(
        web::router(&state, &protection),
        protection,
        Arc::clone(&instruments) as _,
        stop.clone(),
    );
    tasks.spawn(server::serve(listeners, server.clone()));
    let web_file_changed = Arc::new(Notify::new());
    tasks.spawn(server::follow(
        server.clone(),
        Arc::clone(&web_file_changed),
    ));
    // On the threads of the web side, so that they show a sign of life too.
    tasks.spawn(notify::feed_watchdog(alive));
    let reloader = Reloader {
        options,
        config,
        client,
        polling,
        server,
        state,
        web_file_changed,
        logs,
        instruments,
        requests,
        is_refused: false,
        last_refusal: None,
    };
    Ok((stop, tasks, reloader))
}
