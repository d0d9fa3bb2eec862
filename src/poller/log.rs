//! The log of a poll: one line for each kind of news.

use crate::domain::{Defects, Failure, polling::PollOutcome, record::Record};
use std::collections::BTreeMap;

/// The news of a poll: how often each message applies, and the first example.
#[derive(Debug, Default)]
pub struct PollLog {
    bad: BTreeMap<&'static str, (usize, String)>,
    good: BTreeMap<&'static str, (usize, String)>,
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
    }

    /// Notes that reads of a repository's languages begin to fail.
    pub fn failing(&mut self, repo: &str, Failure { what, hint, .. }: &Failure) {
        let example = || format!("{repo}: {what}; {hint}");
        note(&mut self.bad, "cannot read languages", example);
    }

    /// Notes that the languages of a failing repository were read.
    pub fn recovered(&mut self, repo: &str) {
        note(&mut self.good, "languages can be read again", || {
            repo.to_owned()
        });
    }

    pub fn added(&mut self, repo: &str) {
        note(&mut self.good, "repositories added", || repo.to_owned());
    }

    pub fn removed(&mut self, repo: &str) {
        note(&mut self.good, "repositories removed", || repo.to_owned());
    }

    pub fn renamed(&mut self, before: &str, repo: &str) {
        if before != repo {
            let example = || format!("{before} to {repo}");
            note(&mut self.good, "repositories renamed", example);
        }
    }

    /// Notes that all completions of a repository have fallen to 0: the service has lost them.
    pub fn lost(&mut self, repo: &str, before: &[Record], now: &[Record]) {
        let completion = |record: &Record| record.known.map(|known| known.completion.get());
        let had_some = before.iter().any(|record| completion(record) > Some(0.0));
        let has_none = now.iter().all(|record| completion(record) == Some(0.0));
        if had_some && has_none {
            let what = "all completions of the repository fell to 0";
            note(&mut self.bad, what, || repo.to_owned());
        }
    }

    /// Notes that the kinds of defects in the responses of one kind have changed.
    pub fn defects(&mut self, of: &str, before: &Defects, now: &Defects) {
        if before.0.keys().eq(now.0.keys()) {
            return;
        }
        if now.0.is_empty() {
            let what = "the response no longer has bad entries";
            note(&mut self.good, what, || of.to_owned());
        } else {
            let what = "the response has bad entries or fields; the rest is used";
            note(&mut self.bad, what, || format!("{of}: {now}"));
        }
    }
}

fn note(
    news: &mut BTreeMap<&'static str, (usize, String)>,
    what: &'static str,
    example: impl FnOnce() -> String,
) {
    let (count, _) = news.entry(what).or_insert_with(|| (0, example()));
    *count += 1;
}

/// Logs the end of a poll. The diagnosis logs the reason of a failure.
pub fn outcome(outcome: &PollOutcome) {
    let PollOutcome { read, failed, .. } = *outcome;
    let left = outcome.left();
    let duration = format!("{:.3}s", outcome.duration.as_secs_f64());
    tracing::info!(read, failed, left, duration, "poll ended");
}
