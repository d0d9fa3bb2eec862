//! The query of a page: `repo` and `language` select the part of the document that the whole page
//! is about; `q`, `only`, `sort` and `page` choose rows of its table.

use crate::domain::TranslationProblem;
use url::form_urlencoded::Serializer;

/// The choices of a visitor. An empty text chooses nothing.
#[derive(Debug, Default)]
pub struct Query {
    /// A glob on the selected repositories.
    pub repo: String,
    /// A glob on the selected languages.
    pub language: String,
    /// A part of the names of the rows to show.
    pub q: String,
    /// The label of a problem that the rows to show have.
    only: String,
    /// `name`; otherwise the rows furthest behind come first.
    sort: String,
    /// The number of the page, from 1; it may be beyond the last page.
    pub page: usize,
    /// `1` makes the browser load the page again every minute. No link carries it on.
    pub refresh: String,
}

impl Query {
    /// Reads the parameters of a request. The last value that is not empty counts.
    ///
    /// # Errors
    /// Fails with a message for the visitor if `page` is no number.
    pub fn new(parameters: &[(String, String)]) -> Result<Self, &'static str> {
        let value = |name| {
            let mut values = parameters.iter().rev();
            let found = values.find(|(key, value)| key == name && !value.is_empty());
            found.map(|(_, value)| value.clone())
        };
        let page = value("page").map_or(Ok(1), |page| page.parse());
        Ok(Self {
            repo: value("repo").unwrap_or_default(),
            language: value("language").unwrap_or_default(),
            q: value("q").unwrap_or_default(),
            only: value("only").unwrap_or_default(),
            sort: value("sort").unwrap_or_default(),
            page: page.map_err(
                |_| "page is not the number of a page; write one from 1, or leave it out\n",
            )?,
            refresh: value("refresh").unwrap_or_default(),
        })
    }

    pub fn is_of_all(&self) -> bool {
        self.repo.is_empty() && self.language.is_empty()
    }

    pub fn only(&self) -> Option<TranslationProblem> {
        let mut kinds = TranslationProblem::ALL.iter().copied();
        kinds.find(|kind| kind.label() == self.only)
    }

    pub fn is_by_name(&self) -> bool {
        self.sort == "name"
    }

    /// Returns the link to one repository or language, by the name of the parameter.
    pub fn to(parameter: &str, name: &str) -> String {
        Self::default().with(parameter, globset::escape(name))
    }

    /// Returns the link to this query with another value of one parameter, relative to the page.
    pub fn with(&self, parameter: &str, value: impl AsRef<str>) -> String {
        let mut link = Serializer::for_suffix("?".to_owned(), 1);
        link.extend_pairs(self.others(parameter));
        if !value.as_ref().is_empty() {
            link.append_pair(parameter, value.as_ref());
        }
        link.finish()
    }

    /// Returns the other parameters that have a value.
    pub fn others(&self, parameter: &str) -> Vec<(&'static str, &str)> {
        let parameters = [
            ("repo", &*self.repo),
            ("language", &self.language),
            ("only", &self.only),
            ("sort", &self.sort),
            ("q", &self.q),
        ];
        let others = parameters.into_iter();
        let others = others.filter(|(name, value)| *name != parameter && !value.is_empty());
        others.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_changes_one_parameter_and_begins_at_the_first_page() {
        let query = Query {
            q: "a&b=\"<c> d".to_owned(),
            language: "pt+BR".to_owned(),
            page: 3,
            ..Query::default()
        };
        let link = "?language=pt%2BBR&q=a%26b%3D%22%3Cc%3E+d";
        assert_eq!(query.with("only", ""), link);
        assert_eq!(query.with("page", "2"), format!("{link}&page=2"));
        assert_eq!(query.with("q", ""), "?language=pt%2BBR");
        assert_eq!(Query::to("repo", "a/[b]"), "?repo=a%2F%5B%5B%5Db%5B%5D%5D");
    }
}
