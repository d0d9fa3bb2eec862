//! The memory of the diagnosis between two judgements and, with a state file, across restarts.

use super::{Defect, Operation, ProblemKind, Reason};
use crate::support::clock::Timestamp;
use std::collections::BTreeMap;

/// The problems and shapes that the diagnosis has found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The start of each kind of problem that is present now.
    pub since: BTreeMap<ProblemKind, Timestamp>,
    /// The time at which each known shape was last seen.
    pub shapes: BTreeMap<Shape, Timestamp>,
    /// The time at which this process last dropped lines of the log; the state file omits it.
    pub log_lines_dropped_at: Option<Timestamp>,
}

impl History {
    /// Parses the names of [`Self::to_named`]. Ignores unknown names, which another version wrote.
    pub fn of_named(named: &BTreeMap<Box<str>, Timestamp>) -> Self {
        let mut history = Self::default();
        for (name, at) in named {
            if let Some((operation, label)) = name.split_once('.') {
                let shape = Shape::from_labels(operation, label);
                history.shapes.extend(shape.map(|shape| (shape, *at)));
            } else {
                let kind = ProblemKind::from_label(name);
                history.since.extend(kind.map(|kind| (kind, *at)));
            }
        }
        history
    }

    /// Names each entry for the state file, such as `polls_failing` and
    /// `list_languages.completion`.
    pub fn to_named(&self) -> BTreeMap<Box<str>, Timestamp> {
        let kinds = self.since.iter();
        let kinds = kinds.map(|(kind, since)| (kind.label().into(), *since));
        let shapes = self.shapes.iter().map(|(shape, seen)| {
            let name = format!("{}.{}", shape.operation.label(), shape.label);
            (name.into(), *seen)
        });
        kinds.chain(shapes).collect()
    }
}

/// One way in which responses deviate from the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    pub operation: Operation,
    /// The label of a [`Defect`] or a [`Reason`].
    pub label: &'static str,
}

impl Shape {
    /// Returns `None` for duplicates, which come from the account and which the exporter resolves.
    pub fn of_defect(operation: Operation, defect: Defect) -> Option<Self> {
        let is_duplicate = matches!(
            defect,
            Defect::DuplicateId | Defect::DuplicateName | Defect::DuplicateCode
        );
        let label = defect.label();
        (!is_duplicate).then_some(Self { operation, label })
    }

    /// Returns `None` for failures that do not concern the shape of a response.
    pub fn of_failure(operation: Operation, reason: Reason) -> Option<Self> {
        let label = reason.label();
        matches!(reason, Reason::Decode | Reason::Cursor).then_some(Self { operation, label })
    }

    /// Returns the shape with these labels, such as `list_languages` and `completion`.
    fn from_labels(operation: &str, label: &str) -> Option<Self> {
        let operation = Operation::from_label(operation)?;
        let defect = Defect::from_label(label).and_then(|one| Self::of_defect(operation, one));
        defect.or_else(|| Self::of_failure(operation, Reason::from_label(label)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_survives_the_state_file() {
        let shape = Shape::of_defect(Operation::ListLanguages, Defect::Completion).unwrap();
        let cursor = Shape::of_failure(Operation::ListRepositories, Reason::Cursor).unwrap();
        let (one, two) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let history = History {
            since: [(ProblemKind::ApiShape, one)].into(),
            shapes: [(shape, two), (cursor, one)].into(),
            log_lines_dropped_at: None,
        };
        let mut named = history.to_named();
        assert_eq!(named.get("list_languages.completion"), Some(&two));
        named.insert("of_a_later_version".into(), one);
        named.insert("list_glossaries.code".into(), one);
        assert_eq!(History::of_named(&named), history);
    }
}
