//! Bytes to model: the only place that knows the JSON of the API.
//!
//! An answer is an array of objects (API specification 2.1, 2.2). A bad entry or field costs only that entry or what
//! depends on that field; only an answer that is not an array, or not JSON, fails completely. Unknown fields are ignored at
//! any depth. A field that is null counts as missing; one that appears twice in an object is bad, since it is unclear which
//! was meant.
//!
//! Entries are read one by one, so that the bounds below also bound the memory that an answer takes, whatever it is made of.

use crate::model::{
    BadEntry, Completion, Defect, Interner, LanguageList, Next, Page, Repository, RepositoryId,
    TargetLanguage, Timestamp, Visibility,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

/// How many defects of an answer are described.
const MAX_DESCRIBED: usize = 100;
/// The longest name and code, in bytes: a longer one is bad.
const MAX_TEXT: usize = 1000;
/// The most repositories of a page, and languages of a repository.
const MAX_REPOSITORIES: usize = 100_000;
const MAX_LANGUAGES: usize = 1000;

/// Why an answer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the body is HTML instead of JSON: a maintenance page, a login or a proxy?")]
    Html,
    /// The error's own text may quote the body, so only the place is shown.
    #[error("the body is not a JSON array (line {}, column {})", .0.line(), .0.column())]
    NotAnArray(#[source] serde_json::Error),
    #[error("the body breaks off")]
    Truncated,
    #[error("the answer has more than {0}")]
    TooMany(&'static str),
}

/// Reads a page of the listing, and all of its defects, of which it describes some.
///
/// # Errors
/// The body is not a JSON array in UTF-8, or too large to be a page.
pub fn decode_page(body: &[u8]) -> Result<(Page, Vec<Defect>), DecodeError> {
    let mut page = Page {
        repositories: Vec::new(),
        nameless: Vec::new(),
        unidentified: Vec::new(),
        bad: Vec::new(),
        next: Next::End,
    };
    let mut defects = Defects::default();
    let kept =
        |page: &Page| page.repositories.len() + page.nameless.len() + page.unidentified.len();
    for_each_entry(body, |place, entry| {
        if kept(&page) <= MAX_REPOSITORIES {
            page.next = match decode_repository(place, entry, &mut page, &mut defects) {
                Some(id) => Next::After(id),
                None => Next::Unreadable,
            };
        }
    })?;
    if kept(&page) > MAX_REPOSITORIES {
        return Err(DecodeError::TooMany("100,000 repositories"));
    }
    page.bad = defects.described;
    Ok((page, defects.all))
}

/// Adds one entry to the page, and returns its id if that can be read.
fn decode_repository(
    place: usize,
    entry: Option<Entry<'_>>,
    page: &mut Page,
    defects: &mut Defects,
) -> Option<RepositoryId> {
    let Some(entry) = entry else {
        defects.add(place, Defect::NotAnObject, String::new);
        return None;
    };
    let id = entry.required(Key::Id, parse_id);
    let name = entry.required(Key::Name, parse_text);
    let private = entry.optional(Key::Private, |raw| raw.parse().ok());
    let created_at = entry.required(Key::CreatedAt, parse_time);
    for (defect, is_found) in [
        (Defect::Private, private.is_err()),
        (Defect::CreatedAt, created_at.is_none()),
        (Defect::Id, id.is_none()),
        (Defect::Name, name.is_none()),
    ] {
        if is_found {
            defects.add(place, defect, || match (id, &name) {
                (Some(id), Some(name)) => format!("id {id}, {name:?}"),
                (Some(id), None) => format!("id {id}"),
                (None, Some(name)) => format!("{name:?}"),
                (None, None) => String::new(),
            });
        }
    }
    match (id, name) {
        (Some(id), Some(name)) => page.repositories.push(Repository {
            id,
            name: (*name).into(),
            visibility: Visibility::from_private(private.unwrap_or(None)),
            created_at,
        }),
        (Some(id), None) => page.nameless.push(id),
        (None, Some(name)) => page.unidentified.push((*name).into()),
        (None, None) => {}
    }
    id
}

/// Reads the languages of a repository, and all of their defects, of which it describes some.
///
/// # Errors
/// The body is not a JSON array in UTF-8, or has more languages than a repository can have.
pub fn decode_languages(
    body: &[u8],
    interner: &Interner,
) -> Result<(LanguageList, Vec<Defect>), DecodeError> {
    let mut languages = BTreeMap::new();
    let mut defects = Defects::default();
    let mut is_full = false;
    for_each_entry(body, |place, entry| {
        let Some(entry) = entry else {
            return defects.add(place, Defect::NotAnObject, String::new);
        };
        let Some(code) = entry.required(Key::Code, parse_text) else {
            return defects.add(place, Defect::Code, String::new);
        };
        if languages.contains_key(&*code) {
            return defects.add(place, Defect::DuplicateCode, || format!("{code:?}"));
        }
        if languages.len() == MAX_LANGUAGES {
            is_full = true;
            return;
        }
        let name = entry.optional(Key::Name, parse_name);
        let completion = entry.optional(Key::Completion, parse_completion);
        if name.is_err() {
            defects.add(place, Defect::Name, || format!("{code:?}"));
        }
        if completion.is_err() {
            defects.add(place, Defect::Completion, || format!("{code:?}"));
        }
        let name = name.unwrap_or(None).unwrap_or_default();
        let Some(language) = interner.language(&code, &name) else {
            is_full = true;
            return;
        };
        let target = TargetLanguage {
            language,
            completion: completion.unwrap_or(None),
        };
        languages.insert(Arc::clone(&target.language.code), target);
    })?;
    if is_full {
        return Err(DecodeError::TooMany(
            "1,000 languages, or all repositories together have more than 100,000",
        ));
    }
    let list = LanguageList {
        languages: languages.into_values().collect(),
        bad: defects.described,
    };
    Ok((list, defects.all))
}

/// What is bad in an answer.
#[derive(Default)]
struct Defects {
    all: Vec<Defect>,
    described: Vec<BadEntry>,
}

impl Defects {
    fn add(&mut self, place: usize, defect: Defect, identity: impl FnOnce() -> String) {
        self.all.push(defect);
        if self.described.len() < MAX_DESCRIBED {
            self.described.push(BadEntry {
                place: Some(place),
                identity: identity(),
                defect,
            });
        }
    }
}

/// An integer, or a string of one in plain decimal digits (API specification 2.1).
fn parse_id(raw: &str) -> Option<RepositoryId> {
    let digits = if raw.starts_with('"') {
        parse_name(raw)?
    } else {
        Cow::Borrowed(raw)
    };
    let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if canonical {
        digits.parse().ok().and_then(RepositoryId::new)
    } else {
        None
    }
}

fn parse_text(raw: &str) -> Option<Cow<'_, str>> {
    parse_name(raw).filter(|text| !text.is_empty())
}

/// The text of a JSON string, which may be empty; `None` if `raw` is another value, or spells no text, such as half a
/// surrogate pair.
fn parse_name(raw: &str) -> Option<Cow<'_, str>> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    let text = if text.contains('\\') {
        Cow::Owned(serde_json::from_str(raw).ok()?)
    } else {
        Cow::Borrowed(text)
    };
    Some(text).filter(|text| text.len() <= MAX_TEXT)
}

