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
    api::{Client, read_roots},
    cli::{Cli, Command, Once},
    config::{self, CONFIG_FILE, Config, ConfigError, Draft, Options},
    domain::record::SavedState,
    metrics::instruments::Instruments,
    poller::{Poller, Saver},
    server::{listen, web_config::WebConfigFile},
    state::{DEMO, StateFile},
    support::{
        clock::Clock,
        files::{UsedFiles, check_replace, claim},
        glob::Globs,
        hint::Failure,
        logging,
    },
};
use anyhow::Context as _;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{runtime::Builder, task::JoinSet};
use url::Position;

/// The failure of a command, with its remedy.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Setup(#[from] Failure),
    /// `once` read everything, but the targets are not met.
    #[error("below their targets:\n{0}")]
    NotReady(String),
    /// The command failed while running.
    #[error("{0:#}")]
    Running(#[from] anyhow::Error),
}

/// Runs the command of the command line until it is done, or a signal stops the process. Prints its
/// failure on stderr. Returns the exit code.
pub fn run(cli: Cli) -> u8 {
    let code = match run_command(cli) {
        Ok(()) => 0,
        Err(failure) => {
            logging::print(&failure.to_string());
            match failure {
                RunError::NotReady(_) => 3,
                RunError::Running(_) => 1,
                _ => 2,
            }
        }
    };
    logging::end();
    code
}

fn run_command(cli: Cli) -> Result<(), RunError> {
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

/// Reads the configuration for a command.
fn read_config(options: &Options) -> Result<Draft, ConfigError> {
    let variables = std::env::vars_os().map(|(name, value)| {
        let texts = [name, value].map(|text| text.to_string_lossy().into_owned());
        <(String, String)>::from(texts)
    });
    config::read(options, &variables.collect())
}

/// Loads the configuration and, except for `once`, the web configuration file. Checks the files and addresses that the command uses, so that one run shows every
/// mistake.
fn load(options: &Options, once: Option<&Once>) -> Result<(Config, WebConfigFile), ConfigError> {
    let mut draft = read_config(options)?;
    let Draft { sections, layers } = &mut draft;
    let (mut web_file, mut used) = (WebConfigFile::default(), UsedFiles::new());
    layers.check("api.ca_file", read_roots(&sections.api));
    if once.is_none() {
        let read = WebConfigFile::load(sections.web.config_file.as_deref());
        web_file = layers.check("web.config_file", read).unwrap_or_default();
        let resolved = listen::check(&sections.web.listen_addresses);
        layers.check("web.listen_addresses", resolved);
    }
    let read = [
        options.get(CONFIG_FILE).map(Path::new),
        sections.api.key_file.as_deref(),
        sections.api.ca_file.as_deref(),
    ];
    let of_web = web_file.paths.iter().map(PathBuf::as_path);
    for path in read.into_iter().flatten().chain(of_web) {
        // The run reads them only: two may be one, such as a certificate with its key.
        let _ = claim(&mut used, path);
    }
    if let Some(path) = sections.state.file.as_deref() {
        layers.check("state.file", StateFile::check(path, &mut used));
    }
    let outputs = once.into_iter().flat_map(|once| &once.outputs);
    for path in outputs.filter_map(|(_, path)| path.as_deref()) {
        if let Err(error) = claim(&mut used, path).and_then(|()| check_replace(path)) {
            layers.mistakes.push(format!(
                "--output to {}: cannot be written: {error}; give a path of its own, in a folder \
                 that exists and can be written",
                path.display()
            ));
        }
    }
    Ok((draft.finish()?, web_file))
}

/// Makes the poller, with the state of the last run. If `state.file` is set, starts the task that
/// saves its state. A demo begins with its `history` instead of nothing.
fn poller(
    config: &Config,
    only: Globs<true>,
    history: Option<SavedState>,
    instruments: &Arc<Instruments>,
    clock: Clock,
    tasks: &mut JoinSet<()>,
) -> Result<Poller<Client>, Failure> {
    let (mut state, mut file) = (history, None);
    if let Some(path) = &config.state_file {
        let base_url = match state {
            Some(_) => DEMO,
            None => config.api.base_url().as_str(),
        };
        let (opened, saved) = StateFile::open(path, base_url, clock.now())?;
        file = Some(opened);
        match saved {
            Ok(saved) => state = saved.or(state),
            Err(set_aside) => {
                let hint = "restore the state from a backup, or delete the file that was set aside";
                let failure = Failure::new(set_aside, hint);
                instruments.facts().state_discarded = Some(failure);
            }
        }
    } else if state.is_none() {
        tracing::info!("without state.file, a run knows no earlier progress");
    }
    let client = Client::new(&config.api, Arc::clone(instruments), clock)?;
    let saver = file.map(|file| {
        let (saver, saving) = Saver::new(file, Arc::clone(instruments));
        tasks.spawn(saving);
        saver
    });
    Ok(Poller::new(
        client,
        Arc::new(config.settings.clone()),
        only,
        (state, saver),
        clock,
        Arc::clone(instruments),
    ))
}
