//! An API whose every answer a test can choose, over raw sockets.
//!
//! Left alone it does what the specification says, over the repositories it was given. A rule may do anything else
//! ([`Reply`]) to the requests it picks. Whatever it receives is kept, in the order of arrival.

use super::{
    Reply,
    reply::End,
    tls::{self, Flaw},
};
use rustls::{ServerConnection, StreamOwned};
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The key that the API accepts unless told otherwise; no real key looks like it.
pub const KEY: &str = "key-of-the-black-box-tests";

/// A repository of the API.
#[derive(Debug, Clone)]
pub struct Repo {
    pub id: u64,
    /// Its entry in the listing: any bytes.
    pub entry: String,
    /// The answer to the question for its languages: any bytes.
    pub languages: String,
}

impl Repo {
    /// A public repository with one language, `de` at 50.
    pub fn new(id: u64, name: &str) -> Self {
        let entry = json!({"id": id, "name": name, "private": false, "created_at": "2024-05-06T07:08:09Z"});
        Self { id, entry: entry.to_string(), languages: String::new() }.languages(&[("de", 50.0)])
    }

    /// Codes and their completion; each is named as its code.
    pub fn languages(mut self, languages: &[(&str, f64)]) -> Self {
        let entry = |(code, completion): &(&str, f64)| json!({"code": code, "name": code, "completion": completion});
        self.languages = languages.iter().map(entry).collect::<serde_json::Value>().to_string();
        self
    }

    /// The entry of the listing as it is on the wire.
    pub fn entry(mut self, json: &str) -> Self {
        json.clone_into(&mut self.entry);
        self
    }

    /// The answer for its languages as it is on the wire.
    pub fn languages_json(mut self, json: &str) -> Self {
        json.clone_into(&mut self.languages);
        self
    }
}

/// A request that the API received.
#[derive(Debug, Clone)]
pub struct Request {
    pub at: Instant,
    pub method: String,
    /// Path and query as they were sent.
    pub target: String,
    pub authorization: Option<String>,
    /// How many requests for the same endpoint of the same repository came before it.
    pub nth: usize,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        let query = self.target.split_once('?')?.1;
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The id in a path that asks for languages.
    pub fn repository(&self) -> Option<&str> {
        self.path().strip_prefix("/v1/repositories/")?.strip_suffix("/languages")
    }

    fn is_listing(&self) -> bool {
        self.path() == "/v1/repositories"
    }
}

/// Which requests are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Listing,
    Languages(u64),
    AllLanguages,
    Everything,
}

impl Target {
    pub fn holds(self, request: &Request) -> bool {
        match self {
            Self::Listing => request.is_listing(),
            Self::Languages(id) => request.repository() == Some(&*id.to_string()),
            Self::AllLanguages => request.repository().is_some(),
            Self::Everything => true,
        }
    }
}

type Rule = Arc<dyn Fn(&Request) -> Option<Reply> + Send + Sync>;

/// A running API; it ends when this is dropped.
pub struct Api {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    /// The root to trust where it speaks TLS, in PEM.
    pub authority: Option<String>,
}

