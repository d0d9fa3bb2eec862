//! Configuration: figment merges the layers, and the sections parse the merged values into a
//! [`Config`]. Every error names its key, its source and what to do.
//!
//! [`load`] may be called at any time: it reads everything again and changes nothing. No error,
//! warning or description holds the API key or a value that might be it, as under an unknown name.
//!
//! # Why figment does not extract the sections
//!
//! One serde struct per section, filled by `Figment::extract`, would break four promises, and the
//! code that mends them is larger than the parsers in `values`:
//!
//! - **All mistakes at once.** Extraction ends at the first one.
//! - **No value in an error.** figment's messages quote the wrong value, which may be the API key.
//! - **The line of each name.** figment's YAML has no lines, and its metadata belong to a whole
//!   file; so `file` reads YAML by a parser that keeps them.
//! - **Text from variables and options**, where an API key of digits stays text and a page size is
//!   a number. `extract` refuses the one or the other.
//!
//! So each layer holds text, and `Reader::get` parses the text of the layer that wins. A parser
//! returns a valid value or the reason why there is none; no default stands in for a wrong value.

mod api_key;
mod file;
mod layers;
mod mistake;
mod reader;
mod schema;
mod sections;
mod values;

use crate::{
    domain::{
        filter::{Filter, LanguageFilter},
        links::Links,
        targets::Targets,
    },
    support::logging::LogSettings,
};
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

pub use api_key::{KeyError, KeySource, read_key};
pub use mistake::{ConfigError, Mistake, Source};
pub use schema::{KEYS, Key, Takes};
pub use sections::{ApiConfig, PollConfig, WebConfig};

/// The settings of the command line and of the command itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--config.file`
    pub config_file: Option<PathBuf>,
    /// The value typed for each key, by its path; a list is separated by commas.
    pub flags: BTreeMap<&'static str, String>,
    /// The command's own defaults, as the text of a file.
    pub defaults: String,
}

/// A valid configuration, and where each of its values came from.
#[derive(Debug)]
pub struct Config {
    pub api: ApiConfig,
    pub poll: PollConfig,
    /// The filter on repositories.
    pub filter: Filter,
    /// `filter.exclude_languages`
    pub excluded_languages: LanguageFilter,
    /// The URLs at which translators work.
    pub links: Arc<Links>,
    /// The ratio and date at which each language is ready.
    pub targets: Arc<Targets>,
    /// `state.file`
    pub state_file: Option<PathBuf>,
    pub web: WebConfig,
    pub log: LogSettings,
    /// Every key once, in the order of [`KEYS`], and the targets.
    pub settings: Vec<Setting>,
}

/// An active value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    /// The value as it was written, but paths and URLs as they are used, and secrets hidden. An
    /// empty text stands for none.
    pub value: String,
    pub source: Source,
}

/// The path that messages show for [`Options::defaults`]; no file has such a name.
pub const DEMO_FILE: &str = "demo/";

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API
/// key file is read once, so that a failure shows early.
///
/// # Errors
/// All mistakes at once.
pub fn load(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Config, ConfigError> {
    sections::config(layers::merge(options, environment)?)
}

/// Reads `web.listen_addresses` and `web.config_file`, which lead to a running exporter. Mistakes
/// in other keys do not matter.
///
/// # Errors
/// The file cannot be read, or one of the two keys is wrong.
pub fn load_address(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<String>, Option<PathBuf>), ConfigError> {
    const KEYS: [&str; 2] = ["web.listen_addresses", "web.config_file"];
    let mut read = layers::merge(options, environment)?;
    let addresses = read.get(KEYS[0], values::addresses);
    read.mistakes
        .retain(|mistake| mistake.key.is_some_and(|key| KEYS.contains(&key.path)));
    match addresses {
        Some(addresses) if read.mistakes.is_empty() => Ok((addresses, read.file(KEYS[1]))),
        _ => Err(ConfigError(read.mistakes)),
    }
}

impl Config {
    /// Returns a table of the keys with their active values and sources; secrets hidden.
    pub(crate) fn describe(&self) -> String {
        let mut lines = vec![format!("{:24}  {:28}  SOURCE\n", "KEY", "VALUE")];
        for Setting { key, value, source } in &self.settings {
            let value = if value.is_empty() { "-" } else { value };
            lines.push(format!("{key:24}  {value:28}  {source}\n"));
        }
        lines.concat()
    }

    /// Returns the keys whose values differ in `new`, with both values; secrets hidden.
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

    /// Returns the keys that differ in `new` but cannot change in a running process.
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
