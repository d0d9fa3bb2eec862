//! The wire format: the decoding of the API's JSON into domain types.
//!
//! # Tolerance
//!
//! A response is an array of objects (API specification 2.1, 2.2). Any other JSON fails as a whole.
//! A bad entry costs only that entry, and a bad field only the data that depend on it:
//!
//! - Entries and fields are separated before their bytes are judged.
//! - Unknown fields are ignored at any depth.
//! - A null field counts as missing.
//! - `null` in place of the array is an empty list, as servers written in Go send it.
//!
//! # Memory
//!
//! Entries are parsed one by one, so that the bounds below also bound the memory of any response.

mod parts;

use super::{RequestFailure, error::quoted};
use crate::{
    domain::{
        Completion, Defect, Language, LanguageList, Next, Page, Reason, ReportedLanguage,
        Repository, RepositoryId, ZeroCount,
    },
    support::clock::Timestamp,
};
use parts::Parts;
use serde::de::IgnoredAny;
use std::{collections::BTreeMap, sync::Arc};

/// The maximum length of a name or code, in bytes. A longer one is bad.
const MAX_TEXT: usize = 1000;
/// The maximum number of repositories on a page.
const MAX_REPOSITORIES: usize = 100_000;
/// The maximum number of languages of a repository.
const MAX_LANGUAGES: usize = 1000;

/// The maximum number of keys that a message names.
const MAX_NAMED: usize = 5;

/// The times that stand for none: the zero of Go's and .NET's times, and their largest one.
const NO_TIME: [&str; 2] = ["0001-01-01", "9999-12-31"];

const FIELDS: [&str; 6] = ["id", "name", "private", "created_at", "code", "completion"];

/// The known fields of an entry, as raw JSON. A repeated field has its last value.
struct Fields<'a>(BTreeMap<&'static str, &'a [u8]>);

impl<'a> Fields<'a> {
    /// Returns `None` if the entry is no object.
    fn of(entry: &'a [u8]) -> Option<Self> {
        let mut parts = Parts::of(entry, b'{')?;
        let fields = parts.by_ref().filter_map(|part| {
            let (name, value) = field(part)?;
            let known = FIELDS.iter().find(|known| **known == name)?;
            Some((*known, value))
        });
        let fields = fields.collect();
        parts.after()?.is_empty().then_some(Self(fields))
    }

    fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.0.get(name).copied()
    }

    /// Returns whether an optional field is present, but has no usable value.
    fn is_bad(&self, name: &str, has_value: bool) -> bool {
        !has_value && !matches!(self.get(name), None | Some(b"null"))
    }
}

/// Splits a field into its name and its value.
fn field(part: &[u8]) -> Option<(String, &[u8])> {
    let mut names = serde_json::Deserializer::from_slice(part).into_iter();
    let name = names.next()?.ok()?;
    let value = part[names.byte_offset()..]
        .trim_ascii()
        .strip_prefix(b":")?;
    Some((name, value.trim_ascii()))
}