/// A JSON number; parsed by std, which rounds correctly and turns overflow into infinity.
fn parse_completion(raw: &str) -> Option<Completion> {
    raw.parse().ok().and_then(Completion::new)
}

/// RFC 3339.
fn parse_time(raw: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = parse_name(raw)?.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// Passes the entries of a JSON array to `take`, counted from 1, one by one; `None` for one that is no object.
fn for_each_entry<'a>(
    body: &'a [u8],
    mut take: impl FnMut(usize, Option<Entry<'a>>),
) -> Result<(), DecodeError> {
    let mut place = 0;
    let mut array = serde_json::Deserializer::from_slice(body);
    let read = array.deserialize_seq(Entries(|raw: &'a RawValue| {
        place += 1;
        take(place, serde_json::from_str(raw.get()).ok());
    }));
    read.and_then(|()| array.end()).map_err(|error| {
        if body.trim_ascii_start().starts_with(b"<") {
            DecodeError::Html
        } else if error.is_eof() {
            DecodeError::Truncated
        } else {
            DecodeError::NotAnArray(error)
        }
    })
}

struct Entries<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Entries<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<(), A::Error> {
        while let Some(entry) = array.next_element()? {
            (self.0)(entry);
        }
        Ok(())
    }
}

/// The fields that the specification names.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Id,
    Name,
    Private,
    CreatedAt,
    Code,
    Completion,
    #[serde(other)]
    Unknown,
}

/// What one object has of each of them. Derived structs refuse an object in which a key is repeated.
#[derive(Default)]
struct Entry<'a>([Field<'a>; Key::Unknown as usize + 1]);

#[derive(Clone, Copy, Default)]
enum Field<'a> {
    #[default]
    Missing,
    Once(&'a str),
    Repeated,
}

/// A field that is present but not as it should be.
struct Bad;

impl<'a> Entry<'a> {
    /// `None` if the field is missing or bad.
    fn required<T>(&self, key: Key, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        self.optional(key, parse).unwrap_or(None)
    }

    /// `Ok(None)` if the field is missing.
    fn optional<T>(
        &self,
        key: Key,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Option<T>, Bad> {
        match self.0[key as usize] {
            Field::Missing | Field::Once("null") => Ok(None),
            Field::Once(raw) => parse(raw).map(Some).ok_or(Bad),
            Field::Repeated => Err(Bad),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entry<'a> {
    fn deserialize<D: Deserializer<'de>>(entry: D) -> Result<Self, D::Error> {
        entry.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Entry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Entry<'de>, A::Error> {
        let mut entry = Entry::default();
        while let Some((key, value)) = object.next_entry::<Key, &RawValue>()? {
            let field = &mut entry.0[key as usize];
            *field = match field {
                Field::Missing => Field::Once(value.get()),
                Field::Once(_) | Field::Repeated => Field::Repeated,
            };
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests;
