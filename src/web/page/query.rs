//! What the page is asked to show: `q`, `language`, `sort`, `page`. What cannot be read is ignored.

use axum::http::Uri;

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Name,
    /// How much is missing until all languages are ready.
    Behind,
    Completion,
    Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub column: Column,
    pub descending: bool,
}

impl Sort {
    /// All orders, each with its parameter and its name for people; the first is the default.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (
            Self::by(Column::Behind, false),
            "behind",
            "furthest behind first",
        ),
        (
            Self::by(Column::Behind, true),
            "-behind",
            "nearest to ready first",
        ),
        (
            Self::by(Column::Completion, false),
            "completion",
            "least complete first",
        ),
        (
            Self::by(Column::Completion, true),
            "-completion",
            "most complete first",
        ),
        (
            Self::by(Column::Progress, false),
            "progress",
            "longest without progress first",
        ),
        (
            Self::by(Column::Progress, true),
            "-progress",
            "latest progress first",
        ),
        (Self::by(Column::Name, false), "name", "by name, A to Z"),
        (Self::by(Column::Name, true), "-name", "by name, Z to A"),
    ];

    const fn by(column: Column, descending: bool) -> Self {
        Self { column, descending }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, parameter, _)| *parameter == text)
            .map(|(sort, ..)| *sort)
    }

    /// The value of the parameter.
    pub fn parameter(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(sort, ..)| *sort == self)
            .map_or("", |(_, parameter, _)| parameter)
    }

    /// The order that the heading of `column` links to: by that column, or reversed if it is already by that column.
    pub fn toggled(self, column: Column) -> Self {
        Self::by(column, self.column == column && !self.descending)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Part of a repository's name; empty for all.
    pub search: String,
    /// The code of the only language to show; empty for all.
    pub language: String,
    pub sort: Sort,
    /// From 1; may be beyond the last.
    pub page: usize,
}

impl Query {
    pub fn of(uri: &Uri) -> Self {
        let mut query = Self {
            search: String::new(),
            language: String::new(),
            sort: Sort::ALL[0].0,
            page: 1,
        };
        for (name, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        {
            match &*name {
                "q" => query.search = value.trim().into(),
                "language" => query.language = value.into(),
                "sort" => query.sort = Sort::parse(&value).unwrap_or(query.sort),
                "page" => query.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
        }
        query
    }

    /// What is shown of one language in all repositories.
    pub fn of_language(&self, code: &str) -> Self {
        Self {
            search: String::new(),
            language: code.to_owned(),
            sort: Sort::ALL[0].0,
            page: 1,
        }
    }

    /// The link to this, relative to the page, without defaults.
    pub fn link(&self) -> String {
        let mut parameters = url::form_urlencoded::Serializer::new("?".to_owned());
        if !self.search.is_empty() {
            parameters.append_pair("q", &self.search);
        }
        if !self.language.is_empty() {
            parameters.append_pair("language", &self.language);
        }
        if self.sort != Sort::ALL[0].0 {
            parameters.append_pair("sort", self.sort.parameter());
        }
        if self.page > 1 {
            parameters.append_pair("page", &self.page.to_string());
        }
        parameters.finish().replacen("?&", "?", 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(uri: &'static str) -> Query {
        Query::of(&Uri::from_static(uri))
    }

    #[test]
    fn what_is_not_given_or_not_readable_is_the_default() {
        let default = Query {
            search: String::new(),
            language: String::new(),
            sort: Sort::by(Column::Behind, false),
            page: 1,
        };
        for uri in [
            "/",
            "/?",
            "/?q=&sort=&page=",
            "/?sort=size&page=-1&x=y",
            "/?page=0",
            "/?q=%20",
            "/?&&=&",
        ] {
            assert_eq!(query(uri), default, "{uri}");
        }
        assert_eq!(default.link(), "?");
    }

    #[test]
    fn a_link_leads_to_what_it_was_made_from() {
        let asked = query("/?q=a%26b%3D%22%3Cc%3E+d&language=pt%2BBR&sort=-progress&page=3");
        assert_eq!(asked.search, "a&b=\"<c> d");
        let again = format!("/{}", asked.link());
        assert_eq!(Query::of(&again.parse().unwrap()), asked);
    }

    #[test]
    fn a_heading_sorts_by_its_column_and_then_the_other_way_round() {
        let default = query("/").sort;
        assert_eq!(default.toggled(Column::Name).parameter(), "name");
        assert_eq!(
            default
                .toggled(Column::Name)
                .toggled(Column::Name)
                .parameter(),
            "-name"
        );
        assert_eq!(default.toggled(Column::Behind).parameter(), "-behind");
    }
}
