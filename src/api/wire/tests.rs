//! The decoding of good and bad responses.

use super::*;
use crate::{
    domain::{Defects, Listing},
    testing,
};
use proptest::{collection, option, prelude::*};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn page(body: &str) -> Listing {
    decode_page(body.as_bytes(), false).unwrap()
}

fn repository(fields: &str) -> Listing {
    page(&format!(
        r#"[{{"created_at":"2024-05-06T07:08:09Z",{fields}}}]"#
    ))
}

fn only(page: &Listing) -> &Repository {
    page.repositories.values().next().unwrap()
}

#[test]
fn an_id_is_an_exact_integer_of_63_bits_or_its_string() {
    for (raw, id) in [
        ("1", 1),
        ("\"1\"", 1),
        ("9007199254740993", 9_007_199_254_740_993),
        ("\"9223372036854775807\"", 9_223_372_036_854_775_807),
    ] {
        let page = repository(&format!(r#""id":{raw},"name":"o/r""#));
        assert_eq!(only(&page).id.get(), id, "{raw}");
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
        "9223372036854775808",
        "null",
        "true",
        "[1]",
        "{}",
        "1e999",
        "\"\u{661}\"",
    ] {
        let page = repository(&format!(r#""id":{raw},"name":"o/r""#));
        assert!(page.repositories.is_empty(), "{raw}");
        assert_eq!(page.bad.all(), [Defect::Id], "{raw}");
        assert_eq!(page.next, Next::Unreadable);
    }
}

fn languages(body: &str) -> LanguageList {
    decode_languages(body.as_bytes(), false).unwrap()
}

#[test]
fn a_bad_name_keeps_the_id_listed() {
    for raw in ["\"\"", "7", "null", r#""\ud800""#, "[]"] {
        let page = repository(&format!(r#""id":7,"name":{raw}"#));
        assert_eq!(
            (page.repositories.len(), page.nameless.len()),
            (0, 1),
            "{raw}"
        );
        assert_eq!(page.bad.all(), [Defect::Name], "{raw}");
    }
}

#[test]
fn a_bad_entry_costs_only_itself_and_the_last_one_is_the_cursor() {
    let mixed = page(
        r#"[null, 5, "x", [[[]]], 1e400, "\ud800",
        {"id":3,"name":"o/r","created_at":"2024-05-06T07:08:09.5+02:00","new":{"a":[{}]}}]"#,
    );
    assert_eq!(mixed.bad.all(), [Defect::NotAnObject; 6]);
    assert_eq!(
        only(&mixed).created_at,
        Some(Timestamp::from_millis(1_714_972_089_500))
    );
    assert_eq!(mixed.next, Next::After(RepositoryId::new(3).unwrap()));
    assert_eq!(page("[]").next, Next::End);
}

#[test]
fn private_and_created_at_may_be_missing() {
    let shown = |fields: &str| {
        let page = page(&format!(r#"[{{"id":3,"name":"o/r",{fields}}}]"#));
        (only(&page).private, page.bad.all())
    };
    assert_eq!(
        shown(r#""created_at":"2024-05-06T07:08:09Z""#),
        (None, vec![])
    );
    assert_eq!(
        shown(r#""private":true,"created_at":"2024-05-06T07:08:09Z""#),
        (Some(true), vec![])
    );
    for created_at in [
        "null",
        r#""0001-01-01T00:00:00Z""#,
        r#""9999-12-31T23:59:59Z""#,
    ] {
        let fields = format!(r#""private":false,"created_at":{created_at}"#);
        assert_eq!(shown(&fields), (Some(false), vec![]), "{created_at}");
    }
    assert_eq!(shown(r#""private":false"#), (Some(false), vec![]));
    let both = vec![Defect::CreatedAt, Defect::Private];
    assert_eq!(
        shown(r#""private":"false","created_at":"yesterday""#),
        (None, both)
    );
}

#[test]
fn keys_may_be_escaped_and_unknown_keys_are_ignored() {
    let page = repository(r#""":2,"Id":9,"\u0069d":3,"name":"o/r""#);
    assert_eq!((only(&page).id.get(), page.bad.all().len()), (3, 0));
}

#[test]
fn a_completion_is_a_finite_number_or_unknown() {
    for (raw, value) in [
        ("0", 0.0),
        ("-3", -3.0),
        ("101", 101.0),
        ("1e308", 1e308),
        ("0.1", 0.1),
        ("-0.0", 0.0),
        ("1e-400", 0.0),
    ] {
        let list = languages(&format!(
            r#"[{{"code":"de","name":"German","completion":{raw}}}]"#
        ));
        assert_eq!(
            list.languages[0].completion,
            Completion::new(value),
            "{raw}"
        );
        assert_eq!(list.bad, Defects::default());
    }
    for raw in ["\"50\"", "1e309", "true", "[50]", "{}"] {
        let list = languages(&format!(
            r#"[{{"code":"de","name":"German","completion":{raw}}}]"#
        ));
        assert_eq!(list.languages[0].completion, None, "{raw}");
        let found = format!("bad completion in 1 entry, first in entry 1 (\"de\": {raw})");
        assert_eq!(list.bad.to_string(), found);
    }
    let list = languages(r#"[{"code":"de"},{"code":"fr","name":null,"completion":null}]"#);
    assert_eq!(list.bad, Defects::default());
    assert!(
        list.languages
            .iter()
            .all(|target| target.completion.is_none() && target.language.name.is_empty())
    );
}

#[test]
fn languages_are_sorted_and_the_first_of_a_code_is_kept() {
    let list = languages(
        r#"[{"code":"fr"},{"code":"de","completion":1},{"code":"de","completion":2},
        {"code":""},{"code":3}]"#,
    );
    let shown: Vec<_> = list
        .languages
        .iter()
        .map(|target| (&*target.language.code, target.completion))
        .collect();
    assert_eq!(shown, [("de", Completion::new(1.0)), ("fr", None)]);
    assert_eq!(
        list.bad.all(),
        [Defect::Code, Defect::Code, Defect::DuplicateCode]
    );
    assert_eq!(
        list.bad.0[&Defect::DuplicateCode].example,
        r#"entry 3 ("de")"#
    );
}

#[test]
fn an_entry_is_separated_before_its_bytes_are_judged() {
    let body = b"[{\"id\":1,\"name\":\"o/\xff\"}, NaN, {\"id\":NaN,\"name\":\"o/b\"}, \
        {\"id\":1e1,\"name\":\"]},{\\\"[\"}, {\"id\":5 \"name\":\"o/e\"}, {\"id\":6,\"name\":\"o/f\"},]";
    let page = decode_page(body, false).unwrap();
    let listing = &page;
    let names: Vec<_> = listing
        .repositories
        .values()
        .map(|one| &*one.name)
        .collect();
    assert_eq!(names, ["o/f"]);
    let entry = Defect::NotAnObject;
    assert_eq!(listing.bad.all(), [entry, entry, entry, entry, Defect::Id]);
    let list = decode_languages(
        b"[{\"code\":\"de\",\"completion\":NaN},{\"code\":\"f\xc3\"},{\"code\":\"it\"}]",
        false,
    );
    let list = list.unwrap();
    let codes: Vec<_> = list
        .languages
        .iter()
        .map(|one| &*one.language.code)
        .collect();
    assert_eq!(codes, ["it"]);
    assert_eq!(list.bad.all(), [entry, entry]);
}

#[test]
fn a_body_that_is_not_an_array_fails_as_a_whole() {
    let failure = |body: &[u8]| decode_page(body, false).unwrap_err();
    for body in [&b"{}"[..], b"{\"repositories\":[]}", b"5", b"[] []"] {
        assert_eq!(failure(body).reason, Reason::Decode, "{body:?}");
    }
    for body in [&b"nulls"[..], b"OK", b" \r\n<!DOCTYPE html>", b"{NaN}"] {
        assert_eq!(failure(body).reason, Reason::NotJson, "{body:?}");
    }
    for body in [&b""[..], b"[", b"[{}", b"[{\"id\":1", b"{\"a\":", b"[\"]"] {
        assert_eq!(failure(body).reason, Reason::Truncated, "{body:?}");
    }
}

#[test]
fn null_in_place_of_the_array_is_an_empty_list() {
    for body in ["null", " null\n", "\u{feff}null"] {
        let page = page(body);
        assert_eq!((page.next, page.count()), (Next::End, 0), "{body:?}");
        assert_eq!(languages(body), LanguageList::default(), "{body:?}");
    }
}

#[test]
fn an_absent_field_is_zero_only_with_omits_zeros() {
    let list = r#"[{"code":"a"},{"code":"b","completion":null},{"code":"c","completion":0}]"#;
    let decode = |absent| decode_languages(list.as_bytes(), absent).unwrap();
    let completions = |list: &LanguageList| {
        let languages = list.languages.iter();
        let completion = |target: &ReportedLanguage| target.completion.map(Completion::get);
        languages.map(completion).collect::<Vec<_>>()
    };
    let unknown = decode(false);
    assert_eq!(completions(&unknown), [None, None, Some(0.0)]);
    assert_eq!(unknown.absent, 1);
    assert_eq!(completions(&decode(true)), [Some(0.0), None, Some(0.0)]);

    let listing = r#"[{"id":1,"name":"o/a","created_at":"2024-05-06T07:08:09Z"},
        {"id":2,"name":"o/b","created_at":"2024-05-06T07:08:09Z","private":null}]"#;
    let decode = |absent| decode_page(listing.as_bytes(), absent).unwrap();
    let private = |listing: &Listing| {
        let repositories = listing.repositories.values();
        repositories
            .map(|repository| repository.private)
            .collect::<Vec<_>>()
    };
    let unknown = decode(false);
    assert_eq!(private(&unknown), [None, None]);
    let zero = decode(true);
    assert_eq!(private(&zero), [Some(false), None]);
}

#[test]
fn defects_are_counted_and_the_first_is_described() {
    let body = format!("[{}0]", "0,".repeat(998));
    let with_one = body.replace(']', r#",{"code":"de"}]"#);
    for mut bad in [page(&body).bad, languages(&with_one).bad] {
        assert_eq!(
            bad.to_string(),
            "bad not_an_object in 999 entries, first in entry 1"
        );
        bad.append(page("[0]").bad);
        assert_eq!(bad.all().len(), 1000);
    }
}

/// Returns an array of `count` entries.
fn array(count: usize, entry: impl Fn(usize) -> String) -> String {
    let entries: Vec<_> = (1..=count).map(entry).collect();
    format!("[{}]", entries.join(","))
}

#[test]
fn a_response_beyond_the_bounds_is_refused() {
    let languages = |count| {
        let body = array(count, |n| format!(r#"{{"code":"{n}"}}"#));
        decode_languages(body.as_bytes(), false)
    };
    assert_eq!(languages(1000).unwrap().languages.len(), 1000);
    assert_eq!(languages(1001).unwrap_err().reason, Reason::TooLarge);
    let page = |count| {
        let body = array(count, |n| format!(r#"{{"id":{n}}}"#));
        decode_page(body.as_bytes(), false)
    };
    assert_eq!(page(100_000).unwrap().nameless.len(), 100_000);
    assert_eq!(page(100_001).unwrap_err().reason, Reason::TooLarge);
}

#[test]
fn a_name_or_code_above_1000_bytes_is_bad() {
    let longest = "n".repeat(998) + "/n";
    let named = |name: &str| {
        page(&format!(
            r#"[{{"id":1,"name":"{name}","created_at":null}}]"#
        ))
    };
    assert_eq!(only(&named(&longest)).name, longest.as_str().into());
    // No glob on owner/repo could name the last.
    for bad in [format!("{longest}n"), "no-owner".to_owned()] {
        assert!(named(&bad).bad.0.contains_key(&Defect::Name));
    }
    let list = languages(&format!(
        r#"[{{"code":"de","name":"{longest}n"}},{{"code":"{longest}n"}}]"#
    ));
    assert_eq!(list.bad.all(), [Defect::Name, Defect::Code]);
    assert_eq!(&*list.languages[0].language.name, "");
}

#[test]
fn deep_nesting_is_a_defect_of_one_entry() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(page(&deep).bad.all(), [Defect::NotAnObject]);
    let list = languages(&format!(
        r#"[{{"code":"de","x":{deep},"completion":{deep}}}]"#
    ));
    assert_eq!(
        (list.languages.len(), list.bad.all()),
        (1, vec![Defect::Completion])
    );
}

/// Returns awkward texts for JSON and expositions, none empty.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\\\\\"\n\r\t{}#, =n]{1,8}", "\\PC{1,12}"]
        .prop_filter("not empty", |text| !text.is_empty())
}

proptest! {
    #![proptest_config(testing::cases(96))]

    #[test]
    fn any_names_codes_and_completions_are_decoded_as_they_were_sent(
        repositories in collection::btree_map(
            1..=RepositoryId::MAX,
            text().prop_map(|text| format!("o/{text}")),
            0..6,
        ),
        languages in collection::btree_map(
            text(),
            (text(), option::of(any::<f64>().prop_filter("JSON", |value| value.is_finite()))),
            0..6,
        ),
    ) {
        let sent = repositories.iter().map(|(id, name)| {
            json!({"id": id, "name": name, "created_at": "2024-05-06T07:08:09Z"})
        });
        let page = page(&sent.collect::<Value>().to_string());
        let decoded = page.repositories.into_iter();
        let decoded = decoded.map(|(id, repository)| (id.get(), repository.name.to_string()));
        prop_assert_eq!(decoded.collect::<BTreeMap<_, _>>(), repositories);

        let sent = languages.iter().map(|(code, (name, completion))| {
            json!({"code": code, "name": name, "completion": completion})
        });
        let list = self::languages(&sent.collect::<Value>().to_string());
        let decoded = list.languages.into_iter().map(|one| {
            let bits = one.completion.map(|completion| completion.get().to_bits());
            (one.language.code.to_string(), (one.language.name.to_string(), bits))
        });
        // No zero has a sign.
        let bits = |completion: Option<f64>| completion.map(|value| (value + 0.0).to_bits());
        let expected = languages.into_iter().map(|(code, (name, value))| (code, (name, bits(value))));
        prop_assert_eq!(decoded.collect::<BTreeMap<_, _>>(), expected.collect());
    }
}

/// Their names would take more memory than the body, and their bytes may be anything.
#[test]
fn unknown_fields_of_any_bytes_are_skipped() {
    let entry = b"[{\"id\":7,\"name\":\"o/a\",\"description\":\"caf\xe9\"}]";
    let listing = decode_page(entry, false).unwrap();
    assert_eq!((listing.count(), listing.bad.0.len()), (1, 0));
    assert_eq!(listing.next, Next::After(RepositoryId::new(7).unwrap()));
}
