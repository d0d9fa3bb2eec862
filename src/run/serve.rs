//! `serve` and `demo`: poll on an interval and serve the result, until the process is asked to stop.

use super::{
    RunError, environment, notify, off_the_runtime, open_state, poll_settings, reload::Reloader,
};
use crate::{
    api::Client,
    cli::DEMO_INTERVAL,
    clock::Clock,
    config::{self, Config, Options, read_key},
    demo::{self, DemoApi},
    exposition::Published,
    health,
    instruments::Instruments,
    poll::{Poller, Saver},
    snapshot::{PollStatus, Snapshot},
    state::Opened,
    telemetry,
    web::{self, App, ReloadRequest},
};
use anyhow::{Context as _, anyhow};
use secrecy::ExposeSecret as _;
use std::{collections::BTreeMap, convert::Infallible, io::Write as _, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};

/// How long everything together may take to end: below the promised 5 seconds.
const SHUTDOWN: Duration = Duration::from_millis(4700);

/// How often it is judged at least whether something is wrong.
const OBSERVE_EVERY: Duration = Duration::from_secs(5);

/// What the poller knows, on its way to be encoded.
type Raw = Option<(Arc<Snapshot>, PollStatus)>;

pub(super) async fn serve(options: Options) -> Result<(), RunError> {
    run(Prepared::new(options, None)).await
}

pub(super) async fn demo(mut options: Options, seed: u64) -> Result<(), RunError> {
    let key = demo::random_key();
    options.defaults = BTreeMap::from([
        ("poll.interval", DEMO_INTERVAL.to_owned()),
        ("api.key", key.expose_secret().to_owned()),
    ]);
    // The demo has its own API, whatever else is configured.
    let api = |base_url: &str| {
        [
            ("api.base_url", vec![base_url.to_owned()]),
            ("api.key_file", vec![String::new()]),
        ]
    };
    options.flags.extend(api("http://localhost"));
    run(async {
        let asked = options.clone();
        let config = off_the_runtime(move || config::load(&asked, &environment())).await;
        let key = read_key(&config.map_err(RunError::usage)?.api.key).map_err(RunError::usage)?;
        let demo = demo::start(seed, key)
            .await
            .context("cannot start the demo API")?;
        options.flags.extend(api(&demo.base_url));
        let prepared = Prepared::new(options, Some(demo)).await?;
        announce(&prepared);
        Ok(prepared)
    })
    .await
}

/// Everything that is built from the configuration before anything runs.
struct Prepared {
    options: Options,
    config: Config,
    logs: telemetry::Handle,
    clock: Clock,
    web_config: web::WebConfigFile,
    instruments: Arc<Instruments>,
    state: Option<Opened>,
    listeners: Vec<TcpListener>,
    client: Client,
    /// Stops when this is dropped.
    demo: Option<DemoApi>,
}

impl Prepared {
    /// Files may block forever, such as pipes and network disks: no thread that answers signals waits for them.
    async fn new(options: Options, demo: Option<DemoApi>) -> Result<Self, RunError> {
        off_the_runtime(move || Self::read(options, demo)).await
    }

