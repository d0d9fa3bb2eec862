//! The command line.
//!
//! Options keep their text here: they are the last layer of [`crate::config`], which alone knows what their values may
//! be, so that a mistake reads the same whether it came from the file, a variable or a flag. Every option may stand
//! before or after the command. No option takes the API key, because the list of processes shows it to everybody.

use crate::config::{KEYS, Key, Options, Takes};
use clap::{
    Arg, ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
    value_parser,
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

const CONFIG_FILE: &str = "config.file";

/// The options of the configuration: one for each key that has a flag.
impl Args for Options {
    fn augment_args(command: clap::Command) -> clap::Command {
        let file = Arg::new(CONFIG_FILE)
            .long(CONFIG_FILE)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading("Configuration")
            .help("Configuration file, YAML");
        let help = Arg::new("help")
            .short('h')
            .long("help")
            .action(ArgAction::HelpShort)
            .help_heading("Other")
            .help("Print this help and exit");
        command.arg(file).args(KEYS.iter().filter_map(option)).arg(help)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

fn option(key: &Key) -> Option<Arg> {
    let flag = key.flag.as_ref()?;
    let default = if key.default.is_empty() { String::new() } else { format!(" [default: {}]", key.default) };
    let option = Arg::new(key.path)
        .long(flag.name.trim_start_matches('-'))
        .value_name(flag.value_name)
        .help(format!("{}{default}\n${}", flag.help, key.variable()))
        .help_heading(match key.section() {
            "web" => "Web",
            "log" => "Logs",
            _ => "API and polling",
        });
    Some(match flag.takes {
        Takes::Value => option,
        Takes::List => option.action(ArgAction::Append),
        Takes::Switch => option.num_args(0..=1).require_equals(true).default_missing_value("true"),
    })
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |key: &Key| {
            let typed = matches.get_many::<String>(key.path)?;
            Some((key.path, typed.cloned().collect()))
        };
        let flags = KEYS.iter().filter(|key| key.flag.is_some()).filter_map(typed).collect();
        Ok(Self { config_file: matches.get_one(CONFIG_FILE).cloned(), flags })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What was typed before the command and then what was typed behind it, which wins where there can be but one value.
fn joined(mut before: Options, behind: Options) -> Options {
    for (path, typed) in behind.flags {
        before.flags.entry(path).or_default().extend(typed);
    }
    Options { config_file: behind.config_file.or(before.config_file), ..before }
}

/// The definition of the command line, of which man page and shell completions are made.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
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
    let (behind, command) = match arguments.command {
        None => (Options::default(), Command::Serve),
        Some(Subcommands::Serve { options }) => (options, Command::Serve),
        Some(Subcommands::Once { output, options }) => (options, Command::Once { output }),
        Some(Subcommands::CheckConfig { online, options }) => (options, Command::CheckConfig { online }),
        Some(Subcommands::Demo { seed, options }) => (options, Command::Demo { seed }),
    };
    Ok(Cli { options: joined(arguments.options, behind), command })
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