struct Shared {
    tls: Option<Arc<rustls::ServerConfig>>,
    world: Mutex<World>,
    rules: Mutex<Vec<(Target, Rule)>>,
    log: Mutex<Vec<Request>>,
    /// Counts how often the API began to accept; the connections of the times before are over.
    open: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

struct World {
    repositories: BTreeMap<u64, Repo>,
    page_cap: usize,
    key: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Api {
    pub fn start(repositories: impl IntoIterator<Item = Repo>) -> Self {
        Self::start_at("127.0.0.1:0", repositories, None)
    }

    pub fn start_tls(repositories: impl IntoIterator<Item = Repo>, flaw: Flaw) -> Self {
        Self::start_at("127.0.0.1:0", repositories, Some(tls::identity(flaw, "localhost").0))
    }

    pub fn start_at(
        address: &str,
        repositories: impl IntoIterator<Item = Repo>,
        identity: Option<tls::Identity>,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (authority, tls) = identity.map(|identity| (identity.authority, identity.server)).unzip();
        let repositories = repositories.into_iter().map(|repo| (repo.id, repo)).collect();
        let shared = Arc::new(Shared {
            tls,
            world: Mutex::new(World { repositories, page_cap: 1000, key: KEY.into() }),
            rules: Mutex::default(),
            log: Mutex::default(),
            open: AtomicBool::new(true),
            connections: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        });
        shared.clone().accept(listener);
        Self { address, shared, authority }
    }

    pub fn base_url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The most repositories on a page, whatever is asked for.
    pub fn cap_pages(&self, cap: usize) {
        lock(&self.shared.world).page_cap = cap;
    }

    /// The only key that is accepted from now on.
    pub fn accept_key(&self, key: &str) {
        key.clone_into(&mut lock(&self.shared.world).key);
    }

    /// Adds repositories, or replaces those with the same ids.
    pub fn put(&self, repositories: impl IntoIterator<Item = Repo>) {
        lock(&self.shared.world).repositories.extend(repositories.into_iter().map(|repo| (repo.id, repo)));
    }

    pub fn remove(&self, id: u64) {
        lock(&self.shared.world).repositories.remove(&id);
    }

    /// Does this to the chosen requests until [`Self::heal`].
    pub fn fault(&self, target: Target, reply: Reply) {
        self.script(target, move |_| Some(reply.clone()));
    }

    /// Asks `rule` what to do to the chosen requests; `None` leaves it to the rules before it, and at last to the
    /// specification.
    pub fn script(&self, target: Target, rule: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) {
        lock(&self.shared.rules).push((target, Arc::new(rule)));
    }

    /// Ends all faults and scripts.
    pub fn heal(&self) {
        lock(&self.shared.rules).clear();
    }

    /// Refuses connections, and closes those there are, until [`Self::listen_again`].
    pub fn refuse(&self) {
        self.shared.open.store(false, Ordering::SeqCst);
        // Wakes the thread that accepts; it drops the listener before it ends.
        let _ = TcpStream::connect(self.address);
        super::eventually("the port is closed", || TcpStream::connect(self.address).is_err().then_some(()));
        self.shared.close_connections();
    }

    pub fn listen_again(&self) {
        let listener = super::eventually("the port can be bound", || TcpListener::bind(self.address).ok());
        self.shared.open.store(true, Ordering::SeqCst);
        self.shared.clone().accept(listener);
    }

    /// The requests received so far.
    pub fn requests(&self, target: Target) -> Vec<Request> {
        lock(&self.shared.log).iter().filter(|request| target.holds(request)).cloned().collect()
    }

    /// Forgets the requests received so far.
    pub fn forget(&self) {
        lock(&self.shared.log).clear();
    }

    /// How many requests were under way at once, at most.
    pub fn most_in_flight(&self) -> usize {
        self.shared.most_in_flight.load(Ordering::SeqCst)
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.open.store(false, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.shared.close_connections();
    }
}

impl Shared {
    fn accept(self: Arc<Self>, listener: TcpListener) {
        thread::spawn(move || {
            for stream in listener.incoming() {
                if !self.open.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = self.clone();
                lock(&self.connections).extend(stream.try_clone());
                thread::spawn(move || shared.serve(stream));
            }
        });
    }

    fn close_connections(&self) {
        for connection in lock(&self.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Serves one connection; how it ends is the peer's affair.
    fn serve(&self, stream: TcpStream) {
        let address = stream.peer_addr();
        let _ = stream.set_nodelay(true);
        let _ = match &self.tls {
            None => self.serve_plain(stream),
            Some(config) => ServerConnection::new(config.clone())
                .map_err(io::Error::other)
                .and_then(|connection| self.serve_tls(StreamOwned::new(connection, stream))),
        };
        let mut connections = lock(&self.connections);
        connections.retain(|other| other.peer_addr().ok() != address.as_ref().ok().copied());
    }

    fn serve_plain(&self, mut stream: TcpStream) -> io::Result<()> {
        loop {
            // A reset is what Linux sends where a socket is closed with bytes unread: so the head is only looked at
            // until it is known what becomes of the connection.
            let head = match peek_head(&stream) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return stream
                        .write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                }
                head => head?,
            };
            let (reply, _in_flight) = self.receive(&head);
            if reply.end() != End::Reset {
                stream.read_exact(&mut vec![0; head.len()])?;
            }
            reply.send(&mut stream)?;
            match reply.end() {
                End::Keep if !wants_close(&head) => {}
                End::Keep | End::Close => return stream.shutdown(Shutdown::Both),
                End::Reset => {
                    // Another handle on the socket would keep it open.
                    let address = stream.peer_addr()?;
                    lock(&self.connections).retain(|other| other.peer_addr().ok() != Some(address));
                    return Ok(());
                }
                End::Hang => return wait_for_end(&mut stream),
            }
        }
    }

    fn serve_tls(&self, mut stream: StreamOwned<ServerConnection, TcpStream>) -> io::Result<()> {
        loop {
            let head = read_head(&mut stream)?;
            let (reply, _in_flight) = self.receive(&head);
            reply.send(&mut stream)?;
            match reply.end() {
                End::Keep if !wants_close(&head) => {}
                End::Keep | End::Close | End::Reset => return stream.sock.shutdown(Shutdown::Both),
                End::Hang => return wait_for_end(&mut stream),
            }
        }
    }

    /// Notes the request and decides what is done to it.
    fn receive(&self, head: &str) -> (Reply, InFlight<'_>) {
        let in_flight = InFlight::new(self);
        let mut request = Request::parse(head);
        {
            let mut log = lock(&self.log);
            request.nth = log.iter().filter(|earlier| earlier.path() == request.path()).count();
            log.push(request.clone());
        }
        let rules: Vec<_> = lock(&self.rules).clone();
        let scripted =
            rules.iter().rev().filter(|(target, _)| target.holds(&request)).find_map(|(_, rule)| rule(&request));
        (scripted.unwrap_or_else(|| lock(&self.world).answer(&request)), in_flight)
    }
}

struct InFlight<'a>(&'a Shared);

impl<'a> InFlight<'a> {
    fn new(shared: &'a Shared) -> Self {
        let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_in_flight.fetch_max(now, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl World {
    fn answer(&self, request: &Request) -> Reply {
        if request.authorization.as_deref() != Some(&*format!("Bearer {}", self.key)) {
            return Reply::status(401);
        }
        if let Some(id) = request.repository() {
            let repository = id.parse().ok().and_then(|id: u64| self.repositories.get(&id));
            return repository.map_or_else(|| Reply::status(404), |repository| Reply::json(&*repository.languages));
        }
        if !request.is_listing() || request.method != "GET" {
            return Reply::status(404);
        }
        let limit = request.query("limit").map_or(Some(self.page_cap), |limit| limit.parse().ok());
        let after = request.query("after").map_or(Some(0), |after| after.parse().ok());
        match (limit, after, request.query("after")) {
            (Some(limit @ 1..=1000), Some(after), None) | (Some(limit @ 1..=1000), Some(after @ 1..), _) => {
                let page = self.repositories.range(after + 1..).take(limit.min(self.page_cap));
                let page: Vec<_> = page.map(|(_, repository)| &*repository.entry).collect();
                Reply::json(format!("[{}]", page.join(",")))
            }
            _ => Reply::status(400),
        }
    }
}

impl Request {
    fn parse(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let header = |name: &str| {
            let mut values = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
            values.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        Self {
            at: Instant::now(),
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            authorization: header("authorization"),
            nth: 0,
        }
    }
}

fn wants_close(head: &str) -> bool {
    head.to_ascii_lowercase().contains("\r\nconnection: close\r\n")
}

fn closed() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn head_of(bytes: &[u8]) -> Option<String> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The head of the request that comes next; invalid data where it is none of HTTP.
fn peek_head(stream: &TcpStream) -> io::Result<String> {
    let mut bytes = vec![0; 1 << 14];
    let mut known = 0;
    loop {
        let length = stream.peek(&mut bytes)?;
        match head_of(&bytes[..length]) {
            Some(head) => return Ok(head),
            None if length > 0 && !bytes[0].is_ascii_uppercase() => return Err(io::ErrorKind::InvalidData.into()),
            None if length == 0 || length == bytes.len() => return Err(closed()),
            // A peek gives at once what the one before gave.
            None if length == known => thread::sleep(Duration::from_millis(1)),
            None => known = length,
        }
    }
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        match stream.read(&mut more)? {
            0 => return Err(closed()),
            length => bytes.extend(&more[..length]),
        }
        if let Some(head) = head_of(&bytes) {
            return Ok(head);
        }
    }
}

fn wait_for_end(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut bytes = [0; 64];
    while stream.read(&mut bytes)? > 0 {}
    Ok(())
}
