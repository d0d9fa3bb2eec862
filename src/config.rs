//! Configuration: figment merges the layers, each value as text with its source, and extracts the
//! sections, whose values parse themselves. Every error names its key, its source and the remedy.
//!
//! No error holds the API key, nor the path of its file, which may be the key, pasted by mistake.

mod api_key;
mod file;
mod layers;
mod sections;
mod text;

use crate::domain::{
    Scale, Settings, Thresholds,
    filter::Filter,
    links::Links,
    targets::{Target, TargetEntry, Targets, globs_in_words, literal},
};
use globset::GlobSet;
use humantime::format_duration;
use layers::{DEFAULT, Layers, TARGETS};
use sections::TargetConfig;
use std::{collections::BTreeMap, fs, mem, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};
use text::Format;
use url::Url;

pub use api_key::read_key;
pub use sections::{ApiConfig, KEYS, Key, LogConfig, PollConfig, Sections, TARGET_KEYS, WebConfig};
pub use text::{Parsed, repository_glob};

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

/// All mistakes in a configuration. No text of them holds anything that might be the API key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// The path that messages show for [`Options::defaults`].
const DEMO_FILE: &str = "<demo>";

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
    let sections: Sections = layers.extract("");
    check_api(&mut layers, &sections.api);
    check_poll(&mut layers, &sections.poll);
    check_links(&mut layers);
    let (targets, of_targets) = targets(&mut layers, &sections.filter.exclude_languages.set);
    for (key, outcome) in check(&sections) {
        if let Err(error) = outcome {
            layers.note(key, error);
        }
    }
    if !layers.mistakes.is_empty() {
        let mistakes = layers.mistakes.into_iter();
        return Err(ConfigError(mistakes.map(|(_, mistake)| mistake).collect()));
    }
    let yaml = yaml(&layers, &sections.poll) + &of_targets;
    Ok(Config {
        settings: settings(&layers, &sections, targets),
        api: sections.api,
        state_file: sections.state.file.map(|path| path.0),
        web: sections.web,
        log: sections.log,
        yaml,
    })
}

fn settings(layers: &Layers, sections: &Sections, targets: Targets) -> Settings {
    let Sections {
        api,
        poll,
        filter,
        thresholds,
        links,
        ..
    } = sections;
    Settings {
        interval: *poll.interval,
        stale_after: poll.stale_after(),
        concurrency: *api.concurrency as usize,
        max_attempts: 4,
        filter: Filter {
            include: filter.include.set.clone(),
            exclude: filter.exclude.set.clone(),
            private: *filter.private,
        },
        excluded_languages: filter.exclude_languages.set.clone(),
        scale: Scale {
            finished: *api.completion_scale,
            is_chosen: layers.place("api.completion_scale") != DEFAULT,
        },
        targets,
        thresholds: Thresholds {
            stalled_after: *thresholds.stalled_after,
            regressed_by: *thresholds.regressed_by,
            at_risk_within: *thresholds.at_risk_within,
        },
        links: Links {
            repository: links.repository.as_deref().cloned(),
            language: links.language.as_deref().cloned(),
        },
    }
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
    let sections: Sections = layers(options, environment)?.extract("");
    Ok(sections.web)
}

/// Reads all layers.
fn layers(options: &Options, environment: &[(String, String)]) -> Result<Layers, ConfigError> {
    let mut layers = Layers::of(KEYS);
    layers.read_file(&options.defaults, DEMO_FILE)?;
    if let Some(path) = &options.config_file {
        let text = fs::read_to_string(path).map_err(|error| {
            let hint = "give the path of a readable YAML file in UTF-8";
            ConfigError(vec![format!(
                "--config.file: cannot be read: {error}; {hint}"
            )])
        })?;
        layers.read_file(&text, &path.display().to_string())?;
    }
    for (name, value) in environment {
        layers.read_variable(name, value);
    }
    for key in KEYS {
        if let (Some(text), Some((flag, _))) = (options.flags.get(key.path), key.option()) {
            layers.set(key.path, text.as_str().into(), flag);
        }
    }
    Ok(layers)
}

fn check_api(layers: &mut Layers, api: &ApiConfig) {
    match api.base_url.as_deref() {
        None => layers.note(
            "api.base_url",
            "is required, but not set; set it in the configuration file, as \
             TRANSLATION_EXPORTER_API__BASE_URL or with --api.base-url",
        ),
        Some(url) if url.scheme() == "http" && !*api.allow_http && !is_loopback(url) => {
            layers.note(
                "api.base_url",
                "would send the key unencrypted: http to a host that is not loopback; write \
                 https://, or set api.allow_http to true",
            );
        }
        Some(_) => {}
    }
    let [key, file] = ["api.key", "api.key_file"].map(|path| layers.text(path));
    match (&*key, &*file) {
        ("", "") => layers.note(
            "api.key",
            "is required, or api.key_file, but neither is set; set api.key_file to the file that \
             holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
        ),
        (_, "") => {}
        ("", _) => {
            if let Err(error) = read_key(api) {
                layers.note("api.key_file", error);
            }
        }
        _ => {
            let place = layers.place("api.key_file");
            layers.note(
                "api.key",
                format_args!("is given, and api.key_file ({place}) too; remove one of the two"),
            );
        }
    }
}

