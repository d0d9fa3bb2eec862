//! The supervisor bounds the number of connections and the time that each may take.
//!
//! # Deadlines
//!
//! A connection ends after 35 s in which the server waits for its client: for a request, or for
//! progress of a response. It also ends after 5 minutes for one request and its response. A
//! response makes progress when hyper takes the next piece of its body, because it has sent the
//! piece before.
//!
//! # Eviction
//!
//! A new client is let in, and so is its first request. Connections that have not sent a request
//! yet have places of their own: a scraper on a slow network needs several round trips before its
//! request. At capacity, a connection of the address with most of them makes room: the one whose
//! deadline is nearest, so those that wait for their client first. A flood from one address
//! therefore evicts itself, also while its answers are being made.

use crate::support::lock::lock;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The longest wait for a client: a little above a common scrape interval of 30 s, so that no
/// scrape meets a connection that is being closed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(35);

/// The longest time for one request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum number of connections that have sent a request, where the limit of open files allows it.
const MAX_CONNECTIONS: u64 = 128;

/// The places for connections that have not sent a request, for each of those that have: 1,024.
const WAITING: u64 = 8;

/// The file descriptors reserved for listeners and the rest of the process.
const RESERVED_FILES: u64 = 24;

/// The connections of a server.
pub struct Supervisor {
    pub max_connections: u64,
    /// Locked while a connection is registered or sends its first request.
    connections: Mutex<Vec<Arc<Connection>>>,
}

/// A connection, as the supervisor sees it.
pub struct Connection {
    pub peer: SocketAddr,
    /// Cancelled to end the connection at once, and when it has ended.
    pub ended: CancellationToken,
    has_asked: AtomicBool,
    /// Locked for each read or change.
    deadline: Mutex<Instant>,
}

/// Returns as many connections as the limit of open files allows, after raising it like Go.
pub fn max_connections() -> u64 {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).ok();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Each may be closing while its successor is open.
    let connections = files.saturating_sub(RESERVED_FILES) / 2 / (1 + WAITING);
    connections.clamp(2, MAX_CONNECTIONS)
}

impl Supervisor {
    pub fn new(max_connections: u64) -> Self {
        Self {
            max_connections,
            connections: Mutex::default(),
        }
    }

    /// Registers a connection, and evicts another one at capacity.
    pub fn open(&self, peer: SocketAddr) -> Arc<Connection> {
        let mut connections = lock(&self.connections);
        connections.retain(|known| !known.ended.is_cancelled());
        make_room(&connections, false, WAITING * self.max_connections);
        let connection = Arc::new(Connection {
            peer,
            ended: CancellationToken::new(),
            has_asked: AtomicBool::new(false),
            deadline: Mutex::new(Instant::now() + CLIENT_TIMEOUT),
        });
        connections.push(Arc::clone(&connection));
        connection
    }

    /// Begins a request, and returns the end of its time. HTTP/1.1 has one request at a time. The
    /// first one may evict another connection.
    pub fn begin(&self, connection: &Connection) -> Instant {
        let request_ends = Instant::now() + REQUEST_TIMEOUT;
        if !connection.has_asked.load(Relaxed) {
            make_room(&lock(&self.connections), true, self.max_connections);
            connection.has_asked.store(true, Relaxed);
        }
        *lock(&connection.deadline) = request_ends;
        request_ends
    }
}

/// Evicts a connection if all places of those that have sent a request, or have not, are taken.
fn make_room(connections: &[Arc<Connection>], has_asked: bool, places: u64) {
    let is_there = |known: &&Arc<Connection>| {
        known.has_asked.load(Relaxed) == has_asked && !known.ended.is_cancelled()
    };
    let taken: Vec<_> = connections.iter().filter(is_there).collect();
    if (taken.len() as u64) < places {
        return;
    }
    let mut counts = BTreeMap::<_, usize>::new();
    for known in &taken {
        *counts.entry(known.network()).or_default() += 1;
    }
    let order = |known: &&Arc<Connection>| {
        (
            Reverse(counts.get(&known.network())),
            *lock(&known.deadline),
        )
    };
    if let Some(evicted) = taken.into_iter().min_by_key(order) {
        tracing::debug!(peer = %evicted.peer, "evicting a connection of a busy address");
        evicted.ended.cancel();
    }
}

