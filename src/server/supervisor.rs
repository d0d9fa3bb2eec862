//! The supervisor bounds the number of connections, their deadlines, and the memory of their
//! responses.
//!
//! # Deadlines
//!
//! A connection ends after 35 s without a request, after 30 s in which a response makes no
//! progress, and after 5 minutes for one request and its response. A response makes progress when
//! hyper takes the next piece of its body, because it has sent the piece before.
//!
//! # Eviction
//!
//! No client waits for a connection or for memory, and none is refused. When a capacity is
//! exceeded, the client with the largest share of it loses connections. A flood from a few
//! addresses therefore cannot starve other clients; a flood from as many addresses as there are
//! connections can.

use crate::support::lock::lock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, Weak},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The longest pause between requests: a little above a common scrape interval of 30 s, so that no
/// scrape meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(35);

/// The longest time without progress of a response.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time for one request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum number of connections over all listeners, where the limit of open files allows it.
const MAX_CONNECTIONS: u64 = 512;

/// The file descriptors reserved for listeners, closing connections and the rest of the process.
const RESERVED_FILES: u64 = 40;

/// Maximum memory, in bytes, that responses hold while they are sent. It is a quarter of the
/// 128 MiB that the shipped manifests allow.
const MAX_MEMORY: u64 = 32 * 1024 * 1024;

/// The connections of a server.
#[derive(Debug)]
pub struct Supervisor {
    max_connections: u64,
    /// In bytes.
    max_memory: u64,
    /// Locked while a connection or a response begins. Opening one removes those that have ended.
    connections: Mutex<Vec<Weak<Connection>>>,
}

/// A connection, as the supervisor sees it.
#[derive(Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    /// Cancelled to end the connection at once.
    pub evicted: CancellationToken,
    /// Locked for each read or change of a field.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// True while a request is under way.
    busy: bool,
    /// The end of the connection, unless progress or a new request moves it.
    deadline: Instant,
    memory: ResponseMemory,
}

/// The memory that a response holds while it is sent, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResponseMemory {
    pub own: u64,
    /// A body that several responses share. It counts once.
    pub shared: Option<Shared>,
}

/// A body that several responses share.
#[derive(Debug, Clone, Copy)]
pub struct Shared {
    /// An identifier of the body, such as its address.
    pub id: usize,
    pub bytes: u64,
}

/// Raises the soft limit of open files to the hard one: many systems keep it low for old programs.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // A refusal leaves the old limit, which is then respected.
    setrlimit(Resource::Nofile, raised).ok();
}

impl Supervisor {
    /// Raises the limit of open files, and allows as many connections as fit into it.
    pub fn with_raised_limit_of_files() -> Self {
        raise_limit_of_open_files();
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = files.saturating_sub(RESERVED_FILES);
        Self::new(most.clamp(8, MAX_CONNECTIONS), MAX_MEMORY)
    }

    fn new(max_connections: u64, max_memory: u64) -> Self {
        Self {
            max_connections,
            max_memory,
            connections: Mutex::default(),
        }
    }

    /// Registers a connection and evicts others until their number fits.
    pub fn open(&self, peer: SocketAddr) -> Arc<Connection> {
        let mut connections = lock(&self.connections);
        let mut others = current(&connections);
        evict(
            &mut others,
            |_| 1,
            |others| u64::try_from(others.len()).is_ok_and(|number| number < self.max_connections),
        );
        let connection = Arc::new(Connection {
            peer,
            evicted: CancellationToken::new(),
            state: Mutex::new(State::idle()),
        });
        others.push(Arc::clone(&connection));
        *connections = others.iter().map(Arc::downgrade).collect();
        connection
    }

    /// Records the memory of the connection's response and evicts other connections until the sum
    /// fits.
    pub fn record_memory(&self, connection: &Arc<Connection>, memory: ResponseMemory) {
        let connections = lock(&self.connections);
        lock(&connection.state).memory = memory;
        let mut others = current(&connections);
        others.retain(|other| !Arc::ptr_eq(other, connection) && other.memory().sum() > 0);
        evict(
            &mut others,
            |other| other.memory().sum(),
            |others| {
                let others = others.iter().map(|other| other.memory());
                in_all(others.chain([memory])) <= self.max_memory
            },
        );
    }
}

