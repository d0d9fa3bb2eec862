//! The short way through an answer without a flaw, which nearly every answer is: one pass instead of three.
//!
//! It gives the very result that the long way gives, or none at all: whatever is out of the ordinary, down to a name
//! that is null, is left to the long way.

use super::{LanguageList, Target, sort};
use crate::model::{Completion, Interner, Interning};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt};

/// About the least that an entry takes, in bytes of an answer.
const ENTRY: usize = 48;

/// The languages of a repository, if nothing about them needs a second look.
pub(super) fn languages(body: &[u8], interner: &Interner) -> Option<LanguageList> {
    let mut deserializer = serde_json::Deserializer::from_str(std::str::from_utf8(body).ok()?);
    let entries = Entries { known: interner.lock(), expected: body.len() / ENTRY };
    let mut languages = deserializer.deserialize_seq(entries).ok()?;
    deserializer.end().ok()?;
    sort(&mut languages);
    let is_plain = languages.first().is_none_or(|first| !first.language.code.is_empty())
        && languages.is_sorted_by(|one, next| one.language.code < next.language.code);
    is_plain.then_some(LanguageList { languages, flaws: Vec::new() })
}

struct Entries<'i> {
    known: Interning<'i>,
    expected: usize,
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Vec<Target>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<Vec<Target>, A::Error> {
        let mut languages = Vec::with_capacity(self.expected);
        while let Some(target) = entries.next_element_seed(Entry { known: &mut self.known, place: languages.len() })? {
            languages.push(target);
        }
        Ok(languages)
    }
}

struct Entry<'k, 'i> {
    known: &'k mut Interning<'i>,
    place: usize,
}

impl<'de> DeserializeSeed<'de> for Entry<'_, '_> {
    type Value = Target;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Target, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entry<'_, '_> {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Target, A::Error> {
        let (mut code, mut name, mut completion) = (None, None, None);
        while let Some(place) = map.next_key_seed(Place)? {
            match place {
                Some(0) if code.is_none() => code = Some(map.next_value::<Text<'de>>()?.0),
                Some(1) if name.is_none() => name = Some(map.next_value::<Text<'de>>()?.0),
                Some(2) if completion.is_none() => completion = Some(map.next_value::<f64>()?),
                Some(_) => return Err(A::Error::custom("a field stands twice")),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let code = code.ok_or_else(|| A::Error::missing_field("code"))?;
        let completion = match completion.map(Completion::new) {
            Some(None) => return Err(A::Error::custom("a completion is not finite")),
            known => known.flatten(),
        };
        Ok(Target { language: self.known.language(self.place, &code, &name.unwrap_or_default()), completion })
    }
}

/// Which of the fields a key names.
struct Place;

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Place {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(["code", "name", "completion"].iter().position(|name| *name == key))
    }
}

/// A string, borrowed from the answer where it holds no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::{super::decode_flawed_languages, *};
    use crate::model::Completion;
    use proptest::{collection::vec, prelude::*, sample::select};

    fn entry() -> impl Strategy<Value = String> {
        let codes = ["de", "fr", "", "d\\u0065", "é", "null", "7"];
        let code = prop_oneof![4 => "[a-z]{2}", 1 => select(codes.map(str::to_owned).to_vec())]
            .prop_map(|code| format!("\"code\":\"{code}\""));
        let name = select(vec!["\"name\":\"German\"", "\"name\":\"a\\\\\\n\\\"\"", "\"name\":\"\""]);
        let completion = select(vec!["\"completion\":12.3", "\"completion\":100", "\"completion\":-1e-3"]);
        let odd = select(vec![
            "\"name\":null",
            "\"name\":7",
            "\"completion\":null",
            "\"completion\":\"7\"",
            "\"completion\":1e999",
            "\"completion\":1",
            "\"code\":\"zz\"",
            "\"code\":null",
            "\"c\\u006fde\":\"zz\"",
            "\"\\ud800\":1",
            "\"more\":{\"code\":[1,{}]}",
        ]);
        let fields = (code, name, completion, proptest::option::weighted(0.1, odd));
        let object = fields.prop_map(|(code, name, completion, odd)| {
            let odd = odd.map(|odd| format!(",{odd}")).unwrap_or_default();
            format!("{{{code},{name},{completion}{odd}}}")
        });
        let part =
            select(vec!["{\"code\":\"de\"}", "{\"completion\":2}", "{}", "[\"de\",\"German\",1]", "7", "null", "{"]);
        prop_oneof![30 => object, 1 => part.prop_map(str::to_owned)]
    }

    proptest! {
        #[test]
        fn the_short_way_gives_what_the_long_way_gives_or_nothing(entries in vec(entry(), 0..8)) {
            let body = format!("[{}]", entries.join(","));
            let interner = Interner::default();
            let long = decode_flawed_languages(body.as_bytes(), &interner);
            match (languages(body.as_bytes(), &interner), long) {
                (Some(short), Ok(long)) => prop_assert_eq!(short, long),
                (Some(_), Err(error)) => prop_assert!(false, "the long way fails: {}", error),
                (None, _) => {}
            }
        }
    }

    #[test]
    fn an_answer_without_a_flaw_goes_the_short_way() {
        let body = br#"[{"code":"fr","name":"Fran\u00e7ais","completion":1.5,"new":{}},{"name":"","code":"de"}]"#;
        let list = languages(body, &Interner::default()).unwrap();
        let told: Vec<_> = list
            .languages
            .iter()
            .map(|one| (&*one.language.code, &*one.language.name, one.completion.map(Completion::get)))
            .collect();
        assert_eq!(told, [("de", "", None), ("fr", "Français", Some(1.5))]);
    }

    #[test]
    fn whatever_is_flawed_goes_the_long_way() {
        for body in [
            r#"[{"code":"de"},{"code":"de"}]"#,
            r#"[{"code":""}]"#,
            r#"[{"code":"de","code":"de"}]"#,
            r#"[{"code":"de","name":7}]"#,
            r#"[{"code":"de","completion":1e999}]"#,
            r#"[["de","German",1]]"#,
            r#"[{"name":"German"}]"#,
            r#"{"code":"de"}"#,
            "[] []",
        ] {
            assert_eq!(languages(body.as_bytes(), &Interner::default()), None, "{body}");
        }
        assert_eq!(languages(b"[{\"code\":\"\xff\"}]", &Interner::default()), None);
    }
}
