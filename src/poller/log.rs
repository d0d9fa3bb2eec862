//! The log of a poll: one line for each kind of news.

use crate::{
    domain::{Defects, Failure, RepositoryId, polling::PollOutcome},
    support::humanize::repositories,
};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

/// The maximum number of names in a line.
const AT_MOST: usize = 10;

/// The names of the polled repositories.
pub type Names = BTreeMap<RepositoryId, Arc<str>>;

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

/// Logs in one line the repositories that a listing added, removed or renamed.
pub fn changes(mut before: Names, after: Names) {
    let (mut added, mut renamed) = (Vec::new(), Vec::new());
    for (id, repo) in after {
        match before.remove(&id) {
            None => added.push(repo.to_string()),
            Some(before) if before != repo => renamed.push(format!("{before} to {repo}")),
            Some(_) => {}
        }
    }
    let removed: Vec<_> = before.values().map(ToString::to_string).collect();
    let kinds = [
        (&added, "added"),
        (&removed, "removed"),
        (&renamed, "renamed"),
    ];
    let mut changes = kinds.iter().filter(|(names, _)| !names.is_empty());
    let Some((first, kind)) = changes.next() else {
        return;
    };
    let mut line = format!("{} {kind}", repositories(first.len()));
    for (names, kind) in changes {
        let _ = write!(line, ", {} {kind}", names.len());
    }
    let [added, removed, renamed] = [added, removed, renamed].map(first_names);
    tracing::info!(added, removed, renamed, "{line}");
}

/// Joins at most ten names; `None` without a name.
fn first_names(names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(AT_MOST);
    let first: Vec<_> = names.into_iter().take(AT_MOST).collect();
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!first.is_empty()).then(|| first.join(", ") + &rest)
}

/// Logs the end of a poll, at debug level if its counts are the same as in the previous poll. The
/// diagnosis logs the reason of a failure.
pub fn outcome(before: Option<&PollOutcome>, outcome: &PollOutcome) {
    // A poll that ended early has read a random number of repositories.
    let unread = |outcome: &PollOutcome| match outcome.stop {
        Some(_) => None,
        None => Some((
            outcome.listing_failure.is_some(),
            outcome.failed,
            outcome.unreached,
        )),
    };
    let PollOutcome {
        read,
        failed,
        unreached,
        postponed,
        ..
    } = *outcome;
    let duration = format!("{:.3}s", outcome.duration.as_secs_f64());
    if before.map(unread) == Some(unread(outcome)) {
        tracing::debug!(read, failed, unreached, postponed, duration, "poll ended");
    } else {
        tracing::info!(read, failed, unreached, postponed, duration, "poll ended");
    }
}
