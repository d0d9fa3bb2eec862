//! `serve`: polls on an interval and serves the result until a signal stops the process.

use super::{RunError, api_host, load, notify, poller, publish, stdio::print, stop::StopSignals};
use crate::{
    config::Options,
    demo,
    domain::record::SavedState,
    metrics::instruments::Instruments,
    server::{self, Event, Server, listen},
    support::{blocking::off_the_runtime, clock::Clock, glob::Globs, hint::Failure, logging},
    web::{self, AppState},
};
use anyhow::{Context as _, anyhow};
use std::{net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// The time limit for all tasks to end. With the flush of the log it is 4.7 s, below the promised
/// 5 s.
const SHUTDOWN: Duration = Duration::from_millis(4700).saturating_sub(logging::FLUSH);

/// Runs the exporter or the demo until a signal stops it.
pub async fn serve(options: Options, is_demo: bool, clock: Clock) -> Result<(), RunError> {
    let mut signals = StopSignals::listen()?;
    // Reading a pipe or a network disk may block forever, so signals are handled on another thread.
    let (stop, mut tasks) = tokio::select! {
        started = off_the_runtime(move || start(&options, is_demo, clock)) => started?,
        _ = signals.received() => return Ok(()),
    };
    notify::send("READY=1");
    let result = tokio::select! {
        Some(ended) = tasks.join_next() => {
            Err(anyhow!("a task of the exporter ended unexpectedly; this is a bug: {ended:?}"))
        }
        _ = signals.received() => Ok(()),
    };
    notify::send("STOPPING=1");
    stop.cancel();
    let ended = async { while tasks.join_next().await.is_some() {} };
    if timeout(SHUTDOWN, ended).await.is_err() {
        tracing::warn!(
            "some tasks, such as a write of the state file, did not end in time; exiting anyway"
        );
    }
    Ok(result?)
}

/// Loads the configuration, opens the files and sockets that it names, and starts all tasks, which
/// the returned token ends.
fn start(
    options: &Options,
    is_demo: bool,
    clock: Clock,
) -> Result<(CancellationToken, JoinSet<()>), RunError> {
    let (mut config, web_file) = load(options, None)?;
    logging::init(*config.log.level, *config.log.format);
    let instruments = Instruments::new(Some(&config.web.telemetry_path));
    let history = is_demo.then(|| {
        let (now, targets) = (clock.now(), &mut config.settings.targets);
        if targets.0.is_empty() {
            *targets = demo::targets(now);
        }
        SavedState {
            repositories: demo::history(now, targets)
                .map(|kept| (kept.repository.id, kept))
                .collect(),
            ..SavedState::default()
        }
    });
    // The state file comes before the listeners, so that a second process reports the file, not the
    // port.
    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    let only = Globs::default();
    let poller = poller(&config, only, history, &instruments, clock, &mut tasks)?;
    let listeners = listen::bind(&config.web.listen_addresses).context("web.listen_addresses")?;
    if is_demo {
        announce(&listeners, web_file.tls.is_some());
    }
    let (current, alive) = publish::start(poller, &instruments, clock, stop.clone(), &mut tasks)?;
    let state = Arc::new(AppState {
        current,
        alive: alive.clone(),
        instruments: Arc::clone(&instruments),
        clock,
        api: if is_demo {
            "the demo".into()
        } else {
            api_host(&config)
        },
        telemetry_path: config.web.telemetry_path.0,
    });
    let mut facts = instruments.facts();
    (facts.started_at, facts.certificate_expires_at) = (Some(clock.now()), web_file.expires);
    drop(facts);
    let server = Server::new(
        web::router(&state),
        web_file,
        move |event| observe(event, &instruments),
        stop.clone(),
    );
    tasks.spawn(server::run(listeners, server));
    tasks.spawn(notify::feed_watchdog(alive));
    Ok((stop, tasks))
}

/// Counts and reports an event of the server.
fn observe(event: Event, instruments: &Instruments) {
    match event {
        Event::HandshakeFailed => drop(instruments.tls_handshake_failures.inc()),
        Event::FileChanged(Ok(file)) => {
            let mut facts = instruments.facts();
            facts.certificate_expires_at = file.expires;
            facts.web_config_refused = None;
        }
        Event::FileChanged(Err(error)) => {
            let hint = "correct it; the exporter reads it again every 30 s";
            let failure = Failure::new(format!("{error:#}"), hint);
            instruments.facts().web_config_refused = Some(failure);
        }
    }
}

/// Prints the addresses of the page. The demo serves even if stdout is closed.
fn announce(listeners: &[TcpListener], is_tls: bool) {
    let scheme = if is_tls { "https" } else { "http" };
    for mut address in listeners.iter().flat_map(TcpListener::local_addr) {
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let line = format!("The demo is served at {scheme}://{address}/ (Ctrl-C stops it)\n");
        let _ = print(&line);
    }
}
