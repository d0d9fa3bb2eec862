//! Supervises connections: their number, their deadlines, and the memory of their responses.
//!
//! # Deadlines
//!
//! A connection ends when it had no request for 35 s, when a response makes no progress for 30 s,
//! and when a request takes 5 minutes in all. Progress means that hyper takes another piece of a
//! body, because it has sent the piece before.
//!
//! # Eviction
//!
//! No client waits for a connection or for memory, and none is refused. If a capacity is exceeded,
//! connections of the client that has most of it are evicted. A flood from a few addresses therefore
//! cannot starve other clients; a flood from as many addresses as there are connections can.

use crate::{server::departed::Departed, support::lock::lock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a connection may be without a request: a little longer than the commonest interval of
/// scrapes, so that no scrape meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(35);

/// How long a response may make no progress.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a request and its response may take in all.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Connections over all listeners, where the limit of open files allows it.
const MAX_CONNECTIONS: u64 = 512;

/// Open files that are left to other parts of the process, the listeners and connections that are
/// being closed.
const RESERVED_FILES: u64 = 40;

/// The memory that responses may hold while they are sent, in bytes: of hundreds that nobody takes,
/// some are ended. It is a quarter of the 128 MiB of the shipped manifests.
const MAX_MEMORY: u64 = 32 * 1024 * 1024;

/// The connections of a server.
#[derive(Debug)]
pub struct Supervisor {
    max_connections: u64,
    /// In bytes.
    max_memory: u64,
    /// Locked while a connection or a response begins. A connection that has ended is removed then.
    connections: Mutex<Vec<Weak<Connection>>>,
}

/// A connection, for the decisions about its end.
#[derive(Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    /// Ends it at once.
    pub evicted: CancellationToken,
    pub departed: Departed,
    /// Whether there was a request.
    begun: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Whether a request is under way.
    busy: bool,
    /// When the connection has to end unless something happens before.
    deadline: Instant,
    memory: Memory,
}

/// The memory that a response holds while it is sent, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    pub own: u64,
    /// A body that several responses hold together, and that counts once.
    pub shared: Option<Shared>,
}

/// A body that several responses hold together.
#[derive(Debug, Clone, Copy)]
pub struct Shared {
    /// Identifies it, such as its address.
    pub id: usize,
    pub bytes: u64,
}

/// Supervises as many connections as the limit of open files allows, which this raises.
impl Default for Supervisor {
    fn default() -> Self {
        raise_limit_of_open_files();
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = files.saturating_sub(RESERVED_FILES);
        Self::new(most.clamp(8, MAX_CONNECTIONS), MAX_MEMORY)
    }
}

/// A connection needs a file descriptor; many systems set a low soft limit for the sake of old programs.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Otherwise it stays as it is.
    setrlimit(Resource::Nofile, raised).ok();
}

impl Supervisor {
    fn new(max_connections: u64, max_memory: u64) -> Self {
        Self {
            max_connections,
            max_memory,
            connections: Mutex::default(),
        }
    }

    /// Opens a connection, and evicts others until the number fits.
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
            departed: Departed::default(),
            begun: AtomicBool::new(false),
            state: Mutex::new(State::idle()),
        });
        others.push(Arc::clone(&connection));
        *connections = others.iter().map(Arc::downgrade).collect();
        connection
    }

    /// Notes the memory of the connection's response, and evicts others until the sum fits.
    pub fn hold(&self, connection: &Arc<Connection>, memory: Memory) {
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

impl Memory {
    fn sum(&self) -> u64 {
        self.own + self.shared.map_or(0, |shared| shared.bytes)
    }
}

/// Adds up memory, shared bodies once.
fn in_all(all: impl Iterator<Item = Memory>) -> u64 {
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

/// Evicts connections until the others fit: of the client that has the largest `share`, first one
/// without a request, then the one that was last active the longest ago.
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
        tracing::debug!(peer = %evicted.peer, "closing a connection: its client has more than its share");
        evicted.evicted.cancel();
    }
}

impl Connection {
    /// Whether there was a request.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Begins a request, which is under way until what this returns is dropped. HTTP/1.1 has one at
    /// a time.
    pub fn begin(self: &Arc<Self>) -> UnderWay {
        self.begun.store(true, Ordering::Relaxed);
        let last = Instant::now() + REQUEST_TIMEOUT;
        let mut state = lock(&self.state);
        (state.busy, state.deadline) = (true, last);
        UnderWay {
            connection: Arc::clone(self),
            last,
        }
    }

    /// Ends at the connection's deadline.
    pub async fn expired(&self) {
        loop {
            let (deadline, now) = (lock(&self.state).deadline, Instant::now());
            if deadline <= now {
                return;
            }
            // Once a response begins, the deadline may be as near as this.
            sleep_until(deadline.min(now + PROGRESS_TIMEOUT)).await;
        }
    }

    fn memory(&self) -> Memory {
        lock(&self.state).memory
    }
}

/// A request that is under way until this is dropped.
#[derive(Debug)]
pub struct UnderWay {
    connection: Arc<Connection>,
    /// The latest deadline that progress leads to.
    last: Instant,
}

impl UnderWay {
    /// Puts the deadline off, because the response has begun or made progress.
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
            memory: Memory::default(),
        }
    }
}

/// Returns the client that an address counts as: itself, or over IPv6 its network of 64 bits, which
/// one host can have all of.
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

    fn own(own: u64) -> Memory {
        Memory { own, shared: None }
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_with_most_connections_makes_room_idle_ones_first() {
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
    async fn memory_is_free_again_once_its_response_or_connection_ends() {
        let supervisor = Supervisor::new(9, 10);
        let [first, second, third] = [(); 3].map(|()| open(&supervisor, "192.0.2.1"));
        let response = first.begin();
        supervisor.hold(&first, own(6));
        drop(response);
        let _responses = [first.begin(), second.begin(), third.begin()];
        supervisor.hold(&first, own(6));
        supervisor.hold(&second, own(4));
        assert_eq!(ended(&[&first, &second]), [false, false]);
        supervisor.hold(&third, own(10));
        assert_eq!(ended(&[&first, &second, &third]), [true, true, false]);
    }

    #[tokio::test]
    async fn a_shared_body_counts_once_and_one_that_was_replaced_still_counts() {
        let supervisor = Supervisor::new(9, 10);
        let hold = |address: &str, id| {
            let connection = open(&supervisor, address);
            std::mem::forget(connection.begin());
            let shared = Some(Shared { id, bytes: 4 });
            supervisor.hold(&connection, Memory { own: 0, shared });
            connection
        };
        let old = [hold("192.0.2.1", 1), hold("192.0.2.1", 1)];
        let new = [hold("192.0.2.1", 2), hold("192.0.2.2", 2)];
        assert_eq!(ended(&[&old[0], &old[1], &new[0], &new[1]]), [false; 4]);
        let third = hold("192.0.2.2", 3);
        // Both that hold the oldest body have to end for it to be freed.
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
        // The request waits, such as for its password.
        tokio::time::sleep(Duration::from_secs(100)).await;
        under_way.progressed();
        drop(under_way);
        connection.expired().await;
        assert_eq!(begin.elapsed().as_secs(), 135);
    }

    #[test]
    fn a_client_is_an_address_or_over_ipv6_a_network_of_64_bits() {
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
