//! The schemas of file and chart, and the table in docs/configuration.md, generated from the
//! sections.
//!
//! The schema is as lenient as the program: null is not set, and another layer may set a key that
//! the file lacks, except `api.allow_http` beside a URL that needs it. It is stricter in one point:
//! other programs read a text such as `010` as a number, so it wants quotes.

use super::super::{Key, Sections, keys, layers::TARGETS};
use crate::{
    domain::{links::Template, targets::TargetEntry},
    support::{
        clock::Timestamp,
        glob::Globs,
        logging::Format,
        parsed::{Parse, Parsed},
    },
    testing::assert_generated,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, fs, path::PathBuf, time::Duration};
use tracing::Level;
use url::Url;

const SCHEMA: &str = "docs/config.schema.json";
const DOCS: &str = "docs/configuration.md";
const TABLE: &str = "| key | default | meaning and bounds |\n|---|---|---|\n";
const TARGETS_MEANING: &str =
    "when a translation is ready; the first entry that matches a language counts";

/// A type of values whose schema is known.
trait Accepts: Parse {
    fn accepts() -> Value;
}

impl<T: Accepts, const MIN: u32, const MAX: u32> JsonSchema for Parsed<T, MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        "Parsed".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = T::accepts();
        if ["integer", "number"]
            .map(Value::from)
            .contains(&schema["type"][0])
        {
            schema["minimum"] = schema.get("minimum").cloned().unwrap_or(MIN.into());
            schema["maximum"] = schema.get("maximum").cloned().unwrap_or(MAX.into());
        }
        // Editors that know this word show it in place of their own message.
        schema["errorMessage"] = format!("give {}", Self::takes()).into();
        schema.try_into().unwrap()
    }
}

/// Returns the pattern of words in any case.
fn any_case(words: &[&str]) -> String {
    let any_case = |c: char| match c {
        'a'..='z' => format!("[{}{c}]", c.to_ascii_uppercase()),
        c => c.to_string(),
    };
    let words = words
        .iter()
        .map(|word| word.chars().map(any_case).collect::<String>());
    format!(r"^\s*({})\s*$", words.collect::<Vec<_>>().join("|"))
}

impl<T: Accepts> Accepts for Option<T> {
    fn accepts() -> Value {
        let mut schema = T::accepts();
        schema["type"] = match schema["type"].take() {
            Value::Array(types) => types.into_iter().chain(["null".into()]).collect(),
            one => json!([one, "null"]),
        };
        schema
    }
}

/// Implements [`Accepts`].
macro_rules! accepts {
    ($($type:ty => $schema:tt)*) => {
        $(impl Accepts for $type {
            fn accepts() -> Value {
                json!($schema)
            }
        })*
    };
}

accepts! {
    bool => {
        "type": ["boolean", "string"],
        "pattern": any_case(&["true", "false"]),
    }
    u32 => {"type": ["integer", "string"], "pattern": r"^\s*\+?\d+\s*$"}
    f64 => {"type": ["number", "string"], "pattern": r"^\s*\+?[\d.]+([eE]\+?\d+)?\s*$"}
    Duration => {"type": "string", "pattern": r"^\s*(\d+\s*[a-zµ]+\s*)+$"}
    PathBuf => {"type": "string"}
    SecretString => {"type": "string", "writeOnly": true}
    Url => {
        "type": "string",
        "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#@]+(/[^\s?#]*)?\s*$",
    }
    Template<false> => {"type": "string", "pattern": r"^\s*https?://"}
    Template<true> => {"type": "string", "pattern": r"^\s*https?://"}
    String => {"type": "string", "pattern": r"^\s*/[-._~A-Za-z0-9/]+\s*$"}
    Timestamp => {
        "type": "string",
        "pattern": r"^\s*\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|[12]\d))([Tt ].*)?\s*$",
    }
    Level => {"type": "string", "pattern": any_case(&["error", "warn", "info", "debug", "trace"])}
    Format => {"type": "string", "pattern": r"^\s*(logfmt|json)\s*$"}
    Vec<String> => {
        "type": ["array", "string"],
        "items": {"type": "string", "pattern": r":\d{1,5}\s*$"},
        "minItems": 1,
        "pattern": r":\d{1,5}\s*$",
    }
}

impl<const OF_REPOSITORIES: bool> Accepts for Globs<OF_REPOSITORIES> {
    fn accepts() -> Value {
        let pattern = if OF_REPOSITORIES {
            r#"^[^"']*(/|\*\*)[^"']*$"#
        } else {
            r#"^[^"']*\S[^"']*$"#
        };
        json!({
            "type": ["array", "string"],
            "items": {"type": "string", "pattern": pattern},
            "pattern": format!(r"^\s*$|{pattern}"),
        })
    }
}

/// Returns the default as the file would have it; null if there is none.
fn default(key: &Key, schema: &Value) -> Value {
    match key.default {
        text if schema["type"][0] == "array" => {
            Value::from_iter(Some(text).filter(|_| !text.is_empty()))
        }
        "" => Value::Null,
        text => match serde_json::from_str(text) {
            Ok(number_or_switch) => number_or_switch,
            Err(_) => text.into(),
        },
    }
}

