//! The query of a page: `repo` and `language` select the part of the document that the whole page
//! is about; `q`, `only`, `sort` and `page` choose rows of its table. Unreadable values count as
//! absent.

use crate::{
    domain::{
        TranslationProblem,
        document::{Selection, Totals},
    },
    support::glob::glob,
};
use url::form_urlencoded::{Serializer, parse};

/// A filter of rows by what is not well with a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    Behind,
    Unknown,
    Problem(TranslationProblem),
}

impl Only {
    pub const ALL: [Self; 6] = [
        Self::Behind,
        Self::Problem(TranslationProblem::Overdue),
        Self::Problem(TranslationProblem::AtRisk),
        Self::Problem(TranslationProblem::Stalled),
        Self::Problem(TranslationProblem::Regressed),
        Self::Unknown,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Behind => "behind",
            Self::Unknown => "unknown",
            Self::Problem(kind) => kind.label(),
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Behind => "not ready",
            Self::Unknown => "unknown",
            Self::Problem(kind) => kind.words(),
        }
    }

    /// Counts the translations that pass.
    pub fn count(self, totals: &Totals) -> usize {
        match self {
            Self::Behind => totals.behind(),
            Self::Unknown => totals.unknown,
            Self::Problem(kind) => totals.count(kind),
        }
    }
}

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
    const ALL: [(Self, &'static str); 4] = [
        (Self::Behind, "behind"),
        (Self::Completion, "completion"),
        (Self::Progress, "progress"),
        (Self::Name, "name"),
    ];

    fn label(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// The choices of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// A glob on the selected repositories; an empty text selects all.
    pub repository: String,
    /// A glob on the selected languages; an empty text selects all.
    pub language: String,
    /// A part of the names of the rows to show; an empty text shows all.
    pub search: String,
    pub only: Option<Only>,
    pub column: Column,
    pub descending: bool,
    /// The number of the page, from 0; it may be beyond the last page.
    pub page: usize,
    /// Makes the browser load the page again every minute. No link carries it on.
    pub refresh: bool,
}

impl Query {
    /// Reads the query of a URI, without its question mark.
    pub fn of(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in parse(text.as_bytes()) {
            match &*name {
                "repo" => query.repository = value.into(),
                "language" => query.language = value.into(),
                "q" => query.search = value.trim().into(),
                "only" => query.only = Only::ALL.into_iter().find(|only| only.label() == value),
                "sort" => {
                    let column = value.trim_start_matches('-');
                    let known = Column::ALL.iter().find(|(_, name)| *name == column);
                    if let Some((column, _)) = known {
                        query.column = *column;
                        query.descending = value.starts_with('-');
                    }
                }
                "refresh" => query.refresh = value == "1",
                "page" => query.page = value.parse().unwrap_or(1_usize).saturating_sub(1),
                _ => {}
            }
        }
        query
    }

    /// Returns the selection of the document. A text that is no glob selects nothing.
    pub fn selection(&self) -> Option<Selection> {
        let globs = |text: &str| match text {
            "" => Ok(Vec::new()),
            text => glob(text).map(|glob| vec![glob]),
        };
        let (repositories, languages) =
            (globs(&self.repository).ok()?, globs(&self.language).ok()?);
        Selection::new(&repositories, &languages).ok()
    }

    /// Returns the link to one language in all repositories.
    pub fn of_language(code: &str) -> String {
        let language = globset::escape(code);
        Self {
            language,
            ..Self::default()
        }
        .link()
    }

    /// Returns the link to one repository in all languages.
    pub fn of_repository(name: &str) -> String {
        let repository = globset::escape(name);
        Self {
            repository,
            ..Self::default()
        }
        .link()
    }

    /// Returns the link to the rows of this selection that pass the filter, or to all, in the same
    /// order.
    pub fn only(&self, only: Option<Only>) -> String {
        Self {
            only,
            search: String::new(),
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

    /// Returns the query that a search is added to.
    pub fn without_search(&self) -> Self {
        Self {
            search: String::new(),
            page: 0,
            ..self.clone()
        }
    }

    /// Returns the parameters that differ from the defaults.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let sign = if self.descending { "-" } else { "" };
        let is_sorted = self.descending || self.column != Column::default();
        let sort = is_sorted.then(|| format!("{sign}{}", self.column.label()));
        let page = (self.page > 0).then(|| (self.page + 1).to_string());
        let only = self.only.map(|only| only.label().to_owned());
        let parameters = [
            ("repo", self.repository.clone()),
            ("language", self.language.clone()),
            ("only", only.unwrap_or_default()),
            ("sort", sort.unwrap_or_default()),
            ("page", page.unwrap_or_default()),
            ("q", self.search.clone()),
        ];
        let given = parameters
            .into_iter()
            .filter(|(_, value)| !value.is_empty());
        given.collect()
    }

    /// Returns the link to this query, relative to the page.
    fn link(&self) -> String {
        let mut link = Serializer::for_suffix("?".to_owned(), 1);
        link.extend_pairs(self.parameters()).finish()
    }
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
            "/?q=&repo=&language=&only=&sort=&page=",
            "/?sort=size&page=-1&x=y",
            "/?page=0",
            "/?q=%20",
            "/?&&=&",
            "/?only=size&refresh=60",
        ] {
            assert_eq!(query(uri), Query::default(), "{uri}");
        }
        assert_eq!(Query::default().link(), "?");
    }

    #[test]
    fn a_link_leads_back_to_its_query() {
        let asked = query(
            "/?q=a%26b%3D%22%3Cc%3E+d&repo=acme%2F*&language=pt%2BBR&sort=-progress&only=at_risk&page=3",
        );
        assert_eq!(asked.search, "a&b=\"<c> d");
        let again = format!("/{}", asked.link());
        assert_eq!(query(&again), asked);
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
