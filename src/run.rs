//! The only place that wires the parts together and starts tasks: one function for each command.

mod notify;
mod once;
mod online;
mod reload;
mod serve;

use crate::{
    api::Client,
    cli::{Cli, Command},
    config::{self, Config, ConfigError, Loaded, Options},
    demo,
    instruments::Instruments,
    poll::Settings,
    web,
};
use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use std::{io::Write as _, sync::Arc};

/// Why the program ends without having done what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command line or the configuration is wrong, or the state file cannot be used: exit code 2.
    #[error("{0:#}")]
    Usage(anyhow::Error),
    /// It failed while running: exit code 1.
    #[error("{0:#}")]
    Running(#[from] anyhow::Error),
}

impl RunError {
    fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Running(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}

/// Does what the command line asks for. Returns when that is done, or when the process is told to stop.
///
/// # Errors
/// Says what is wrong and how to fix it; the caller prints it and exits with [`RunError::exit_code`].
pub fn run(cli: Cli) -> Result<(), RunError> {
    let passed = match cli.command {
        Command::Serve | Command::Demo { .. } => web::PassedSockets::take().map_err(anyhow::Error::new)?,
        _ => web::PassedSockets::default(),
    };
    let runtime = match cli.command {
        Command::Once { .. } => runtime_of_one_thread()?,
        // Two threads: scrapes do not wait for each other. Polls, and all that takes long, run beside them.
        _ => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start the runtime's threads")?,
    };
    let result = runtime.block_on(async {
        match cli.command {
            Command::Demo { seed } => {
                let key = config::demo_key(&cli.options, std::env::vars_os()).map_err(RunError::usage)?;
                let api = demo::start(seed.unwrap_or_default(), key).await.context("cannot start the demo API")?;
                let demo = Some((api.base_url.clone(), api.key.clone()));
                serve::serve(Loader { options: cli.options, demo }, passed).await
            }
            Command::Once { output } => once::once(&Loader { options: cli.options, demo: None }, output).await,
            Command::CheckConfig { online } => check_config(&Loader { options: cli.options, demo: None }, online).await,
            Command::Serve => serve::serve(Loader { options: cli.options, demo: None }, passed).await,
        }
    });
    // A thread that still waits for a disk must not hold the end up.
    runtime.shutdown_background();
    result
}

fn runtime_of_one_thread() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")
}

async fn check_config(loader: &Loader, online: bool) -> Result<(), RunError> {
    let configuration = loader.load().map_err(RunError::usage)?;
    let web_config = validate(&configuration.config)?;
    for warning in &configuration.warnings {
        // Where stderr is closed there is nobody to warn.
        let _ = writeln!(std::io::stderr(), "translation-exporter: warning: {warning}");
    }
    let mut text = config::describe(&configuration);
    let web_config = web_config.description();
    if !web_config.is_empty() {
        text = format!("{text}\nweb.config_file: {}\n", web_config.join("; "));
    }
    let print = |text: &str| std::io::stdout().write_all(text.as_bytes()).context("cannot print the configuration");
    print(&text)?;
    if online {
        print(&format!("\nonline:\n{}", online::check(&configuration.config).await?))?;
    }
    Ok(())
}

/// Checks what [`config::load`] leaves to others: the web configuration file, the certificates.
fn validate(config: &Config) -> Result<web::WebConfigFile, RunError> {
    let web_config = web::WebConfigFile::load(config.web.config_file.as_deref()).map_err(RunError::usage)?;
    Client::new(&config.api, Arc::new(Instruments::of_one_poll())).map_err(RunError::usage)?;
    Ok(web_config)
}

/// Reads the configuration, the first time and at each reload.
#[derive(Debug, Clone)]
struct Loader {
    options: Options,
    /// Address and key of the demo API.
    demo: Option<(String, SecretString)>,
}

impl Loader {
    fn load(&self) -> Result<Loaded, ConfigError> {
        match &self.demo {
            Some((base_url, key)) => {
                config::load_demo(&self.options, std::env::vars_os(), base_url, key.expose_secret())
            }
            None => config::load(&self.options, std::env::vars_os()),
        }
    }

    fn is_demo(&self) -> bool {
        self.demo.is_some()
    }
}

fn poll_settings(config: &Config, api: Client) -> Settings<Client> {
    Settings {
        api,
        concurrency: config.api.concurrency,
        interval: config.poll.interval,
        stale_after: config.poll.stale_after,
        filter: config.filter.clone(),
        completion_scale: config.api.completion_scale,
    }
}