/// Reads a page of the listing. With `omits_zeros`, an absent `private` is false.
///
/// # Errors
///
/// Fails if the body is not a JSON array, or has too many entries for a page.
pub fn decode_page(body: &[u8], omits_zeros: bool) -> Result<Page, RequestFailure> {
    let mut page = Page::default();
    let listing = &mut page.listing;
    let hint = "report it to the API's operators: it has to obey `limit`, which is api.page_size";
    for (place, entry) in (1..).zip(entries(body, MAX_REPOSITORIES, hint)?) {
        page.next = Next::Unreadable;
        let Some(fields) = Fields::of(entry) else {
            listing.bad.add(Defect::NotAnObject, Some(place), "");
            continue;
        };
        let id = fields.get("id").and_then(parse_id);
        let name = fields.get("name").and_then(parse_nonempty);
        let private = or_zero(
            fields.get("private"),
            false,
            omits_zeros,
            &mut ZeroCount::default(),
            |raw| serde_json::from_slice(raw).ok(),
        );
        let created_at = fields.get("created_at").map_or(Ok(None), parse_time);
        for (defect, is_found) in [
            (Defect::Private, fields.is_bad("private", private.is_some())),
            (
                Defect::CreatedAt,
                fields.is_bad("created_at", created_at.is_ok()),
            ),
            (Defect::Id, id.is_none()),
            (Defect::Name, name.is_none()),
        ] {
            if is_found {
                let id = String::from_utf8_lossy(fields.get("id").unwrap_or(b"none"));
                let identity = format_args!("id {id:.20}, {:?}", name.as_deref().unwrap_or(""));
                listing.bad.add(defect, Some(place), identity);
            }
        }
        let Some(id) = id else { continue };
        page.next = Next::After(id);
        match name {
            Some(name) => listing.add(Arc::new(Repository {
                id,
                name: name.into(),
                private,
                created_at: created_at.unwrap_or_default(),
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
        zeros,
        bad,
    } = &mut list;
    let hint = "report it to the API's operators, or leave the repository out with filter.exclude";
    for (place, entry) in (1..).zip(entries(body, MAX_LANGUAGES, hint)?) {
        let place = Some(place);
        let Some(fields) = Fields::of(entry) else {
            bad.add(Defect::NotAnObject, place, "");
            continue;
        };
        let Some(code) = fields.get("code").and_then(parse_nonempty) else {
            bad.add(Defect::Code, place, "");
            continue;
        };
        let identity = format_args!("{code:?}");
        let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
            bad.add(Defect::DuplicateCode, place, identity);
            continue;
        };
        let name = fields.get("name").and_then(parse_string);
        if fields.is_bad("name", name.is_some()) {
            bad.add(Defect::Name, place, identity);
        }
        let (raw, zero) = (fields.get("completion"), Completion::ZERO);
        let completion = or_zero(raw, zero, omits_zeros, zeros, parse_completion);
        if fields.is_bad("completion", completion.is_some()) {
            bad.add(Defect::Completion, place, identity);
        }
        let language = Arc::new(Language {
            name: name.unwrap_or_default().into(),
            code: code.into(),
        });
        languages.insert(
            at,
            ReportedLanguage {
                language,
                completion,
            },
        );
    }
    Ok(list)
}

/// Parses a field. If it is absent, it is `zero` if the API omits zeros, and unknown otherwise.
fn or_zero<T: Copy + PartialEq>(
    raw: Option<&[u8]>,
    zero: T,
    omits_zeros: bool,
    zeros: &mut ZeroCount,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let Some(raw) = raw else {
        zeros.absent += usize::from(!omits_zeros);
        return omits_zeros.then_some(zero);
    };
    let value = parse(raw);
    zeros.spelled_out += usize::from(value == Some(zero));
    value
}

/// Parses an id: an integer, or a string with one (API specification 2.1).
fn parse_id(raw: &[u8]) -> Option<RepositoryId> {
    let digits = parse_string(raw).or_else(|| String::from_utf8(raw.into()).ok())?;
    RepositoryId::new(digits.parse().ok()?)
}

fn parse_completion(raw: &[u8]) -> Option<Completion> {
    Completion::new(serde_json::from_slice(raw).ok()?)
}

fn parse_nonempty(raw: &[u8]) -> Option<String> {
    parse_string(raw).filter(|text| !text.is_empty())
}

/// Parses a JSON string of at most [`MAX_TEXT`] bytes, which may be empty. Returns `None` for other
/// values, and for strings that are not text, such as half a surrogate pair.
fn parse_string(raw: &[u8]) -> Option<String> {
    let text: String = serde_json::from_slice(raw).ok()?;
    Some(text).filter(|text| text.len() <= MAX_TEXT)
}

/// Parses a time in the format of RFC 3339; `None` if it is one that stands for none.
fn parse_time(raw: &[u8]) -> Result<Option<Timestamp>, ()> {
    let text = parse_string(raw).ok_or(())?;
    if NO_TIME.iter().any(|none| text.starts_with(none)) {
        return Ok(None);
    }
    let time: jiff::Timestamp = text.parse().map_err(drop)?;
    Ok(Some(Timestamp::from_millis(time.as_millisecond())))
}

/// Returns the entries of a JSON array. More than `most` are a failure with this hint.
fn entries<'a>(
    body: &'a [u8],
    most: usize,
    hint: &'static str,
) -> Result<Vec<&'a [u8]>, RequestFailure> {
    // RFC 8259 allows readers to ignore a byte order mark.
    let body = body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii();
    if body == b"null" {
        return Ok(Vec::new());
    }
    let Some(mut parts) = Parts::of(body, b'[') else {
        return Err(no_array(body));
    };
    let entries: Vec<_> = parts.by_ref().take(most + 1).collect();
    if entries.len() > most {
        let what = format!("the body has more than {most} entries");
        return Err(RequestFailure::new(Reason::TooLarge, what).hint(hint));
    }
    match parts.after() {
        Some([]) => Ok(entries),
        Some(_) => Err(RequestFailure::new(
            Reason::Decode,
            "text follows the JSON array",
        )),
        None => Err(RequestFailure::new(
            Reason::Truncated,
            "the body breaks off",
        )),
    }
}

/// Returns the failure of a body that is no array.
fn no_array(body: &[u8]) -> RequestFailure {
    if body.starts_with(b"<") {
        return RequestFailure::new(Reason::NotJson, "the body is HTML instead of JSON");
    }
    match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) if error.is_eof() => {
            RequestFailure::new(Reason::Truncated, "the body breaks off")
        }
        Err(_) => RequestFailure::new(Reason::NotJson, "the body is not JSON"),
        Ok(_) => {
            let keys = Parts::of(body, b'{').into_iter().flatten();
            let keys = keys.filter_map(|part| Some(quoted(&field(part)?.0)));
            let keys: Vec<_> = keys.take(MAX_NAMED).collect();
            let what = match body[0] {
                b'{' if keys.is_empty() => "an empty object".to_owned(),
                b'{' => format!("an object with the keys {}", keys.join(", ")),
                _ => "a single value".to_owned(),
            };
            let what = format!("the body is {what} in place of an array");
            RequestFailure::new(Reason::Decode, what)
        }
    }
}

#[cfg(test)]
mod tests;
