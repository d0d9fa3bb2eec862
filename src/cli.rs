//! The command line.
//!
//! Options stay text here: they are a layer of [`crate::config`], which validates their values, so
//! that a mistake reads the same in the file, a variable and an option. A command takes the options
//! that it uses, before or after its name. No option takes the API key, because the list of
//! processes would show it to everybody.

use crate::{
    config::{CONFIG_FILE, Key, Options, Parsed, keys},
    support::{glob::Globs, hint::is_plain},
};
use clap::{
    Arg, ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ErrorKind},
};
use globset::Glob;
use std::{ffi::OsString, iter, path::PathBuf};

/// Prometheus exporter for the translation progress of code repositories
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(
    version = concat!(
        "version ",
        env!("CARGO_PKG_VERSION"),
        " (revision: ",
        env!("TRANSLATION_EXPORTER_REVISION"),
        ")\n  rustc version:    ",
        env!("TRANSLATION_EXPORTER_RUSTC"),
    ),
    propagate_version = true,
    subcommand_value_name = "COMMAND",
    max_term_width = 80,
    after_help = "Exit codes: 0 success; 1 failure while running; 2 bad command line or\n\
        configuration; 3 a language is below its target (`once`).\n\
        Each key of the file has an environment variable:\n\
        $TRANSLATION_EXPORTER_<SECTION>__<KEY>."
)]
pub struct Cli {
    #[arg(skip)]
    pub options: Options,
    /// `serve` if left out
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command, with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Subcommand)]
pub enum Command {
    /// Poll on an interval and serve the metrics (the default command)
    #[default]
    #[command(after_help = "Example: translation-exporter serve --config.file exporter.yaml")]
    Serve,
    /// Poll once, print the result and exit
    #[command(
        after_help = "Example: translation-exporter once 'acme/*' --require 0.95 --output markdown"
    )]
    Once(Once),
    /// Validate the configuration, print it and exit
    #[command(
        after_help = "Example: translation-exporter check-config --config.file exporter.yaml"
    )]
    CheckConfig,
    /// Check the health of a running exporter: exit code 0 or 1
    #[command(after_help = "Example: translation-exporter health --config.file exporter.yaml")]
    Health,
    /// Serve an embedded demo API, without account, network or file
    #[command(
        after_help = "Example: translation-exporter demo --web.listen-address localhost:8080"
    )]
    Demo,
}

/// The arguments of `once`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Once {
    /// Globs on owner/repo: read only these repositories [default: all]
    #[arg(value_name = "REPO", value_parser = Globs::<true>::glob)]
    pub repositories: Vec<Glob>,
    /// Glob on language codes: print and judge only these
    #[arg(long = "language", value_name = "CODE", value_parser = Globs::<false>::glob)]
    pub languages: Vec<Glob>,
    /// openmetrics, text, table, markdown, csv, json, html, languages, badge; FORMAT=PATH writes
    /// to a file; may be repeated
    #[arg(
        long = "output",
        value_name = "FORMAT",
        default_value = "table",
        value_parser = output
    )]
    pub outputs: Vec<(Output, Option<PathBuf>)>,
    /// Show what has changed since: a duration or a date of the last 14 days (7d if left out)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Maximum bytes of Markdown, at least 2000
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "1000000",
        value_parser = Parsed::<u32, 2000, 1_000_000_000>::parse_bounded
    )]
    pub max_size: Parsed<u32, 2000, 1_000_000_000>,
    /// Exit 3 if a language is below its target
    #[arg(long)]
    pub require_targets: bool,
    /// The same, with one target for all languages: 0 to 1
    #[arg(
        long,
        value_name = "RATIO",
        value_parser = Parsed::<f64, 0, 1>::parse_bounded,
        conflicts_with = "require_targets"
    )]
    pub require: Option<Parsed<f64, 0, 1>>,
}

/// Parses `FORMAT` or `FORMAT=PATH`. Without a path, the output goes to stdout.
fn output(text: &str) -> Result<(Output, Option<PathBuf>), String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err("the path after = is empty".to_owned()),
        Some((name, path)) => (name, Some(path.into())),
        None => (text, None),
    };
    let format = Output::from_str(name, false).map_err(|_| {
        "not an output; choose one of openmetrics, text, table, markdown, csv, json, html, \
         languages, badge"
    })?;
    Ok((format, path))
}

