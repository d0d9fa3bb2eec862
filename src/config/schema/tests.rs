//! deploy/config.schema.json and the table in deploy/configuration.md, held against the keys.
//!
//! The schema takes names, types, bounds and defaults from [`KEYS`], and descriptions from the table.
//! It is as lenient as the program: null is not set, and another layer may set what a file lacks.

use super::*;
use serde_json::{Map, Value, json};
use std::fs;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/config.schema.json");
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/configuration.md");

/// The path, default and description of each row of the table of keys.
fn rows() -> Vec<[String; 3]> {
    let page = fs::read_to_string(DOCS).unwrap();
    let (_, table) = page
        .split_once("| key | default | meaning and bounds |\n")
        .unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let cells = |row: &str| {
        let row = row.trim_start_matches("| ").trim_end_matches(" |");
        let cells: Vec<_> = row.splitn(3, " | ").map(str::to_owned).collect();
        <[String; 3]>::try_from(cells).unwrap()
    };
    let rows = table.lines().skip(1).map(cells);
    rows.map(|[path, default, description]| [path.replace('`', ""), default, description])
        .collect()
}

/// The default as the table shows it.
fn shown_default(key: &Key) -> String {
    match key.takes {
        _ if key.path == "api.base_url" => "none, required".to_owned(),
        _ if key.path == "poll.stale_after" => {
            "the larger of `1h` and 3 × `poll.interval`".to_owned()
        }
        Takes::List => format!("`{}`", default(key)),
        _ if key.default.is_empty() => "none".to_owned(),
        _ => format!("`{}`", key.default),
    }
}

/// The default as the file would have it; null if there is none.
fn default(key: &Key) -> Value {
    match key.takes {
        Takes::List => Value::from_iter(Some(key.default).filter(|item| !item.is_empty())),
        Takes::Number | Takes::Switch => {
            serde_json::from_str(key.default).unwrap_or_else(|_| key.default.into())
        }
        _ if key.default.is_empty() => Value::Null,
        _ => key.default.into(),
    }
}

/// What a key accepts.
fn accepted(key: &Key) -> Value {
    let text = json!({"type": ["string", "null"]});
    let expected = key.expected;
    match key.takes {
        // An empty one counts as not set.
        _ if key.path == "api.base_url" => with(
            text,
            json!({"pattern": r"^\s*$|^\s*[Hh][Tt][Tt][Pp][Ss]?:"}),
        ),
        _ if key.path.starts_with("links.") => {
            with(text, json!({"pattern": r"^\s*$|^\s*https?://"}))
        }
        _ if key.path == "web.telemetry_path" => {
            with(text, json!({"pattern": r"^\s*/[-._~A-Za-z0-9/]+\s*$"}))
        }
        _ if key.path == "log.level" => words(
            &["error", "warn", "info", "debug", "trace", "[1-5]"],
            "string",
        ),
        _ if key.path == "log.format" => with(text, json!({"pattern": r"^\s*(logfmt|json)\s*$"})),
        _ if key.path == "targets.due" => {
            with(text, json!({"pattern": r"^\s*$|^\s*\d{4}-\d{2}-\d{2}"}))
        }
        Takes::Text | Takes::File => text,
        Takes::Secret => with(text, json!({"writeOnly": true})),
        Takes::Switch => with(
            words(
                &["true", "false", "yes", "no", "on", "off", "0", "1"],
                "boolean",
            ),
            json!({"minimum": 0, "maximum": 1}),
        ),
        Takes::List => json!({
            "type": ["array", "string", "null"],
            "items": {"type": "string", "pattern": r"\S"},
        }),
        Takes::Number if expected.contains("a time") => {
            // Empty, it has the default that depends on the interval.
            let empty = if key.path == "poll.stale_after" {
                r"^\s*$|"
            } else {
                ""
            };
            with(
                text,
                json!({"pattern": format!(r"{empty}^\s*(\d+\s*[a-zµ]+\s*)+$")}),
            )
        }
        Takes::Number if expected.contains("a size") => {
            numbers("integer", &["1"], r"^\s*\+?\d+\s*([KMG]iB|B)?\s*$")
        }
        Takes::Number => {
            let kind = if expected.contains("whole") {
                "integer"
            } else {
                "number"
            };
            let is_bound = |word: &&str| word.parse::<f64>().is_ok();
            let bounds: Vec<_> = expected.split([' ', ',']).filter(is_bound).collect();
            let pattern = if kind == "integer" {
                r"^\s*\+?\d+\s*$"
            } else {
                r"^\s*\+?[\d.]+([eE]\+?\d+)?\s*$"
            };
            // After 0 for no limit comes the least limit; after 0 to 1, an example.
            match (key.path, &*bounds) {
                ("api.requests_per_second", [zero, _, most]) => {
                    numbers(kind, &[zero, most], pattern)
                }
                (_, [least, most, ..]) => numbers(kind, &[least, most], pattern),
                _ => numbers(kind, &bounds, pattern),
            }
        }
    }
}

