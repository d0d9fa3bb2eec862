//! Configuration: figment merges the layers, the reader notes where each value came from, and the sections extract and validate
//! them into a [`Config`]. Every error names its key, its source and what to do.
//!
//! [`load`] may be called at any time: it reads everything again and changes nothing. No error, warning or description
//! holds the API key or a value that might be it, such as that of an unknown key.

mod api_key;
mod file;

mod layers;
mod mistake;
mod reader;
mod schema;
mod sections;

use crate::domain::{
    filter::{Filter, LanguageFilter},
    links::Links,
    targets::Targets,
};
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

pub use api_key::{KeyError, KeySource, read_key};
pub use mistake::{ConfigError, Mistake, Source};
pub use schema::{KEYS, Key, Takes};
pub use sections::{ApiConfig, LogConfig, PollConfig, WebConfig};

/// What is set besides file and environment: by the options of the command line, and by the command itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--config.file`
    pub config_file: Option<PathBuf>,
    /// The value typed for each key, by its path; a list is separated by commas.
    pub flags: BTreeMap<&'static str, String>,
    /// Other defaults than those of the table of keys, as the text of a file.
    pub defaults: String,
}

/// A valid configuration, and where each of its values came from.
#[derive(Debug)]
pub struct Config {
    pub api: ApiConfig,
    pub poll: PollConfig,
    /// Which repositories are polled.
    pub filter: Filter,
    /// `filter.exclude_languages`
    pub excluded_languages: LanguageFilter,
    /// Where the work is done.
    pub links: Arc<Links>,
    /// When each language is ready.
    pub targets: Arc<Targets>,
    /// `state.file`
    pub state_file: Option<PathBuf>,
    pub web: WebConfig,
    pub log: LogConfig,
    /// Every key once, in the order of [`KEYS`], and the targets.
    pub settings: Vec<Setting>,
}

/// A value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    /// As it was written, but paths and URLs as they are used; secrets hidden; empty if there is none.
    pub value: String,
    pub source: Source,
}

/// Stands for the path of [`Options::defaults`]; no file has such a name.
pub const DEMO_FILE: &str = "demo/";

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API key file is read
/// once, so that a failure shows early.
///
/// # Errors
/// All mistakes at once.
pub fn load(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Config, ConfigError> {
    sections::config(layers::merge(options, environment)?)
}

/// `web.listen_addresses` and `web.config_file`, whatever is wrong with other keys: for requests to a running exporter.
///
/// # Errors
/// The file cannot be read, or one of the two keys is wrong.
pub fn load_address(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<String>, Option<PathBuf>), ConfigError> {
    const KEYS: [&str; 2] = ["web.listen_addresses", "web.config_file"];
    let mut read = layers::merge(options, environment)?;
    let address = (sections::listen_addresses(&mut read), read.file(KEYS[1]));
    read.mistakes
        .retain(|mistake| mistake.key.is_some_and(|key| KEYS.contains(&key.path)));
    if !read.mistakes.is_empty() {
        return Err(ConfigError(read.mistakes));
    }
    Ok(address)
}

impl Config {
    /// A line for each key: the value in force and where it came from, secrets hidden.
    pub(crate) fn describe(&self) -> String {
        let mut lines = vec![format!("{:24}  {:28}  SOURCE\n", "KEY", "VALUE")];
        for Setting { key, value, source } in &self.settings {
            let value = if value.is_empty() { "-" } else { value };
            lines.push(format!("{key:24}  {value:28}  {source}\n"));
        }
        lines.concat()
    }

    /// The keys whose values differ in `new`, with both values; secrets hidden.
    pub(crate) fn changes(&self, new: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (old, new) in self.settings.iter().zip(&new.settings) {
            if old.value != new.value {
                changes.push(format!("{} ({:?} -> {:?})", old.key, old.value, new.value));
            }
        }
        // Its setting hides it.
        if let (KeySource::Inline(_), KeySource::Inline(_)) = (&self.api.key, &new.api.key)
            && self.api.key != new.api.key
        {
            changes.push("api.key".to_owned());
        }
        changes
    }

    /// The keys that differ in `new` but cannot change in a running process.
    pub(crate) fn restart_needed(&self, new: &Self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        if self.api.base_url != new.api.base_url {
            keys.push("api.base_url");
        }
        if self.state_file != new.state_file {
            keys.push("state.file");
        }
        if self.web.listen_addresses != new.web.listen_addresses {
            keys.push("web.listen_addresses");
        }
        keys
    }
}

#[cfg(test)]
mod tests;
