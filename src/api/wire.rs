//! Bytes to model: the only place that knows the JSON of the API.
//!
//! An answer is an array of objects (API specification 2.1, 2.2). A bad entry or field costs only that entry or what
//! depends on that field; only an answer that is not an array, or not JSON, fails completely. Unknown fields are ignored at
//! any depth. A field that is null counts as missing; one that appears twice in an object is bad, since it is unclear which
//! was meant.
//!
//! Entries are read one by one, so that the bounds below also bound the memory that an answer takes, whatever it is made of.

use crate::model::{
    Completion, Defect, Interner, LanguageList, Next, Page, Repository, RepositoryId,
    TargetLanguage, Timestamp,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

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

/// Reads a page of the listing.
///
/// # Errors
/// The body is not a JSON array in UTF-8, or too large to be a page.
pub fn decode_page(body: &[u8]) -> Result<Page, DecodeError> {
    let kept =
        |page: &Page| page.repositories.len() + page.nameless.len() + page.unidentified.len();
    let page = read_entries(body, |page, place, entry| {
        if kept(page) <= MAX_REPOSITORIES {
            page.next = match add_repository(page, place, entry) {
                Some(id) => Next::After(id),
                None => Next::Unreadable,
            };
        }
    })?;
    if kept(&page) > MAX_REPOSITORIES {
        return Err(DecodeError::TooMany("100,000 repositories"));
    }
    Ok(page)
}

/// Adds one entry to the page, and returns its id if that can be read.
fn add_repository(page: &mut Page, place: usize, entry: Option<Entry<'_>>) -> Option<RepositoryId> {
    let Some(entry) = entry else {
        page.bad.add(Defect::NotAnObject, Some(place), "");
        return None;
    };
    let id = entry.id.required(parse_id);
    let name = entry.name.required(parse_text);
    let private = entry.private.optional(|raw| raw.parse().ok());
    let created_at = entry.created_at.required(parse_time);
    for (defect, is_found) in [
        (Defect::Private, private.is_err()),
        (Defect::CreatedAt, created_at.is_none()),
        (Defect::Id, id.is_none()),
        (Defect::Name, name.is_none()),
    ] {
        if is_found {
            let identity = match (id, &name) {
                (Some(id), Some(name)) => format!("id {id}, {name:?}"),
                (Some(id), None) => format!("id {id}"),
                (None, Some(name)) => format!("{name:?}"),
                (None, None) => String::new(),
            };
            page.bad.add(defect, Some(place), identity);
        }
    }
    match (id, name) {
        (Some(id), Some(name)) => page.repositories.push(Repository {
            id,
            name: (*name).into(),
            private: private.unwrap_or(None),
            created_at,
        }),
        (Some(id), None) => page.nameless.push(id),
        (None, Some(name)) => page.unidentified.push((*name).into()),
        (None, None) => {}
    }
    id
}

/// Reads the languages of a repository.
///
/// # Errors
/// The body is not a JSON array in UTF-8, or has more languages than a repository can have.
pub fn decode_languages(body: &[u8], interner: &Interner) -> Result<LanguageList, DecodeError> {
    let (list, is_full) = read_entries(
        body,
        |(list, is_full): &mut (LanguageList, bool), place, entry| {
            *is_full |= !add_language(list, place, entry, interner);
        },
    )?;
    if is_full {
        return Err(DecodeError::TooMany(
            "1,000 languages, or all repositories have more than 100,000 different ones, or 16 MiB of their codes and names",
        ));
    }
    Ok(list)
}

/// Adds one entry to the list, and returns whether there is room for it.
fn add_language(
    LanguageList { languages, bad }: &mut LanguageList,
    place: usize,
    entry: Option<Entry<'_>>,
    interner: &Interner,
) -> bool {
    let place = Some(place);
    let Some(entry) = entry else {
        bad.add(Defect::NotAnObject, place, "");
        return true;
    };
    let Some(code) = entry.code.required(parse_text) else {
        bad.add(Defect::Code, place, "");
        return true;
    };
    let identity = format_args!("{code:?}");
    let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
        bad.add(Defect::DuplicateCode, place, identity);
        return true;
    };
    let name = entry.name.optional(parse_name);
    if name.is_err() {
        bad.add(Defect::Name, place, identity);
    }
    let completion = entry.completion.optional(parse_completion);
    if completion.is_err() {
        bad.add(Defect::Completion, place, identity);
    }
    let name = name.unwrap_or(None).unwrap_or_default();
    let has_room = languages.len() < MAX_LANGUAGES;
    let Some(language) = has_room.then(|| interner.language(&code, &name)).flatten() else {
        return false;
    };
    let completion = completion.unwrap_or(None);
    languages.insert(
        at,
        TargetLanguage {
            language,
            completion,
        },
    );
    true
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

/// Lets `take` take in the entries of a JSON array one by one, counted from 1; `None` for one that is no object.
fn read_entries<'a, T: Default>(
    body: &'a [u8],
    take: impl Fn(&mut T, usize, Option<Entry<'a>>),
) -> Result<T, DecodeError> {
    let read = |are_objects| -> serde_json::Result<T> {
        let mut taken = T::default();
        let mut place = 0;
        let mut array = serde_json::Deserializer::from_slice(body);
        array.deserialize_seq(Entries {
            are_objects,
            take: |entry| {
                place += 1;
                take(&mut taken, place, entry);
            },
        })?;
        array.end()?;
        Ok(taken)
    };
    // Almost always all are objects; only where they are not is each looked at twice.
    read(true).or_else(|_| read(false)).map_err(|error| {
        if body.trim_ascii_start().starts_with(b"<") {
            DecodeError::Html
        } else if error.is_eof() {
            DecodeError::Truncated
        } else {
            DecodeError::NotAnArray(error)
        }
    })
}

struct Entries<F> {
    are_objects: bool,
    take: F,
}

impl<'de, F: FnMut(Option<Entry<'de>>)> Visitor<'de> for Entries<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<(), A::Error> {
        if self.are_objects {
            while let Some(entry) = array.next_element()? {
                (self.take)(Some(entry));
            }
        } else {
            while let Some(entry) = array.next_element::<&RawValue>()? {
                (self.take)(serde_json::from_str(entry.get()).ok());
            }
        }
        Ok(())
    }
}

