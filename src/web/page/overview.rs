//! Is it well? What fails, since when, and what to do.

use super::when::{Rough, ago, ahead};
use crate::{
    model::{Completion, Failure, Timestamp},
    report::summary::{self, Mean, Row, repositories},
    snapshot::{Condition, PollStatus, Reading, Snapshot},
};
use std::{borrow::Cow, time::Duration};

/// A certificate that expires within this time is warned of.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Well,
    /// Nothing is wrong, and nothing is known yet.
    Waiting,
    /// Something is not as it should be, and what is shown is good.
    Degraded,
    /// What is shown is old, or not all.
    Failing,
}

/// Something that goes wrong, for people.
#[derive(Debug, PartialEq, Eq)]
pub struct Attention<'a> {
    /// What it is about: repositories' names, or a part of the exporter.
    pub subjects: Vec<&'a str>,
    /// Of several subjects, what is wrong with one of them.
    pub what: Cow<'a, str>,
    pub hint: Cow<'a, str>,
    /// `None` where it is not known.
    pub since: Option<Timestamp>,
}

impl<'a> Attention<'a> {
    fn new(subjects: Vec<&'a str>, failure: &'a Failure) -> Self {
        let (what, hint) = (Cow::from(&*failure.what), Cow::from(&*failure.hint));
        Self { subjects, what, hint, since: Some(failure.since) }
    }
}

/// All of it in short.
#[derive(Debug)]
pub struct Overview<'a> {
    pub level: Level,
    /// One sentence that says how it is.
    pub headline: String,
    /// What goes wrong, the worst first.
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
        certificate_expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let counts = Counts::of(rows);
        let attention: Vec<_> = status
            .last
            .iter()
            .flat_map(summary::poll_failures)
            .map(|(subject, failure)| Attention::new(vec![subject], failure))
            .chain(suspect_scale(rows, snapshot.completion_scale))
            .chain(certificate_expires_at.and_then(|at| expiring(at, now)))
            .chain(summary::causes(snapshot).into_iter().map(|cause| Attention::new(cause.repositories, cause.failure)))
            .collect();
        let (level, headline) = judge(status, &counts, snapshot.filtered, !attention.is_empty(), now);
        Self { level, headline, attention, counts, completion: Mean::of(rows).get() }
    }
}

fn judge(
    status: &PollStatus,
    counts: &Counts,
    filtered: usize,
    needs_attention: bool,
    now: Timestamp,
) -> (Level, String) {
    let Some(last) = &status.last else {
        let headline = match status.running_since {
            Some(since) => format!("The first poll since the start has been under way for {}", Rough(now.since(since))),
            None => "The first poll since the start is about to begin".to_owned(),
        };
        return (Level::Waiting, headline);
    };
    if last.listing.is_some() {
        return (Level::Failing, "The repositories cannot be listed".to_owned());
    }
    if last.ended_early.is_some() {
        return (Level::Failing, "The last poll was ended before it had read everything".to_owned());
    }
    if counts.stale > 0 {
        let headline =
            format!("{} cannot be read, and the last data are too old to be shown", repositories(counts.stale));
        return (Level::Failing, headline);
    }
    if last.failed + last.unreached > 0 {
        let headline = format!("{} could not be read by the last poll", repositories(last.failed + last.unreached));
        return (Level::Degraded, headline);
    }
    match counts.repositories() {
        0 if filtered > 0 => (Level::Degraded, "The filters leave out every repository".to_owned()),
        0 => (Level::Degraded, "The account of the key has no repository: connect some to it".to_owned()),
        _ if needs_attention => {
            (Level::Degraded, "Every repository was read, and something needs attention".to_owned())
        }
        _ => (Level::Well, "All is well: every repository was read".to_owned()),
    }
}

/// The API does not say whether it reports 0 to 100 or 0 to 1.
fn suspect_scale(rows: &[Row<'_>], scale: f64) -> Option<Attention<'static>> {
    let completions = rows.iter().flat_map(|row| row.readings).filter_map(Reading::completion);
    let largest = completions.map(Completion::get).fold(0.0, f64::max);
    (scale > 1.0 && largest > 0.0 && largest <= 1.0).then(|| Attention {
        subjects: vec!["The scale"],
        what: format!("no completion is above 1, and api.completion_scale is {scale}").into(),
        hint: "if the API reports 0 to 1, set api.completion_scale to 1".into(),
        since: None,
    })
}

fn expiring(at: Timestamp, now: Timestamp) -> Option<Attention<'static>> {
    let has_expired = at <= now;
    (has_expired || at.since(now) < EXPIRES_SOON).then(|| Attention {
        subjects: vec!["The TLS certificate"],
        what: if has_expired {
            format!("it expired {}", ago(at, now))
        } else {
            format!("it expires {}", ahead(at, now))
        }
        .into(),
        hint: "renew the certificate that cert_file of the web configuration file names".into(),
        since: None,
    })
}