impl ResponseMemory {
    fn sum(&self) -> u64 {
        self.own + self.shared.map_or(0, |shared| shared.bytes)
    }
}

/// Sums up memory, counting each shared body once.
fn in_all(all: impl Iterator<Item = ResponseMemory>) -> u64 {
    let (mut own, mut shared) = (0, BTreeMap::new());
    for memory in all {
        own += memory.own;
        shared.extend(memory.shared.map(|shared| (shared.id, shared.bytes)));
    }
    own + shared.values().sum::<u64>()
}

fn current(connections: &[Weak<Connection>]) -> Vec<Arc<Connection>> {
    let current = connections.iter().filter_map(Weak::upgrade);
    current.filter(|one| !one.evicted.is_cancelled()).collect()
}

/// Evicts connections until the others fit. Each time, the client with the largest sum of `share`
/// loses one: idle connections go first, then the one with the nearest deadline.
fn evict(
    all: &mut Vec<Arc<Connection>>,
    share: impl Fn(&Connection) -> u64,
    fit: impl Fn(&[Arc<Connection>]) -> bool,
) {
    while !fit(all) {
        let mut sums = HashMap::<_, u64>::new();
        for one in all.iter() {
            *sums.entry(client_of(one.peer)).or_default() += share(one);
        }
        let importance = |one: &Connection| {
            let state = lock(&one.state);
            (state.busy, state.deadline)
        };
        let least = all
            .iter()
            .enumerate()
            .min_by_key(|(_, one)| (Reverse(sums[&client_of(one.peer)]), importance(one)));
        let Some((least, _)) = least else {
            return;
        };
        let evicted = all.swap_remove(least);
        tracing::debug!(peer = %evicted.peer, "evicting a connection: its client has the most");
        evicted.evicted.cancel();
    }
}

impl Connection {
    /// Begins a request, which lasts until the returned [`UnderWay`] is dropped. HTTP/1.1 has one
    /// at a time.
    pub fn begin(self: &Arc<Self>) -> UnderWay {
        let last = Instant::now() + REQUEST_TIMEOUT;
        let mut state = lock(&self.state);
        (state.busy, state.deadline) = (true, last);
        UnderWay {
            connection: Arc::clone(self),
            last,
        }
    }

    /// Waits until the connection's deadline has passed. Cancel safe.
    pub async fn expired(&self) {
        loop {
            let (deadline, now) = (lock(&self.state).deadline, Instant::now());
            if deadline <= now {
                return;
            }
            // A beginning response can bring the deadline as near as this.
            sleep_until(deadline.min(now + PROGRESS_TIMEOUT)).await;
        }
    }

    fn memory(&self) -> ResponseMemory {
        lock(&self.state).memory
    }
}

/// A guard for a request under way. Dropping it leaves the connection idle.
#[derive(Debug)]
pub struct UnderWay {
    connection: Arc<Connection>,
    /// The latest possible deadline.
    last: Instant,
}

impl UnderWay {
    /// Moves the deadline, because the response has begun or made progress.
    pub fn progressed(&self) {
        let next = Instant::now() + PROGRESS_TIMEOUT;
        lock(&self.connection.state).deadline = next.min(self.last);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        *lock(&self.connection.state) = State::idle();
    }
}

impl State {
    fn idle() -> Self {
        Self {
            busy: false,
            deadline: Instant::now() + IDLE_TIMEOUT,
            memory: ResponseMemory::default(),
        }
    }
}

