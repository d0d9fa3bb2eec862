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
//! - An object in which a known field appears twice is bad, because the right value is unclear.
//! - `null` in place of the array is an empty list, as servers written in Go send it.
//!
//! # Memory
//!
//! Entries are read one by one, so that the bounds below also bound the memory of any response.

use crate::{
    domain::{
        Completion, Defect, Language, LanguageList, Listing, Next, Page, ReportedLanguage,
        Repository, RepositoryId, ZeroCount,
    },
    support::clock::Timestamp,
};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, sync::Arc};

/// The maximum length of a name or code, in bytes. A longer one is bad.
const MAX_TEXT: usize = 1000;
/// The maximum number of repositories on a page.
const MAX_REPOSITORIES: usize = 100_000;
/// The maximum number of languages of a repository.
const MAX_LANGUAGES: usize = 1000;

/// The reason why a response cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the body is HTML instead of JSON: a maintenance page, a login or a proxy?")]
    Html,
    /// The message holds only the position, because the text of the error may quote the body.
    #[error("the body is not a JSON array (line {}, column {})", .0.line(), .0.column())]
    NotAnArray(#[source] serde_json::Error),
    #[error("the body breaks off")]
    Truncated,
    /// The bound, and the hint for it.
    #[error("the answer has more than {0}")]
    TooMany(&'static str, &'static str),
}

/// The meaning of an absent `completion` or `private`. An explicit null is unknown in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    Unknown,
    /// `api.omits_zeros`: the API leaves out 0 and false.
    Zero,
}

impl Absent {
    /// Parses a field, or returns `zero` for an absent field that stands for it.
    fn or<T>(self, raw: Option<&str>, zero: T, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        match raw {
            None if self == Self::Zero => Some(zero),
            raw => raw.and_then(parse),
        }
    }

    /// Counts an absent field, or an explicit zero.
    fn count(self, raw: Option<&str>, is_zero: bool) -> ZeroCount {
        match self {
            Self::Unknown => ZeroCount {
                absent: usize::from(raw.is_none()),
                spelled_out: usize::from(raw.is_some() && is_zero),
            },
            Self::Zero => ZeroCount::default(),
        }
    }
}

/// Reads a page of the listing.
///
/// # Errors
///
/// Fails if the body is not a JSON array in UTF-8, or has too many entries for a page.
pub fn decode_page(body: &[u8], absent: Absent) -> Result<Page, DecodeError> {
    let mut page = Page::default();
    read_entries(body, |place, entry| {
        if page.listing.count() <= MAX_REPOSITORIES {
            page.next = match add_repository(&mut page.listing, place, entry, absent) {
                Some(id) => Next::After(id),
                None => Next::Unreadable,
            };
        }
    })?;
    if page.listing.count() > MAX_REPOSITORIES {
        return Err(DecodeError::TooMany(
            "100,000 repositories",
            "report it to the API's operators: it has to obey `limit`, which is api.page_size",
        ));
    }
    Ok(page)
}

/// Adds one entry to the listing, and returns its id if it is valid.
fn add_repository(
    listing: &mut Listing,
    place: usize,
    entry: Option<RawEntry<'_>>,
    absent: Absent,
) -> Option<RepositoryId> {
    let Some(entry) = entry else {
        listing.bad.add(Defect::NotAnObject, Some(place), "");
        return None;
    };
    let id = entry.id.and_then(parse_id);
    let name = entry.name.and_then(parse_nonempty);
    let private = absent.or(entry.private, false, |raw| raw.parse().ok());
    listing
        .zeros
        .add(absent.count(entry.private, private == Some(false)));
    let created_at = entry.created_at.and_then(parse_time);
    for (defect, is_found) in [
        (Defect::Private, is_bad(entry.private, private.is_some())),
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
            listing.bad.add(defect, Some(place), identity);
        }
    }
    match (id, name) {
        (Some(id), Some(name)) => listing.add(Arc::new(Repository {
            id,
            name: (*name).into(),
            private,
            created_at,
        })),
        (Some(id), None) => drop(listing.nameless.insert(id)),
        (None, _) => {}
    }
    id
}

/// Reads the languages of a repository.
///
/// # Errors
///
/// Fails if the body is not a JSON array in UTF-8, or has too many languages for a repository.
pub fn decode_languages(body: &[u8], absent: Absent) -> Result<LanguageList, DecodeError> {
    let mut list = LanguageList::default();
    read_entries(body, |place, entry| {
        if list.languages.len() <= MAX_LANGUAGES {
            add_language(&mut list, place, entry, absent);
        }
    })?;
    if list.languages.len() > MAX_LANGUAGES {
        return Err(DecodeError::TooMany(
            "1,000 languages",
            "report it to the API's operators, or leave the repository out with filter.exclude",
        ));
    }
    Ok(list)
}

