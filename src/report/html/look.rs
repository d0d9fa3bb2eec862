//! The look of good and bad news: a class of the stylesheet and a mark, because colour alone would
//! exclude readers.

use crate::domain::Severity;

/// A degree of bad news, from calm to alarming.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    #[default]
    Well,
    Waiting,
    Degraded,
    Failing,
}

impl Look {
    pub fn of(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Failing,
            Severity::Warning => Self::Degraded,
            Severity::Info => Self::Waiting,
        }
    }

    pub fn class(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Waiting => "waiting",
            Self::Degraded => "degraded",
            Self::Failing => "failing",
        }
    }

    pub fn mark(self) -> &'static str {
        match self {
            Self::Well => "\u{2713}",
            Self::Waiting => "\u{25cb}",
            Self::Degraded => "!",
            Self::Failing => "\u{2717}",
        }
    }
}