/// Returns the address that stands for the client: its own over IPv4, its /64 network over IPv6,
/// where one host can have all addresses of a /64.
pub fn client_of(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(connections: &[&Arc<Connection>]) -> Vec<bool> {
        let ended = connections.iter().map(|one| one.evicted.is_cancelled());
        ended.collect()
    }

    fn open(supervisor: &Supervisor, address: &str) -> Arc<Connection> {
        supervisor.open(SocketAddr::new(address.parse().unwrap(), 1))
    }

    fn own(own: u64) -> ResponseMemory {
        ResponseMemory { own, shared: None }
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_with_most_connections_loses_its_idle_ones_first() {
        let supervisor = Supervisor::new(4, 0);
        let other = open(&supervisor, "192.0.2.2");
        let flood = [(); 3].map(|()| open(&supervisor, "192.0.2.1"));
        let first = flood[0].begin();
        first.progressed();
        tokio::time::advance(Duration::from_secs(1)).await;
        let _second = [flood[2].begin()].map(|one| one.progressed());
        let _third = flood[2].begin();
        let all = [&flood[1], &flood[0], &flood[2], &other];
        let mut more = Vec::new();
        for (address, end) in [
            ("192.0.2.3", [true, false, false, false]),
            ("192.0.2.4", [true, true, false, false]),
            ("192.0.2.5", [true, true, false, true]),
        ] {
            more.push(open(&supervisor, address));
            assert_eq!(ended(&all), end);
        }
    }

    #[tokio::test]
    async fn a_response_releases_its_memory_when_it_or_its_connection_ends() {
        let supervisor = Supervisor::new(9, 10);
        let [first, second, third] = [(); 3].map(|()| open(&supervisor, "192.0.2.1"));
        let response = first.begin();
        supervisor.record_memory(&first, own(6));
        drop(response);
        let _responses = [first.begin(), second.begin(), third.begin()];
        supervisor.record_memory(&first, own(6));
        supervisor.record_memory(&second, own(4));
        assert_eq!(ended(&[&first, &second]), [false, false]);
        supervisor.record_memory(&third, own(10));
        assert_eq!(ended(&[&first, &second, &third]), [true, true, false]);
    }

    #[tokio::test]
    async fn shared_bodies_count_once_and_until_their_last_response_ends() {
        let supervisor = Supervisor::new(9, 10);
        let hold = |address: &str, id| {
            let connection = open(&supervisor, address);
            std::mem::forget(connection.begin());
            let shared = Some(Shared { id, bytes: 4 });
            supervisor.record_memory(&connection, ResponseMemory { own: 0, shared });
            connection
        };
        let old = [hold("192.0.2.1", 1), hold("192.0.2.1", 1)];
        let new = [hold("192.0.2.1", 2), hold("192.0.2.2", 2)];
        assert_eq!(ended(&[&old[0], &old[1], &new[0], &new[1]]), [false; 4]);
        let third = hold("192.0.2.2", 3);
        // Two connections hold the oldest body. Both have to end before it is freed.
        let all = [&old[0], &old[1], &new[0], &new[1], &third];
        assert_eq!(ended(&all), [true, true, false, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_may_take_5_minutes_and_30_seconds_without_progress() {
        for (pause, end) in [(10, 300), (29, 300), (31, 30)] {
            let connection = open(&Supervisor::new(1, 0), "192.0.2.1");
            let begin = Instant::now();
            let under_way = connection.begin();
            let progress = async {
                loop {
                    under_way.progressed();
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
            };
            tokio::select! {
                () = progress => {}
                () = connection.expired() => {}
            }
            assert_eq!(begin.elapsed().as_secs(), end, "a piece every {pause} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_only_without_a_request() {
        let connection = open(&Supervisor::new(1, 0), "192.0.2.1");
        let begin = Instant::now();
        let under_way = connection.begin();
        // The request waits, for example until its password is verified.
        tokio::time::sleep(Duration::from_secs(100)).await;
        under_way.progressed();
        drop(under_way);
        connection.expired().await;
        assert_eq!(begin.elapsed().as_secs(), 135);
    }

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_64_network() {
        for (address, client) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::"),
        ] {
            let peer = SocketAddr::new(address.parse().unwrap(), 1);
            assert_eq!(client_of(peer).to_string(), client, "{address}");
        }
    }
}
