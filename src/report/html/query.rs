//! The query of a page: `repo`, `language` and `due` select the part of the document that the whole
//! page is about; `q`, `only` and `page` choose what its lists show, and `since` the day to compare
//! with. `print=1` opens all that is folded and shows all rows.

use url::form_urlencoded::Serializer;

/// The parameters that links carry on.
const CARRIED: [&str; 6] = ["repo", "language", "due", "since", "only", "q"];
/// The first of them, which JSON and CSV know.
const KNOWN_TO_DATA: usize = 4;
/// The parameters that select a part of the document.
pub const SELECTING: [&str; 3] = ["repo", "language", "due"];

/// The choices of a visitor. An empty text chooses nothing.
#[derive(Debug, Default)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// Returns the last value of a parameter.
    pub fn get(&self, name: &str) -> &str {
        self.all(name).last().unwrap_or_default()
    }

    /// Returns all values of a parameter.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(key, _)| key == name);
        values
            .map(|(_, value)| &**value)
            .filter(|value| !value.is_empty())
    }

    pub fn is_of_all(&self) -> bool {
        SELECTING.iter().all(|name| self.get(name).is_empty())
    }

    /// Returns the link to one repository or language, by the name of the parameter.
    pub fn to(parameter: &str, name: &str) -> String {
        Self::default().with(&[(parameter, &globset::escape(name))])
    }

    /// Returns the link to what this query selects, relative to the page or to its data.
    pub fn selected(&self) -> String {
        self.link(&CARRIED[..KNOWN_TO_DATA], &[])
    }

    /// Returns the link to this query with other values of these parameters, relative to the page.
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        let names: Vec<_> = parameters.iter().map(|(name, _)| *name).collect();
        let kept = CARRIED.into_iter().filter(|name| !names.contains(name));
        let kept: Vec<_> = kept.collect();
        self.link(&kept, parameters)
    }

    fn link(&self, kept: &[&str], others: &[(&str, &str)]) -> String {
        let kept = self.carried(kept);
        let others = others.iter().filter(|(_, value)| !value.is_empty());
        let mut link = Serializer::for_suffix("?".to_owned(), 1);
        link.extend_pairs(kept).extend_pairs(others);
        link.finish()
    }

    /// Returns these parameters with their values.
    pub fn carried<'a>(&'a self, names: &[&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        names
            .iter()
            .flat_map(|name| self.all(name).map(|value| (*name, value)))
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
        let selected = "?language=pt%2BBR&language=de";
        let all = format!("{selected}&q=a%26b%3D%22%3Cc%3E+d");
        assert_eq!(query.selected(), selected);
        assert_eq!(query.with(&[("only", "")]), all);
        assert_eq!(query.with(&[("page", "2")]), format!("{all}&page=2"));
        let due = query.with(&[("q", ""), ("due", "none"), ("only", "behind")]);
        assert_eq!(due, format!("{selected}&due=none&only=behind"));
        assert_eq!(Query::to("repo", "a/[b]"), "?repo=a%2F%5B%5B%5Db%5B%5D%5D");
    }
}
