//! The supervisor bounds the number of connections and the time that each may take.
//!
//! # Deadlines
//!
//! A connection ends after 35 s without a request, after 30 s in which a response makes no
//! progress, and after 5 minutes for one request and its response. A response makes progress when
//! hyper takes the next piece of its body, because it has sent the piece before.
//!
//! # Eviction
//!
//! A new client is let in. At capacity, the client that the server has waited for longest makes
//! room. A connection whose answer is being made is never evicted.

use crate::support::lock::lock;
use rustix::process::{Resource, getrlimit};
use std::{
    net::SocketAddr,
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
const MAX_CONNECTIONS: u64 = 128;

/// The file descriptors reserved for listeners, closing connections and the rest of the process.
const RESERVED_FILES: u64 = 40;

/// The connections of a server.
#[derive(Debug)]
pub struct Supervisor {
    max_connections: u64,
    /// Locked while a connection opens, which removes those that have ended.
    connections: Mutex<Vec<Weak<Connection>>>,
}

/// A connection, as the supervisor sees it.
#[derive(Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    /// Cancelled to end the connection at once.
    pub evicted: CancellationToken,
    /// Locked for each read or change.
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    stage: Stage,
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server waits for a request.
    Idle,
    /// The server makes the answer.
    Answering,
    /// The server waits until the client has read a piece of the answer.
    Sending,
}

impl Supervisor {
    /// Allows as many connections as the limit of open files does.
    pub fn within_limit_of_files() -> Self {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self::new(
            files
                .saturating_sub(RESERVED_FILES)
                .clamp(8, MAX_CONNECTIONS),
        )
    }

    fn new(max_connections: u64) -> Self {
        Self {
            max_connections,
            connections: Mutex::default(),
        }
    }

    /// Registers a connection, and evicts another one at capacity. Returns `None` while the answers
    /// of all others are being made.
    pub fn open(&self, peer: SocketAddr) -> Option<Arc<Connection>> {
        let mut connections = lock(&self.connections);
        let mut open: Vec<_> = connections.iter().filter_map(Weak::upgrade).collect();
        open.retain(|one| !one.evicted.is_cancelled());
        if open.len() as u64 >= self.max_connections {
            let waiting = open.iter().filter_map(|one| {
                let State { stage, since } = *lock(&one.state);
                (stage != Stage::Answering).then_some((since, one))
            });
            let (_, evicted) = waiting.min_by_key(|(since, _)| *since)?;
            tracing::debug!(peer = %evicted.peer, "evicting a connection: it has waited longest");
            evicted.evicted.cancel();
        }
        let connection = Arc::new(Connection {
            peer,
            evicted: CancellationToken::new(),
            state: Mutex::new(State::now(Stage::Idle)),
        });
        *connections = open.iter().map(Arc::downgrade).collect();
        connections.push(Arc::downgrade(&connection));
        Some(connection)
    }
}

impl Connection {
    /// Begins a request, which lasts until the returned [`UnderWay`] is dropped. HTTP/1.1 has one
    /// at a time.
    pub fn begin(self: &Arc<Self>) -> UnderWay {
        *lock(&self.state) = State::now(Stage::Answering);
        UnderWay {
            connection: Arc::clone(self),
            last_progress: Instant::now() + REQUEST_TIMEOUT - PROGRESS_TIMEOUT,
        }
    }

    /// Waits until the connection's deadline has passed. Cancel safe.
    pub async fn expired(&self) {
        loop {
            let (deadline, now) = (lock(&self.state).deadline(), Instant::now());
            if deadline <= now {
                return;
            }
            // A beginning response can bring the deadline as near as this.
            sleep_until(deadline.min(now + PROGRESS_TIMEOUT)).await;
        }
    }
}

/// A guard for a request under way. Dropping it leaves the connection idle.
#[derive(Debug)]
pub struct UnderWay {
    connection: Arc<Connection>,
    /// Progress after this time moves no deadline.
    last_progress: Instant,
}

impl UnderWay {
    /// Moves the deadline, because the response has begun or made progress.
    pub fn progressed(&self) {
        *lock(&self.connection.state) = State {
            stage: Stage::Sending,
            since: Instant::now().min(self.last_progress),
        };
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        *lock(&self.connection.state) = State::now(Stage::Idle);
    }
}

impl State {
    fn now(stage: Stage) -> Self {
        let since = Instant::now();
        Self { stage, since }
    }

    fn deadline(self) -> Instant {
        self.since
            + match self.stage {
                Stage::Idle => IDLE_TIMEOUT,
                Stage::Answering => REQUEST_TIMEOUT,
                Stage::Sending => PROGRESS_TIMEOUT,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(connections: &[&Arc<Connection>]) -> Vec<bool> {
        let ended = connections.iter().map(|one| one.evicted.is_cancelled());
        ended.collect()
    }

    fn open(supervisor: &Supervisor) -> Option<Arc<Connection>> {
        supervisor.open(([192, 0, 2, 1], 1).into())
    }

    fn single() -> Arc<Connection> {
        open(&Supervisor::new(1)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_that_the_server_has_waited_for_longest_makes_room() {
        let supervisor = Supervisor::new(4);
        let mut opened = Vec::new();
        for _ in 0..4 {
            opened.push(open(&supervisor).unwrap());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let all: Vec<_> = opened.iter().collect();
        // The first has made progress last, and the answer of the second is being made.
        let _answering = opened[1].begin();
        let sending = opened[0].begin();
        sending.progressed();
        let mut more = Vec::new();
        for end in [
            [false, false, true, false],
            [false, false, true, true],
            [true, false, true, true],
        ] {
            tokio::time::advance(Duration::from_secs(1)).await;
            more.push(open(&supervisor).unwrap());
            assert_eq!(ended(&all), end);
        }
    }

    #[tokio::test]
    async fn no_connection_whose_answer_is_being_made_is_evicted() {
        let supervisor = Supervisor::new(2);
        let [first, second] = [(); 2].map(|()| open(&supervisor).unwrap());
        let answers = [first.begin(), second.begin()];
        assert!(open(&supervisor).is_none());
        answers[1].progressed();
        let third = open(&supervisor).unwrap();
        assert_eq!(ended(&[&first, &second, &third]), [false, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_may_take_5_minutes_and_30_seconds_without_progress() {
        for (pause, end) in [(10, 300), (29, 300), (31, 30)] {
            let connection = single();
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
        let connection = single();
        let begin = Instant::now();
        let under_way = connection.begin();
        // The request waits, for example until its password is verified.
        tokio::time::sleep(Duration::from_secs(100)).await;
        under_way.progressed();
        drop(under_way);
        connection.expired().await;
        assert_eq!(begin.elapsed().as_secs(), 135);
    }
}