fn with(mut schema: Value, more: Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more);
    }
    schema
}

/// A number within bounds, or a text that spells one.
fn numbers(kind: &str, bounds: &[&str], pattern: &str) -> Value {
    let names = ["minimum", "maximum"].into_iter();
    let bounds = names.zip(bounds).map(|(name, bound)| {
        let bound: Value = serde_json::from_str(bound).unwrap();
        (name.to_owned(), bound)
    });
    let schema = json!({"type": [kind, "string", "null"], "pattern": pattern});
    with(schema, Value::Object(bounds.collect()))
}

/// Words in any case.
fn words(words: &[&str], kind: &str) -> Value {
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

/// The schema of a mapping.
fn mapping(keys: &[&Key]) -> Value {
    let rows = rows();
    let mut properties = Map::new();
    for key in keys {
        let mut schema = accepted(key);
        let row = rows.iter().find(|[path, ..]| path == key.path);
        let description = row.map_or(key.expected, |[_, _, description]| description);
        let notes = schema.as_object_mut().unwrap();
        notes.insert(
            "description".to_owned(),
            description.replace('`', "").into(),
        );
        // Editors that know this word show it in place of their own message.
        notes.insert(
            "errorMessage".to_owned(),
            format!("give {}", key.expected).into(),
        );
        if !default(key).is_null() && key.path != "poll.stale_after" {
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

/// The JSON Schema of the configuration file.
fn schema() -> String {
    let mut properties = Map::new();
    for section in sections() {
        let keys: Vec<_> = KEYS.iter().filter(|key| key.split().0 == section).collect();
        properties.insert(section.to_owned(), mapping(&keys));
    }
    let entry = with(
        mapping(&TARGET_KEYS.iter().collect::<Vec<_>>()),
        json!({"type": "object"}),
    );
    let targets = json!({
        "type": ["array", "null"],
        "description": "when a translation is ready: the first entry that matches a language counts",
        "default": [],
        "items": entry,
    });
    properties.insert(TARGETS.to_owned(), targets);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of translation-exporter",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties,
    });
    format!("{schema:#}\n")
}

#[test]
fn the_table_of_keys_has_each_key_with_its_default() {
    let expected: Vec<_> = KEYS
        .iter()
        .map(|key| [key.path.to_owned(), shown_default(key)])
        .chain([[TARGETS.to_owned(), "`[]`".to_owned()]])
        .collect();
    let shown: Vec<_> = rows()
        .into_iter()
        .map(|[path, default, _]| [path, default])
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn the_shipped_schema_is_that_of_the_keys() {
    let shipped = fs::read_to_string(SCHEMA).unwrap_or_default();
    assert!(
        shipped == schema(),
        "run `cargo test --lib regenerate_the_schema -- --ignored`"
    );
}

#[test]
#[ignore = "writes deploy/config.schema.json"]
fn regenerate_the_schema() {
    fs::write(SCHEMA, schema()).unwrap();
}
