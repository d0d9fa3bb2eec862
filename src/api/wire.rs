//! The wire format: the decoding of the API's JSON into domain types.
//!
//! # Tolerance
//!
//! A response is an array of objects (API specification 2.1, 2.2). Any other JSON fails as a
//! whole. A bad entry costs only that entry, and a bad field only the data that depend on it:
//!
//! - Entries are separated before their bytes are judged.
//! - Unknown fields are ignored at any depth.
//! - A null field counts as missing.
//! - `null` in place of the array is an empty list, as servers written in Go send it.
//!
//! # Memory
//!
//! Entries are parsed one by one, so that the bounds below also bound the memory of any response.

use super::RequestFailure;
use crate::{
    domain::{
        Completion, Defect, Language, LanguageList, ListingPage, Next, Reason, ReportedLanguage,
        Repository, RepositoryId,
    },
    support::clock::Timestamp,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use std::sync::Arc;

/// The maximum length of a name or code, in bytes. A longer one is bad.
const MAX_TEXT: usize = 1000;
/// The maximum number of repositories on a page.
const MAX_REPOSITORIES: usize = 100_000;
/// The maximum number of languages of a repository.
const MAX_LANGUAGES: usize = 1000;

/// An entry of the listing (API specification 2.1).
#[derive(Deserialize, Default)]
#[serde(default)]
struct RepositoryEntry<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    name: Field<String>,
    private: Field<bool>,
    created_at: Field<String>,
}

/// An entry of the languages of a repository (API specification 2.2).
#[derive(Deserialize, Default)]
#[serde(default)]
struct LanguageEntry {
    code: Field<String>,
    name: Field<String>,
    completion: Field<f64>,
}

/// A field of an entry, which may have any JSON.
#[derive(Default)]
enum Field<T> {
    #[default]
    Absent,
    Null,
    Bad,
    Good(T),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        Ok(match serde_json::from_str(json) {
            Ok(Some(value)) => Self::Good(value),
            Ok(None) => Self::Null,
            Err(_) => Self::Bad,
        })
    }
}

impl<T> Field<T> {
    /// Converts the value of the field, which is bad if that fails.
    fn and_then<U>(self, convert: impl FnOnce(T) -> Option<U>) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Null => Field::Null,
            Self::Bad => Field::Bad,
            Self::Good(value) => convert(value).map_or(Field::Bad, Field::Good),
        }
    }

    fn is_bad(&self) -> bool {
        matches!(self, Self::Bad)
    }

    fn value(self) -> Option<T> {
        match self {
            Self::Good(value) => Some(value),
            _ => None,
        }
    }
}

impl Field<String> {
    /// Returns the field with a text of acceptable length.
    fn text(self) -> Self {
        self.and_then(|text| (text.len() <= MAX_TEXT).then_some(text))
    }

    /// Returns a text that is not empty.
    fn nonempty(self) -> Option<String> {
        self.text().value().filter(|text| !text.is_empty())
    }
}

/// Reads a page of the listing. With `omits_zeros`, an absent `private` is false.
///
/// # Errors
///
/// Fails if the body is not a JSON array, or has too many entries for a page.
pub fn decode_page(body: &[u8], omits_zeros: bool) -> Result<ListingPage, RequestFailure> {
    let mut page = ListingPage::default();
    let listing = &mut page.listing;
    for (place, entry) in (1..).zip(entries(body, MAX_REPOSITORIES)?) {
        page.next = Next::Unreadable;
        let Some(entry) = parse::<RepositoryEntry>(entry) else {
            listing.bad.add(Defect::NotAnObject, Some(place), "");
            continue;
        };
        let written = entry.id.map_or("none", RawValue::get);
        let id = parse_id(written);
        // Globs on owner/repo could not name any other.
        let name = entry.name.nonempty().filter(|name| name.contains('/'));
        let created_at = entry.created_at.and_then(|text| Timestamp::parse(&text));
        for (defect, is_found) in [
            (Defect::Private, entry.private.is_bad()),
            (Defect::CreatedAt, created_at.is_bad()),
            (Defect::Id, id.is_none()),
            (Defect::Name, id.is_some() && name.is_none()),
        ] {
            if is_found {
                let identity =
                    format_args!("id {written:.20}, {:?}", name.as_deref().unwrap_or(""));
                listing.bad.add(defect, Some(place), identity);
            }
        }
        let private = match entry.private {
            Field::Absent => omits_zeros.then_some(false),
            private => private.value(),
        };
        let Some(id) = id else { continue };
        page.next = Next::After(id);
        match name {
            Some(name) => listing.add(Arc::new(Repository {
                id,
                name: name.into(),
                private,
                // The zero of Go's and .NET's times stands for none.
                created_at: created_at.value().filter(|at| at.as_millis() > 0),
            })),
            None => drop(listing.nameless.insert(id)),
        }
    }
    Ok(page)
}

