//! The query of a page: `repo` and `language` select the part of the document that the whole page
//! is about; `q`, `only`, `sort` and `page` choose and order what its lists show.

use crate::{domain::TranslationProblem, report::order::Order};
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
    /// The label of a problem that is shown alone, or `any`.
    only: String,
    /// The label of an [`Order`].
    sort: String,
    /// The number of the page, from 1; it may be beyond the last page.
    pub page: usize,
    /// `1` makes the browser load the page again every minute. No link carries it on.
    pub refresh: String,
    /// `1` opens all that is folded, for a print. No link carries it on.
    pub print: String,
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
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let page = match value("page") {
            page if page.is_empty() => Ok(1),
            page => page.parse(),
        };
        Ok(Self {
            repo: value("repo"),
            language: value("language"),
            q: value("q"),
            only: value("only"),
            sort: value("sort"),
            page: page.map_err(
                |_| "page is not the number of a page; write one from 1, or leave it out\n",
            )?,
            refresh: value("refresh"),
            print: value("print"),
        })
    }

    pub fn is_of_all(&self) -> bool {
        self.repo.is_empty() && self.language.is_empty()
    }

    /// Returns whether problems alone are shown, of one kind or of any.
    pub fn is_only(&self) -> bool {
        self.only == ANY || self.only().is_some()
    }

    pub fn only(&self) -> Option<TranslationProblem> {
        let mut kinds = TranslationProblem::ALL.iter().copied();
        kinds.find(|kind| kind.label() == self.only)
    }

    pub fn order(&self) -> Order {
        let mut orders = Order::ALL.into_iter();
        let order = orders.find(|order| order.label() == self.sort);
        order.unwrap_or(Order::Urgent)
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

    /// Returns the query of the same selection for other outputs.
    pub fn selection(&self) -> String {
        let selection = Self {
            repo: self.repo.clone(),
            ..Self::default()
        };
        selection.with("language", &self.language)
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

/// The value of `only` for problems of any kind.
pub const ANY: &str = "any";

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
        assert_eq!(query.selection(), "?language=pt%2BBR");
        assert_eq!(Query::to("repo", "a/[b]"), "?repo=a%2F%5B%5B%5Db%5B%5D%5D");
    }
}
