//! The state of the handlers: what every request is served by, and what outlives a reload.

use crate::server::{
    auth::Verifier, fair_share::FairShare, limit::Bucket, web_config::WebConfigFile,
};
use crate::{
    config::WebConfig,
    diagnosis::{self, Finding},
    metrics::{exposition::Published, instruments::Instruments},
    support::clock::Clock,
};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// What responses that are being sent may hold in memory, in bytes. Of hundreds that nobody takes, some are ended.
const MAX_RESPONSES: u64 = 32 * 1024 * 1024;

/// What the owner of what is in force is asked for.
#[derive(Debug)]
pub enum ReloadRequest {
    /// A reload over HTTP: it takes the outcome, done, or a message that says why nothing was changed.
    Asked(oneshot::Sender<Result<(), String>>),
    /// The web configuration file, or one that it names, has changed.
    WebFileChanged,
}

/// What handlers share, whichever settings are in force.
#[derive(Debug)]
pub struct Shared {
    pub published: watch::Receiver<Arc<Published>>,
    pub instruments: Arc<Instruments>,
    /// Takes the requests to `/-/reload`, and what the follower of files finds.
    pub reload: mpsc::Sender<ReloadRequest>,
    pub clock: Clock,
    /// Memory for responses that are being sent, in bytes.
    pub responses: FairShare,
    pub bucket: Bucket,
    pub verifier: Verifier,
}

/// The state of all handlers: made anew by each reload, except what is shared.
#[derive(Debug)]
pub struct Site {
    pub shared: Arc<Shared>,
    pub settings: WebConfig,
    pub file: WebConfigFile,
    /// The places of `web.max_requests`: one for each body of a scrape that is being made.
    pub scrapes: Semaphore,
}

impl Shared {
    pub fn new(
        published: watch::Receiver<Arc<Published>>,
        instruments: Arc<Instruments>,
        reload: mpsc::Sender<ReloadRequest>,
        clock: Clock,
    ) -> Self {
        Self {
            published,
            instruments,
            reload,
            clock,
            responses: FairShare::of(MAX_RESPONSES),
            bucket: Bucket::default(),
            verifier: Verifier::new(),
        }
    }
}

impl Site {
    /// What was published last.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.shared.published.borrow())
    }

    /// What is wrong now, worst first.
    pub fn findings(&self, published: &Published) -> Vec<Finding> {
        let facts = self.shared.instruments.facts();
        let now = self.shared.clock.now();
        diagnosis::findings(&published.snapshot, &published.status, &facts, now)
    }
}
