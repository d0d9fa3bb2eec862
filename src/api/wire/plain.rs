//! The short way through an answer without a flaw, which nearly every answer is: one pass instead of three.
//!
//! It gives the very result that the long way gives, or none at all: whatever is out of the ordinary, down to a name
//! that is null, is left to the long way.

use super::{LanguageList, parse_completion};
use crate::{model::Language, text::Interner};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The languages of a repository, if nothing about them needs a second look.
pub(super) fn languages(body: &[u8], interner: &Interner) -> Option<LanguageList> {
    let entries: Vec<Entry<'_>> = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let mut languages = Vec::with_capacity(entries.len());
    let mut interner = interner.lock();
    for Entry { code, name, completion } in &entries {
        let completion = match completion {
            Some(raw) => Some(parse_completion(raw.get())?),
            None => None,
        };
        languages.push(Language { code: interner.intern(code), name: interner.intern(name), completion });
    }
    languages.sort_unstable_by(|a, b| a.code.cmp(&b.code));
    let is_plain = languages.first().is_none_or(|first| !first.code.is_empty())
        && languages.is_sorted_by(|one, next| one.code < next.code);
    is_plain.then_some(LanguageList { languages, flaws: Vec::new() })
}

struct Entry<'a> {
    code: Cow<'a, str>,
    /// Empty where it is missing.
    name: Cow<'a, str>,
    completion: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Entry<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object)
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Entry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry<'de>, A::Error> {
        let (mut code, mut name, mut completion) = (None, None, None);
        while let Some(place) = map.next_key_seed(Place)? {
            match place {
                Some(0) if code.is_none() => code = Some(map.next_value::<Text<'de>>()?.0),
                Some(1) if name.is_none() => name = Some(map.next_value::<Text<'de>>()?.0),
                Some(2) if completion.is_none() => completion = Some(map.next_value::<&'de RawValue>()?),
                Some(_) => return Err(A::Error::custom("a field stands twice")),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let code = code.ok_or_else(|| A::Error::missing_field("code"))?;
        Ok(Entry { code, name: name.unwrap_or_default(), completion })
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
        let told: Vec<_> =
            list.languages.iter().map(|one| (&*one.code, &*one.name, one.completion.map(Completion::get))).collect();
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
