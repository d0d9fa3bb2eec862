//! What the poller logs: each thing once when it changes, not once per poll.

use crate::{api::wire::Flaw, model::Failure, snapshot::PollOutcome};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// How many things of one kind are logged one by one.
pub(super) const AT_MOST: usize = 10;

/// Tells apart what is wrong with two answers; 0 is nothing.
pub(super) fn digest(flaws: &[Flaw]) -> u64 {
    if flaws.is_empty() {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    flaws.hash(&mut hasher);
    hasher.finish()
}

/// Logs what is wrong with an answer, now that it is otherwise than before.
pub(super) fn flaws(of: &str, flaws: &[Flaw]) {
    if flaws.is_empty() {
        tracing::info!(of, "all entries of the answer are good again");
        return;
    }
    let told: Vec<_> =
        flaws.iter().take(AT_MOST).map(|flaw| format!("{}: {}", flaw.entry, flaw.defect.label())).collect();
    let more = flaws.len().saturating_sub(AT_MOST);
    tracing::warn!(of, bad = told.join("; "), more, "the answer has bad entries or fields; the rest is used");
}

fn is_empty(outcome: &PollOutcome) -> bool {
    outcome.read + outcome.failed + outcome.unreached == 0
}

/// A poll is told at info level when it ends otherwise than the one before, and at debug level else.
pub(super) fn outcome(before: Option<&PollOutcome>, outcome: &PollOutcome) {
    let told = |failure: &Option<Failure>| failure.as_ref().map(|failure| Arc::clone(&failure.what));
    let kind = |outcome: &PollOutcome| {
        (told(&outcome.listing), told(&outcome.ended_early), outcome.failed, outcome.unreached, is_empty(outcome))
    };
    let PollOutcome { read, failed, unreached, .. } = *outcome;
    let duration = format!("{:.3}s", outcome.duration.as_secs_f64());
    if before.map(kind) == Some(kind(outcome)) {
        tracing::debug!(read, failed, unreached, duration, "poll ended");
        return;
    }
    match (&outcome.ended_early, &outcome.listing) {
        (Some(end), listing) => {
            let listing = listing.as_ref().map(|failure| &*failure.what);
            let (error, hint) = (&*end.what, &*end.hint);
            tracing::error!(error, listing, hint, "the poll was ended early, to leave the API alone");
        }
        (None, Some(listing)) => {
            let (error, hint) = (&*listing.what, &*listing.hint);
            tracing::error!(error, hint, "cannot list all repositories; those known are kept");
        }
        (None, None) if is_empty(outcome) => tracing::warn!(
            hint = "connect repositories to the account of the key, use the key of another, or see filter.*",
            "the listing has no repository that the filters let through"
        ),
        (None, None) => {}
    }
    tracing::info!(read, failed, unreached, duration, "poll ended");
}