impl Connection {
    /// Returns the address of the client, of IPv6 its /64.
    fn network(&self) -> IpAddr {
        match self.peer.ip().to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        }
    }

    /// Moves the deadline, because the response to a request has begun or made progress: the client
    /// has some time for the next piece, or for the next request.
    pub fn progressed(&self, request_ends: Instant) {
        *lock(&self.deadline) = request_ends.min(Instant::now() + CLIENT_TIMEOUT);
    }

    /// Waits until the connection's deadline has passed, or it is evicted.
    pub async fn end(&self) {
        let expired = async {
            loop {
                let (deadline, now) = (*lock(&self.deadline), Instant::now());
                if deadline <= now {
                    return;
                }
                // A beginning response can bring the deadline as near as this.
                sleep_until(deadline.min(now + CLIENT_TIMEOUT)).await;
            }
        };
        self.ended.run_until_cancelled(expired).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(connections: &[&Arc<Connection>]) -> Vec<bool> {
        let ended = connections.iter().map(|one| one.ended.is_cancelled());
        ended.collect()
    }

    /// Opens a connection that has sent its first request.
    fn open(supervisor: &Supervisor) -> Arc<Connection> {
        let connection = supervisor.open(([192, 0, 2, 1], 1).into());
        connection.progressed(supervisor.begin(&connection));
        connection
    }

    fn single() -> (Supervisor, Arc<Connection>) {
        let supervisor = Supervisor::new(1);
        let connection = open(&supervisor);
        (supervisor, connection)
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_that_the_server_has_waited_for_longest_makes_room() {
        let supervisor = Supervisor::new(4);
        let mut opened = Vec::new();
        for _ in 0..4 {
            opened.push(open(&supervisor));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let all: Vec<_> = opened.iter().collect();
        // The first has made progress last, and the answer of the second is being made.
        supervisor.begin(&opened[1]);
        opened[0].progressed(supervisor.begin(&opened[0]));
        let mut more = Vec::new();
        for end in [
            [false, false, true, false],
            [false, false, true, true],
            [true, false, true, true],
        ] {
            tokio::time::advance(Duration::from_secs(1)).await;
            more.push(open(&supervisor));
            assert_eq!(ended(&all), end);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_from_one_address_evicts_itself() {
        let supervisor = Supervisor::new(4);
        let from = |last, port| supervisor.open(([192, 0, 2, last], port).into());
        // The server waits for these longest.
        let quiet = [from(2, 1), from(3, 1)];
        for one in &quiet {
            one.progressed(supervisor.begin(one));
        }
        let mut flood = Vec::new();
        for port in 1..100 {
            tokio::time::advance(Duration::from_millis(1)).await;
            flood.push(from(1, port));
            supervisor.begin(flood.last().unwrap());
        }
        assert!(quiet.iter().all(|one| !one.ended.is_cancelled()));
        let ended = flood.iter().map(|one| one.ended.is_cancelled());
        assert_eq!(ended.filter(|ended| *ended).count(), 97);
        assert!(!flood[98].ended.is_cancelled() && !flood[97].ended.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_without_a_request_have_eight_places_for_each_of_the_others() {
        let supervisor = Supervisor::new(2);
        let from = |last, port| supervisor.open((Ipv6Addr::from_bits(last), port).into());
        let asked = open(&supervisor);
        let slow = from(1 << 64, 1);
        let mut flood = Vec::new();
        for port in 1..=100 {
            tokio::time::advance(Duration::from_millis(1)).await;
            // The addresses of one /64 count as one.
            flood.push(from(port.into(), port));
        }
        assert_eq!(ended(&[&asked, &slow]), [false, false]);
        let left = flood.iter().rposition(|one| one.ended.is_cancelled());
        assert_eq!(left, Some(100 - 15 - 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_may_take_5_minutes_and_35_seconds_without_progress() {
        for (pause, end) in [(10, 300), (34, 300), (36, 35)] {
            let (supervisor, connection) = single();
            let begin = Instant::now();
            let request_ends = supervisor.begin(&connection);
            let progress = async {
                loop {
                    connection.progressed(request_ends);
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
            };
            tokio::select! {
                () = progress => {}
                () = connection.end() => {}
            }
            assert_eq!(begin.elapsed().as_secs(), end, "a piece every {pause} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_only_without_a_request() {
        let (supervisor, connection) = single();
        let begin = Instant::now();
        let request_ends = supervisor.begin(&connection);
        // The request waits, for example until its password is verified.
        tokio::time::sleep(Duration::from_secs(100)).await;
        connection.progressed(request_ends);
        connection.end().await;
        assert_eq!(begin.elapsed().as_secs(), 135);
    }
}
