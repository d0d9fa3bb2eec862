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
    /// All that have a request in the queue. One that has none any more is forgotten when the next request comes.
    pub clients: Mutex<HashMap<IpAddr, Client>>,
}

#[derive(Debug)]
pub struct Client {
    /// [`MAX_WAITING`] permits, one for each request in the queue, which holds it longest.
    pub places: Arc<Semaphore>,
    /// One permit: one request of this client waits for the verification.
    front: Arc<Semaphore>,
}

impl PasswordQueue {
    pub fn new() -> Self {
        Self {
            verification: Arc::new(Semaphore::new(1)),
            clients: Mutex::default(),
        }
    }

    /// The permits to verify a password, for as long as that takes. `None` if too many wait, or for too long.
    pub async fn wait(&self, client: IpAddr) -> Option<[OwnedSemaphorePermit; 3]> {
        let (place, front) = self.join(client)?;
        let waiting = async {
            let front = front.acquire_owned().await.ok()?;
            let verification = Arc::clone(&self.verification).acquire_owned().await.ok()?;
            // They are given back in this order.
            Some([verification, front, place])
        };
        timeout(WAIT_TIMEOUT, waiting).await.ok()?
    }

    fn join(&self, client: IpAddr) -> Option<(OwnedSemaphorePermit, Arc<Semaphore>)> {
        let mut clients = lock(&self.clients);
        clients.retain(|_, client| client.places.available_permits() < MAX_WAITING);
        let own = clients.entry(client).or_insert_with(|| Client {
            places: Arc::new(Semaphore::new(MAX_WAITING)),
            front: Arc::new(Semaphore::new(1)),
        });
        let place = Arc::clone(&own.places).try_acquire_owned().ok()?;
        Some((place, Arc::clone(&own.front)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_without_a_request_is_forgotten_when_the_next_comes() {
        let queue = PasswordQueue::new();
        let [gone, next] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        drop(queue.wait(gone).await);
        let _permits = queue.wait(next).await;
        assert!(lock(&queue.clients).keys().eq([&next]));
    }
}
