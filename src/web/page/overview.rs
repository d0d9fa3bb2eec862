//! The overview: what fails, since when, and what to do.

use crate::{
    health::{self, Finding, Kind, Severity},
    instruments::Facts,
    model::Timestamp,
    report::summary::{self, Cause, Mean, Row},
    snapshot::{Condition, PollStatus, Snapshot},
};
use std::{borrow::Cow, sync::Arc};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Well,
    /// Nothing is wrong, but nothing is known yet.
    Waiting,
    /// Something is wrong, but the data shown are good.
    Degraded,
    /// The data shown are old or incomplete.
    Failing,
}

/// Something that needs attention.
#[derive(Debug, PartialEq, Eq)]
pub struct Attention<'a> {
    /// What is wrong, or the names of the repositories that fail.
    pub subjects: Vec<Cow<'a, str>>,
    /// How it failed; for several repositories, one of the failures.
    pub detail: Option<Arc<str>>,
    pub hint: Arc<str>,
    /// `None` if it is not known.
    pub since: Option<Timestamp>,
}

impl From<Finding> for Attention<'_> {
    fn from(Finding { what, detail, hint, since, .. }: Finding) -> Self {
        Self { subjects: vec![what.into()], detail, hint, since }
    }
}

impl<'a> From<Cause<'a>> for Attention<'a> {
    fn from(Cause { repositories, failure }: Cause<'a>) -> Self {
        Self {
            subjects: repositories.into_iter().map(Cow::from).collect(),
            detail: Some(Arc::clone(&failure.what)),
            hint: Arc::clone(&failure.hint),
            since: Some(failure.since),
        }
    }
}

/// The summary at the top of the page.
#[derive(Debug)]
pub struct Overview<'a> {
    pub level: Level,
    /// One sentence on the overall state.
    pub headline: String,
    /// What is wrong, the worst first.
    pub attention: Vec<Attention<'a>>,
    pub counts: Counts,
    /// The mean of all languages of all repositories.
    pub completion: Option<f64>,
}

/// Repositories by condition, and languages.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub fresh: usize,
    pub failing: usize,
    pub stale: usize,
    pub pending: usize,
    pub languages: usize,
    pub complete: usize,
    pub stalled: usize,
}

impl Counts {
    fn of(rows: &[Row<'_>]) -> Self {
        let mut counts = Self::default();
        for row in rows {
            match row.shown.condition {
                Condition::Fresh(_) => counts.fresh += 1,
                Condition::Failing(..) => counts.failing += 1,
                Condition::Stale { .. } => counts.stale += 1,
                Condition::Pending(_) => counts.pending += 1,
            }
            counts.languages += row.readings.len();
            counts.complete += row.complete;
            counts.stalled += row.stalled;
        }
        counts
    }

    pub fn repositories(&self) -> usize {
        self.fresh + self.failing + self.stale + self.pending
    }
}

impl<'a> Overview<'a> {
    /// `rows` are all repositories of the snapshot.
    pub fn new(
        snapshot: &'a Snapshot,
        status: &'a PollStatus,
        rows: &[Row<'a>],
        facts: &Facts,
        now: Timestamp,
    ) -> Self {
        let findings = health::judge(snapshot, status, facts, now);
        let level = match findings.iter().map(|finding| finding.kind.severity()).min() {
            None => Level::Well,
            Some(Severity::Notice) => Level::Waiting,
            Some(Severity::Warning) => Level::Degraded,
            Some(Severity::Error) => Level::Failing,
        };
        let headline = health::headline(&findings).to_owned();
        // The headline covers a notice, and the causes say more about failing repositories.
        let is_listed = |finding: &Finding| {
            finding.kind.severity() != Severity::Notice && finding.kind != Kind::RepositoriesFailing
        };
        let attention = findings.into_iter().filter(is_listed).map(Attention::from);
        let attention = attention.chain(summary::causes(snapshot).into_iter().map(Attention::from)).collect();
        Self { level, headline, attention, counts: Counts::of(rows), completion: Mean::of(rows).get() }
    }
}
