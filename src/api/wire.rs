//! Bytes to model: the only place that knows the JSON of the API.
//!
//! An answer is an array of objects (API specification 2.1, 2.2). A bad entry or field costs only that entry or what
//! depends on that field, and becomes a [`BadEntry`]; only an answer that is not an array, or not JSON, fails completely.
//! Unknown fields are ignored at any depth. A field that is null counts as missing; one that appears twice in an object
//! is bad, since it is unclear which was meant.

use crate::model::{
    BadEntry, Completion, Defect, Interner, LanguageList, Next, Page, Repository, RepositoryId,
    TargetLanguage, Timestamp, Visibility,
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// Reads a page of the listing.
///
/// # Errors
/// The body is not a JSON array in UTF-8.
pub fn decode_page(body: &[u8]) -> Result<Page, serde_json::Error> {
    let entries = entries(body, ["id", "name", "private", "created_at"])?;
    let mut page = Page {
        repositories: Vec::with_capacity(entries.len()),
        nameless: Vec::new(),
        unidentified: Vec::new(),
        bad: Vec::new(),
        next: Next::End,
    };
    for (place, entry) in (1..).zip(entries) {
        page.next =
            decode_repository(place, entry, &mut page).map_or(Next::Unreadable, Next::After);
    }
    Ok(page)
}

/// Adds one entry to the page, and returns its id if that can be read.
fn decode_repository(
    place: usize,
    entry: Option<[Field<'_>; 4]>,
    page: &mut Page,
) -> Option<RepositoryId> {
    let Some([id, name, private, created_at]) = entry else {
        page.bad.push(BadEntry {
            place: Some(place),
            identity: String::new(),
            defect: Defect::NotAnObject,
        });
        return None;
    };
    let id = id.required(parse_id);
    let name = name.required(parse_text);
    let private = private.optional(|raw| serde_json::from_str(raw).ok());
    let created_at = created_at.required(parse_time);
    let defects = [
        private.is_err().then_some(Defect::Private),
        created_at.is_none().then_some(Defect::CreatedAt),
        id.is_none().then_some(Defect::Id),
        name.is_none().then_some(Defect::Name),
    ];
    page.bad.extend(defects.into_iter().flatten().map(|defect| {
        let identity = match (id, &name) {
            (Some(id), Some(name)) => format!("id {id}, {name:?}"),
            (Some(id), None) => format!("id {id}"),
            (None, Some(name)) => format!("{name:?}"),
            (None, None) => String::new(),
        };
        BadEntry {
            place: Some(place),
            identity,
            defect,
        }
    }));
    let visibility = match private {
        Ok(Some(true)) => Visibility::Private,
        Ok(Some(false)) => Visibility::Public,
        Ok(None) | Err(Bad) => Visibility::Unknown,
    };
    match (id, name) {
        (Some(id), Some(name)) => {
            page.repositories.push(Repository {
                id,
                name: (*name).into(),
                visibility,
                created_at,
            });
        }
        (Some(id), None) => page.nameless.push(id),
        (None, Some(name)) => page.unidentified.push((*name).into()),
        (None, None) => {}
    }
    id
}

/// Reads the languages of a repository.
///
/// # Errors
/// The body is not a JSON array in UTF-8.
pub fn decode_languages(
    body: &[u8],
    interner: &Interner,
) -> Result<LanguageList, serde_json::Error> {
    let entries = entries(body, ["code", "name", "completion"])?;
    let mut list = LanguageList {
        languages: Vec::new(),
        bad: Vec::new(),
    };
    let mut targets: Vec<(usize, TargetLanguage)> = Vec::with_capacity(entries.len());
    for (place, entry) in (1..).zip(entries) {
        let (target, defects) = decode_language(entry, interner);
        list.bad.extend(
            defects
                .into_iter()
                .map(|defect| bad_language(place, target.as_ref(), defect)),
        );
        targets.extend(target.map(|target| (place, target)));
    }
    // The sort is stable: of entries with the same code, the first is kept.
    targets.sort_by(|(_, a), (_, b)| a.language.code.cmp(&b.language.code));
    targets.dedup_by(|(place, target), (_, first)| {
        let is_duplicate = target.language.code == first.language.code;
        if is_duplicate {
            list.bad
                .push(bad_language(*place, Some(target), Defect::DuplicateCode));
        }
        is_duplicate
    });
    list.languages = targets.into_iter().map(|(_, target)| target).collect();
    Ok(list)
}

fn bad_language(place: usize, target: Option<&TargetLanguage>, defect: Defect) -> BadEntry {
    let identity = target.map_or_else(String::new, |target| format!("{:?}", target.language.code));
    BadEntry {
        place: Some(place),
        identity,
        defect,
    }
}

/// One language, if its code can be read, and the defects of the entry.
fn decode_language(
    entry: Option<[Field<'_>; 3]>,
    interner: &Interner,
) -> (Option<TargetLanguage>, Vec<Defect>) {
    let Some([code, name, completion]) = entry else {
        return (None, vec![Defect::NotAnObject]);
    };
    let Some(code) = code.required(parse_text) else {
        return (None, vec![Defect::Code]);
    };
    let mut defects = Vec::new();
    let name = name.optional(string).unwrap_or_else(|Bad| {
        defects.push(Defect::Name);
        None
    });
    let completion = completion.optional(parse_completion).unwrap_or_else(|Bad| {
        defects.push(Defect::Completion);
        None
    });
    let language = interner.language(&code, &name.unwrap_or_default());
    (
        Some(TargetLanguage {
            language,
            completion,
        }),
        defects,
    )
}

/// An integer, or a string of one in plain decimal digits (API specification 2.1).
fn parse_id(raw: &str) -> Option<RepositoryId> {
    let digits = if raw.starts_with('"') {
        string(raw)?
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
    string(raw).filter(|text| !text.is_empty())
}

/// The text of a JSON string; `None` if `raw` is another value, or spells no text, such as half a surrogate pair.
fn string(raw: &str) -> Option<Cow<'_, str>> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    if text.contains('\\') {
        serde_json::from_str(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(text))
    }
}

/// A JSON number; parsed by std, which rounds correctly and turns overflow into infinity.
fn parse_completion(raw: &str) -> Option<Completion> {
    raw.parse().ok().and_then(Completion::new)
}

/// RFC 3339.
fn parse_time(raw: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = string(raw)?.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// The fields with these names of each entry of a JSON array; `None` for an entry that is no object.
fn entries<'a, const N: usize>(
    body: &'a [u8],
    names: [&'static str; N],
) -> Result<Vec<Option<[Field<'a>; N]>>, serde_json::Error> {
    let text = std::str::from_utf8(body).map_err(serde_json::Error::custom)?;
    let all_objects = |text: &'a str| {
        let mut array = serde_json::Deserializer::from_str(text);
        let objects = array.deserialize_seq(Objects(names))?;
        array.end().map(|()| objects)
    };
    all_objects(text).or_else(|_: serde_json::Error| {
        let entries: Vec<&RawValue> = serde_json::from_str(text)?;
        let fields = |entry: &'a RawValue| {
            Fields(names)
                .deserialize(&mut serde_json::Deserializer::from_str(entry.get()))
                .ok()
        };
        Ok(entries.into_iter().map(fields).collect())
    })
}

/// One field of an object.
#[derive(Debug, Clone, Copy)]
enum Field<'a> {
    Missing,
    Once(&'a str),
    Repeated,
}

/// A field that is present but not as it should be.
struct Bad;

impl<'a> Field<'a> {
    /// `None` if the field is missing or bad.
    fn required<T>(self, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        self.optional(parse).ok().flatten()
    }

    /// `Ok(None)` if the field is missing.
    fn optional<T>(self, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<Option<T>, Bad> {
        match self {
            Self::Missing | Self::Once("null") => Ok(None),
            Self::Once(raw) => parse(raw).map(Some).ok_or(Bad),
            Self::Repeated => Err(Bad),
        }
    }
}

/// An array of objects alone, which needs no second look at each entry.
struct Objects<const N: usize>([&'static str; N]);

impl<'de, const N: usize> Visitor<'de> for Objects<N> {
    type Value = Vec<Option<[Field<'de>; N]>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        while let Some(fields) = array.next_element_seed(Fields(self.0))? {
            objects.push(Some(fields));
        }
        Ok(objects)
    }
}

/// The fields with these names of an object.
struct Fields<const N: usize>([&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Fields<N> {
    type Value = [Field<'de>; N];

    fn deserialize<D: Deserializer<'de>>(self, entry: D) -> Result<Self::Value, D::Error> {
        entry.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Fields<N> {
    type Value = [Field<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = [Field::Missing; N];
        while let Some(index) = map.next_key_seed(Name(&self.0))? {
            if let Some(field) = index.map(|index| &mut fields[index]) {
                let raw: &'de RawValue = map.next_value()?;
                *field = match field {
                    Field::Missing => Field::Once(raw.get()),
                    Field::Once(_) | Field::Repeated => Field::Repeated,
                };
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(fields)
    }
}

/// Which of these names a key is. It is read as bytes: a key that is not text, such as half a surrogate pair, is just
/// another unknown one.
struct Name<'a>(&'a [&'static str]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Option<usize>, D::Error> {
        key.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|name| name.as_bytes() == key))
    }
}

#[cfg(test)]
mod tests;
