//! The second look at the configuration file: where its sections and keys stand. The first look, by figment, knows the
//! values and no lines; this one knows lines and no values, so that nothing secret passes through it.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::Spanned;
use std::{fmt, path::Path};

use super::error::{Mistake, Source};

/// The shape of a node.
#[derive(Debug)]
pub(super) enum Shape {
    /// The entries with the lines of their names.
    Mapping(Vec<(String, u64, Shape)>),
    Nothing,
    /// Text, a number, a list: nothing that could be a section.
    Other,
}

/// The shape of the document.
///
/// # Errors
/// A mistake with its line where `text` is not YAML. It quotes nothing of the text, which may hold the key.
pub(super) fn shape(path: &Path, text: &str) -> Result<Shape, Mistake> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options::<Shape>(text, options).map_err(|error| {
        let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
        let (problem, hint) = complaint(error.without_snippet());
        Mistake::at(Source::File { path: path.to_owned(), line }, problem, hint)
    })
}

/// What the parser says and what to do, in words that cannot hold anything from the file.
fn complaint(error: &serde_saphyr::Error) -> (&'static str, &'static str) {
    use serde_saphyr::Error;
    match error {
        Error::DuplicateMappingKey { .. } => {
            ("is not valid YAML: a name stands twice in one mapping", "remove one of the two")
        }
        Error::MultipleDocuments { .. } => ("begins a second document", "keep one document"),
        Error::UnknownAnchor { .. } => {
            ("is not valid YAML: an alias has no anchor", "put the value in quotes if it begins with an asterisk")
        }
        Error::NonFiniteFloat { .. } => ("holds a number that is not finite", "give a finite one"),
        _ => (
            "is not valid YAML: something is malformed",
            "look at this line and the one before it: indentation, a missing colon, quote or bracket",
        ),
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

macro_rules! visit_other {
    ($($method:ident: $type:ty),+) => {
        $(fn $method<E>(self, _: $type) -> Result<Shape, E> {
            Ok(Shape::Other)
        })+
    };
}

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    visit_other! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str, visit_bytes: &[u8] }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Shape::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            entries.push((name.value, name.referenced.line(), map.next_value()?));
        }
        Ok(Shape::Mapping(entries))
    }
}
