//! The settings of the poller.

use crate::domain::{Thresholds, filter::Filter, links::Links, targets::Targets};
use globset::GlobSet;
use std::{sync::Arc, time::Duration};

/// The settings of the poller.
#[derive(Debug)]
pub struct Settings<A> {
    pub api: A,
    /// The time from the start of one poll to the start of the next.
    pub interval: Duration,
    /// The number of requests in flight at once, at least 1.
    pub concurrency: usize,
    /// The number of attempts for a request in one poll, at least 1.
    pub max_attempts: u32,
    /// The age at which data become stale, unless polls take longer.
    pub stale_after: Duration,
    /// The maximum number of repositories in a listing. A longer listing is read no further.
    pub max_repositories: usize,
    pub filter: Filter,
    /// Globs on the names of the repositories to read; an empty set reads all repositories.
    pub only: GlobSet,
    /// Globs on the codes of languages to leave out everywhere.
    pub excluded_languages: GlobSet,
    /// The completion that means finished.
    pub completion_scale: f64,
    /// True if the operator set that scale, which then is never suspect.
    pub is_scale_chosen: bool,
    pub targets: Arc<Targets>,
    pub thresholds: Thresholds,
    pub links: Arc<Links>,
}
