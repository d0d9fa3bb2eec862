//! The state of the handlers: what is in force for every request, and what outlives a reload.

use super::{auth::Verifier, limit::Bucket, web_config::WebConfigFile};
use crate::{
    clock::Clock,
    config::WebConfig,
    exposition::Published,
    health::{self, Finding},
    instruments::Instruments,
};
use std::sync::{Arc, atomic::AtomicUsize};
use tokio::sync::{mpsc, oneshot, watch};

/// What the web side reads, and where it sends requests for a reload.
#[derive(Debug)]
pub struct Sources {
    pub published: watch::Receiver<Arc<Published>>,
    pub instruments: Arc<Instruments>,
    /// Takes the requests to `/-/reload`.
    pub reload: mpsc::Sender<ReloadRequest>,
    pub clock: Clock,
}

/// A request for a reload over HTTP: it takes the outcome, done, or a message that says why nothing was changed.
pub type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// What handlers share, whichever settings are in force.
#[derive(Debug)]
pub(super) struct Shared {
    pub sources: Sources,
    /// How many scrapes are being served.
    pub scrapes: Arc<AtomicUsize>,
    pub bucket: Bucket,
    pub verifier: Verifier,
}

/// The state of all handlers: made anew by each reload, except what is shared.
#[derive(Debug)]
pub(super) struct Site {
    pub shared: Arc<Shared>,
    pub settings: WebConfig,
    pub file: WebConfigFile,
}

impl Shared {
    pub fn new(sources: Sources) -> Arc<Self> {
        Arc::new(Self {
            sources,
            scrapes: Arc::default(),
            bucket: Bucket::default(),
            verifier: Verifier::new(),
        })
    }
}

impl Site {
    /// What was published last.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.shared.sources.published.borrow())
    }

    /// What is wrong now, worst first.
    pub fn findings(&self, published: &Published) -> Vec<Finding> {
        let Sources {
            instruments, clock, ..
        } = &self.shared.sources;
        health::findings(
            &published.snapshot,
            &published.status,
            &instruments.facts(),
            clock.now(),
        )
    }
}