/// The format of an output of `once`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// OpenMetrics 1.0.0
    Openmetrics,
    /// Prometheus text format 0.0.4, for the textfile collector
    Text,
    /// Repositories, the most urgent first, for a terminal
    Table,
    /// The same for a job summary, a pull request or a README
    Markdown,
    /// A line per repository and language
    Csv,
    /// JSON, for programs
    Json,
    /// The status page as one file, with all rows
    Html,
    /// The codes of languages ready everywhere, one per line
    Languages,
    /// The JSON that Shields reads as an endpoint
    Badge,
}

/// Returns the complete command line.
fn command() -> clap::Command {
    // With the version, as Prometheus prints its own.
    let name = "translation-exporter,";
    let file = Arg::new(CONFIG_FILE)
        .long(CONFIG_FILE)
        .value_name("FILE")
        .help("YAML configuration file");
    let options = iter::once(file).chain(keys().filter_map(option));
    Cli::command()
        .display_name(name)
        .mut_subcommands(|command| {
            let others: Vec<_> = keys()
                .filter(|key| !commands(key).contains(command.get_name()))
                .filter_map(option)
                .map(|option| option.hide(true))
                .collect();
            command.display_name(name).args(others)
        })
        .next_help_heading("Configuration")
        .args(options.map(|option| option.global(true)))
}

/// Names the commands that use a key, and take its option. Variables and the file may set all keys.
fn commands(key: &Key) -> &'static str {
    match key.names()[0] {
        "web" => "serve, check-config, health, demo",
        "log" | "state" => "serve, check-config, once, demo",
        _ => "serve, check-config, once",
    }
}

/// Returns the option of a key, if it has one.
fn option(key: &Key) -> Option<Arg> {
    let (name, value) = key.option()?;
    let default = match key.default {
        "" => "none",
        default => default,
    };
    let mut sentences = key.meaning.split(';').map(str::trim);
    let mut help = sentences.next().unwrap_or_default().to_owned();
    help[..1].make_ascii_uppercase();
    let action = if key.is_list {
        ArgAction::Append
    } else {
        ArgAction::Set
    };
    Some(
        Arg::new(key.path)
            .long(name.trim_start_matches('-'))
            .value_name(value)
            .help(format!("{help} [default: {default}]"))
            .action(action),
    )
}

/// Returns the remedy for an argument that may be the API key, or end with it, for an option of
/// `once`, and for a key of the configuration without an option; clap explains other mistakes.
fn remedy(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let argument = error.get(kind)?.to_string();
    if !is_plain(&argument) {
        return Some("an argument belongs to no option; write --OPTION=VALUE".to_owned());
    }
    let name = argument.trim_start_matches('-');
    let once = Once::augment_args(clap::Command::default());
    if once
        .get_arguments()
        .any(|of_once| of_once.get_long() == Some(name))
    {
        return Some(format!("only the command once takes {argument}"));
    }
    let path = name.replace('-', "_");
    let key = keys().find(|key| key.path == path && key.option().is_none())?;
    let variable = key.variable();
    Some(format!(
        "{path} has no option; set it in the file of --config.file, or set {variable}"
    ))
}

/// Reads a command line; its first word is the program.
///
/// # Errors
/// In clap, help and version are errors too; [`clap::Error::exit`] handles each.
pub fn parse(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, clap::Error> {
    let mut parser = command();
    let matches = parser
        .try_get_matches_from_mut(words)
        .map_err(|error| match remedy(&error) {
            Some(message) => parser.error(ErrorKind::UnknownArgument, message),
            None => error,
        })?;
    // clap copies global options from below the command.
    let paths = iter::once(CONFIG_FILE).chain(keys().map(|key| key.path));
    let options: Options = paths
        .filter_map(|path| {
            // Some keys have no option.
            let texts = matches.try_get_many::<String>(path).ok()??;
            Some((path, texts.cloned().collect::<Vec<_>>().join(",")))
        })
        .collect();
    let command = matches.subcommand_name().unwrap_or("serve");
    for key in keys().filter(|key| options.contains_key(key.path)) {
        let (takers, (option, _)) = (commands(key), key.option().unwrap_or_default());
        if takers.contains(command) {
            continue;
        }
        let mistake =
            format!("{command} takes no {option}; the commands that take it are {takers}");
        return Err(parser.error(ErrorKind::UnknownArgument, mistake));
    }
    Ok(Cli {
        options,
        ..Cli::from_arg_matches(&matches)?
    })
}

#[cfg(test)]
mod tests;
