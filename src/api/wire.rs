//! Bytes to model: the only place that knows the JSON of the API.
//!
//! An answer is an array of objects (API specification 2.1, 2.2). One bad entry, or one bad field of one, costs that
//! entry or what is made of that field, and is told as a [`Flaw`]; only an answer that is no array, or no JSON, fails
//! as a whole. Unknown fields are passed over at any depth. A field that is null counts as missing; one that stands
//! twice in an object is bad, since nobody can tell which of the two was meant.

mod plain;

use crate::model::{Completion, Defect, Language, Repository, RepositoryId, Timestamp, Visibility};
use serde::{
    Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

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

/// The languages of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct LanguageList {
    /// In the order of their codes, each code once.
    pub languages: Vec<Language>,
    pub flaws: Vec<Flaw>,
}

/// The texts that many repositories share: codes and names of languages, each kept once.
#[derive(Debug, Default)]
pub struct Interner(Mutex<HashSet<Arc<str>>>);

impl Interner {
    /// A function that gives the one copy of a text; until it is dropped, nobody else gets any.
    fn lock(&self) -> impl FnMut(&str) -> Arc<str> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        move |text| {
            if let Some(known) = texts.get(text) {
                return Arc::clone(known);
            }
            let text: Arc<str> = text.into();
            texts.insert(Arc::clone(&text));
            text
        }
    }

    fn intern(&self, text: &str) -> Arc<str> {
        self.lock()(text)
    }

    /// Forgets the texts that nothing uses any more, so that an API that invents them cannot fill the memory.
    pub fn forget_unused(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|text| Arc::strong_count(text) > 1);
    }
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
    for (index, entry) in entries.into_iter().enumerate() {
        let (language, defects) = decode_language(entry, interner);
        let mut flaw = |defect| {
            let entry = match &language {
                Some(language) => format!("entry {} ({:?})", index + 1, language.code),
                None => format!("entry {}", index + 1),
            };
            list.flaws.push(Flaw { entry, defect });
        };
        defects.into_iter().flatten().for_each(&mut flaw);
        let Some(language) = &language else { continue };
        if codes.insert(Arc::clone(&language.code)) {
            list.languages.push(language.clone());
        } else {
            flaw(Defect::DuplicateCode);
        }
    }
    list.languages.sort_unstable_by(|a, b| a.code.cmp(&b.code));
    Ok(list)
}

