//! The command line.
//!
//! Options keep their text here: they are the last layer of [`crate::config`], which alone knows what their values may
//! be, so that a mistake reads the same whether it came from the file, a variable or a flag. Every option may stand
//! before or after the command. No option takes the API key, because the list of processes shows it to everybody.

use crate::config::Key;
use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{ffi::OsString, path::PathBuf};

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cli {
    pub options: Options,
    pub command: Command,
}

/// What the program is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Poll on an interval and serve the metrics.
    Serve,
    /// Poll once and print the result.
    Once { output: Output },
    /// Validate the configuration and print what is in force.
    CheckConfig {
        /// Ask the API as well, once in each way.
        online: bool,
    },
    /// Serve from the embedded demo API.
    Demo {
        /// What the demo's world is grown from; `None` leaves the choice to the demo.
        seed: Option<u64>,
    },
}

/// How `once` prints what it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// OpenMetrics 1.0.0
    #[default]
    Openmetrics,
    /// Prometheus text format 0.0.4, for the textfile collector
    Text,
    /// Repositories by languages, for people
    Table,
    /// JSON, for programs
    Json,
}

const VERSION: &str = concat!(
    "version ",
    env!("CARGO_PKG_VERSION"),
    " (revision: ",
    env!("TRANSLATION_EXPORTER_REVISION"),
    ")\n  rustc version:    ",
    env!("TRANSLATION_EXPORTER_RUSTC"),
);

/// Prometheus exporter for the translation progress of code repositories.
#[derive(Debug, Parser)]
#[command(
    name = "translation-exporter",
    display_name = "translation-exporter,",
    version = VERSION,
    disable_help_subcommand = true,
    disable_help_flag = true,
    disable_version_flag = true,
    subcommand_value_name = "COMMAND",
    // The help is broken by hand to fit 80 columns; a narrower width would make clap break it elsewhere.
    term_width = 100,
    after_help = "Each key of the file has a variable: TRANSLATION_EXPORTER_<SECTION>__<KEY>.",
)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Subcommands>,
    /// Print the version and exit
    #[arg(short = 'V', long, action = clap::ArgAction::Version, help_heading = "Other")]
    version: (),
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Poll on an interval and serve the metrics (the default command)
    Serve {
        #[command(flatten)]
        options: Options,
    },
    /// Poll once, print the result, exit
    Once {
        /// openmetrics, text, table or json
        #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "FORMAT")]
        output: Output,
        #[command(flatten)]
        options: Options,
    },
    /// Validate the configuration, print what is in force, exit
    CheckConfig {
        /// Ask the API as well, once in each way, and say what it found
        #[arg(long)]
        online: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Serve from an embedded demo API: no account, no network, no file
    Demo {
        /// Grow the demo's world from this number
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
        #[command(flatten)]
        options: Options,
    },
}

/// The options, as they were typed. Each is a layer above the variable named in its help.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[expect(clippy::doc_markdown, reason = "these comments are the help text")]
pub struct Options {
    /// Configuration file, YAML
    #[arg(long = "config.file", value_name = "FILE", help_heading = "Configuration")]
    pub config_file: Option<PathBuf>,

    /// Root of the API, https://…
    /// $TRANSLATION_EXPORTER_API__BASE_URL
    #[arg(long = "api.base-url", value_name = "URL", help_heading = "API and polling", verbatim_doc_comment)]
    pub api_base_url: Option<String>,

    /// File that holds the API key
    /// $TRANSLATION_EXPORTER_API__KEY_FILE
    #[arg(long = "api.key-file", value_name = "FILE", help_heading = "API and polling", verbatim_doc_comment)]
    pub api_key_file: Option<String>,

    /// From poll to poll [default: 5m]
    /// $TRANSLATION_EXPORTER_POLL__INTERVAL
    #[arg(long = "poll.interval", value_name = "TIME", help_heading = "API and polling", verbatim_doc_comment)]
    pub poll_interval: Option<String>,

    /// Keeps progress over restarts [default: none]
    /// $TRANSLATION_EXPORTER_STATE__FILE
    #[arg(long = "state.file", value_name = "FILE", help_heading = "API and polling", verbatim_doc_comment)]
    pub state_file: Option<String>,

    /// Repeatable [default: :10018]
    /// $TRANSLATION_EXPORTER_WEB__LISTEN_ADDRESSES
    #[arg(long = "web.listen-address", value_name = "ADDR", help_heading = "Web", verbatim_doc_comment)]
    pub web_listen_addresses: Vec<String>,

    /// Path of the metrics [default: /metrics]
    /// $TRANSLATION_EXPORTER_WEB__TELEMETRY_PATH
    #[arg(long = "web.telemetry-path", value_name = "PATH", help_heading = "Web", verbatim_doc_comment)]
    pub web_telemetry_path: Option<String>,

