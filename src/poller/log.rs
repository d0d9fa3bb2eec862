//! What the poller logs: changes only, not once per poll, and at most a few lines of one kind per poll.

use crate::domain::{BadEntry, Failure, RepositoryId, snapshot::PollOutcome};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// How many lines of one kind a poll logs; the rest is counted.
const AT_MOST: usize = 10;

/// The names of the repositories that are polled.
pub type Names = BTreeMap<RepositoryId, Arc<str>>;

/// How many lines of each kind about single repositories one poll had, logged or not.
#[derive(Debug, Default)]
pub struct PollLog(BTreeMap<&'static str, usize>);

impl PollLog {
    /// Counts one more line of a kind, and returns whether to log it.
    fn is_logged(&mut self, kind: &'static str) -> bool {
        let count = self.0.entry(kind).or_default();
        *count += 1;
        *count <= AT_MOST
    }

    /// One line for everything that was counted but not logged.
    pub fn end(self) {
        let more = self.0.iter().filter(|(_, count)| **count > AT_MOST);
        let more: Vec<_> = more
            .map(|(kind, count)| format!("{} {kind}", count - AT_MOST))
            .collect();
        if !more.is_empty() {
            tracing::warn!(
                more = more.join(", "),
                "more happened than is logged individually"
            );
        }
    }

    /// The languages of a repository cannot be read, for a reason that was not logged yet.
    pub fn failing(&mut self, repo: &str, id: RepositoryId, failure: &Failure) {
        if self.is_logged("failing") {
            let (id, error, hint) = (id.get(), &*failure.what, &*failure.hint);
            tracing::warn!(repo, id, error, hint, "cannot read languages");
        }
    }

    /// They can be read again.
    pub fn recovered(&mut self, repo: &str, id: RepositoryId) {
        if self.is_logged("recovered") {
            tracing::info!(repo, id = id.get(), "languages can be read again");
        }
    }

    /// The bad entries of an answer, if their digest differs from that of the bad entries that were `logged` last.
    pub fn bad_entries(&mut self, of: &str, bad: &[BadEntry], logged: &mut u64) {
        let digest = digest(bad);
        if std::mem::replace(logged, digest) == digest {
            return;
        }
        if bad.is_empty() {
            if self.is_logged("answers that are good again") {
                tracing::info!(of, "all entries of the answer are good again");
            }
        } else if self.is_logged("answers with bad entries") {
            let first: Vec<_> = bad.iter().take(AT_MOST).map(ToString::to_string).collect();
            let (bad, more) = (first.join("; "), bad.len().saturating_sub(AT_MOST));
            tracing::warn!(
                of,
                bad,
                more,
                "the answer has bad entries or fields; the rest is used"
            );
        }
    }

    /// What a listing changed: the names of the repositories before and after it.
    pub fn changes(&mut self, mut before: Names, after: Names) {
        for (id, repo) in after {
            match before.remove(&id) {
                None => self.change("appeared", id, &repo, None),
                Some(before) if before != repo => self.change("renamed", id, &repo, Some(&before)),
                Some(_) => {}
            }
        }
        for (id, repo) in before {
            self.change("left", id, &repo, None);
        }
    }

    fn change(&mut self, kind: &'static str, id: RepositoryId, repo: &str, before: Option<&str>) {
        if self.is_logged(kind) {
            tracing::info!(repo, before, id = id.get(), "repository {kind}");
        }
    }
}

/// A digest of an answer's defects, wherever in the answer they are; 0 if there are none.
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

/// Logs how a poll ended: at info level if another number failed or was not reached than in the one before, otherwise at debug level. The reason
/// is logged by `health`.
pub fn outcome(before: Option<&PollOutcome>, outcome: &PollOutcome) {
    // How many were read before a poll was ended is random.
    let unread = |outcome: &PollOutcome| match outcome.stop {
        Some(_) => None,
        None => Some((outcome.listing.is_some(), outcome.failed, outcome.unreached)),
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