/// Adds defaults and null to the schema of a section.
fn section(keys: &[&Key], mut schema: Schema) -> Value {
    let properties = schema
        .get_mut("properties")
        .unwrap()
        .as_object_mut()
        .unwrap();
    assert_eq!(properties.len(), keys.len());
    for (key, (name, schema)) in keys.iter().zip(properties.iter_mut()) {
        assert_eq!(key.names()[1], name);
        let default = default(key, schema);
        let schema = schema.as_object_mut().unwrap();
        let description = schema["description"].as_str().unwrap();
        let description = description.replace('`', "").replace('\n', " ");
        let mut types = match schema["type"].take() {
            Value::Array(types) => types,
            one => vec![one],
        };
        let null = Value::from("null");
        if types.contains(&null) {
            // An empty text is none.
            if let Some(Value::String(pattern)) = schema.get_mut("pattern") {
                *pattern = format!(r"^\s*$|{pattern}");
            }
        } else {
            types.push(null);
        }
        schema.insert("type".to_owned(), types.into());
        schema.insert("description".to_owned(), description.into());
        if !default.is_null() {
            schema.insert("default".to_owned(), default);
        }
    }
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties,
    })
}

fn schema_of<T: JsonSchema>() -> Schema {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the JSON Schema of the configuration file.
fn schema() -> Value {
    let mut all = schema_of::<Sections>();
    let sections = all.get_mut("properties").unwrap().as_object_mut().unwrap();
    let mut properties = Map::new();
    for (name, schema) in sections {
        let keys: Vec<_> = keys().filter(|key| key.names()[0] == name).collect();
        properties.insert(
            name.clone(),
            section(&keys, schema.take().try_into().unwrap()),
        );
    }
    let http = json!({
        "required": ["base_url"],
        "properties": {"base_url": {
            "type": "string",
            "pattern": r"^\s*[Hh][Tt][Tt][Pp]:",
            "not": {"pattern": r"^\s*[Hh][Tt][Tt][Pp]://(([-A-Za-z0-9]+\.)*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127(\.\d+){1,3}|\[::1\])(:\d*)?(/|\s*$)"},
        }},
    });
    let allowed = json!({"enum": [true, "true"]});
    properties["api"]["if"] = http;
    properties["api"]["then"] =
        json!({"required": ["allow_http"], "properties": {"allow_http": allowed}});
    let mut entry = section(
        &TargetEntry::KEYS.iter().collect::<Vec<_>>(),
        schema_of::<TargetEntry>(),
    );
    entry["type"] = "object".into();
    let targets = json!({
        "type": ["array", "null"],
        "description": TARGETS_MEANING,
        "default": [],
        "items": entry,
    });
    properties.insert(TARGETS.to_owned(), targets);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of translation-exporter",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns docs/configuration.md with the table of keys as they are.
fn docs() -> String {
    let mut rows = Vec::new();
    let schema = schema();
    for key in keys() {
        let [section, name] = key.names();
        let schema = &schema["properties"][section]["properties"][name];
        let default = match default(key, schema) {
            _ if key.path == "api.base_url" => "none, required".to_owned(),
            _ if key.path == "poll.stale_after" => {
                "the larger of `1h` and 3 × `poll.interval`".to_owned()
            }
            Value::Null => "none".to_owned(),
            Value::String(text) => format!("`{text}`"),
            value => format!("`{value}`"),
        };
        let takes = schema["errorMessage"].as_str().unwrap();
        let bounds = takes.split_once(" from ").map(|(_, bounds)| {
            let (bounds, _) = bounds.split_once(',').unwrap_or((bounds, ""));
            let (least, most) = bounds.split_once(" to ").unwrap();
            let no_limit = most.contains("year");
            format!(
                "; {}",
                if no_limit {
                    format!("at least {least}")
                } else {
                    bounds.to_owned()
                }
            )
        });
        let bounds = bounds.unwrap_or_default();
        let meaning = key.meaning.trim();
        rows.push(format!(
            "| `{}` | {default} | {meaning}{bounds} |\n",
            key.path
        ));
    }
    let table = format!(
        "{TABLE}{}| `targets` | `[]` | {TARGETS_MEANING} |\n",
        rows.concat()
    );
    let page = fs::read_to_string(DOCS).unwrap();
    let (before, rest) = page.split_once(TABLE).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{table}\n{after}")
}

#[test]
fn the_table_of_keys_is_generated() {
    assert_generated(DOCS, &docs());
}

#[test]
fn the_schema_of_the_file_is_generated() {
    assert_generated(SCHEMA, &format!("{:#}\n", schema()));
}

/// Helm reads no file beside this one, so it holds the schema of the configuration, too.
#[test]
fn the_schema_of_the_chart_is_generated() {
    let base = fs::read_to_string("deploy/helm/values.schema.base.json").unwrap();
    let mut values: Value = serde_json::from_str(&base).unwrap();
    let mut config = schema();
    config.as_object_mut().unwrap().shift_remove("$schema");
    values["properties"]["config"] = config;
    let path = "deploy/helm/translation-exporter/values.schema.json";
    assert_generated(path, &format!("{values:#}\n"));
}
