//! The queue for verifying passwords, which is work enough for only one at a time.
//!
//! Each client has one request at the front of its own queue, and only those take part in the common one. So a flood from
//! one client delays another by one verification; a flood from many clients by one of each.

use crate::sync::lock;
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};

/// How long a request waits: with its own verification, less than the usual 10 seconds of a scrape.
const WAIT_TIMEOUT: Duration = Duration::from_secs(6);

#[derive(Debug, Default)]
pub struct PasswordQueue {
    /// Held during a verification.
    pub verification: Arc<Mutex<()>>,
    /// Of each client: held while a request of it waits for the verification, and during that. A client that has none any more is
    /// forgotten when the next request comes.
    pub fronts: std::sync::Mutex<HashMap<IpAddr, Arc<Mutex<()>>>>,
}

impl PasswordQueue {
    /// What to hold while a password is verified. `None` if that would be too late.
    pub async fn wait(&self, client: IpAddr) -> Option<[OwnedMutexGuard<()>; 2]> {
        let front = self.front(client);
        let waiting = async {
            let front = front.lock_owned().await;
            let verification = Arc::clone(&self.verification).lock_owned().await;
            // They are given back in this order.
            [verification, front]
        };
        timeout(WAIT_TIMEOUT, waiting).await.ok()
    }

    fn front(&self, client: IpAddr) -> Arc<Mutex<()>> {
        let mut fronts = lock(&self.fronts);
        fronts.retain(|_, front| Arc::strong_count(front) > 1);
        Arc::clone(fronts.entry(client).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_without_a_request_is_forgotten_when_the_next_comes() {
        let queue = PasswordQueue::default();
        let [gone, next] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        drop(queue.wait(gone).await);
        let _permits = queue.wait(next).await;
        assert!(lock(&queue.fronts).keys().eq([&next]));
    }
}
