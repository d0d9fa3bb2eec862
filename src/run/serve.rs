//! `serve`: polls on an interval and serves the result, until the process is asked to stop.

use super::{
    RunError, load, notify, off_the_runtime, open_state, poll_settings, publish, reload::Reloader,
};
use crate::{
    api::Client,
    clock::Clock,
    config::{Config, Options},
    demo::DemoApi,
    instruments::Instruments,
    state::{Memory, StateFile},
    telemetry,
    web::{self, App, ReloadRequest, WebConfigFile},
};
use anyhow::{Context as _, anyhow};
use std::{sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long everything together may take to end: below the promised 5 seconds.
const SHUTDOWN: Duration = Duration::from_millis(4700);

pub async fn serve(options: Options) -> Result<(), RunError> {
    run(Prepared::new(options, None)).await
}

/// Everything that is built from the configuration before anything runs.
pub struct Prepared {
    options: Options,
    pub config: Config,
    logs: telemetry::Handle,
    pub web_config: WebConfigFile,
    instruments: Arc<Instruments>,
    state: (Option<StateFile>, Option<Memory>),
    pub listeners: Vec<TcpListener>,
    client: Client,
    /// Stops when this is dropped.
    demo: Option<DemoApi>,
}

impl Prepared {
    /// Files may block forever, such as pipes and network disks: no thread that answers signals waits for them.
    pub async fn new(options: Options, demo: Option<DemoApi>) -> Result<Self, RunError> {
        off_the_runtime(move || Self::read(options, demo)).await
    }

    fn read(options: Options, demo: Option<DemoApi>) -> Result<Self, RunError> {
        let config = load(&options)?;
        let logs = telemetry::init(&config.log, None);
        let web_config = WebConfigFile::load(config.web.config_file.as_deref())?;
        let instruments = Arc::new(Instruments::new(&config.web.telemetry_path));
        // Before the listeners, so that a second process reports the state file, not the port.
        let state = open_state(&config, demo.is_some(), &instruments)?;
        let listeners = web::bind(&config.web.listen_addresses).map_err(anyhow::Error::new)?;
        let client = Client::new(&config.api, Arc::clone(&instruments))?;
        instruments.config_loaded(Ok(()), Clock::system().now());
        Ok(Self {
            options,
            config,
            logs,
            web_config,
            instruments,
            state,
            listeners,
            client,
            demo,
        })
    }
}

/// Runs the exporter until a signal says to stop.
pub async fn run(
    prepare: impl Future<Output = Result<Prepared, RunError>>,
) -> Result<(), RunError> {
    let (asked_to_stop, hangup) = (asked_to_stop()?, listen(SignalKind::hangup())?);
    tokio::pin!(asked_to_stop);
    let mut prepared = tokio::select! {
        prepared = prepare => prepared?,
        () = &mut asked_to_stop => return Ok(()),
    };
    let _demo = prepared.demo.take();
    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    let (reloader, requests) = start(prepared, &stop, &mut tasks).await?;
    notify::ready();
    let result = tokio::select! {
        Some(ended) = tasks.join_next() => {
            Err(anyhow!("a task of the exporter ended unexpectedly; this is a bug: {ended:?}"))
        }
        () = asked_to_stop => Ok(()),
        never = reloader.run(hangup, requests) => match never {},
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

/// Starts all tasks, which end after `stop`.
async fn start(
    prepared: Prepared,
    stop: &CancellationToken,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<(Reloader, mpsc::Receiver<ReloadRequest>)> {
    let Prepared {
        options,
        config,
        logs,
        web_config,
        instruments,
        state,
        listeners,
        client,
        ..
    } = prepared;
    let (polling, settings) = watch::channel(Arc::new(poll_settings(&config, client.clone())));
    let (published, alive) =
        publish::start(settings, state, &instruments, stop.clone(), tasks).await?;
    let (reload, requests) = mpsc::channel(1);
    let sources = web::Sources {
        published,
        instruments: Arc::clone(&instruments),
        reload,
        clock: Clock::system(),
    };
    let web = App::new(sources, config.web.clone(), web_config);
    let stopped = stop.clone().cancelled_owned();
    tasks.spawn(web::serve(listeners, web.clone(), stopped));
    // On the threads of the web side, so that they show a sign of life too.
    tasks.spawn(notify::feed_watchdog(alive));
    let reloader = Reloader {
        options,
        config: Arc::new(config),
        client,
        polling,
        web,
        logs,
        instruments,
        is_refused: false,
    };
    Ok((reloader, requests))
}

/// Ends when the process is asked to stop.
fn asked_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    );
    Ok(async move {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal, "stopping");
    })
}

fn listen(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