impl ApiConfig {
    /// Returns the root of the API: http or https, no user, query or fragment; its path ends with
    /// a slash.
    pub(crate) fn base_url(&self) -> &Url {
        let url = self.base_url.as_deref();
        url.expect("`load` refuses a configuration without it")
    }

    /// Returns `None` if requests are not limited.
    pub(crate) fn requests_per_second(&self) -> Option<f64> {
        Some(*self.requests_per_second).filter(|rate| *rate > 0.0)
    }
}

/// Returns true for a URL that leads to this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

impl PollConfig {
    pub fn stale_after(&self) -> Duration {
        let hour = Duration::from_secs(3600);
        let stale_after = self.stale_after.as_deref().copied();
        stale_after.unwrap_or(hour.max(*self.interval * 3))
    }
}

impl LogConfig {
    pub fn is_json(&self) -> bool {
        *self.format == Format::Json
    }
}

fn check_poll(layers: &mut Layers, poll: &PollConfig) {
    let (stale_after, least) = (poll.stale_after(), *poll.interval * 2);
    if stale_after < least {
        let [shown, least] = [stale_after, least].map(format_duration);
        let interval = layers.place("poll.interval");
        layers.note(
            "poll.stale_after",
            format_args!(
                "is {shown}, less than twice poll.interval ({interval}); give at least {least}, or \
                 shorten poll.interval"
            ),
        );
    }
}

fn check_links(layers: &mut Layers) {
    if layers.text("links.repository").contains("{language}") {
        layers.note(
            "links.repository",
            "contains {language}, which the page of a repository has not; leave it out",
        );
    }
}

/// Reads the targets. Returns them, and their part of [`Config::yaml`].
fn targets(layers: &mut Layers, excluded: &GlobSet) -> (Targets, String) {
    let (mut entries, mut lines) = (Vec::new(), Vec::new());
    for (source, mut layer) in mem::take(&mut layers.targets) {
        layer.secrets.clone_from(&layers.secrets);
        let target: TargetConfig = layer.extract(TARGETS);
        for path in ["targets.repositories", "targets.languages"] {
            if layer.place(path) != DEFAULT && layer.text(path).is_empty() {
                // It could mean none or all.
                layer.note(path, "is empty; leave the key out to match all");
            }
        }
        layers.mistakes.append(&mut layer.mistakes);
        lines.push(format!("  - {}  # {source}\n", layer.in_one_line()));
        let (repositories, languages) = (target.repositories.0, target.languages.0);
        let codes = literal(&languages.items).filter(|code| !excluded.is_match(code));
        entries.push(Arc::new(TargetEntry {
            globs: globs_in_words(&repositories.items, &languages.items),
            named_repositories: literal(&repositories.items).collect(),
            named_languages: codes.collect(),
            repositories: repositories.set,
            languages: languages.set,
            target: Target {
                ratio: *target.ratio,
                due: target.due.as_deref().copied(),
                stalled_after: target.stalled_after.as_deref().copied(),
            },
        }));
    }
    let none = if lines.is_empty() {
        " []  # default"
    } else {
        ""
    };
    (
        Targets(entries),
        format!("{TARGETS}:{none}\n{}", lines.concat()),
    )
}

/// Renders [`Config::yaml`] without the targets.
fn yaml(layers: &Layers, poll: &PollConfig) -> String {
    let (mut lines, mut last) = (Vec::new(), "");
    for key in KEYS {
        let ([section, name], place) = (key.names(), layers.place(key.path));
        let (sign, value) = match key.path {
            "api.key" if place != DEFAULT => ("# ", "\"<hidden>\"".to_owned()),
            "poll.stale_after" if place == DEFAULT => {
                ("# ", format_duration(poll.stale_after()).to_string())
            }
            path if place == DEFAULT => ("# ", layers.written(path)),
            path => ("", layers.written(path)),
        };
        if section != last {
            lines.push(format!("{section}:\n"));
        }
        last = section;
        lines.push(format!("  {sign}{name}: {value}  # {place}\n"));
    }
    lines.concat()
}

#[cfg(test)]
mod tests;
