//! Bytes to model: the only place that knows the JSON of the API.
//!
//! An answer is an array of objects (API specification 2.1, 2.2). One bad entry, or one bad field of one, costs that
//! entry or what is made of that field, and is told as a [`Flaw`]; only an answer that is no array, or no JSON, fails
//! as a whole. Unknown fields are passed over at any depth. A field that is null counts as missing; one that stands
//! twice in an object is bad, since nobody can tell which of the two was meant.

mod plain;

use crate::model::{
    Completion, Defect, Interner, Interning, Language, Repository, RepositoryId, Timestamp, Visibility,
};
use serde::{
    Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{collections::HashSet, fmt, sync::Arc};

/// One bad entry or field: where it stands, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Flaw {
    /// Which entry, in words: its place, and its id, name or code where that can be read.
    pub entry: String,
    pub defect: Defect,
}

/// How the listing goes on after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The page is empty: this was the end.
    End,
    /// The id of the last entry.
    After(RepositoryId),
    /// The id of the last entry cannot be read.
    Unreadable,
}

/// One page of the listing.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// In the order of the page.
    pub repositories: Vec<Repository>,
    /// Ids of entries whose name cannot be read: they are listed, though nothing new is known of them.
    pub nameless: Vec<RepositoryId>,
    /// Names of entries whose id cannot be read: likewise.
    pub unidentified: Vec<Arc<str>>,
    pub flaws: Vec<Flaw>,
    pub next: Next,
}

impl Page {
    /// Whether the listing can go on, or ended well, when this page was asked for with the cursor `after`.
    #[must_use]
    pub fn follows(&self, after: Option<RepositoryId>) -> bool {
        match self.next {
            Next::End => true,
            Next::After(id) => after.is_none_or(|after| id > after),
            Next::Unreadable => false,
        }
    }
}

/// One target language of a repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub language: Arc<Language>,
    /// `None` where the API gave none that can be read.
    pub completion: Option<Completion>,
}

/// The languages of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct LanguageList {
    /// In the order of their codes, each code once.
    pub languages: Vec<Target>,
    pub flaws: Vec<Flaw>,
}

/// Reads a page of the listing.
///
/// # Errors
/// The body is not a JSON array in UTF-8.
pub fn decode_page(body: &[u8]) -> Result<Page, serde_json::Error> {
    let entries = entries(body)?;
    let mut page = Page {
        repositories: Vec::with_capacity(entries.len()),
        nameless: Vec::new(),
        unidentified: Vec::new(),
        flaws: Vec::new(),
        next: Next::End,
    };
    for (index, entry) in entries.into_iter().enumerate() {
        page.next = decode_repository(index, entry, &mut page).map_or(Next::Unreadable, Next::After);
    }
    Ok(page)
}

/// Adds one entry to the page, and returns its id where that can be read.
fn decode_repository(index: usize, entry: &RawValue, page: &mut Page) -> Option<RepositoryId> {
    let Some([id, name, private, created_at]) = fields(entry, ["id", "name", "private", "created_at"]) else {
        page.flaws.push(Flaw { entry: format!("entry {}", index + 1), defect: Defect::NotAnObject });
        return None;
    };
    let id = id.required(parse_id);
    let name = name.required(parse_text);
    let mut flaw = |defect| page.flaws.push(Flaw { entry: describe(index, id, name.as_deref()), defect });
    let visibility = match private.optional(|raw| serde_json::from_str(raw).ok()) {
        Ok(Some(true)) => Visibility::Private,
        Ok(Some(false)) => Visibility::Public,
        Ok(None) => Visibility::Unknown,
        Err(Bad) => {
            flaw(Defect::Private);
            Visibility::Unknown
        }
    };
    let created_at = created_at.required(parse_time);
    if created_at.is_none() {
        flaw(Defect::CreatedAt);
    }
    if id.is_none() {
        flaw(Defect::Id);
    }
    if name.is_none() {
        flaw(Defect::Name);
    }
    match (id, name) {
        (Some(id), Some(name)) => {
            page.repositories.push(Repository { id, name: name.into(), visibility, created_at });
        }
        (Some(id), None) => page.nameless.push(id),
        (None, Some(name)) => page.unidentified.push(name.into()),
        (None, None) => {}
    }
    id
}

fn describe(index: usize, id: Option<RepositoryId>, name: Option<&str>) -> String {
    let place = index + 1;
    match (id, name) {
        (Some(id), Some(name)) => format!("entry {place} (id {id}, {name:?})"),
        (Some(id), None) => format!("entry {place} (id {id})"),
        (None, Some(name)) => format!("entry {place} ({name:?})"),
        (None, None) => format!("entry {place}"),
    }
}

/// Reads the languages of a repository.
///
/// # Errors
/// The body is not a JSON array in UTF-8.
pub fn decode_languages(body: &[u8], interner: &Interner) -> Result<LanguageList, serde_json::Error> {
    match plain::languages(body, interner) {
        Some(list) => Ok(list),
        None => decode_flawed_languages(body, interner),
    }
}

