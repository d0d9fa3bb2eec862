//! The settings of the poller. A reload replaces them as a whole.

use crate::domain::{Thresholds, filter::Filter, links::Links, targets::Targets};
use globset::GlobSet;
use std::{sync::Arc, time::Duration};

/// The settings of the poller, by the time at which a reload changes them.
#[derive(Debug)]
pub struct Settings<A> {
    pub live: Arc<LiveSettings>,
    pub poll: Arc<PollSettings<A>>,
}

/// The settings that a reload changes at once, also during a poll.
#[derive(Debug)]
pub struct LiveSettings {
    /// The time from the start of one poll to the start of the next.
    pub interval: Duration,
    pub targets: Arc<Targets>,
    /// Globs on the codes of languages to leave out everywhere.
    pub excluded_languages: GlobSet,
    pub links: Arc<Links>,
    pub thresholds: Thresholds,
}

/// The settings that stay fixed during a poll. A reload changes them from the next poll on.
#[derive(Debug)]
pub struct PollSettings<A> {
    pub api: A,
    /// The number of requests in flight at once, at least 1.
    pub concurrency: usize,
    /// The number of attempts for a request in one poll, at least 1.
    pub max_attempts: u32,
    /// The age at which data become stale, unless polls take longer.
    pub stale_after: Duration,
    /// The maximum number of repositories in a listing. A longer listing is read no further.
    pub max_repositories: usize,
    pub filter: Filter,
    /// The completion that means finished.
    pub completion_scale: f64,
    /// True if the operator set that scale, which then is never suspect.
    pub is_scale_chosen: bool,
    /// Globs on the names of the repositories to read; an empty set reads all repositories.
    pub only: GlobSet,
}
