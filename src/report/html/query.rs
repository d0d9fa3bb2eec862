//! The query of a page: `repo` and `language` select the part of the document that the whole page
//! is about; `q`, `only`, `sort` and `page` choose and order what its lists show. `print=1`
//! opens all that is folded.

use crate::{domain::TranslationProblem, report::order::Order};
use std::collections::BTreeMap;
use url::form_urlencoded::Serializer;

/// The parameters that links carry on.
const CARRIED: [&str; 5] = ["repo", "language", "only", "sort", "q"];

/// The choices of a visitor. An empty text chooses nothing.
#[derive(Debug, Default)]
pub struct Query(pub BTreeMap<String, String>);

impl Query {
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn is_of_all(&self) -> bool {
        self.get("repo").is_empty() && self.get("language").is_empty()
    }

    /// Returns the chosen kinds of problems; `None` shows everything.
    pub fn only(&self) -> Option<&'static [TranslationProblem]> {
        match self.get("only") {
            "any" => Some(TranslationProblem::ALL),
            label => {
                let mut kinds = TranslationProblem::ALL.chunks(1);
                kinds.find(|kind| kind[0].label() == label)
            }
        }
    }

    pub fn order(&self) -> Order {
        let mut orders = Order::ALL.into_iter();
        let order = orders.find(|(_, label, _)| *label == self.get("sort"));
        order.map_or(Order::Due, |(order, ..)| order)
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
    pub fn others(&self, parameter: &str) -> impl Iterator<Item = (&'static str, &str)> {
        let others = CARRIED.into_iter().filter(move |name| *name != parameter);
        let others = others.map(|name| (name, self.get(name)));
        others.filter(|(_, value)| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_changes_one_parameter_and_begins_at_the_first_page() {
        let parameters = [("q", "a&b=\"<c> d"), ("language", "pt+BR"), ("page", "3")];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = Query(parameters.into());
        let link = "?language=pt%2BBR&q=a%26b%3D%22%3Cc%3E+d";
        assert_eq!(query.with("only", ""), link);
        assert_eq!(query.with("page", "2"), format!("{link}&page=2"));
        assert_eq!(query.with("q", ""), "?language=pt%2BBR");
        assert_eq!(Query::to("repo", "a/[b]"), "?repo=a%2F%5B%5B%5Db%5B%5D%5D");
    }
}