/// The long way, which tells what is wrong.
fn decode_flawed_languages(body: &[u8], interner: &Interner) -> Result<LanguageList, serde_json::Error> {
    let entries = entries(body)?;
    let mut list = LanguageList { languages: Vec::with_capacity(entries.len()), flaws: Vec::new() };
    let mut codes = HashSet::with_capacity(entries.len());
    let mut interner = interner.lock();
    for (index, entry) in entries.into_iter().enumerate() {
        let (target, defects) = decode_language(index, entry, &mut interner);
        let mut flaw = |defect| {
            let entry = match &target {
                Some(target) => format!("entry {} ({:?})", index + 1, target.language.code),
                None => format!("entry {}", index + 1),
            };
            list.flaws.push(Flaw { entry, defect });
        };
        defects.into_iter().flatten().for_each(&mut flaw);
        let Some(target) = &target else { continue };
        if codes.insert(Arc::clone(&target.language.code)) {
            list.languages.push(target.clone());
        } else {
            flaw(Defect::DuplicateCode);
        }
    }
    sort(&mut list.languages);
    Ok(list)
}

/// By their codes; that takes next to nothing where they are mostly in that order.
fn sort(languages: &mut [Target]) {
    languages.sort_by(|a, b| a.language.code.cmp(&b.language.code));
}

fn decode_language(
    index: usize,
    entry: &RawValue,
    interner: &mut Interning<'_>,
) -> (Option<Target>, [Option<Defect>; 2]) {
    let Some([code, name, completion]) = fields(entry, ["code", "name", "completion"]) else {
        return (None, [Some(Defect::NotAnObject), None]);
    };
    let Some(code) = code.required(parse_text) else {
        return (None, [Some(Defect::Code), None]);
    };
    let name = name.optional(|raw| serde_json::from_str::<String>(raw).ok());
    let completion = completion.optional(parse_completion);
    let defects = [name.is_err().then_some(Defect::Name), completion.is_err().then_some(Defect::Completion)];
    let target = Target {
        language: interner.language(index, &code, &name.ok().flatten().unwrap_or_default()),
        completion: completion.ok().flatten(),
    };
    (Some(target), defects)
}

/// An integer, or a string of one in plain decimal digits (API specification 2.1).
fn parse_id(raw: &str) -> Option<RepositoryId> {
    let text: String;
    let digits = if raw.starts_with('"') {
        text = serde_json::from_str(raw).ok()?;
        text.as_str()
    } else {
        raw
    };
    let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if canonical { digits.parse().ok().and_then(RepositoryId::new) } else { None }
}

fn parse_text(raw: &str) -> Option<String> {
    serde_json::from_str::<String>(raw).ok().filter(|text| !text.is_empty())
}

/// A JSON number; parsed by std, which rounds correctly and takes what overflows to infinity.
fn parse_completion(raw: &str) -> Option<Completion> {
    raw.parse().ok().and_then(Completion::new)
}

/// RFC 3339.
fn parse_time(raw: &str) -> Option<Timestamp> {
    let text: String = serde_json::from_str(raw).ok()?;
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// The elements of a JSON array, unparsed.
fn entries(body: &[u8]) -> Result<Vec<&RawValue>, serde_json::Error> {
    let text = std::str::from_utf8(body).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

/// The named fields of a JSON object; `None` where `entry` is no object.
fn fields<'a, const N: usize>(entry: &'a RawValue, names: [&'static str; N]) -> Option<[Field<'a>; N]> {
    let raw = entry.get();
    if !raw.starts_with('{') {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    deserializer.deserialize_map(Fields(names)).ok()
}

/// One field of an object.
#[derive(Debug, Clone, Copy)]
enum Field<'a> {
    Missing,
    Once(&'a str),
    Repeated,
}

/// A field that stands there and is not what it should be.
struct Bad;

impl Field<'_> {
    /// `None` where the field is missing or bad.
    fn required<T>(self, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.optional(parse).ok().flatten()
    }

    /// `Ok(None)` where the field is missing.
    fn optional<T>(self, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Bad> {
        match self {
            Self::Missing | Self::Once("null") => Ok(None),
            Self::Once(raw) => parse(raw).map(Some).ok_or(Bad),
            Self::Repeated => Err(Bad),
        }
    }
}

struct Fields<const N: usize>([&'static str; N]);

impl<'de, const N: usize> Visitor<'de> for Fields<N> {
    type Value = [Field<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = [Field::Missing; N];
        // Keys are taken raw: one that is no text, such as half a surrogate pair, is just another unknown one.
        while let Some(key) = map.next_key::<&'de RawValue>()? {
            let index = self.0.iter().position(|name| spells(key.get(), name));
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

/// Whether a raw JSON string is that text.
fn spells(raw: &str, text: &str) -> bool {
    if raw.contains('\\') {
        serde_json::from_str::<String>(raw).is_ok_and(|key| key == text)
    } else {
        raw.trim_matches('"') == text
    }
}

#[cfg(test)]
mod tests;
