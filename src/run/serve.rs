//! `serve` and `demo`: poll on an interval and serve what was read, until the process is told to stop.

use super::{Loader, RunError, notify, poll_settings, reload::Reloader};
use crate::{
    api::Client,
    clock::Clock,
    config::{Config, Loaded},
    exposition::Published,
    instruments::Instruments,
    poll::{Poller, Saver},
    snapshot::{PollStatus, Snapshot},
    state::{Opened, StateFile},
    telemetry,
    web::{self, App, ReloadRequest},
};
use anyhow::{Context as _, anyhow};
use std::{io::Write as _, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};

/// How long everything together may take to end: below the 5 seconds that are promised.
const SHUTDOWN: Duration = Duration::from_millis(4700);

/// What the poller knows, on its way to be encoded.
type Raw = Option<(Arc<Snapshot>, PollStatus)>;

pub(super) async fn serve(loader: Loader, passed: web::PassedSockets) -> Result<(), RunError> {
    let mut signals = Signals::listen()?;
    let Loaded { config, warnings, .. } = loader.load().map_err(RunError::usage)?;
    let logs = telemetry::init(&config.log);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let clock = Clock::system();
    let web_config = web::WebConfigFile::load(config.web.config_file.as_deref()).map_err(RunError::usage)?;
    let instruments = Arc::new(Instruments::new(&config.web.telemetry_path));
    // Before the listeners: whoever starts a second process is to hear of the state file, not of the port.
    let state = open_state(&config, loader.is_demo(), clock, &instruments)?;
    let listeners = web::bind(&config.web.listen_addresses, passed).map_err(anyhow::Error::new)?;
    let client = Client::new(&config.api, Arc::clone(&instruments)).map_err(RunError::usage)?;
    if loader.is_demo() {
        announce(&listeners, &config, web_config.has_tls());
        tracing::info!(base_url = %config.api.base_url, "serving the demo API; it takes api.key where that is set");
    }
    instruments.config_loaded(true, clock.now());

    let (shutdown, stopped) = watch::channel(false);
    let (polling, poll_settings) = watch::channel(Arc::new(poll_settings(&config, client.clone())));
    let (reload, mut reloads) = mpsc::channel(1);
    let (raw, encoding) = watch::channel(None);
    let (publish, published) = watch::channel(None);
    let sources = web::Sources { published, instruments: Arc::clone(&instruments), reload, clock };
    let web = App::new(sources, config.web.clone(), web_config);
    let mut tasks = JoinSet::new();
    let (saver, memory) = state.map_or((None, None), |Opened { file, memory, .. }| {
        let (saver, saving) = Saver::new(file, Arc::clone(&instruments));
        tasks.spawn(saving);
        (Some(saver), memory)
    });
    let hand_over = move |snapshot, status| drop(raw.send_replace(Some((snapshot, status))));
    let poller = Poller::new(poll_settings, memory, saver, clock, Arc::clone(&instruments), Some(hand_over));
    tasks.spawn(web::serve(listeners, web.clone(), until(stopped.clone())));
    // One thread has all of a poll: its tasks wake each other hundreds of times a second, which costs twice the CPU
    // across threads. And scrapes do not wait for it.
    let polling_runtime = super::runtime_of_one_thread()?;
    tasks.spawn_blocking(move || {
        polling_runtime.block_on(poller.run(until(stopped)));
        // A thread that still waits for a resolver or a disk must not hold the end up.
        polling_runtime.shutdown_background();
    });
    tasks.spawn(encode(encoding, publish));
    notify::ready();

    let mut reloader = Reloader { loader, config, client, polling, web, logs, instruments, clock };
    let result = tokio::select! {
        Some(ended) = tasks.join_next() => Err(match ended {
            Ok(()) => anyhow!("a task of the exporter ended by itself; this is a bug"),
            Err(error) => anyhow!("a task of the exporter failed; this is a bug: {error}"),
        }),
        () = control(&mut signals, &mut reloads, &mut reloader) => Ok(()),
    };
    notify::stopping();
    shutdown.send_replace(true);
    end(tasks).await;
    Ok(result?)
}

/// Answers signals and requests for a reload until a signal says to stop.
async fn control(signals: &mut Signals, reloads: &mut mpsc::Receiver<ReloadRequest>, reloader: &mut Reloader) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => return tracing::info!(signal = "SIGTERM", "stopping"),
            _ = signals.interrupt.recv() => return tracing::info!(signal = "SIGINT", "stopping"),
            Some(()) = signals.hangup.recv() => {
                // The outcome is logged and counted; a signal has nobody else to tell it to.
                let _ = tokio::task::block_in_place(|| reloader.reload());
            }
            Some(request) = reloads.recv() => {
                let outcome = tokio::task::block_in_place(|| reloader.reload());
                // Who asked may have gone away.
                let _ = request.answer.send(outcome);
            }
        }
    }
}

/// Encodes what the poller hands over, the newest alone, and publishes it.
async fn encode(mut raw: watch::Receiver<Raw>, publish: watch::Sender<Option<Arc<Published>>>) {
    while raw.changed().await.is_ok() {
        let Some((snapshot, status)) = raw.borrow_and_update().clone() else { continue };
        let encoded = tokio::task::spawn_blocking(move || Arc::new(Published::new(snapshot, status))).await;
        let encoded = encoded.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        publish.send_replace(Some(encoded));
    }
}

async fn end(mut tasks: JoinSet<()>) {
    if timeout(SHUTDOWN, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!("not everything ended in time, such as the last write of the state file; stopping all the same");
    }
}

/// Opens the state file, if one is configured, and logs what is wrong with its content.
fn open_state(
    config: &Config,
    is_demo: bool,
    clock: Clock,
    instruments: &Instruments,
) -> Result<Option<Opened>, RunError> {
    let Some(path) = &config.state_file else {
        tracing::info!("state.file is not set: the progress clock begins anew with each start");
        return Ok(None);
    };
    // The demo's port is another at each start, and its repositories are the same.
    let base_url = if is_demo { "demo" } else { config.api.base_url.as_str() };
    let opened = StateFile::open(path, base_url, clock.now()).map_err(RunError::usage)?;
    if let Some(set_aside) = &opened.set_aside {
        instruments.state_discarded();
        tracing::error!("{set_aside}");
    }
    Ok(Some(opened))
}

/// The one line of the demo: where to look.
fn announce(listeners: &[web::Listener], config: &Config, has_tls: bool) {
    let scheme = if has_tls { "https" } else { "http" };
    let addresses = listeners.iter().map(|listener| {
        let address = listener.address();
        let host = if address.ip().is_unspecified() { "localhost".to_owned() } else { host(address) };
        format!(
            "{scheme}://{host}:{port}/ and {scheme}://{host}:{port}{path}",
            port = address.port(),
            path = config.web.telemetry_path
        )
    });
    let line = format!("The demo is served at {} (Ctrl-C ends it)\n", addresses.collect::<Vec<_>>().join(", "));
    // A closed stdout is no reason not to serve.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn host(address: std::net::SocketAddr) -> String {
    if address.is_ipv6() { format!("[{}]", address.ip()) } else { address.ip().to_string() }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // A sender that is gone means stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// The signals that are answered.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}
