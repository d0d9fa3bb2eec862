//! The log of a poll: one line for each kind of news.

use crate::domain::{Defects, polling::PollOutcome, record::Record};
use std::{collections::BTreeMap, sync::Arc};

/// The maximum number of names in a line.
const MOST_NAMES: usize = 50;

/// The news of a poll: how often each message applies, and the first example.
#[derive(Debug, Default)]
pub struct PollLog {
    bad: BTreeMap<&'static str, (usize, String)>,
    good: BTreeMap<&'static str, (usize, String)>,
    /// The names of removed repositories, which are all logged.
    pub removed: Vec<Arc<str>>,
}

impl PollLog {
    /// Logs the news, one line for each kind.
    pub fn end(self) {
        for (what, (count, first)) in self.bad {
            tracing::warn!(count, first, "{what}");
        }
        for (what, (count, first)) in self.good {
            tracing::info!(count, first, "{what}");
        }
        for names in self.removed.chunks(MOST_NAMES) {
            let names = names.join(", ");
            tracing::warn!(names, "repositories removed");
        }
    }

    /// Notes trouble.
    pub fn bad(&mut self, what: &'static str, example: String) {
        note(&mut self.bad, what, example);
    }

    /// Notes a change, or the end of trouble.
    pub fn good(&mut self, what: &'static str, example: &str) {
        note(&mut self.good, what, example);
    }

    /// Notes that all completions of a repository have fallen to 0: the service has lost them.
    pub fn lost(&mut self, repo: &str, before: &[Record], now: &[Record]) {
        let completion = |record: &Record| Some(record.history.as_ref()?.completion.get());
        let had_some = before.iter().any(|record| completion(record) > Some(0.0));
        let has_none = now.iter().all(|record| completion(record) == Some(0.0));
        if had_some && has_none {
            let what = "all completions of the repository fell to 0";
            self.bad(what, repo.to_owned());
        }
    }

    /// Notes that the kinds of defects in the responses of one kind have changed.
    pub fn defects(&mut self, of: &str, before: &Defects, now: &Defects) {
        if before.0.keys().eq(now.0.keys()) {
            return;
        }
        if now.0.is_empty() {
            self.good("the response no longer has bad entries", of);
        } else {
            let what = "the response has bad entries or fields; the rest is used";
            self.bad(what, format!("{of}: {now}"));
        }
    }
}

fn note(
    news: &mut BTreeMap<&'static str, (usize, String)>,
    what: &'static str,
    example: impl Into<String>,
) {
    let (count, _) = news.entry(what).or_insert_with(|| (0, example.into()));
    *count += 1;
}

/// Logs the end of a poll. The diagnosis logs the reason of a failure.
pub fn outcome(outcome: &PollOutcome) {
    let PollOutcome { read, failed, .. } = *outcome;
    let left = outcome.left();
    let duration = format!("{:.3}s", outcome.duration.as_secs_f64());
    tracing::info!(read, failed, left, duration, "poll ended");
}