fn decode_language(entry: &RawValue, interner: &Interner) -> (Option<Language>, [Option<Defect>; 2]) {
    let Some([code, name, completion]) = fields(entry, ["code", "name", "completion"]) else {
        return (None, [Some(Defect::NotAnObject), None]);
    };
    let Some(code) = code.required(parse_text) else {
        return (None, [Some(Defect::Code), None]);
    };
    let name = name.optional(|raw| serde_json::from_str::<String>(raw).ok());
    let completion = completion.optional(parse_completion);
    let defects = [name.is_err().then_some(Defect::Name), completion.is_err().then_some(Defect::Completion)];
    let language = Language {
        code: interner.intern(&code),
        name: interner.intern(&name.ok().flatten().unwrap_or_default()),
        completion: completion.ok().flatten(),
    };
    (Some(language), defects)
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
mod tests {
    use super::*;

    fn page(body: &str) -> Page {
        decode_page(body.as_bytes()).unwrap()
    }

    fn defects(flaws: &[Flaw]) -> Vec<Defect> {
        flaws.iter().map(|flaw| flaw.defect).collect()
    }

    fn repository(fields: &str) -> Page {
        page(&format!(r#"[{{"created_at":"2024-05-06T07:08:09Z",{fields}}}]"#))
    }

    #[test]
    fn ids_are_integers_or_strings_of_one_and_exact_up_to_63_bits() {
        for (raw, id) in [
            ("1", 1),
            ("\"1\"", 1),
            ("9007199254740993", 9_007_199_254_740_993),
            ("\"9223372036854775807\"", 9_223_372_036_854_775_807),
            (r#""\u0031""#, 1),
        ] {
            let page = repository(&format!(r#""id":{raw},"name":"o/r""#));
            assert_eq!(page.repositories[0].id.get(), id, "{raw}");
            assert_eq!(page.next, Next::After(RepositoryId::new(id).unwrap()));
        }
    }

    #[test]
    fn a_bad_id_costs_the_entry_and_keeps_its_name() {
        for raw in [
            "0",
            "-1",
            "1.5",
            "1e3",
            "1.0",
            "\"\"",
            "\"1e3\"",
            "\" 1\"",
            "\"+1\"",
            "\"01\"",
            "9223372036854775808",
            "null",
            "true",
            "[1]",
            "{}",
            "1e999",
            "\"\u{661}\"",
        ] {
            let page = repository(&format!(r#""id":{raw},"name":"o/r""#));
            assert_eq!(page.repositories, [], "{raw}");
            assert_eq!(defects(&page.flaws), [Defect::Id], "{raw}");
            assert_eq!(page.unidentified, ["o/r".into()]);
            assert_eq!(page.next, Next::Unreadable);
        }
    }

    #[test]
    fn a_bad_name_keeps_the_id_listed() {
        for raw in ["\"\"", "7", "null", r#""\ud800""#, "[]"] {
            let page = repository(&format!(r#""id":7,"name":{raw}"#));
            assert_eq!((page.repositories.len(), page.nameless.len()), (0, 1), "{raw}");
            assert_eq!(defects(&page.flaws), [Defect::Name], "{raw}");
        }
    }

    #[test]
    fn a_bad_entry_costs_itself_alone_and_only_the_last_decides_the_cursor() {
        let page = page(
            r#"[null, 5, "x", [[[]]], {"id":3,"name":"o/r","created_at":"2024-05-06T07:08:09.5+02:00","new":{"a":[{}]}}]"#,
        );
        assert_eq!(defects(&page.flaws), [Defect::NotAnObject; 4]);
        assert_eq!(page.repositories[0].created_at, Some(Timestamp::from_millis(1_714_972_089_500)));
        assert_eq!(page.next, Next::After(RepositoryId::new(3).unwrap()));
        assert_eq!(decode_page(b"[]").unwrap().next, Next::End);
    }

    #[test]
    fn private_may_be_missing_but_not_odd_and_created_at_may_not_be_missing() {
        let shown = |fields: &str| {
            let page = page(&format!(r#"[{{"id":3,"name":"o/r",{fields}}}]"#));
            (page.repositories[0].visibility, defects(&page.flaws))
        };
        assert_eq!(shown(r#""created_at":"2024-05-06T07:08:09Z""#), (Visibility::Unknown, vec![]));
        assert_eq!(shown(r#""private":true,"created_at":"2024-05-06T07:08:09Z""#), (Visibility::Private, vec![]));
        assert_eq!(shown(r#""private":false"#), (Visibility::Public, vec![Defect::CreatedAt]));
        let both = vec![Defect::Private, Defect::CreatedAt];
        assert_eq!(shown(r#""private":"false","created_at":"yesterday""#), (Visibility::Unknown, both));
    }

    #[test]
    fn keys_may_be_escaped_and_unknown_ones_may_be_anything() {
        let page = repository(r#""\ud800":1,"":2,"Id":9,"\u0069d":3,"name":"o/r""#);
        assert_eq!((page.repositories[0].id.get(), page.flaws.len()), (3, 0));
    }

    #[test]
    fn a_field_that_stands_twice_is_bad() {
        assert_eq!(defects(&repository(r#""id":3,"id":4,"name":"o/r""#).flaws), [Defect::Id]);
        assert_eq!(
            defects(&repository(r#""id":3,"name":"o/r","private":true,"private":true"#).flaws),
            [Defect::Private]
        );
    }

    fn languages(body: &str) -> LanguageList {
        decode_languages(body.as_bytes(), &Interner::default()).unwrap()
    }

    #[test]
    fn completion_is_any_finite_number_or_none() {
        for (raw, value) in
            [("0", 0.0), ("-3", -3.0), ("101", 101.0), ("1e308", 1e308), ("0.1", 0.1), ("-0.0", 0.0), ("1e-400", 0.0)]
        {
            let list = languages(&format!(r#"[{{"code":"de","name":"German","completion":{raw}}}]"#));
            assert_eq!(list.languages[0].completion, Completion::new(value), "{raw}");
            assert_eq!(list.flaws, []);
        }
        for raw in ["\"50\"", "1e309", "true", "[50]", "{}"] {
            let list = languages(&format!(r#"[{{"code":"de","name":"German","completion":{raw}}}]"#));
            assert_eq!((list.languages[0].completion, defects(&list.flaws)), (None, vec![Defect::Completion]), "{raw}");
        }
        let list = languages(r#"[{"code":"de"},{"code":"fr","name":null,"completion":null}]"#);
        assert_eq!(list.flaws, []);
        assert!(list.languages.iter().all(|language| language.completion.is_none() && language.name.is_empty()));
    }

    #[test]
    fn languages_are_sorted_and_the_first_of_a_code_is_shown() {
        let list = languages(
            r#"[{"code":"fr"},{"code":"de","completion":1},{"code":"de","completion":2},{"code":""},{"code":3}]"#,
        );
        let shown: Vec<_> = list.languages.iter().map(|language| (&*language.code, language.completion)).collect();
        assert_eq!(shown, [("de", Completion::new(1.0)), ("fr", None)]);
        assert_eq!(defects(&list.flaws), [Defect::DuplicateCode, Defect::Code, Defect::Code]);
        assert_eq!(list.flaws[0].entry, r#"entry 3 ("de")"#);
    }

    #[test]
    fn what_is_no_array_fails_as_a_whole() {
        for body in [&b""[..], b"{}", b"null", b"[", b"[1,]", b"[NaN]", b"<html>", b"[\"\xff\"]", b"[] []"] {
            assert!(decode_page(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(defects(&page(&deep).flaws), [Defect::NotAnObject]);
        let list = languages(&format!(r#"[{{"code":"de","x":{deep},"completion":{deep}}}]"#));
        assert_eq!((list.languages.len(), defects(&list.flaws)), (1, vec![Defect::Completion]));
    }

    #[test]
    fn texts_that_nothing_uses_are_forgotten() {
        let interner = Interner::default();
        let kept = interner.intern("de");
        let _ = interner.intern("fr");
        interner.forget_unused();
        assert!(Arc::ptr_eq(&kept, &interner.intern("de")));
        assert_eq!(interner.0.lock().unwrap().len(), 1);
    }
}
