//! The commands: one file for each, which wires the other modules together. `demo` is `serve` with
//! an embedded API.

mod check_config;
mod demo;
mod health;
mod notify;
mod once;
mod output;
mod progress;
mod publish;
mod serve;
mod stdio;
mod stop;

use crate::{
    api::{Client, check_ca_file},
    cli::{Cli, Command},
    config::{self, CONFIG_FILE, Config, ConfigError, Options},
    domain::{Failure, Settings},
    metrics::instruments::Instruments,
    poller::{Poller, Saver},
    server::{listen, web_config::WebConfigFile},
    state::{DEMO, SavedState, StateFile},
    support::{
        clock::{Clock, Timestamp},
        files::{UsedFiles, claim},
        hint::SetupError,
        logging,
    },
};
use anyhow::Context as _;
use globset::GlobSet;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::runtime::Builder;
use url::Position;

/// The failure of a command, with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// `once` read everything, but the targets are not met.
    #[error("below their targets:\n{0}")]
    NotReady(String),
    /// The command failed while running.
    #[error("{0:#}")]
    Running(#[from] anyhow::Error),
}

impl RunError {
    /// Prints the message on stderr.
    pub fn print(&self) {
        logging::print(&self.to_string());
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotReady(_) => 3,
            Self::Running(_) => 1,
            _ => 2,
        }
    }
}

/// Runs the command of the command line until it is done, or a signal stops the process.
///
/// # Errors
/// Fails with a message that names the mistake and its remedy. The caller prints it and exits with
/// [`RunError::exit_code`].
pub fn run(cli: Cli) -> Result<(), RunError> {
    let Cli { options, command } = cli;
    let command = command.unwrap_or_default();
    // `serve` has two worker threads, so that scrapes do not wait for each other; polls and
    // blocking work run on other threads. The tasks of a poll wake each other all the time, which
    // costs less CPU on a single thread.
    let mut builder = match command {
        Command::Serve | Command::Demo => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    let runtime = builder
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime's threads")?;
    let clock = Clock::system();
    let result = runtime.block_on(async {
        stop::survive_large_files()?;
        match command {
            Command::Serve => serve::serve(options, false, clock).await,
            Command::Demo => demo::demo(options, clock).await,
            Command::Once(arguments) => once::once(&options, arguments, clock).await,
            Command::CheckConfig => check_config::check(&options, clock),
            Command::Health => health::check(options).await,
        }
    });
    // A thread that waits for a disk must not delay the exit.
    runtime.shutdown_background();
    result
}

/// Returns the host of the API, for people.
fn api_host(config: &Config) -> Arc<str> {
    config.api.base_url()[Position::BeforeHost..Position::AfterPort].into()
}

fn environment() -> Vec<(String, String)> {
    let variables = std::env::vars_os().map(|(name, value)| [name, value]);
    let texts = variables.map(|pair| pair.map(|text| text.to_string_lossy().into_owned()));
    texts.map(<(String, String)>::from).collect()
}

/// Loads the configuration and, for a command that `serves`, its web configuration file. Checks the
/// files and addresses that the command uses, so that one run shows every mistake. Returns the
/// files, too.
fn load(
    options: &Options,
    serves: bool,
) -> Result<(Config, WebConfigFile, UsedFiles), ConfigError> {
    let (mut web_file, mut used) = (WebConfigFile::default(), UsedFiles::new());
    let config = config::load(options, &environment(), |sections| {
        let mut checks: config::Checks = Vec::new();
        if let Some(path) = sections.api.ca_file.as_deref() {
            checks.push(("api.ca_file", check_ca_file(path).map_err(Into::into)));
        }
        if serves {
            let read = WebConfigFile::load(sections.web.config_file.as_deref());
            checks.push(("web.config_file", read.map(|read| web_file = read)));
            let addresses = sections.web.listen_addresses.iter().map(String::as_str);
            checks.push((
                "web.listen_addresses",
                listen::check(addresses).map_err(Into::into),
            ));
        }
        let (api, file) = (&sections.api, options.get(CONFIG_FILE));
        let read = [
            file.map(Path::new),
            api.key_file.as_deref(),
            api.ca_file.as_deref(),
        ];
        let of_web = web_file.paths.iter().map(PathBuf::as_path);
        for path in read.into_iter().flatten().chain(of_web) {
            // The run reads them only: two may be one, such as a certificate with its key.
            let _ = claim(&mut used, path);
        }
        if let Some(path) = sections.state.file.as_deref() {
            let checked = StateFile::check(path, &mut used);
            checks.push(("state.file", checked.map_err(Into::into)));
        }
        checks
    })?;
    Ok((config, web_file, used))
}

/// Opens the state file and reads its content, if `state.file` is set.
fn open_state(
    config: &Config,
    is_demo: bool,
    instruments: &Instruments,
    now: Timestamp,
) -> Result<(Option<StateFile>, Option<SavedState>), SetupError> {
    let Some(path) = &config.state_file else {
        // The demo brings a history of its own.
        if !is_demo {
            tracing::info!("without state.file, a run knows no earlier progress");
        }
        return Ok((None, None));
    };
    let base_url = if is_demo {
        DEMO
    } else {
        config.api.base_url().as_str()
    };
    let (file, saved) = StateFile::open(path, base_url, now)?;
    let saved = saved.unwrap_or_else(|set_aside| {
        let hint = "restore the state from a backup, or delete the file that was set aside";
        instruments.facts().state_discarded = Some(Failure::new(set_aside, hint, now));
        None
    });
    Ok((Some(file), saved))
}

/// Makes the poller, and the task that saves its state, if there is a state file.
fn poller(
    client: Client,
    settings: Settings,
    only: GlobSet,
    (file, state): (Option<StateFile>, Option<SavedState>),
    instruments: &Arc<Instruments>,
    clock: Clock,
) -> (Poller<Client>, Option<impl Future<Output = ()> + use<>>) {
    let saver = file.map(|file| Saver::new(file, Arc::clone(instruments), clock));
    let (saver, saving) = saver.unzip();
    let poller = Poller::new(
        client,
        Arc::new(settings),
        only,
        (state, saver),
        clock,
        Arc::clone(instruments),
    );
    (poller, saving)
}
