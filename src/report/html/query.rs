//! The query of a page: `q`, `language`, `sort`, `stalled`, `page` and `refresh`. Unreadable values
//! count as absent.

use std::collections::BTreeMap;
use url::form_urlencoded::{Serializer, parse};

/// A key that sorts the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Column {
    /// The mean distance of the languages from their targets.
    #[default]
    Behind,
    Completion,
    Progress,
    Name,
}

impl Column {
    /// Each column with its name in links, and the names of its order and of the reverse order.
    /// Sorted as the variants are, so that a variant is an index.
    pub const ALL: [(Self, &'static str, &'static str, &'static str); 4] = [
        (
            Self::Behind,
            "behind",
            "furthest from target first",
            "nearest to ready first",
        ),
        (
            Self::Completion,
            "completion",
            "least complete first",
            "most complete first",
        ),
        (
            Self::Progress,
            "progress",
            "longest without progress first",
            "latest progress first",
        ),
        (Self::Name, "name", "by name, A to Z", "by name, Z to A"),
    ];
}

/// The choices of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// A part of the names of the repositories to show; an empty text shows all.
    pub search: String,
    /// The code of the only language to show.
    pub language: Option<String>,
    pub column: Column,
    pub descending: bool,
    /// The number of the page, from 0; it may be beyond the last page.
    pub page: usize,
    /// Shows only repositories with stalled translations.
    pub stalled: bool,
    /// Makes the browser load the page again every minute. No link carries it on.
    pub refresh: bool,
}

impl Query {
    /// Reads the query of a URI, without its question mark.
    pub fn of(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in parse(text.as_bytes()) {
            match &*name {
                "q" => query.search = value.trim().into(),
                "language" => query.language = given(&value),
                "sort" => {
                    let column = value.trim_start_matches('-');
                    let known = Column::ALL.iter().find(|(_, name, ..)| *name == column);
                    if let Some((column, ..)) = known {
                        query.column = *column;
                        query.descending = value.starts_with('-');
                    }
                }
                "stalled" => query.stalled = value == "1",
                "refresh" => query.refresh = value == "1",
                "page" => query.page = value.parse().unwrap_or(1_usize).saturating_sub(1),
                _ => {}
            }
        }
        query
    }

    /// Replaces the language by its spelling in `names` if they differ only in case.
    pub fn spelled_as(mut self, names: &BTreeMap<&str, &str>) -> Self {
        if let Some(code) = &mut self.language
            && !names.contains_key(&**code)
            && let Some(spelled) = names.keys().find(|other| other.eq_ignore_ascii_case(code))
        {
            *code = (*spelled).to_owned();
        }
        self
    }

    /// Returns the link to the stalled translations.
    pub fn of_stalled(&self) -> String {
        Self {
            language: self.language.clone(),
            stalled: true,
            ..Self::default()
        }
        .link()
    }

    /// Returns the link to one language in all repositories; an empty code selects all languages.
    pub fn of_language(code: &str) -> String {
        Self {
            language: given(code),
            ..Self::default()
        }
        .link()
    }

    /// Returns the link to the repositories whose names contain `name`, in all languages.
    pub fn of_repository(name: &str) -> String {
        Self {
            search: name.to_owned(),
            ..Self::default()
        }
        .link()
    }

    pub fn without_search(&self) -> String {
        Self {
            search: String::new(),
            stalled: false,
            page: 0,
            ..self.clone()
        }
        .link()
    }

    /// Returns the link that sorts by `column`, or reverses the order if the page is sorted by it.
    pub fn sorted_by(&self, column: Column) -> String {
        Self {
            column,
            descending: self.column == column && !self.descending,
            page: 0,
            ..self.clone()
        }
        .link()
    }

    pub fn on_page(&self, page: usize) -> String {
        Self {
            page,
            ..self.clone()
        }
        .link()
    }

    /// Returns the link to this query, relative to the page, without default values.
    fn link(&self) -> String {
        let mut parameters = Serializer::for_suffix("?".to_owned(), 1);
        if !self.search.is_empty() {
            parameters.append_pair("q", &self.search);
        }
        if let Some(code) = &self.language {
            parameters.append_pair("language", code);
        }
        if self.descending || self.column != Column::default() {
            let (_, name, ..) = Column::ALL[self.column as usize];
            let sign = if self.descending { "-" } else { "" };
            parameters.append_pair("sort", &format!("{sign}{name}"));
        }
        if self.stalled {
            parameters.append_pair("stalled", "1");
        }
        if self.page > 0 {
            parameters.append_pair("page", &(self.page + 1).to_string());
        }
        parameters.finish()
    }
}

/// Returns the text unless it is empty.
fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the query of a URI such as `/?q=x`.
    fn query(uri: &str) -> Query {
        let text = uri.split_once('?').map_or("", |(_, text)| text);
        Query::of(text)
    }

    #[test]
    fn absent_and_unreadable_values_are_the_defaults() {
        for uri in [
            "/",
            "/?",
            "/?q=&language=&sort=&page=",
            "/?sort=size&page=-1&x=y",
            "/?page=0",
            "/?q=%20",
            "/?&&=&",
            "/?stalled=yes&refresh=60",
        ] {
            assert_eq!(query(uri), Query::default(), "{uri}");
        }
        assert_eq!(Query::default().link(), "?");
    }

    #[test]
    fn a_link_leads_back_to_its_query() {
        let asked =
            query("/?q=a%26b%3D%22%3Cc%3E+d&language=pt%2BBR&sort=-progress&stalled=1&page=3");
        assert_eq!(asked.search, "a&b=\"<c> d");
        let again = format!("/{}", asked.link());
        assert_eq!(query(&again), asked);
    }

    #[test]
    fn a_language_is_found_whatever_its_case_and_the_exact_one_first() {
        let names = [("de", ""), ("pt-BR", ""), ("PT-br", "")].into();
        let spelled = |uri| query(uri).spelled_as(&names).language.unwrap();
        assert_eq!(spelled("/?language=DE"), "de");
        assert_eq!(spelled("/?language=PT-br"), "PT-br");
        assert_eq!(spelled("/?language=xx"), "xx");
    }

    #[test]
    fn a_heading_sorts_by_its_column_and_then_in_reverse() {
        let default = query("/?page=2");
        for (column, first, then) in [
            (Column::Behind, "?sort=-behind", "?"),
            (Column::Completion, "?sort=completion", "?sort=-completion"),
            (Column::Progress, "?sort=progress", "?sort=-progress"),
            (Column::Name, "?sort=name", "?sort=-name"),
        ] {
            let link = default.sorted_by(column);
            assert_eq!(link, first);
            let sorted = query(&format!("/{link}"));
            assert_eq!(sorted.sorted_by(column), then);
        }
    }
}
