//! Links to the pages where people translate: URL templates with placeholders.

use crate::{
    domain::Repository,
    support::{
        keys::section,
        parsed::{Parse, Parsed, is},
    },
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// The characters to percent-encode: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

section! {
    /// The section `links`.
    #[derive(Default)]
    links: Links {
        /// URL template of the page where a repository is translated: see [below](#links)
        repository: Parsed<Option<Template<false>>> = "";
        /// URL template of the page where a language of a repository is translated
        language: Parsed<Option<Template<true>>> = "";
    }
}

/// The placeholders of a template: properties of a repository, and the code of a language. `{owner}`
/// and `{name}` are the parts of `{repo}` before and after its last slash.
const PLACEHOLDERS: [&str; 5] = ["{id}", "{repo}", "{owner}", "{name}", "{language}"];

/// A URL with placeholders, such as `https://translate.example.com/{owner}/{name}/{language}`. The
/// page of a repository has no language.
#[derive(Debug, Clone)]
pub struct Template<const OF_LANGUAGE: bool>(String);

impl<const OF_LANGUAGE: bool> Parse for Template<OF_LANGUAGE> {
    const TAKES: &'static str = if OF_LANGUAGE {
        "an https or http URL without a user, such as \
         https://translate.example.com/{owner}/{name}/{language}, or with {repo} or {id}"
    } else {
        "an https or http URL without a user, such as https://translate.example.com/{owner}/{name}, \
         or with {repo} or {id}"
    };

    fn parse(text: &str) -> Result<Self, String> {
        let template = Self(text.to_owned());
        let filled = template.fill(["1"; 5]);
        let is_url = Url::parse(&filled).is_ok_and(|url| {
            let is_http = text.starts_with("https://") || text.starts_with("http://");
            is_http && url.username().is_empty() && url.password().is_none()
        });
        let is_known =
            !filled.contains(['{', '}']) && (OF_LANGUAGE || !text.contains("{language}"));
        if is_url && is_known {
            Ok(template)
        } else {
            Err(is(text))
        }
    }
}

impl<const OF_LANGUAGE: bool> Template<OF_LANGUAGE> {
    /// Returns the URL of a repository, or of a language of it; `None` for a name of dots, which
    /// would be a dot segment and lead to another page.
    pub(super) fn render(&self, repository: &Repository, code: &str) -> Option<String> {
        let (repo, id) = (&*repository.name, repository.id.to_string());
        let (owner, name) = repo.rsplit_once('/').unwrap_or(("", repo));
        let mut parts = [owner, name, code].into_iter();
        let has_dots = parts.any(|part| matches!(part, "." | ".."));
        (!has_dots).then(|| self.fill([&id, repo, owner, name, code]))
    }

    /// Replaces [`PLACEHOLDERS`] with percent-encoded values, which therefore hold no placeholder.
    fn fill(&self, values: [&str; 5]) -> String {
        let mut url = self.0.clone();
        for (placeholder, value) in PLACEHOLDERS.into_iter().zip(values) {
            let encoded = utf8_percent_encode(value, ENCODED).to_string();
            url = url.replace(placeholder, &encoded);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RepositoryId;

    fn repository(name: &str) -> Repository {
        Repository {
            id: RepositoryId::new(42).unwrap(),
            name: name.into(),
            private: None,
            created_at: None,
        }
    }

    #[test]
    fn a_name_of_dots_has_no_link() {
        let template =
            Template::<true>::parse("https://t.example.com/{owner}/{name}/{language}").unwrap();
        let url = |name, code| template.render(&repository(name), code);
        for (name, code) in [("../a", "de"), ("a/..", "de"), ("a/.", "de"), ("a/b", "..")] {
            assert_eq!(url(name, code), None);
        }
        assert_eq!(url("a/..", ""), None);
        assert!(url("a/...", "d.").is_some());
    }

    #[test]
    fn each_placeholder_becomes_its_percent_encoded_value() {
        let templates = [
            "https://t.example.com/{id}?r={repo}#{owner}-{name}",
            "http://t.example.com:1/{owner}/{name}/{language}/",
        ];
        let templates = templates.map(|text| Template::<true>::parse(text).unwrap());
        for (name, code, of_repository, of_language) in [
            (
                "acme/app",
                "de",
                "https://t.example.com/42?r=acme%2Fapp#acme-app",
                "http://t.example.com:1/acme/app/de/",
            ),
            (
                "a&b/c++ ü",
                "x/\"><script>",
                "https://t.example.com/42?r=a%26b%2Fc%2B%2B%20%C3%BC#a%26b-c%2B%2B%20%C3%BC",
                "http://t.example.com:1/a%26b/c%2B%2B%20%C3%BC/x%2F%22%3E%3Cscript%3E/",
            ),
            (
                "group/sub/{id}",
                "pt-BR",
                "https://t.example.com/42?r=group%2Fsub%2F%7Bid%7D#group%2Fsub-%7Bid%7D",
                "http://t.example.com:1/group%2Fsub/%7Bid%7D/pt-BR/",
            ),
        ] {
            let urls = templates
                .each_ref()
                .map(|one| one.render(&repository(name), code).unwrap());
            assert_eq!(urls, [of_repository, of_language]);
        }
    }

    #[test]
    fn a_template_that_cannot_become_a_url_is_refused() {
        for text in [
            "ftp://t.example.com/{id}",
            "javascript:alert({id})",
            "https:t.example.com",
            "t.example.com/{id}",
            "https://t.example.com/{lang}",
            "https://t.example.com/{}",
            "https://t.example.com/{id",
            "https://t.example.com/id}",
            "https://t.example.com/{{id}}",
            "https://",
            "https://user:pass@t.example.com",
            "https://{owner}@t.example.com",
        ] {
            assert!(Template::<true>::parse(text).is_err(), "{text}");
        }
        assert!(Template::<false>::parse("https://t.example.com/{language}").is_err());
    }
}
