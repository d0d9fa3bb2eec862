//! Links to the pages where people translate: URL templates with placeholders.

use crate::domain::Repository;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// The characters to percent-encode: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The templates of the configuration section `links`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// `links.repository`; it has no placeholder for a language.
    pub(crate) repository: Option<Template>,
    /// `links.language`
    pub(crate) language: Option<Template>,
}

/// The placeholders of a template: properties of a repository, and the code of a language, which
/// the configuration refuses in a template for repositories. `{owner}` and `{name}` are the parts
/// of `{repo}` before and after its last slash.
const PLACEHOLDERS: [&str; 5] = ["{id}", "{repo}", "{owner}", "{name}", "{language}"];

/// A URL with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Parses a template, such as `https://translate.example.com/{owner}/{name}/{language}`.
    ///
    /// # Errors
    /// Fails if the text cannot become a URL.
    pub fn new(text: &str) -> Result<Self, String> {
        let template = Self(text.to_owned());
        let url = template.fill(["1"; 5]);
        if !text.starts_with("https://") && !text.starts_with("http://") {
            return Err("does not begin with https:// or http://".to_owned());
        }
        if url.contains(['{', '}']) {
            return Err("contains an unknown placeholder or an unmatched brace".to_owned());
        }
        let parsed = Url::parse(&url).map_err(|error| format!("is not a URL: {error}"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("contains a user or a password, which every reader would see".to_owned());
        }
        Ok(template)
    }

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
        let template = Template::new("https://t.example.com/{owner}/{name}/{language}").unwrap();
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
        let templates = templates.map(|text| Template::new(text).unwrap());
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
        for (text, error) in [
            ("ftp://t.example.com/{id}", "does not begin with https://"),
            ("javascript:alert({id})", "does not begin with https://"),
            ("https:t.example.com", "does not begin with https://"),
            ("t.example.com/{id}", "does not begin with https://"),
            ("https://t.example.com/{lang}", "an unknown placeholder"),
            ("https://t.example.com/{}", "an unknown placeholder"),
            ("https://t.example.com/{id", "an unmatched brace"),
            ("https://t.example.com/id}", "an unmatched brace"),
            ("https://t.example.com/{{id}}", "an unmatched brace"),
            ("https://", "is not a URL: empty host"),
            ("https://user:pass@t.example.com", "a user or a password"),
            ("https://{owner}@t.example.com", "a user or a password"),
        ] {
            let refused = Template::new(text).unwrap_err();
            assert!(refused.contains(error), "{text}: {refused}");
        }
    }
}
