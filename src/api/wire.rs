//! The wire format: the decoding of the API's JSON into domain types.
//!
//! # Tolerance
//!
//! A response is an array of objects (API specification 2.1, 2.2). A response that is not a JSON
//! array fails as a whole. A bad entry costs only that entry, and a bad field only the data that
//! depend on it:
//!
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
        Completion, Defect, Language, LanguageList, Next, Page, Reason, ReportedLanguage,
        Repository, RepositoryId, ZeroCount,
    },
    support::clock::Timestamp,
};
use serde::{
    Deserialize, Deserializer as _,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The maximum length of a name or code, in bytes. A longer one is bad.
const MAX_TEXT: usize = 1000;
/// The maximum number of repositories on a page.
const MAX_REPOSITORIES: usize = 100_000;
/// The maximum number of languages of a repository.
const MAX_LANGUAGES: usize = 1000;

/// The fields of one object, as raw JSON. A repeated field has its last value, and all unknown
/// fields are one, so that an object of a million names takes no memory.
type Fields<'a> = BTreeMap<Field, &'a RawValue>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Id,
    Name,
    Private,
    CreatedAt,
    Code,
    Completion,
    #[serde(other)]
    Unknown,
}

/// Reads a page of the listing. With `omits_zeros`, an absent `private` is false.
///
/// # Errors
///
/// Fails if the body is not a JSON array in UTF-8, or has too many entries for a page.
pub fn decode_page(body: &[u8], omits_zeros: bool) -> Result<Page, RequestFailure> {
    let mut page = Page::default();
    let listing = &mut page.listing;
    let hint = "report it to the API's operators: it has to obey `limit`, which is api.page_size";
    for (place, entry) in (1..).zip(entries(body, MAX_REPOSITORIES, hint)?) {
        page.next = Next::Unreadable;
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(entry.get()) else {
            listing.bad.add(Defect::NotAnObject, Some(place), "");
            continue;
        };
        let raw = |field| fields.get(&field).map(|raw| raw.get());
        let id = raw(Field::Id).and_then(parse_id);
        let name = raw(Field::Name).and_then(parse_nonempty);
        let parse = |raw: &str| raw.parse().ok();
        let private = or_zero(
            raw(Field::Private),
            false,
            omits_zeros,
            &mut listing.zeros,
            parse,
        );
        let created_at = raw(Field::CreatedAt).and_then(parse_time);
        for (defect, is_found) in [
            (
                Defect::Private,
                is_bad(raw(Field::Private), private.is_some()),
            ),
            (Defect::CreatedAt, created_at.is_none()),
            (Defect::Id, id.is_none()),
            (Defect::Name, name.is_none()),
        ] {
            if is_found {
                let id = raw(Field::Id).unwrap_or("none");
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
                created_at,
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
/// Fails if the body is not a JSON array in UTF-8, or has too many languages for a repository.
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
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(entry.get()) else {
            bad.add(Defect::NotAnObject, place, "");
            continue;
        };
        let raw = |field| fields.get(&field).map(|raw| raw.get());
        let Some(code) = raw(Field::Code).and_then(parse_nonempty) else {
            bad.add(Defect::Code, place, "");
            continue;
        };
        let identity = format_args!("{code:?}");
        let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
            bad.add(Defect::DuplicateCode, place, identity);
            continue;
        };
        let name = raw(Field::Name).and_then(parse_string);
        if is_bad(raw(Field::Name), name.is_some()) {
            bad.add(Defect::Name, place, identity);
        }
        // The parser of std turns an overflow into infinity, which `Completion` refuses.
        let parse = |raw: &str| raw.parse().ok().and_then(Completion::new);
        let zero = Completion::ZERO;
        let completion = or_zero(raw(Field::Completion), zero, omits_zeros, zeros, parse);
        if is_bad(raw(Field::Completion), completion.is_some()) {
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
    raw: Option<&str>,
    zero: T,
    omits_zeros: bool,
    zeros: &mut ZeroCount,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let Some(raw) = raw else {
        zeros.absent += usize::from(!omits_zeros);
        return omits_zeros.then_some(zero);
    };
    let value = parse(raw);
    zeros.spelled_out += usize::from(value == Some(zero));
    value
}

/// Returns whether an optional field is present, but has no usable value.
fn is_bad(raw: Option<&str>, has_value: bool) -> bool {
    !has_value && !matches!(raw, None | Some("null"))
}

/// Parses an id: an integer, or a string with one (API specification 2.1).
fn parse_id(raw: &str) -> Option<RepositoryId> {
    let digits = parse_string(raw).unwrap_or_else(|| raw.to_owned());
    RepositoryId::new(digits.parse().ok()?)
}

fn parse_nonempty(raw: &str) -> Option<String> {
    parse_string(raw).filter(|text| !text.is_empty())
}

/// Parses a JSON string of at most [`MAX_TEXT`] bytes, which may be empty. Returns `None` for other
/// values, and for strings that are not text, such as half a surrogate pair.
fn parse_string(raw: &str) -> Option<String> {
    let text: String = serde_json::from_str(raw).ok()?;
    Some(text).filter(|text| text.len() <= MAX_TEXT)
}

/// Parses a time in the format of RFC 3339.
fn parse_time(raw: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = parse_string(raw)?.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// Returns the entries of a JSON array. More than `most` are a failure with this hint.
fn entries<'a>(
    body: &'a [u8],
    most: usize,
    hint: &'static str,
) -> Result<Vec<&'a RawValue>, RequestFailure> {
    // RFC 8259 allows readers to ignore a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.trim_ascii() == b"null" {
        return Ok(Vec::new());
    }
    let mut array = serde_json::Deserializer::from_slice(body);
    let read = array.deserialize_seq(Entries { most });
    match read.and_then(|entries| array.end().map(|()| entries)) {
        Ok(entries) if entries.len() > most => Err(RequestFailure {
            hint,
            ..RequestFailure::new(
                Reason::TooLarge,
                format!("the answer has more than {most} entries"),
            )
        }),
        Ok(entries) => Ok(entries),
        Err(error) if error.is_eof() => Err(RequestFailure::new(
            Reason::Truncated,
            "the body breaks off",
        )),
        Err(_) if body.trim_ascii_start().starts_with(b"<") => Err(RequestFailure::new(
            Reason::Decode,
            "the body is HTML instead of JSON: a maintenance page, a login or a proxy?",
        )),
        // The text of the error may quote the body.
        Err(error) => Err(RequestFailure::new(
            Reason::Decode,
            format!(
                "the body is not a JSON array (line {}, column {})",
                error.line(),
                error.column()
            ),
        )),
    }
}

/// A visitor that reads an array, and keeps one entry more than allowed.
struct Entries {
    most: usize,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = array.next_element()? {
            if entries.len() <= self.most {
                entries.push(entry);
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests;
