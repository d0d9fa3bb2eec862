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
use layers::{DEFAULT, Layer, Layers, TARGETS, unknown_variable, written};
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

/// A configuration that may have mistakes.
#[derive(Debug)]
pub struct Draft {
    /// The values, with defaults in the place of mistakes.
    pub sections: Sections,
    /// The sources of the values, and the mistakes in them.
    pub layers: Layers,
}

/// Reads the configuration: defaults, the file, `environment`, `options`; later ones win.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read(
    options: &Options,
    environment: &BTreeMap<String, String>,
) -> Result<Draft, ConfigError> {
    let mut layers = Layers::default();
    layers.merge(Layer::of(keys().map(|key| (key, key.default, DEFAULT))));
    if let Some(file) = options.get(CONFIG_FILE).filter(|file| !file.is_empty()) {
        let text = fs::read_to_string(file).map_err(|error| {
            let hint = "give the path of a readable YAML file in UTF-8";
            ConfigError(format!(
                "--config.file: {file} cannot be read: {error}; {hint}"
            ))
        })?;
        layers.merge(Layer::of_file(&text, Path::new(file))?);
    }
    layers.merge(Layer::of(keys().filter_map(|key| {
        let (name, text) = environment.get_key_value(&key.variable())?;
        (!text.trim().is_empty()).then_some((key, &**text, &**name))
    })));
    layers
        .mistakes
        .extend(environment.iter().filter_map(unknown_variable));
    layers.merge(Layer::of(keys().filter_map(|key| {
        let (option, _) = key.option().unwrap_or_default();
        Some((key, &**options.get(key.path)?, option))
    })));
    Ok(Draft {
        sections: layers.extract(),
        layers,
    })
}

impl Draft {
    /// Checks that the values fit together. The API key file is read only so that a failure shows
    /// early: each poll reads it again.
    ///
    /// # Errors
    /// Returns all mistakes at once.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let Self {
            sections,
            mut layers,
        } = self;
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
        if sections.api.key_file.is_some() {
            layers.check("api.key_file", read_key(&sections.api));
        }
        if !layers.mistakes.is_empty() {
            return Err(ConfigError(layers.mistakes.join("\n")));
        }
        Ok(Config {
            yaml: yaml(&layers, &sections.poll),
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
                targets: Targets(sections.targets.into_values().map(Arc::new).collect()),
                thresholds: sections.thresholds,
                links: sections.links,
            },
            api: sections.api,
            state_file: sections.state.file.0,
            web: sections.web,
            log: sections.log,
        })
    }
}

/// Renders [`Config::yaml`].
fn yaml(layers: &Layers, poll: &PollConfig) -> String {
    let (mut lines, mut last) = (Vec::new(), "");
    for key in keys() {
        let ([section, name], place) = (key.names(), layers.place(key.path));
        let is_default = place == DEFAULT;
        let value = match key.path {
            "api.key" if !is_default => "\"<hidden>\"".to_owned(),
            "poll.stale_after" if is_default => format_duration(poll.stale_after()).to_string(),
            path => written(&layers.text(path)),
        };
        let sign = if is_default || key.path == "api.key" {
            "# "
        } else {
            ""
        };
        if section != last {
            lines.push(format!("{section}:\n"));
        }
        last = section;
        lines.push(format!("  {sign}{name}: {value}  # {place}\n"));
    }
    lines.push(format!("{TARGETS}:\n"));
    lines.extend(layers.targets());
    lines.concat()
}

#[cfg(test)]
mod tests;
