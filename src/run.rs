//! The only place that wires the parts together and starts tasks: one file for each command.

mod check_config;
mod demo;
mod health;
mod notify;
mod once;
mod online;
mod publish;
mod reload;
mod serve;

use crate::{
    api::Client,
    cli::{Cli, Command},
    clock::Clock,
    config::Config,
    instruments::Instruments,
    model::Failure,
    poll::Settings,
    state::{Opened, OtherApi, StateFile},
    text::printable,
};
use anyhow::Context as _;
use std::{
    ffi::OsString,
    io::{self, StdoutLock, Write as _},
    sync::Arc,
};
use tokio::runtime::{Builder, Runtime};

/// Why the program could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command line or the configuration is wrong, or another process holds the state file: exit code 2.
    #[error("{0:#}")]
    Usage(anyhow::Error),
    /// Everything was read, and not everything is ready: exit code 3.
    #[error("{0}")]
    NotReady(String),
    /// It failed while running: exit code 1.
    #[error("{0:#}")]
    Running(#[from] anyhow::Error),
}

impl RunError {
    fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// Prints on stderr what is wrong.
    pub fn print(&self) {
        let text = printable(&self.to_string());
        // If stderr is closed, there is nowhere to report it.
        let _ = writeln!(io::stderr(), "translation-exporter: {text}");
    }

    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Running(_) => 1,
            Self::Usage(_) => 2,
            Self::NotReady(_) => 3,
        }
    }
}

/// Does what the command line asks for. Returns when that is done, or when the process is asked to stop.
///
/// # Errors
/// Says what is wrong and how to fix it; the caller prints it and exits with [`RunError::exit_code`].
pub fn run(cli: Cli) -> Result<(), RunError> {
    let Cli { options, command } = cli;
    match command {
        Command::Serve => block_on(serving_runtime()?, serve::serve(options)),
        Command::Demo => block_on(serving_runtime()?, demo::demo(options)),
        Command::Once {
            output,
            require_targets,
        } => block_on(
            runtime_of_one_thread()?,
            once::once(&options, output, require_targets),
        ),
        Command::CheckConfig { online } => block_on(
            runtime_of_one_thread()?,
            check_config::check(&options, online),
        ),
        Command::Health => block_on(runtime_of_one_thread()?, health::check(options)),
    }
}

fn block_on<T>(runtime: Runtime, command: impl Future<Output = T>) -> T {
    let result = runtime.block_on(command);
    // A thread that still waits for a disk must not delay the exit.
    runtime.shutdown_background();
    result
}

/// Two threads, so that scrapes do not wait for each other. Polls, and everything slow, run on other threads.
fn serving_runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime's threads")
}

fn runtime_of_one_thread() -> anyhow::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")
}

/// Runs what may wait for a disk indefinitely, so that signals are answered meanwhile.
async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // It was cancelled: the runtime is being shut down, and nobody waits for this any more.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Prints on stdout. A reader that has seen enough, such as `head`, is no error.
fn print(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot print the result"),
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Logs what is valid but probably not intended.
fn warn(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// Opens the state file, with its content; `None` if none is configured.
///
/// # Errors
/// Another process uses it, or it cannot be used.
fn open_state(
    config: &Config,
    is_demo: bool,
    clock: Clock,
    instruments: &Instruments,
) -> Result<Option<Opened>, RunError> {
    let Some(path) = &config.state_file else {
        tracing::info!("state.file is not set: the progress clock begins again at each start");
        return Ok(None);
    };
    // The demo's port differs at each start, but its repositories are the same.
    let (base_url, other_api) = if is_demo {
        ("demo", OtherApi::Refuse)
    } else {
        (config.api.base_url.as_str(), OtherApi::SetAside)
    };
    let opened =
        StateFile::open(path, base_url, other_api, clock.now()).map_err(RunError::usage)?;
    if let Some(set_aside) = &opened.set_aside {
        let hint = "nothing to do, unless the file that was set aside can be repaired";
        instruments.state_discarded(Failure::new(clock.now(), set_aside.to_string(), hint));
        tracing::error!("{set_aside}");
    }
    Ok(Some(opened))
}

fn poll_settings(config: &Config, api: Client) -> Settings<Client> {
    Settings {
        api,
        concurrency: config.api.concurrency,
        interval: config.poll.interval,
        stale_after: config.poll.stale_after,
        max_repositories: config.api.max_repositories,
        filter: config.filter.clone(),
        completion_scale: config.api.completion_scale,
        targets: Arc::clone(&config.targets),
    }
}
