//! deploy/config.schema.json and the table in deploy/configuration.md, generated from the keys.
//!
//! The schema is as lenient as the program: null is not set, and another layer may set a key that
//! the file lacks.

use super::*;
use serde_json::{Map, Value, json};
use std::fs;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/config.schema.json");
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/configuration.md");
const TABLE: &str = "| key | default | meaning and bounds |\n|---|---|---|\n";
const OF_TARGETS: &str =
    "when a translation is ready; the first entry that matches a language counts";

/// Returns the default as the table shows it.
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

/// Returns the default as the file would have it; null if there is none.
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

/// Returns the schema of the values that a key accepts.
fn accepted(key: &Key) -> Value {
    match key.takes {
        Takes::Text | Takes::File => accepted_text(key.path),
        Takes::Secret => with(text(), json!({"writeOnly": true})),
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
        Takes::Number => accepted_number(key),
    }
}

fn text() -> Value {
    json!({"type": ["string", "null"]})
}

/// Returns the schema of a text; where an empty one counts as not set, the pattern allows it.
fn accepted_text(path: &str) -> Value {
    let pattern = match path {
        "api.base_url" => r"^\s*$|^\s*[Hh][Tt][Tt][Pp][Ss]?:",
        "links.repository" | "links.language" => r"^\s*$|^\s*https?://",
        "web.telemetry_path" => r"^\s*/[-._~A-Za-z0-9/]+\s*$",
        "log.format" => r"^\s*(logfmt|json)\s*$",
        "targets.due" => r"^\s*$|^\s*\d{4}-\d{2}-\d{2}",
        "log.level" => {
            let levels = &["error", "warn", "info", "debug", "trace", "[1-5]"];
            return words(levels, "string");
        }
        _ => return text(),
    };
    with(text(), json!({"pattern": pattern}))
}

/// Returns the schema of a number, a duration or a size, as the text about expected values names
/// it.
fn accepted_number(key: &Key) -> Value {
    let expected = key.expected;
    if expected.contains("a time") {
        // Empty, it has the default that depends on the interval.
        let empty = if key.path == "poll.stale_after" {
            r"^\s*$|"
        } else {
            ""
        };
        let pattern = format!(r"{empty}^\s*(\d+\s*[a-zµ]+\s*)+$");
        return with(text(), json!({"pattern": pattern}));
    }
    if expected.contains("a size") {
        return numbers("integer", &["1"], r"^\s*\+?\d+\s*([KMG]iB|B)?\s*$");
    }
    let (kind, pattern) = if expected.contains("whole") {
        ("integer", r"^\s*\+?\d+\s*$")
    } else {
        ("number", r"^\s*\+?[\d.]+([eE]\+?\d+)?\s*$")
    };
    let is_bound = |word: &&str| word.parse::<f64>().is_ok();
    let bounds: Vec<_> = expected.split([' ', ',']).filter(is_bound).collect();
    // After 0 for no limit comes the least limit; after 0 to 1, an example.
    match (key.path, &*bounds) {
        ("api.requests_per_second", [zero, _, most]) => numbers(kind, &[zero, most], pattern),
        (_, [least, most, ..]) => numbers(kind, &[least, most], pattern),
        _ => numbers(kind, &bounds, pattern),
    }
}

fn with(mut schema: Value, more: Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more);
    }
    schema
}

/// Returns the schema of a number within bounds, or a text that spells one.
fn numbers(kind: &str, bounds: &[&str], pattern: &str) -> Value {
    let names = ["minimum", "maximum"].into_iter();
    let bounds = names.zip(bounds).map(|(name, bound)| {
        let bound: Value = serde_json::from_str(bound).unwrap();
        (name.to_owned(), bound)
    });
    let schema = json!({"type": [kind, "string", "null"], "pattern": pattern});
    with(schema, Value::Object(bounds.collect()))
}

/// Returns the schema of words in any case.
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

/// Returns the schema of a mapping.
fn mapping(keys: &[&Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = accepted(key);
        let notes = schema.as_object_mut().unwrap();
        notes.insert(
            "description".to_owned(),
            key.description.replace('`', "").into(),
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

/// Returns the JSON Schema of the configuration file.
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
        "description": OF_TARGETS,
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

/// Returns deploy/configuration.md with the table of keys as they are.
fn docs() -> String {
    let mut rows = Vec::new();
    for key in KEYS {
        let (path, default, description) = (key.path, shown_default(key), key.description);
        rows.push(format!("| `{path}` | {default} | {description} |\n"));
    }
    let table = format!(
        "{TABLE}{}| `{TARGETS}` | `[]` | {OF_TARGETS} |\n",
        rows.concat()
    );
    let page = fs::read_to_string(DOCS).unwrap();
    let (before, rest) = page.split_once(TABLE).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{table}\n{after}")
}

/// Compares a shipped file with the text that the keys give.
/// `UPDATE=1 cargo test --lib of_the_keys` writes the file instead.
fn compare(file: &str, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(file, text).unwrap();
    }
    let shipped = fs::read_to_string(file).unwrap_or_default();
    assert!(
        shipped == text,
        "run `UPDATE=1 cargo test --lib of_the_keys`"
    );
}

#[test]
fn the_table_in_the_docs_is_that_of_the_keys() {
    compare(DOCS, &docs());
}

#[test]
fn the_shipped_schema_is_that_of_the_keys() {
    compare(SCHEMA, &schema());
}
