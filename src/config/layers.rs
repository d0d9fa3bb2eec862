//! The layers: defaults, the file, the environment, the flags, in this order; later ones win. Whatever none of the
//! keys could have meant is found here.

use super::{
    Options,
    error::{ConfigError, Mistake, Source},
    keys::{KEYS, Key, PREFIX, Takes, nearest, sections},
    yaml::{Shape, shape},
};
use figment::{
    Figment, Metadata, Profile, Provider,
    providers::Format,
    value::{Dict, Map, Value},
};
use serde_saphyr::figment::Yaml;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

const DEFAULTS: &str = "defaults";
const FILE: &str = "file";
const ENVIRONMENT: &str = "environment";
const FLAGS: &str = "flags";
const DEMO: &str = "demo";

/// All layers merged, each value with the layer it came from.
pub(super) struct Layers {
    figment: Figment,
    file: Option<PathBuf>,
    lines: BTreeMap<&'static str, u64>,
}

impl Layers {
    /// # Errors
    /// Everything in file and environment that is no key, and a file that cannot be read.
    pub(super) fn read(options: &Options, environment: &[(OsString, OsString)]) -> Result<Self, ConfigError> {
        let mut mistakes = Vec::new();
        let (file, lines) = options
            .config_file
            .as_deref()
            .map_or_else(Default::default, |path| file_layer(path, &mut mistakes).unwrap_or_default());
        let environment = environment_layer(environment, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(ConfigError(mistakes));
        }
        let figment = Figment::new()
            .merge(Layer::of(
                DEFAULTS,
                KEYS.iter().filter(|key| !key.default.is_empty()).map(|key| (key, key.default.into())),
            ))
            .merge(Layer { name: FILE, sections: file })
            .merge(Layer::of(ENVIRONMENT, environment))
            .merge(Layer::of(FLAGS, flags(options)));
        Ok(Self { figment, file: options.config_file.clone(), lines })
    }

    /// The demo's API takes the place of a real one, and of its key.
    pub(super) fn with_demo(mut self, base_url: &str, key: &str) -> Self {
        let interval_is_default = self.get("poll.interval").is_none_or(|(_, source)| source == Source::Default);
        let settings = [("api.base_url", base_url), ("api.key", key), ("api.key_file", "")]
            .into_iter()
            .chain(interval_is_default.then_some(("poll.interval", "5s")))
            .filter_map(|(path, value)| Some((Key::find(path)?, value.into())));
        self.figment = self.figment.merge(Layer::of(DEMO, settings));
        self
    }

    /// The value in force, and where it came from.
    pub(super) fn get(&self, path: &'static str) -> Option<(Value, Source)> {
        let value = self.figment.find_value(path).ok()?;
        let layer = self.figment.get_metadata(value.tag()).map_or(DEFAULTS, |metadata| &metadata.name).to_owned();
        let key = Key::find(path);
        let source = match layer.as_str() {
            FILE => self.file_source(path),
            ENVIRONMENT => Source::Variable(key.map(Key::variable).unwrap_or_default()),
            FLAGS => Source::Flag(key.and_then(|key| key.flag.as_ref()).map_or("", |flag| flag.name)),
            DEMO => Source::Demo,
            _ => Source::Default,
        };
        Some((value, source))
    }

    fn file_source(&self, path: &str) -> Source {
        Source::File { path: self.file.clone().unwrap_or_default(), line: self.lines.get(path).copied() }
    }
}

/// A layer of values for figment.
struct Layer {
    name: &'static str,
    sections: Dict,
}

impl Layer {
    fn of<'a>(name: &'static str, settings: impl IntoIterator<Item = (&'a Key, Value)>) -> Self {
        let mut sections: BTreeMap<&str, Dict> = BTreeMap::new();
        for (key, value) in settings {
            sections.entry(key.section()).or_default().insert(key.name().to_owned(), value);
        }
        Self { name, sections: sections.into_iter().map(|(name, section)| (name.to_owned(), section.into())).collect() }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.sections.clone()))
    }
}

fn file_layer(path: &Path, mistakes: &mut Vec<Mistake>) -> Option<(Dict, BTreeMap<&'static str, u64>)> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let problem = format!("cannot read {}: {error}", path.display());
            mistakes.push(Mistake::at(
                Source::Flag("--config.file"),
                problem,
                "give a YAML file that exists and can be read",
            ));
            return None;
        }
    };
    let found = shape(path, &text).map_err(|mistake| mistakes.push(mistake)).ok()?;
    let before = mistakes.len();
    let lines = known_lines(path, found, mistakes);
    if mistakes.len() > before {
        return None;
    }
    // The shape was parsed already, so that what fails here is a value that no key can have. The error may quote it.
    let Ok(mut sections) = Yaml::string(&text).data().map(|mut profiles| profiles.remove(&Profile::Default)) else {
        mistakes.push(Mistake::at(
            Source::File { path: path.to_owned(), line: None },
            "holds a value that cannot be read",
            "write values as text, numbers, true, false or lists of text",
        ));
        return None;
    };
    // A section without entries would hide those of the layers below.
    let mut sections = sections.take().unwrap_or_default();
    sections.retain(|_, section| section.as_dict().is_some());
    Some((sections, lines))
}