    fn read(options: Options, demo: Option<DemoApi>) -> Result<Self, RunError> {
        let config = config::load(&options, &environment()).map_err(RunError::usage)?;
        let logs = telemetry::init(&config.log, None);
        let clock = Clock::system();
        let web_config =
            web::WebConfigFile::load(config.web.config_file.as_deref()).map_err(RunError::usage)?;
        let instruments = Arc::new(Instruments::new(&config.web.telemetry_path));
        // Before the listeners, so that a second process reports the state file, not the port.
        let state = open_state(&config, demo.is_some(), clock, &instruments)?;
        let listeners = web::bind(&config.web.listen_addresses).map_err(anyhow::Error::new)?;
        let client = Client::new(&config.api, Arc::clone(&instruments)).map_err(RunError::usage)?;
        instruments.config_loaded(Ok(()), clock.now());
        Ok(Self {
            options,
            config,
            logs,
            clock,
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
async fn run(prepare: impl Future<Output = Result<Prepared, RunError>>) -> Result<(), RunError> {
    let (stop, hangup) = (asked_to_stop()?, listen(SignalKind::hangup())?);
    tokio::pin!(stop);
    let prepared = tokio::select! {
        prepared = prepare => prepared?,
        () = &mut stop => return Ok(()),
    };
    let Prepared {
        options,
        config,
        logs,
        clock,
        web_config,
        instruments,
        state,
        listeners,
        client,
        demo: _demo,
    } = prepared;
    let (shutdown, stopped) = watch::channel(false);
    let (polling, poll_settings) = watch::channel(Arc::new(poll_settings(&config, client.clone())));
    let (reload, reloads) = mpsc::channel(1);
    let (raw, encoding) = watch::channel(None);
    let mut tasks = JoinSet::new();
    let (saver, memory) = state.map_or((None, None), |Opened { file, memory, .. }| {
        let (saver, saving) = Saver::new(file, Arc::clone(&instruments));
        tasks.spawn(saving);
        (Some(saver), memory)
    });
    let hand_over = move |snapshot, status| drop(raw.send_replace(Some((snapshot, status))));
    let poller = Poller::new(
        poll_settings,
        memory,
        saver,
        clock,
        Arc::clone(&instruments),
        Some(hand_over),
    );
    let (publish, published) =
        watch::channel(published(Arc::new(poller.snapshot()), poller.status().clone()).await);
    let sources = web::Sources {
        published: published.clone(),
        instruments: Arc::clone(&instruments),
        reload,
        clock,
    };
    let web = App::new(sources, config.web.clone(), web_config);
    tasks.spawn(web::serve(listeners, web.clone(), until(stopped.clone())));
    // A poll has one thread of its own: its tasks wake each other hundreds of times a second, which costs twice the CPU
    // across threads. And scrapes do not wait for it.
    let polling_runtime = super::runtime_of_one_thread()?;
    tasks.spawn_blocking(move || {
        polling_runtime.block_on(poller.run(until(stopped)));
        // A thread that still waits for a resolver or a disk must not delay the exit.
        polling_runtime.shutdown_background();
    });
    tasks.spawn(encode(encoding, publish));
    tasks.spawn(log_health(
        published.clone(),
        Arc::clone(&instruments),
        clock,
    ));
    notify::ready();

    let config = Arc::new(config);
    let reloader = Reloader {
        options,
        config,
        client,
        polling,
        web,
        logs,
        instruments,
        clock,
    };
    let result = tokio::select! {
        Some(ended) = tasks.join_next() => Err(match ended {
            Ok(()) => anyhow!("a task of the exporter ended unexpectedly; this is a bug"),
            Err(error) => anyhow!("a task of the exporter failed; this is a bug: {error}"),
        }),
        () = stop => Ok(()),
        never = reload_when_asked(hangup, reloads, reloader) => match never {},
    };
    notify::stopping();
    shutdown.send_replace(true);
    end(tasks).await;
    Ok(result?)
}

/// Answers SIGHUP and requests for a reload, one after the other.
async fn reload_when_asked(
    mut hangup: Signal,
    mut requests: mpsc::Receiver<ReloadRequest>,
    mut reloader: Reloader,
) -> Infallible {
    loop {
        let request = tokio::select! {
            Some(()) = hangup.recv() => None,
            Some(request) = requests.recv() => Some(request),
        };
        // The outcome is also logged and counted, since a signal gets no response.
        let outcome = reloader.reload().await;
        if let Some(answer) = request {
            // The client may be gone.
            let _ = answer.send(outcome);
        }
    }
}

/// Encodes the newest data that the poller hands over, and publishes them.
async fn encode(mut raw: watch::Receiver<Raw>, publish: watch::Sender<Arc<Published>>) {
    while raw.changed().await.is_ok() {
        let Some((snapshot, status)) = raw.borrow_and_update().clone() else {
            continue;
        };
        publish.send_replace(published(snapshot, status).await);
    }
}

async fn published(snapshot: Arc<Snapshot>, status: PollStatus) -> Arc<Published> {
    off_the_runtime(move || Arc::new(Published::new(snapshot, status))).await
}

/// Logs what begins to be wrong and what ends.
async fn log_health(
    mut published: watch::Receiver<Arc<Published>>,
    instruments: Arc<Instruments>,
    clock: Clock,
) {
    let mut watch = health::Watch::default();
    // What the exporter knows about itself also changes between publications.
    while !matches!(
        timeout(OBSERVE_EVERY, published.changed()).await,
        Ok(Err(_))
    ) {
        let newest = Arc::clone(&published.borrow_and_update());
        let now = clock.now();
        watch.observe(
            &health::findings(&newest.snapshot, &newest.status, &instruments.facts(), now),
            now,
        );
    }
}

async fn end(mut tasks: JoinSet<()>) {
    if timeout(SHUTDOWN, async {
        while tasks.join_next().await.is_some() {}
    })
    .await
    .is_err()
    {
        tracing::warn!(
            "not everything ended in time, such as a write of the state file; stopping anyway"
        );
    }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // A dropped sender means stop, too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Prints where the demo is served.
fn announce(
    Prepared {
        config,
        web_config,
        listeners,
        ..
    }: &Prepared,
) {
    let (scheme, path) = (web_config.scheme(), &config.web.telemetry_path);
    let addresses = listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
        .map(|address| {
            let host = if address.ip().is_unspecified() {
                format!("localhost:{}", address.port())
            } else {
                address.to_string()
            };
            format!("{scheme}://{host}/ and {scheme}://{host}{path}")
        });
    let line = format!(
        "The demo is served at {} (Ctrl-C stops it)\n",
        addresses.collect::<Vec<_>>().join(", ")
    );
    // A closed stdout does not prevent serving.
    let _ = std::io::stdout().write_all(line.as_bytes());
    let base_url = &config.api.base_url;
    tracing::info!(%base_url, "serving the demo API; it accepts api.key if that is set");
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