    /// TLS and authentication [default: none]
    /// $TRANSLATION_EXPORTER_WEB__CONFIG_FILE
    #[arg(long = "web.config.file", value_name = "FILE", help_heading = "Web", verbatim_doc_comment)]
    pub web_config_file: Option<String>,

    /// Allow /-/reload [default: false]
    /// $TRANSLATION_EXPORTER_WEB__ENABLE_LIFECYCLE
    #[arg(
        long = "web.enable-lifecycle",
        value_name = "ON",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Web",
        verbatim_doc_comment
    )]
    pub web_enable_lifecycle: Option<String>,

    /// error, warn, info, debug, trace [default: info]
    /// $TRANSLATION_EXPORTER_LOG__LEVEL
    #[arg(long = "log.level", value_name = "LEVEL", help_heading = "Logs", verbatim_doc_comment)]
    pub log_level: Option<String>,

    /// logfmt or json [default: logfmt]
    /// $TRANSLATION_EXPORTER_LOG__FORMAT
    #[arg(long = "log.format", value_name = "FORMAT", help_heading = "Logs", verbatim_doc_comment)]
    pub log_format: Option<String>,

    /// Print this help and exit
    #[arg(short = 'h', long, action = clap::ArgAction::HelpShort, help_heading = "Other")]
    help: Option<bool>,
}

impl Options {
    /// These and then `later`: where both say something, `later` wins; listen addresses add up.
    fn then(mut self, later: Self) -> Self {
        self.web_listen_addresses.extend(later.web_listen_addresses);
        Self {
            config_file: later.config_file.or(self.config_file),
            api_base_url: later.api_base_url.or(self.api_base_url),
            api_key_file: later.api_key_file.or(self.api_key_file),
            poll_interval: later.poll_interval.or(self.poll_interval),
            state_file: later.state_file.or(self.state_file),
            web_listen_addresses: self.web_listen_addresses,
            web_telemetry_path: later.web_telemetry_path.or(self.web_telemetry_path),
            web_config_file: later.web_config_file.or(self.web_config_file),
            web_enable_lifecycle: later.web_enable_lifecycle.or(self.web_enable_lifecycle),
            log_level: later.log_level.or(self.log_level),
            log_format: later.log_format.or(self.log_format),
            help: None,
        }
    }
}

/// Reads the command line of the process. Prints help, version or what is wrong, and exits (0 or 2), where there is
/// nothing to run.
#[must_use]
pub fn parse() -> Cli {
    parse_from(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

/// Reads a command line; its first word is the program.
///
/// # Errors
/// Help and version are errors too, as clap has it; [`clap::Error::exit`] does what each asks for.
pub fn parse_from(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Cli, clap::Error> {
    let words = join_lifecycle(words.into_iter().map(Into::into));
    let mut command = Arguments::command();
    if words.iter().any(takes_key) {
        return Err(command.error(
            ErrorKind::UnknownArgument,
            "no option takes the API key, because the list of processes would show it to everybody; give its file by \
             --api.key-file, or the key as TRANSLATION_EXPORTER_API__KEY",
        ));
    }
    let arguments = command
        .try_get_matches_from_mut(words)
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches))
        .map_err(|error| {
            key_without_option(&error).map_or(error, |text| command.error(ErrorKind::UnknownArgument, text))
        })?;
    let (later, command) = match arguments.command {
        None => (Options::default(), Command::Serve),
        Some(Subcommands::Serve { options }) => (options, Command::Serve),
        Some(Subcommands::Once { output, options }) => (options, Command::Once { output }),
        Some(Subcommands::CheckConfig { online, options }) => (options, Command::CheckConfig { online }),
        Some(Subcommands::Demo { seed, options }) => (options, Command::Demo { seed }),
    };
    Ok(Cli { options: arguments.options.then(later), command })
}

/// Takes `--web.enable-lifecycle true` as one word: clap would take any word that follows, a command too, for the value.
fn join_lifecycle(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(flag) if flag == "--web.enable-lifecycle" && (word == "true" || word == "false") => {
                flag.push("=");
                flag.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

fn takes_key(word: &OsString) -> bool {
    word == "--api.key" || word.to_str().is_some_and(|word| word.starts_with("--api.key="))
}

/// What to do where the unknown option is a key of the configuration that has no option.
fn key_without_option(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let typed = argument.strip_prefix("--")?;
    let key = Key::find(&typed.replace('-', "_"))
        .filter(|key| key.flag.is_none() && error.kind() == ErrorKind::UnknownArgument)?;
    Some(format!("{} has no option; set it in the file of --config.file, or as {}", key.path, key.variable()))
}

#[cfg(test)]
mod tests;
