//! Configuration: figment merges the layers, each value as text with its source, and the sections
//! parse the merged values into a [`Config`]. Every error names its key, its source and the remedy.
//!
//! [`load`] may be called at any time: it reads everything again and changes nothing. No error
//! holds the API key or a value that might be it: a long value is described by its length, and the
//! path of a file that does not exist is hidden, unless it is plainly a path.

mod api_key;
mod file;
mod keys;
mod layers;
mod reader;
mod sections;
mod values;

use crate::{
    domain::{Thresholds, filter::Filter, links::Links, targets::Targets},
    support::logging::LogSettings,
};
use globset::GlobSet;
use reader::DEFAULT;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::{self, Display},
    path::PathBuf,
    sync::Arc,
};

pub use api_key::{KeySource, read_key};
pub use keys::{KEYS, Key, TARGET_KEYS};
pub use sections::{ApiConfig, PollConfig, WebConfig};
pub use values::{Takes, repository_glob};

/// The layers that the command line and the command itself contribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--config.file`
    pub config_file: Option<PathBuf>,
    /// The value of each option, by the path of its key; commas separate the items of a list.
    pub flags: BTreeMap<&'static str, String>,
    /// The command's own defaults, as the text of a file.
    pub defaults: String,
}

/// A valid configuration, and the source of each value.
#[derive(Debug)]
pub struct Config {
    pub(crate) api: ApiConfig,
    pub poll: PollConfig,
    /// The filter on repositories.
    pub(crate) filter: Filter,
    /// `filter.exclude_languages`
    pub(crate) excluded_languages: GlobSet,
    /// The URLs at which translators work.
    pub(crate) links: Arc<Links>,
    /// The target ratio and due date of each language.
    pub(crate) targets: Arc<Targets>,
    pub(crate) thresholds: Thresholds,
    /// `state.file`
    pub(crate) state_file: Option<PathBuf>,
    pub(crate) web: WebConfig,
    pub(crate) log: LogSettings,
    /// Every key once, in the order of [`KEYS`], and the targets.
    pub(crate) settings: Vec<Setting>,
}

/// An active value.
#[derive(Debug, Clone)]
pub struct Setting {
    pub key: &'static Key,
    /// The text of the value. A path begins at the folder of the program, and a URL is as it is
    /// used. An empty text stands for no value.
    pub value: String,
    /// The file and line, the variable or the option that set it, or `default`.
    pub source: String,
    /// The mistake in the value.
    mistake: Option<String>,
}

/// All mistakes in a configuration. No text of them holds anything that might be the API key.
#[derive(Debug, Clone, thiserror::Error)]
pub struct ConfigError(pub Vec<String>);

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [mistake] => f.write_str(mistake),
            mistakes => {
                let (count, all) = (mistakes.len(), mistakes.join("\n  "));
                write!(f, "{count} mistakes in the configuration:\n  {all}")
            }
        }
    }
}

/// The path that messages show for [`Options::defaults`].
const DEMO_FILE: &str = "<demo>";

/// A secret, as a [`Setting`] shows it.
const HIDDEN: &str = "<hidden>";

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API
/// key file is read once, so that a failure shows early. `check` checks the value of a key in the
/// module that uses it.
///
/// # Errors
/// Returns all mistakes at once, including those that `check` finds.
pub fn load(
    options: &Options,
    environment: &[(OsString, OsString)],
    check: impl FnMut(&str, &str) -> anyhow::Result<()>,
) -> Result<Config, ConfigError> {
    sections::config(layers::merge(options, environment)?, check)
}

/// Reads `web.listen_addresses` and `web.config_file`, by which a client finds a running exporter.
/// Ignores mistakes in other keys.
///
/// # Errors
/// Fails if the file cannot be read, or there is no valid address.
pub fn load_address(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<String>, Option<PathBuf>), ConfigError> {
    let mut read = layers::merge(options, environment)?;
    match read.parse("web.listen_addresses", values::addresses) {
        Some(addresses) => Ok((addresses, read.file("web.config_file"))),
        None => Err(ConfigError(read.mistakes())),
    }
}

/// Returns true for a place in [`Options::defaults`].
pub fn is_of_demo(place: &str) -> bool {
    place.starts_with("<demo>:")
}

impl Config {
    /// Returns a table of the keys with their active values and sources; secrets hidden.
    pub fn describe(&self) -> String {
        let mut lines = vec![format!("{:24}  {:28}  SOURCE\n", "KEY", "VALUE")];
        for setting in &self.settings {
            let value = match setting.value.as_str() {
                "" => "-".to_owned(),
                value => value.escape_debug().to_string().replace("\\\"", "\""),
            };
            let (key, source) = (setting.key.path, &setting.source);
            lines.push(format!("{key:24}  {value:28}  {source}\n"));
        }
        lines.concat()
    }

    /// Returns the active configuration as a file, each value with its source. Defaults and secrets
    /// are comments: a default follows other keys, which a set value does not.
    pub fn yaml(&self) -> String {
        let (mut lines, mut section) = (Vec::new(), "");
        for setting in &self.settings {
            let is_set = setting.source != DEFAULT && setting.value != HIDDEN;
            let sign = if is_set { "" } else { "# " };
            let (this, name) = setting.key.split();
            let (value, source) = (setting.key.yaml(&setting.value), &setting.source);
            if name.is_empty() {
                lines.push(format!("{sign}{this}: {value}  # {source}\n"));
                continue;
            }
            if this != section {
                lines.push(format!("{this}:\n"));
            }
            section = this;
            lines.push(format!("  {sign}{name}: {value}  # {source}\n"));
        }
        lines.concat()
    }
}

#[cfg(test)]
mod tests;