/// Reads the languages of a repository. With `omits_zeros`, an absent `completion` is 0.
///
/// # Errors
///
/// Fails if the body is not a JSON array, or has too many languages for a repository.
pub fn decode_languages(body: &[u8], omits_zeros: bool) -> Result<LanguageList, RequestFailure> {
    let mut list = LanguageList::default();
    let LanguageList {
        languages,
        absent,
        bad,
    } = &mut list;
    for (place, entry) in (1..).zip(entries(body, MAX_LANGUAGES)?) {
        let place = Some(place);
        let Some(entry) = parse::<LanguageEntry>(entry) else {
            bad.add(Defect::NotAnObject, place, "");
            continue;
        };
        let Some(code) = entry.code.nonempty() else {
            bad.add(Defect::Code, place, "");
            continue;
        };
        let identity = format_args!("{code:?}");
        let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
            bad.add(Defect::DuplicateCode, place, identity);
            continue;
        };
        let name = entry.name.text();
        if name.is_bad() {
            bad.add(Defect::Name, place, identity);
        }
        let completion = entry.completion.and_then(Completion::new);
        if completion.is_bad() {
            bad.add(Defect::Completion, place, identity);
        }
        let completion = match completion {
            Field::Absent if omits_zeros => Some(Completion::ZERO),
            Field::Absent => {
                *absent += 1;
                None
            }
            given => given.value(),
        };
        let reported = ReportedLanguage {
            completion,
            language: Arc::new(Language {
                name: name.value().unwrap_or_default().into(),
                code: code.into(),
            }),
        };
        languages.insert(at, reported);
    }
    Ok(list)
}

/// Parses an object. serde would take an array for one.
fn parse<'a, T: Deserialize<'a>>(entry: &'a [u8]) -> Option<T> {
    let object = entry.starts_with(b"{").then_some(entry)?;
    serde_json::from_slice(object).ok()
}

/// Parses an id: an integer, or a string with one (API specification 2.1).
fn parse_id(json: &str) -> Option<RepositoryId> {
    json.trim_matches('"').parse::<u64>().ok()?.try_into().ok()
}

/// Separates the entries of a JSON array, before anybody judges their bytes: a broken entry, or
/// one that is not UTF-8, costs itself alone.
fn entries(body: &[u8], most: usize) -> Result<Vec<&[u8]>, RequestFailure> {
    // RFC 8259 allows readers to ignore a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let body = body.trim_ascii();
    if body == b"null" {
        return Ok(Vec::new());
    }
    let array = body.strip_prefix(b"[").ok_or_else(|| no_array(body))?;
    let (mut entries, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, byte) in array.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b',' | b']' if depth == 0 => {
                let entry = array[start..at].trim_ascii();
                start = at + 1;
                if !entry.is_empty() {
                    entries.push(entry);
                }
                if entries.len() > most {
                    let what = format!("the body has more than {most} entries");
                    return Err(RequestFailure::new(Reason::TooLarge, what));
                }
                if *byte == b']' {
                    break;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    match &array[..start] {
        [.., b']'] if start == array.len() => Ok(entries),
        [.., b']'] => {
            let what = "text follows the JSON array";
            Err(RequestFailure::new(Reason::Decode, what))
        }
        _ => Err(breaks_off()),
    }
}

fn breaks_off() -> RequestFailure {
    RequestFailure::new(Reason::Truncated, "the body breaks off")
}

/// Returns the failure of a body that is no array.
fn no_array(body: &[u8]) -> RequestFailure {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) if error.is_eof() => breaks_off(),
        Err(_) => {
            let is_html = body.starts_with(b"<");
            let what = if is_html { "HTML instead of" } else { "not" };
            RequestFailure::new(Reason::NotJson, format!("the body is {what} JSON"))
        }
        Ok(_) => RequestFailure::new(Reason::Decode, "the body is JSON, but not an array"),
    }
}

#[cfg(test)]
mod tests;
