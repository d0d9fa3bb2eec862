//! The query of a page: `repo`, `language` and `due` select the part of the document that the whole
//! page is about; `q`, `only` and `page` choose what its lists show, and `since` the day to compare
//! with. `print=1` makes the page a file with all rows. JSON and CSV have the selection and
//! `since` in common with the page, and ignore the others.

use serde::Deserialize;
use url::form_urlencoded::Serializer;

/// The parameters that select a part of the document, and may be repeated.
pub const SELECTING: [&str; 3] = ["repo", "language", "due"];
/// The other parameters that links carry on.
const CARRIED: [&str; 3] = ["since", "only", "q"];

/// The choices of a visitor. An empty text chooses nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// Returns the last value of a parameter.
    pub fn get(&self, name: &str) -> &str {
        self.all(name).last().unwrap_or_default()
    }

    /// Returns all values of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> + Clone {
        let is_chosen = move |(key, text): &&(String, String)| key == name && !text.is_empty();
        self.0.iter().filter(is_chosen).map(|(_, text)| &**text)
    }

    /// Returns the link to one repository or language, by the name of the parameter.
    pub fn to(parameter: &str, name: &str) -> String {
        Self::default().with(&[(parameter, &globset::escape(name))])
    }

    /// Returns the link to this query with other values of these parameters, relative to the page
    /// or to its data.
    pub fn with(&self, changed: &[(&str, &str)]) -> String {
        let chosen = changed.iter().filter(|(_, value)| !value.is_empty());
        let mut link = Serializer::for_suffix("?".to_owned(), 1);
        link.extend_pairs(self.without(changed))
            .extend_pairs(chosen);
        link.finish()
    }

    /// Returns the parameters that links carry on, apart from those that change.
    pub fn without(&self, changed: &[(&str, &str)]) -> impl Iterator<Item = (&str, &str)> {
        SELECTING
            .into_iter()
            .chain(CARRIED)
            .filter(|name| changed.iter().all(|(changed, _)| changed != name))
            .flat_map(|name| self.all(name).map(move |value| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_changes_parameters_and_begins_at_the_first_page() {
        let parameters = [
            ("q", "a&b=\"<c> d"),
            ("language", "pt+BR"),
            ("page", "3"),
            ("language", "de"),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = Query(parameters.into());
        assert_eq!((query.get("language"), query.get("only")), ("de", ""));
        let selected = "?language=pt%2BBR&language=de";
        let all = format!("{selected}&q=a%26b%3D%22%3Cc%3E+d");
        assert_eq!(query.with(&[("only", ""), ("q", "")]), selected);
        assert_eq!(query.with(&[("only", "")]), all);
        assert_eq!(query.with(&[("page", "2")]), format!("{all}&page=2"));
        let due = query.with(&[("q", ""), ("due", "none"), ("only", "behind")]);
        assert_eq!(due, format!("{selected}&due=none&only=behind"));
        assert_eq!(Query::to("repo", "a/[b]"), "?repo=a%2F%5B%5B%5Db%5B%5D%5D");
    }
}
