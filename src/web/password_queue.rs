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
    sync::{OwnedSemaphorePermit, Semaphore},
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
    /// Holds a client for as long as there is a [`Queued`] of it.
    pub clients: Mutex<HashMap<IpAddr, Client>>,
}

#[derive(Debug)]
pub struct Client {
    /// How many requests of this client are in the queue: one for each [`Queued`], above 0.
    pub waiting: usize,
    /// One permit: one request of this client waits for the verification.
    front: Arc<Semaphore>,
}

/// A request in the queue, and then the permit to verify its password.
#[derive(Debug)]
pub struct Queued {
    queue: Arc<PasswordQueue>,
    client: IpAddr,
    permits: Vec<OwnedSemaphorePermit>,
}

impl PasswordQueue {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            verification: Arc::new(Semaphore::new(1)),
            clients: Mutex::default(),
        })
    }

    /// `None` if too many wait, or for too long.
    pub async fn wait(self: &Arc<Self>, client: IpAddr) -> Option<Queued> {
        let front = self.join(client)?;
        let mut queued = Queued {
            queue: Arc::clone(self),
            client,
            permits: Vec::new(),
        };
        let waiting = async {
            for semaphore in [front, Arc::clone(&self.verification)] {
                queued.permits.push(semaphore.acquire_owned().await.ok()?);
            }
            Some(())
        };
        timeout(WAIT_TIMEOUT, waiting).await.ok()??;
        Some(queued)
    }

    fn join(&self, client: IpAddr) -> Option<Arc<Semaphore>> {
        let mut clients = lock(&self.clients);
        let own = clients.entry(client).or_insert_with(|| Client {
            waiting: 0,
            front: Arc::new(Semaphore::new(1)),
        });
        if own.waiting >= MAX_WAITING {
            return None;
        }
        own.waiting += 1;
        Some(Arc::clone(&own.front))
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut clients = lock(&self.queue.clients);
        if let Some(own) = clients.get_mut(&self.client) {
            own.waiting -= 1;
            if own.waiting == 0 {
                clients.remove(&self.client);
            }
        }
    }
}