/// The fields of one object that the specification names.
#[derive(Default)]
struct Entry<'a> {
    id: Field<'a>,
    name: Field<'a>,
    private: Field<'a>,
    created_at: Field<'a>,
    code: Field<'a>,
    completion: Field<'a>,
}

#[derive(Default)]
enum Field<'a> {
    #[default]
    Missing,
    Once(&'a str),
    Repeated,
}

/// A field that is present but not as it should be.
struct Bad;

impl<'a> Field<'a> {
    /// `None` if the field is missing or bad.
    fn required<T>(&self, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        self.optional(parse).unwrap_or(None)
    }

    /// `Ok(None)` if the field is missing.
    fn optional<T>(&self, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<Option<T>, Bad> {
        match *self {
            Self::Missing | Self::Once("null") => Ok(None),
            Self::Once(raw) => parse(raw).map(Some).ok_or(Bad),
            Self::Repeated => Err(Bad),
        }
    }
}

/// By hand, since a derived struct refuses an object in which a key is repeated, or is no text.
impl<'de> Deserialize<'de> for Entry<'de> {
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
        while let Some((key, value)) = object.next_entry::<&RawValue, &RawValue>()? {
            let field = match parse_name(key.get()).as_deref() {
                Some("id") => &mut entry.id,
                Some("name") => &mut entry.name,
                Some("private") => &mut entry.private,
                Some("created_at") => &mut entry.created_at,
                Some("code") => &mut entry.code,
                Some("completion") => &mut entry.completion,
                _ => continue,
            };
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