/// Adds one entry to the list.
fn add_language(
    LanguageList {
        languages,
        zeros,
        bad,
    }: &mut LanguageList,
    place: usize,
    entry: Option<RawEntry<'_>>,
    absent: Absent,
) {
    let place = Some(place);
    let Some(entry) = entry else {
        bad.add(Defect::NotAnObject, place, "");
        return;
    };
    let Some(code) = entry.code.and_then(parse_nonempty) else {
        bad.add(Defect::Code, place, "");
        return;
    };
    let identity = format_args!("{code:?}");
    let Err(at) = languages.binary_search_by(|known| (*known.language.code).cmp(&code)) else {
        bad.add(Defect::DuplicateCode, place, identity);
        return;
    };
    let name = entry.name.and_then(parse_string);
    if is_bad(entry.name, name.is_some()) {
        bad.add(Defect::Name, place, identity);
    }
    let completion = absent.or(entry.completion, Completion::ZERO, parse_completion);
    zeros.add(absent.count(entry.completion, completion == Some(Completion::ZERO)));
    if is_bad(entry.completion, completion.is_some()) {
        bad.add(Defect::Completion, place, identity);
    }
    let language = Arc::new(Language {
        code: (*code).into(),
        name: (*name.unwrap_or_default()).into(),
    });
    languages.insert(
        at,
        ReportedLanguage {
            language,
            completion,
        },
    );
}

/// Returns whether an optional field is present, but has no usable value.
fn is_bad(raw: Option<&str>, has_value: bool) -> bool {
    !has_value && !matches!(raw, None | Some("null"))
}

/// Parses an id: an integer, or a string with an integer in plain decimal digits (API specification
/// 2.1).
fn parse_id(raw: &str) -> Option<RepositoryId> {
    let digits = parse_string(raw).unwrap_or(Cow::Borrowed(raw));
    let id = RepositoryId::new(digits.parse().ok()?)?;
    // +7 and 007 are not plain decimal digits.
    (id.to_string() == digits).then_some(id)
}

fn parse_nonempty(raw: &str) -> Option<Cow<'_, str>> {
    parse_string(raw).filter(|text| !text.is_empty())
}

/// Parses a JSON string of at most [`MAX_TEXT`] bytes, which may be empty. Returns `None` for other
/// values, and for strings that are not text, such as half a surrogate pair.
fn parse_string(raw: &str) -> Option<Cow<'_, str>> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    let text = if text.contains('\\') {
        Cow::Owned(serde_json::from_str(raw).ok()?)
    } else {
        Cow::Borrowed(text)
    };
    Some(text).filter(|text| text.len() <= MAX_TEXT)
}

/// Parses a JSON number. The parser of std rounds correctly, and turns an overflow into infinity,
/// which [`Completion`] refuses.
fn parse_completion(raw: &str) -> Option<Completion> {
    raw.parse().ok().and_then(Completion::new)
}

/// Parses a time in the format of RFC 3339.
fn parse_time(raw: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = parse_string(raw)?.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// Passes the entries of a JSON array to `take` one by one, each with its place, counted from 1. An
/// entry that is not an object is `None`.
fn read_entries<'a>(
    body: &'a [u8],
    take: impl FnMut(usize, Option<RawEntry<'a>>),
) -> Result<(), DecodeError> {
    // RFC 8259 allows readers to ignore a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.trim_ascii() == b"null" {
        return Ok(());
    }
    let mut array = serde_json::Deserializer::from_slice(body);
    let read = array.deserialize_seq(EachEntry(take));
    match read.and_then(|()| array.end()) {
        Ok(()) => Ok(()),
        Err(_) if body.trim_ascii_start().starts_with(b"<") => Err(DecodeError::Html),
        Err(error) if error.is_eof() => Err(DecodeError::Truncated),
        Err(error) => Err(DecodeError::NotAnArray(error)),
    }
}

struct EachEntry<F>(F);

impl<'de, F: FnMut(usize, Option<RawEntry<'de>>)> Visitor<'de> for EachEntry<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<(), A::Error> {
        let mut place = 0;
        while let Some(entry) = array.next_element::<&RawValue>()? {
            place += 1;
            // A derived implementation reads an array, too.
            let object = Some(entry.get()).filter(|raw| raw.starts_with('{'));
            (self.0)(place, object.and_then(|raw| serde_json::from_str(raw).ok()));
        }
        Ok(())
    }
}

/// The known fields of one object, as raw JSON; `None` is a missing field. An object with one of
/// them twice is refused.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RawEntry<'a> {
    #[serde(deserialize_with = "present")]
    id: Option<&'a str>,
    #[serde(deserialize_with = "present")]
    name: Option<&'a str>,
    #[serde(deserialize_with = "present")]
    private: Option<&'a str>,
    #[serde(deserialize_with = "present")]
    created_at: Option<&'a str>,
    #[serde(deserialize_with = "present")]
    code: Option<&'a str>,
    #[serde(deserialize_with = "present")]
    completion: Option<&'a str>,
}

/// Reads a present field. `Option` alone would take null for a missing one.
fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<&'de str>, D::Error> {
    <&RawValue>::deserialize(field).map(|raw| Some(raw.get()))
}

#[cfg(test)]
mod tests;
