//! What the poller logs: each thing once when it changes, not once per poll, and never more than a few lines of one kind
//! in a poll.

use super::ledger::Changes;
use crate::{
    model::{BadEntry, Failure, PollFailure, RepositoryId},
    snapshot::PollOutcome,
};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// How many lines of one kind a poll logs; the rest is counted.
const AT_MOST: usize = 10;

/// What one poll logs about single repositories: by its kind, how many lines there were, logged or not.
#[derive(Debug, Default)]
pub(super) struct PollLog(BTreeMap<&'static str, usize>);

impl PollLog {
    /// Counts one more line of a kind, and says whether it is logged.
    fn is_logged(&mut self, kind: &'static str) -> bool {
        let count = self.0.entry(kind).or_default();
        *count += 1;
        *count <= AT_MOST
    }

    /// One line for all that was counted and not logged.
    pub fn end(self) {
        let more = self.0.iter().filter(|(_, count)| **count > AT_MOST);
        let more: Vec<_> = more.map(|(kind, count)| format!("{} {kind}", count - AT_MOST)).collect();
        if !more.is_empty() {
            tracing::warn!(more = more.join(", "), "there was more than is logged one by one");
        }
    }

    /// The languages of a repository cannot be read, for a reason that is not logged yet.
    pub fn failing(&mut self, repo: &str, id: RepositoryId, failure: &Failure) {
        if self.is_logged("failing") {
            let Failure { what, hint, .. } = failure;
            tracing::warn!(repo, id = id.get(), error = &**what, hint = &**hint, "cannot read languages");
        }
    }

    /// They can be read again.
    pub fn recovered(&mut self, repo: &str, id: RepositoryId) {
        if self.is_logged("recovered") {
            tracing::info!(repo, id = id.get(), "languages can be read again");
        }
    }

    /// The bad entries of an answer, now that they are others than before.
    pub fn bad_entries(&mut self, of: &str, bad: &[BadEntry]) {
        if bad.is_empty() {
            if self.is_logged("answers that are good again") {
                tracing::info!(of, "all entries of the answer are good again");
            }
        } else if self.is_logged("answers with bad entries") {
            let logged: Vec<_> = bad.iter().take(AT_MOST).map(ToString::to_string).collect();
            let (bad, more) = (logged.join("; "), bad.len().saturating_sub(AT_MOST));
            tracing::warn!(of, bad, more, "the answer has bad entries or fields; the rest is used");
        }
    }

    /// What a listing changed.
    pub fn changes(&mut self, changes: &Changes) {
        for (id, repo) in &changes.appeared {
            if self.is_logged("appeared") {
                tracing::info!(repo = &**repo, id = id.get(), "a repository appeared");
            }
        }
        for (id, repo) in &changes.left {
            if self.is_logged("left") {
                tracing::info!(repo = &**repo, id = id.get(), "a repository left");
            }
        }
        for (id, before, repo) in &changes.renamed {
            if self.is_logged("renamed") {
                tracing::info!(repo = &**repo, before = &**before, id = id.get(), "a repository was renamed");
            }
        }
    }
}

/// Distinguishes what is wrong with two answers, wherever in them it is; 0 is nothing.
pub(super) fn digest(bad: &[BadEntry]) -> u64 {
    let mut defects: Vec<_> = bad.iter().map(|bad| (&*bad.identity, bad.defect)).collect();
    if defects.is_empty() {
        return 0;
    }
    defects.sort_unstable();
    let mut hasher = DefaultHasher::new();
    defects.hash(&mut hasher);
    hasher.finish().max(1)
}

/// Digests of the bad entries of the last listing that was complete and of the last that broke off, which shows only
/// some of what is bad: each is compared with the last of its kind.
#[derive(Debug, Default)]
pub(super) struct ListingDigests {
    complete: u64,
    broken_off: u64,
}

impl ListingDigests {
    /// Whether the bad entries of a listing are to be logged, now that they have this digest.
    pub fn changed(&mut self, is_complete: bool, digest: u64) -> bool {
        let last = if is_complete { &mut self.complete } else { &mut self.broken_off };
        std::mem::replace(last, digest) != digest && (is_complete || digest != 0)
    }
}

/// What two polls have in common where the second is logged at debug level only.
#[derive(Debug, PartialEq)]
pub(super) struct Ending {
    failure: Option<PollFailure>,
    /// Why the listing failed and why the poll ended early; left out in an outage, which is one whatever its words are.
    why: [Option<Arc<str>>; 2],
    /// Repositories that failed and were not reached; left out where the poll ended early, as they are a matter of luck.
    unread: Option<[usize; 2]>,
    is_empty: bool,
}

impl Ending {
    pub fn of(outcome: &PollOutcome, listing_is_unavailable: bool) -> Self {
        let is_outage =
            listing_is_unavailable || matches!(outcome.failure, Some(PollFailure::Unavailable | PollFailure::Held));
        let why = |failure: &Option<Failure>| {
            failure.as_ref().filter(|_| !is_outage).map(|failure| Arc::clone(&failure.what))
        };
        let is_cut_short = is_outage || outcome.ended_early.is_some();
        Self {
            failure: outcome.failure,
            why: [why(&outcome.listing), why(&outcome.ended_early)],
            unread: (!is_cut_short).then_some([outcome.failed, outcome.unreached]),
            is_empty: outcome.read + outcome.failed + outcome.unreached == 0,
        }
    }
}

/// Logs how a poll ended: at info level where it ended otherwise than the one before, and at debug level if not.
/// `unavailable` is one of the failures that no repository has a line of its own for.
pub(super) fn outcome(before: Option<&Ending>, ending: &Ending, outcome: &PollOutcome, unavailable: Option<&Failure>) {
    let PollOutcome { read, failed, unreached, .. } = *outcome;
    let duration = format!("{:.3}s", outcome.duration.as_secs_f64());
    if before == Some(ending) {
        tracing::debug!(read, failed, unreached, duration, "poll ended");
        return;
    }
    match (&outcome.ended_early, &outcome.listing) {
        (Some(ended), listing) => {
            let listing = listing.as_ref().map(|failure| &*failure.what);
            let (error, hint) = (&*ended.what, &*ended.hint);
            tracing::error!(error, listing, hint, "the poll was ended early, to leave the API alone");
        }
        (None, Some(listing)) => {
            let (error, hint) = (&*listing.what, &*listing.hint);
            tracing::error!(error, hint, "cannot list all repositories; those known are kept");
        }
        (None, None) if ending.is_empty => tracing::warn!(
            hint = "connect repositories to the account of the key, use the key of another, or see filter.*",
            "the listing has no repository that passes the filters"
        ),
        (None, None) => {}
    }
    let error = unavailable.map(|failure| &*failure.what);
    tracing::info!(read, failed, unreached, duration, error, "poll ended");
}
