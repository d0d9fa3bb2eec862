//! The wire format: the decoding of the API's JSON into domain types.
//!
//! # Tolerance
//!
//! A response is an array of objects (API specification 2.1, 2.2). Any other JSON fails as a
//! whole. A bad entry costs only that entry, and a bad field only the data that depend on it:
//!
//! - Entries are separated before their bytes are judged.
//! - Unknown fields are ignored at any depth.
//! - A null field is unknown, as a missing one is unless the API omits zeros.
//! - `null` in place of the array is an empty list, as servers written in Go send it.
//!
//! # Memory
//!
//! Entries are parsed one by one, so that the bounds below also bound the memory of any response.

use super::RequestFailure;
use crate::{
    domain::{
        Completion, Defect, Language, LanguageList, Listing, Next, Reason, ReportedLanguage,
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

/// The fields of an entry of either list. Others are skipped, whatever bytes they have.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Field<'a>,
    name: Field<'a>,
    private: Field<'a>,
    created_at: Field<'a>,
    code: Field<'a>,
    completion: Field<'a>,
}

/// The JSON of a field, which may be null; `None` if the field is absent.
#[derive(Clone, Copy, Default)]
struct Field<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Ok(Self(Some(<&RawValue>::deserialize(json)?)))
    }
}

/// Parses an object. serde would take an array for one.
fn parse(entry: &[u8]) -> Option<Fields<'_>> {
    let object = entry.starts_with(b"{").then_some(entry)?;
    serde_json::from_slice(object).ok()
}

/// Reads a field, with the value of an absent one. A null is `None`.
fn value<T: DeserializeOwned>(
    Field(json): Field<'_>,
    absent: Option<T>,
) -> serde_json::Result<Option<T>> {
    json.map_or(Ok(absent), |json| serde_json::from_str(json.get()))
}

/// Reads a text, which is empty if it is absent; `None` if it is bad or too long.
fn text(field: Field<'_>) -> Option<String> {
    let text = value::<String>(field, None).ok()?;
    Some(text.unwrap_or_default()).filter(|text| text.len() <= MAX_TEXT)
}

/// Reads a page of the listing. With `omits_zeros`, an absent `private` is false.
///
/// # Errors
///
/// Fails if the body is not a JSON array, or has too many entries for a page.
pub fn decode_page(body: &[u8], omits_zeros: bool) -> Result<Listing, RequestFailure> {
    let mut page = Listing::default();
    for (place, entry) in (1..).zip(entries(body, MAX_REPOSITORIES)?) {
        page.next = Next::Unreadable;
        let Some(fields) = parse(entry) else {
            page.bad.add(Defect::NotAnObject, Some(place), "");
            continue;
        };
        let written = fields.id.0.map_or("none", RawValue::get);
        let id = parse_id(written);
        // Globs on owner/repo could not name any other.
        let name = text(fields.name).filter(|name| name.contains('/'));
        let private = value(fields.private, omits_zeros.then_some(false));
        let created = text(fields.created_at);
        let created_at = created.as_deref().and_then(Timestamp::parse);
        for (defect, is_found) in [
            (Defect::Private, private.is_err()),
            (
                Defect::CreatedAt,
                created_at.is_none() && created.as_deref() != Some(""),
            ),
            (Defect::Id, id.is_none()),
            (Defect::Name, id.is_some() && name.is_none()),
        ] {
            if is_found {
                let identity =
                    format_args!("id {written:.20}, {:?}", name.as_deref().unwrap_or(""));
                page.bad.add(defect, Some(place), identity);
            }
        }
        let Some(id) = id else { continue };
        page.next = Next::After(id);
        match name {
            Some(name) => page.add(Arc::new(Repository {
                id,
                name: name.into(),
                private: private.unwrap_or_default(),
                // The zero of Go's and .NET's times stands for none.
                created_at: created_at.filter(|at| at.as_millis() > 0),
            })),
            None => drop(page.nameless.insert(id)),
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
        let Some(fields) = parse(entry) else {
            bad.add(Defect::NotAnObject, place, "");
            continue;
        };
        let Some(code) = text(fields.code).filter(|code| !code.is_empty()) else {
            bad.add(Defect::Code, place, "");
            continue;
        };
        let identity = format_args!("{code:?}");
        let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
            bad.add(Defect::DuplicateCode, place, identity);
            continue;
        };
        let name = text(fields.name);
        if name.is_none() {
            bad.add(Defect::Name, place, identity);
        }
        let completion = value(fields.completion, omits_zeros.then_some(0.0));
        let written = fields.completion.0.map(RawValue::get);
        if completion.is_err() {
            let identity = format_args!("{code:?}: {:.20}", written.unwrap_or_default());
            bad.add(Defect::Completion, place, identity);
        }
        *absent += usize::from(!omits_zeros && written.is_none());
        let reported = ReportedLanguage {
            completion: completion.unwrap_or_default().and_then(Completion::new),
            language: Arc::new(Language {
                name: name.unwrap_or_default().into(),
                code: code.into(),
            }),
        };
        languages.insert(at, reported);
    }
    Ok(list)
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
    let Some(array) = body.strip_prefix(b"[") else {
        return Err(match serde_json::from_slice::<IgnoredAny>(body) {
            Ok(_) => RequestFailure::new(Reason::Decode, "the body is JSON, but not an array"),
            Err(error) if error.is_eof() => breaks_off(),
            Err(_) if body.starts_with(b"<") => {
                RequestFailure::new(Reason::NotJson, "the body is HTML instead of JSON")
            }
            Err(_) => RequestFailure::new(Reason::NotJson, "the body is not JSON"),
        });
    };
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
                    if start == array.len() {
                        return Ok(entries);
                    }
                    let what = "text follows the JSON array";
                    return Err(RequestFailure::new(Reason::Decode, what));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Err(breaks_off())
}

fn breaks_off() -> RequestFailure {
    RequestFailure::new(Reason::Truncated, "the body breaks off")
}

#[cfg(test)]
mod tests;
