//! The queue for verifying passwords, which is work enough for only one at a time.
//!
//! Each client has one request at the front of its own queue, and only those take part in the common one. So a flood from
//! one client delays another by one verification; a flood from many clients by one of each.

use crate::sync::lock;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// How long a request waits: with its own verification, less than the usual 10 seconds of a scrape.
const WAIT_TIMEOUT: Duration = Duration::from_secs(6);

/// How many requests of one client may be in the queue. More could not be verified in time, even at the usual cost of 10.
pub const MAX_WAITING: usize = 100;

#[derive(Debug)]
pub struct PasswordQueue {
    /// One permit: one verification at a time.
    pub verification: Arc<Semaphore>,
    /// The front of each client's queue, one permit each. Every request in it holds its semaphore.
    pub fronts: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

impl Default for PasswordQueue {
    fn default() -> Self {
        Self {
            verification: Arc::new(Semaphore::new(1)),
            fronts: Mutex::default(),
        }
    }
}

impl PasswordQueue {
    /// The permits to verify a password, which keep the others waiting; `None` if too many wait, or for too long.
    pub async fn wait(&self, client: IpAddr) -> Option<[OwnedSemaphorePermit; 2]> {
        let front = self.join(client)?;
        let permits = async {
            let front = front.acquire_owned().await?;
            let verification = Arc::clone(&self.verification).acquire_owned().await?;
            Ok::<_, AcquireError>([front, verification])
        };
        timeout(WAIT_TIMEOUT, permits).await.ok()?.ok()
    }

    fn join(&self, client: IpAddr) -> Option<Arc<Semaphore>> {
        let mut fronts = lock(&self.fronts);
        // Those without a request in their queue.
        fronts.retain(|_, front| Arc::strong_count(front) > 1);
        let front = fronts
            .entry(client)
            .or_insert_with(|| Arc::new(Semaphore::new(1)));
        (Arc::strong_count(front) <= MAX_WAITING).then(|| Arc::clone(front))
    }
}
