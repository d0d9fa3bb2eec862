//! The schemas of file and chart, and the table in docs/configuration.md, generated from keys.
//!
//! The schema is as lenient as the program: null is not set, and another layer may set a key that
//! the file lacks. It is stricter in one point: other programs read a text such as `010` as a
//! number, so it wants quotes.

use super::*;
use crate::testing::assert_generated;
use serde_json::{Map, Value};
use std::fs;

const SCHEMA: &str = "docs/config.schema.json";
const DOCS: &str = "docs/configuration.md";
const TABLE: &str = "| key | default | meaning and bounds |\n|---|---|---|\n";

/// Returns the default as the table shows it.
fn shown_default(key: &Key) -> String {
    match default(key) {
        _ if key.path == "api.base_url" => "none, required".to_owned(),
        _ if key.path == "poll.stale_after" => {
            "the larger of `1h` and 3 × `poll.interval`".to_owned()
        }
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}

/// Returns the default as the file would have it; null if there is none.
fn default(key: &Key) -> Value {
    match key.takes {
        // An entry of targets has no empty list.
        Takes::List(..) if is_of_target(key) => Value::Null,
        Takes::List(..) => Value::from_iter(Some(key.default).filter(|item| !item.is_empty())),
        _ if key.default.is_empty() => Value::Null,
        _ if key.takes.is_bare() => {
            serde_json::from_str(key.default).unwrap_or_else(|_| key.default.into())
        }
        _ => key.default.into(),
    }
}

fn is_of_target(key: &Key) -> bool {
    key.split().0 == TARGETS.path
}

/// Returns the meaning with the bounds.
fn described(key: &Key) -> String {
    let mut described = key.meaning.to_owned();
    if !matches!(
        key.takes,
        Switch | Text(_) | Takes::List(..) | File | Secret
    ) {
        described = format!("{described}; {}", key.takes.expected());
    }
    described
}

/// Returns the schema of the values that a key accepts. The pattern of a key without a default
/// allows an empty text, which counts as not set.
fn accepted(key: &Key) -> Value {
    let empty = if key.default.is_empty() {
        r"^\s*$|"
    } else {
        ""
    };
    let text = json!({"type": ["string", "null"]});
    match &key.takes {
        Whole(bounds) => {
            let bounds = json!({"minimum": bounds.start(), "maximum": bounds.end()});
            numbers("integer", r"^\s*\+?\d+\s*$", bounds)
        }
        Number(bounds, _) => {
            let least = match *bounds.start() {
                f64::MIN_POSITIVE => json!({"exclusiveMinimum": 0}),
                least => json!({"minimum": least}),
            };
            let most = json!({"maximum": bounds.end()});
            let is_bounded = *bounds.end() < f64::MAX;
            numbers(
                "number",
                DECIMAL,
                with(least, if is_bounded { most } else { json!({}) }),
            )
        }
        Size(least) => {
            let pattern = r"^\s*\+?\d+\s*([KMG]iB|B)?\s*$";
            numbers("integer", pattern, json!({"minimum": least}))
        }
        Secret => with(text, json!({"writeOnly": true})),
        Switch => {
            let words = &["true", "false", "yes", "no", "on", "off", "0", "1"];
            let bounds = json!({"minimum": 0, "maximum": 1});
            with(words_in_any_case(words, "boolean"), bounds)
        }
        Choice(words) => words_in_any_case(words, "string"),
        Takes::List(..) => {
            let list = json!({
                "type": ["array", "string", "null"],
                "items": {"type": "string", "pattern": r"\S"},
            });
            let filled = json!({"minItems": 1, "pattern": r"\S"});
            with(list, if is_of_target(key) { filled } else { json!({}) })
        }
        File => text,
        Takes::Entries => unreachable!("the entries have keys of their own"),
        Time(..) => {
            let pattern = format!(r"{empty}^\s*(\d+\s*[a-zµ]+\s*)+$");
            with(text, json!({"pattern": pattern}))
        }
        Text(_) => {
            let pattern = match key.path {
                "api.base_url" => r"^\s*[Hh][Tt][Tt][Pp][Ss]?:",
                "links.repository" | "links.language" => r"^\s*https?://",
                "web.telemetry_path" => r"^\s*/[-._~A-Za-z0-9/]+\s*$",
                "targets.due" => r"^\s*\d{4}-\d{2}-\d{2}",
                path => panic!("the text {path} has no pattern"),
            };
            with(text, json!({"pattern": format!("{empty}{pattern}")}))
        }
    }
}

const DECIMAL: &str = r"^\s*\+?[\d.]+([eE]\+?\d+)?\s*$";

fn with(mut schema: Value, more: Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more);
    }
    schema
}

/// Returns the schema of a number within bounds, or a text that spells one.
fn numbers(kind: &str, pattern: &str, bounds: Value) -> Value {
    let schema = json!({"type": [kind, "string", "null"], "pattern": pattern});
    with(schema, bounds)
}

/// Returns the schema of words in any case.
fn words_in_any_case(words: &[&str], kind: &str) -> Value {
    let any_case = |c: char| match c {
        'a'..='z' => format!("[{}{c}]", c.to_ascii_uppercase()),
        c => c.to_string(),
    };
    let words = words
        .iter()
        .map(|word| word.chars().map(any_case).collect::<String>());
    let words = words.collect::<Vec<_>>().join("|");
    let mut types = vec![kind, "string", "null"];
    types.extend((kind == "boolean").then_some("integer"));
    types.dedup();
    json!({"type": types, "pattern": format!(r"^\s*({words})\s*$")})
}

/// Returns the schema of a mapping.
fn mapping(keys: &[&Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = accepted(key);
        let notes = schema.as_object_mut().unwrap();
        notes.insert(
            "description".to_owned(),
            key.meaning.replace('`', "").into(),
        );
        // Editors that know this word show it in place of their own message.
        notes.insert(
            "errorMessage".to_owned(),
            format!("give {}", key.takes.expected()).into(),
        );
        if !default(key).is_null() {
            notes.insert("default".to_owned(), default(key));
        }
        properties.insert(key.split().1.to_owned(), schema);
    }
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the JSON Schema of the configuration file.
fn schema() -> Value {
    let mut properties = Map::new();
    for section in sections().into_iter().filter(|one| *one != TARGETS.path) {
        let keys: Vec<_> = KEYS.iter().filter(|key| key.split().0 == section).collect();
        properties.insert(section.to_owned(), mapping(&keys));
    }
    let entry = with(
        mapping(&TARGET_KEYS.iter().collect::<Vec<_>>()),
        json!({"type": "object"}),
    );
    let targets = json!({
        "type": ["array", "null"],
        "description": TARGETS.meaning,
        "default": [],
        "items": entry,
    });
    properties.insert(TARGETS.path.to_owned(), targets);
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
    for key in KEYS {
        let (path, default, meaning) = (key.path, shown_default(key), described(key));
        rows.push(format!("| `{path}` | {default} | {meaning} |\n"));
    }
    let table = format!(
        "{TABLE}{}| `targets` | `[]` | {} |\n",
        rows.concat(),
        TARGETS.meaning
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

/// `cargo check` warns of a field that nothing reads.
#[test]
fn each_key_has_a_field() {
    let sections = include_str!("../sections.rs");
    for key in KEYS.iter().chain(TARGET_KEYS) {
        let path = format!("{:?}", key.path);
        assert!(sections.contains(&path), "sections.rs does not read {path}");
    }
}
