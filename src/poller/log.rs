//! The log of a poll: changes only, and at most ten lines of each kind.

use crate::{
    domain::{BadEntry, Failure, RepositoryId, polling::PollOutcome},
    support::humanize::repositories,
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// The maximum number of lines of one kind in a poll.
const AT_MOST: usize = 10;

/// The names of the polled repositories.
pub type Names = BTreeMap<RepositoryId, Arc<str>>;

/// The number of lines of each kind that a poll had, logged or not.
#[derive(Debug, Default)]
pub struct PollLog(BTreeMap<&'static str, usize>);

impl PollLog {
    /// Counts a line of a kind, and returns whether to log it: true for the first ten.
    fn admits(&mut self, kind: &'static str) -> bool {
        let count = self.0.entry(kind).or_default();
        *count += 1;
        *count <= AT_MOST
    }

    /// Logs how many lines of each kind were omitted.
    pub fn end(self) {
        let omitted = self.0.iter().filter(|(_, count)| **count > AT_MOST);
        let omitted: Vec<_> = omitted
            .map(|(kind, count)| format!("{} {kind}", count - AT_MOST))
            .collect();
        if !omitted.is_empty() {
            let omitted = omitted.join(", ");
            tracing::warn!(omitted, "a poll logs at most {AT_MOST} lines of each kind");
        }
    }

    /// Logs that a read of a repository's languages failed.
    pub fn failing(&mut self, repo: &str, id: RepositoryId, failure: &Failure) {
        if self.admits("failing") {
            let (id, error, hint) = (id.get(), &*failure.what, &*failure.hint);
            tracing::warn!(repo, id, error, hint, "cannot read languages");
        }
    }

    /// Logs that the languages of a failing repository were read.
    pub fn recovered(&mut self, repo: &str, id: RepositoryId) {
        if self.admits("recovered") {
            tracing::info!(repo, id = id.get(), "languages can be read again");
        }
    }

    /// Logs the bad entries of a response, unless their digest is still the one `logged` last.
    pub fn bad_entries(&mut self, of: &str, bad: &[BadEntry], logged: &mut u64) {
        let digest = digest(bad);
        if std::mem::replace(logged, digest) == digest {
            return;
        }
        if bad.is_empty() {
            if self.admits("responses without bad entries") {
                tracing::info!(of, "the response no longer has bad entries");
            }
        } else if self.admits("responses with bad entries") {
            let first: Vec<_> = bad.iter().take(AT_MOST).map(ToString::to_string).collect();
            let (bad, more) = (first.join("; "), bad.len().saturating_sub(AT_MOST));
            tracing::warn!(
                of,
                bad,
                more,
                "the response has bad entries or fields; the rest is used"
            );
        }
    }
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

/// Returns a digest of a response's defects in any order; 0 if there are none.
fn digest(bad: &[BadEntry]) -> u64 {
    let mut defects: Vec<_> = bad.iter().map(|bad| (&*bad.identity, bad.defect)).collect();
    if defects.is_empty() {
        return 0;
    }
    defects.sort_unstable();
    let mut hasher = DefaultHasher::new();
    defects.hash(&mut hasher);
    hasher.finish().max(1)
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
