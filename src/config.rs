//! Configuration: figment merges the layers, each value as text with its source, and extracts the
//! sections, whose values parse themselves. Every error names its key, its source and the remedy.
//!
//! No error holds the API key, nor the path of its file, which may be the key, pasted by mistake.

mod api_key;
mod file;
mod layers;
mod sections;
mod text;

use crate::domain::{Scale, Settings, targets::Targets};
use humantime::format_duration;
use layers::{DEFAULT, Layers, TARGETS, written};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use crate::support::{keys::Key, parsed::Parsed};
pub use api_key::read_key;
pub use layers::ConfigError;
pub use sections::{ApiConfig, LogConfig, PollConfig, Sections, WebConfig, keys};

/// The option that names the configuration file.
pub const CONFIG_FILE: &str = "config.file";

/// The value of each option: by the path of its key, or [`CONFIG_FILE`]. Commas separate the items
/// of a list; an empty text means none.
pub type Options = BTreeMap<&'static str, String>;

/// A valid configuration.
#[derive(Debug)]
pub struct Config {
    pub(crate) api: ApiConfig,
    /// The settings of polling and judgement.
    pub settings: Settings,
    /// `state.file`
    pub(crate) state_file: Option<PathBuf>,
    pub(crate) web: WebConfig,
    pub(crate) log: LogConfig,
    /// The active configuration as a file, each value with its source. Defaults and secrets are
    /// comments: a default follows other keys, which a set value does not.
    pub yaml: String,
}

/// The outcomes of checks of values in the modules that use them, by key.
pub type Checks = Vec<(&'static str, anyhow::Result<()>)>;

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win. The API
/// key file is read once, so that a failure shows early. `check` sees defaults in the place of
/// mistakes.
///
/// # Errors
/// Returns all mistakes at once, including those that `check` finds.
pub fn load(
    options: &Options,
    environment: &[(String, String)],
    check: impl FnOnce(&Sections) -> Checks,
) -> Result<Config, ConfigError> {
    let mut layers = layers(options, environment)?;
    let sections: Sections = layers.extract();
    sections.api.check(|key, problem| layers.note(key, problem));
    if let Some(problem) = sections.poll.problem() {
        layers.note("poll.stale_after", problem);
    }
    if *sections.thresholds.regressed_by <= 0.0 {
        layers.note(
            "thresholds.regressed_by",
            "is 0, which is no fall; give a number above 0, such as 0.2",
        );
    }
    if sections.api.key.is_none()
        && sections.api.key_file.is_some()
        && let Err(error) = read_key(&sections.api)
    {
        layers.note("api.key_file", error);
    }
    for (key, outcome) in check(&sections) {
        if let Err(error) = outcome {
            layers.note(key, error);
        }
    }
    if !layers.mistakes.is_empty() {
        let mistakes = layers.mistakes.into_iter();
        return Err(ConfigError(mistakes.map(|(_, mistake)| mistake).collect()));
    }
    let yaml = yaml(&layers, &sections.poll);
    let targets = sections.targets.into_values().map(Arc::new);
    Ok(Config {
        settings: Settings {
            interval: *sections.poll.interval,
            stale_after: sections.poll.stale_after(),
            concurrency: *sections.api.concurrency as usize,
            max_attempts: 4,
            filter: sections.filter,
            scale: Scale {
                finished: *sections.api.completion_scale,
                is_chosen: layers.place("api.completion_scale") != DEFAULT,
            },
            targets: Targets(targets.collect()),
            thresholds: sections.thresholds,
            links: sections.links,
        },
        api: sections.api,
        state_file: sections.state.file.0,
        web: sections.web,
        log: sections.log,
        yaml,
    })
}

/// Reads `web.listen_addresses` and `web.config_file`, by which a client finds a running exporter.
/// Ignores mistakes in values.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn load_address(
    options: &Options,
    environment: &[(String, String)],
) -> Result<WebConfig, ConfigError> {
    let sections: Sections = layers(options, environment)?.extract();
    Ok(sections.web)
}

/// Reads all layers.
fn layers(options: &Options, environment: &[(String, String)]) -> Result<Layers, ConfigError> {
    let mut layers = Layers::default();
    layers.merge_texts(keys().map(|key| (key, key.default, DEFAULT)));
    let file = options.get(CONFIG_FILE).filter(|file| !file.is_empty());
    if let Some(file) = file {
        let text = fs::read_to_string(file).map_err(|error| {
            let hint = "give the path of a readable YAML file in UTF-8";
            ConfigError(vec![format!(
                "--config.file: {file} cannot be read: {error}; {hint}"
            )])
        })?;
        layers.merge_file(&text, Path::new(file))?;
    }
    let set = environment
        .iter()
        .filter(|(_, text)| !text.trim().is_empty());
    let variables: Vec<_> = set
        .filter_map(|(name, text)| Some((layers.key_of(name)?, text.as_str(), name.as_str())))
        .collect();
    layers.merge_texts(variables.into_iter());
    layers.merge_texts(keys().filter_map(|key| {
        let (option, _) = key.option().unwrap_or_default();
        Some((key, options.get(key.path)?.as_str(), option))
    }));
    Ok(layers)
}

/// Renders [`Config::yaml`].
fn yaml(layers: &Layers, poll: &PollConfig) -> String {
    let (mut lines, mut last) = (Vec::new(), "");
    for key in keys() {
        let ([section, name], place) = (key.names(), layers.place(key.path));
        let (sign, value) = match key.path {
            "api.key" if place != DEFAULT => ("# ", "\"<hidden>\"".to_owned()),
            "poll.stale_after" if place == DEFAULT => {
                ("# ", format_duration(poll.stale_after()).to_string())
            }
            path if place == DEFAULT => ("# ", written(&layers.text(path))),
            path => ("", written(&layers.text(path))),
        };
        if section != last {
            lines.push(format!("{section}:\n"));
        }
        last = section;
        lines.push(format!("  {sign}{name}: {value}  # {place}\n"));
    }
    let targets = layers.targets();
    lines.push(format!("{TARGETS}:\n"));
    let targets = targets.into_iter();
    lines.extend(targets.map(|(entry, place)| format!("  - {entry}  # {place}\n")));
    lines.concat()
}

#[cfg(test)]
mod tests;