/// The lines of the keys; what is no key becomes a mistake.
fn known_lines(path: &Path, document: Shape, mistakes: &mut Vec<Mistake>) -> BTreeMap<&'static str, u64> {
    let mut lines = BTreeMap::new();
    let at = |line| Source::File { path: path.to_owned(), line };
    let entries = match document {
        Shape::Mapping(entries) => entries,
        Shape::Nothing => return lines,
        Shape::Other => {
            let hint = format!("write sections ({}) with their keys indented below", sections().join(", "));
            mistakes.push(Mistake::at(at(None), "is no mapping", hint));
            return lines;
        }
    };
    for (section, line, content) in entries {
        if !sections().contains(&section.as_str()) {
            mistakes.push(unknown_section(&section, at(Some(line))));
            continue;
        }
        match content {
            Shape::Nothing => {}
            Shape::Other => {
                let hint = "write its keys below it, indented, each as `key: value`";
                mistakes.push(Mistake::of(&section, Some(at(Some(line))), "is a section, but no mapping", hint));
            }
            Shape::Mapping(keys) => {
                for (name, line, _) in keys {
                    match KEYS.iter().find(|key| key.section() == section && key.name() == name) {
                        Some(key) => {
                            lines.insert(key.path, line);
                        }
                        None => mistakes.push(unknown_key(&section, &name, at(Some(line)))),
                    }
                }
            }
        }
    }
    lines
}

fn unknown_section(name: &str, source: Source) -> Mistake {
    let (near, hint) = if let Some(key) = Key::find(name) {
        (true, format!("write the section \"{}:\" and below it, indented, \"{}:\"", key.section(), key.name()))
    } else if let Some(key) = KEYS.iter().find(|key| key.name() == name) {
        (true, format!("indent it below the section \"{}\"", key.section()))
    } else if let Some(section) = nearest(name, sections()) {
        (true, format!("did you mean \"{section}\"?"))
    } else {
        (false, format!("the sections are {}", sections().join(", ")))
    };
    let problem =
        if can_be_told(name, near) { format!("unknown section \"{name}\"") } else { "unknown section".to_owned() };
    Mistake::at(source, problem, hint)
}

fn unknown_key(section: &str, name: &str, source: Source) -> Mistake {
    let own = KEYS.iter().filter(|key| key.section() == section).map(Key::name);
    let (near, hint) = if let Some(key) = KEYS.iter().find(|key| key.name() == name) {
        (true, format!("it belongs in the section \"{}\"", key.section()))
    } else if let Some(key) = nearest(name, own.clone()) {
        (true, format!("did you mean \"{section}.{key}\"?"))
    } else {
        (false, format!("the keys of {section} are {}", own.collect::<Vec<_>>().join(", ")))
    };
    let problem = if can_be_told(name, near) {
        format!("unknown key \"{section}.{name}\"")
    } else {
        format!("unknown key in the section {section}")
    };
    Mistake::at(source, problem, hint)
}

/// Whether the name of what is unknown can be no part of a secret: to YAML, `{key:abc}` is one name.
fn can_be_told(name: &str, near: bool) -> bool {
    let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.') || (near && c.is_ascii_digit());
    name.len() <= 40 && name.chars().all(plain)
}

fn environment_layer(environment: &[(OsString, OsString)], mistakes: &mut Vec<Mistake>) -> Vec<(&'static Key, Value)> {
    let mut settings = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        if let Some(key) = KEYS.iter().find(|key| key.variable() == name) {
            match value.to_str() {
                Some(value) => settings.push((key, value.into())),
                None => mistakes.push(Mistake::of(
                    key.path,
                    Some(Source::Variable(name.to_owned())),
                    "is not UTF-8",
                    "write its value in UTF-8",
                )),
            }
        } else if let Some(mistake) = unknown_variable(name) {
            mistakes.push(mistake);
        }
    }
    settings
}

/// Kubernetes injects variables under the prefix, none of which holds two underscores in a row: they are none of ours.
fn unknown_variable(name: &str) -> Option<Mistake> {
    let source = Source::Variable(name.to_owned());
    if let Some(key) = KEYS.iter().find(|key| key.variable_with_one_underscore() == name) {
        let hint = format!("write {}", key.variable());
        return Some(Mistake::at(source, "two underscores part section and key", hint));
    }
    let rest = name.strip_prefix(PREFIX).filter(|rest| rest.contains("__"))?;
    let hint = if rest == "CONFIG__FILE" {
        "the configuration file is given by --config.file alone".to_owned()
    } else if let Some(variable) = nearest(rest, KEYS.iter().map(|key| key.variable().split_off(PREFIX.len()))) {
        format!("did you mean {PREFIX}{variable}?")
    } else {
        format!("write {PREFIX}<SECTION>__<KEY>; the sections are {}", sections().join(", "))
    };
    Some(Mistake::at(source, "unknown variable", hint))
}

fn flags(options: &Options) -> Vec<(&'static Key, Value)> {
    let value = |key: &Key, typed: &Vec<String>| match key.flag.as_ref()?.takes {
        Takes::List => Some(Value::from(typed.clone())),
        Takes::Value | Takes::Switch => typed.last().map(|text| text.as_str().into()),
    };
    options
        .flags
        .iter()
        .filter_map(|(path, typed)| {
            let key = Key::find(path)?;
            Some((key, value(key, typed)?))
        })
        .collect()
}
