//! A fake API over raw sockets. Each test chooses its responses.
//!
//! By default the API follows the specification and serves the repositories it was given. A rule
//! can replace the response ([`Reply`]) to chosen requests. All requests are recorded in order of
//! arrival.

use super::{
    Reply,
    reply::End,
    tls::{self, Certificate},
};
use rustls::{ServerConnection, StreamOwned};
use serde_json::json;
use socket2::SockRef;
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

/// The key that the API accepts at first. No real key looks like it.
pub const KEY: &str = "key-of-the-black-box-tests";

/// A repository of the API.
#[derive(Debug, Clone)]
pub struct Repo {
    pub id: u64,
    /// The entry in the listing, as arbitrary bytes.
    pub entry: String,
    /// The response to a request for languages, as arbitrary bytes.
    pub languages: String,
}

impl Repo {
    /// Returns a public repository with one language, `de` at 50.
    pub fn new(id: u64, name: &str) -> Self {
        let entry =
            json!({"id": id, "name": name, "private": false, "created_at": "2024-05-06T07:08:09Z"});
        Self {
            id,
            entry: entry.to_string(),
            languages: String::new(),
        }
        .languages(&[("de", 50.0)])
    }

    /// Replaces the languages by these codes and completions. Codes serve as names.
    pub fn languages(mut self, languages: &[(&str, f64)]) -> Self {
        let entry = |&(code, completion): &(&str, f64)| -> serde_json::Value {
            json!({"code": code, "name": code, "completion": completion})
        };
        self.languages = languages
            .iter()
            .map(entry)
            .collect::<serde_json::Value>()
            .to_string();
        self
    }

    /// Replaces the response for its languages, as it is on the wire.
    pub fn languages_json(mut self, json: &str) -> Self {
        json.clone_into(&mut self.languages);
        self
    }
}

/// Returns the public repository `owner/repo-{id}` with one language, `de` at 50.
pub fn repo(id: u64) -> Repo {
    Repo::new(id, &format!("owner/repo-{id}"))
}

/// A request that the API received.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// The path with the query, as sent.
    pub target: String,
    pub authorization: Option<String>,
    /// The port of the client, by which its connections differ.
    pub port: u16,
    /// The number of earlier requests for the same endpoint of the same repository.
    pub nth: usize,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        let query = self.target.split_once('?')?.1;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// Returns the id in a path that requests languages.
    pub fn repository(&self) -> Option<&str> {
        self.path()
            .strip_prefix("/v1/repositories/")?
            .strip_suffix("/languages")
    }

    fn is_listing(&self) -> bool {
        self.path() == "/v1/repositories"
    }
}

/// A filter for requests.
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

/// A running API. It runs until the process ends.
pub struct Api {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    /// The trusted root in PEM, with TLS.
    pub authority: Option<String>,
}

struct Shared {
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    world: Mutex<World>,
    rules: Mutex<Vec<(Target, Rule)>>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    requests: Vec<Request>,
    /// The number of requests by path.
    counts: HashMap<String, usize>,
}

struct World {
    repositories: BTreeMap<u64, Repo>,
    page_cap: usize,
    key: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Api {
    /// Returns an API with the repositories 1 to `count`, named `owner/repo-1` and so on.
    pub fn of(count: u64) -> Self {
        Self::start((1..=count).map(repo))
    }

    pub fn start(repositories: impl IntoIterator<Item = Repo>) -> Self {
        Self::start_at("127.0.0.1:0", repositories, None)
    }

    pub fn start_tls(certificate: Certificate) -> Self {
        Self::start_at(
            "127.0.0.1:0",
            [repo(1)],
            Some(tls::identity(certificate, "localhost").0),
        )
    }

    pub fn start_at(
        address: &str,
        repositories: impl IntoIterator<Item = Repo>,
        identity: Option<tls::Identity>,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (authority, tls) = identity
            .map(|identity| (identity.authority, identity.server))
            .unzip();
        let repositories = repositories
            .into_iter()
            .map(|repo| (repo.id, repo))
            .collect();
        let world = Mutex::new(World {
            repositories,
            page_cap: 1000,
            key: KEY.into(),
        });
        let shared = Arc::new(Shared {
            tls: Mutex::new(tls),
            world,
            rules: Mutex::default(),
            log: Mutex::default(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = serving.clone();
                thread::spawn(move || shared.serve(&stream));
            }
        });
        Self {
            address,
            shared,
            authority,
        }
    }

    pub fn base_url(&self) -> String {
        let scheme = if self.authority.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Presents this certificate to new connections.
    pub fn show(&self, server: Arc<rustls::ServerConfig>) {
        *lock(&self.shared.tls) = Some(server);
    }

    /// Limits the size of a page, whatever limit a request has.
    pub fn cap_pages(&self, cap: usize) {
        lock(&self.shared.world).page_cap = cap;
    }

    /// Accepts only this key from now on.
    pub fn accept_key(&self, key: &str) {
        key.clone_into(&mut lock(&self.shared.world).key);
    }

    /// Adds repositories, or replaces those with the same ids.
    pub fn put(&self, repositories: impl IntoIterator<Item = Repo>) {
        let repositories = repositories.into_iter().map(|repo| (repo.id, repo));
        self.change(|known| known.extend(repositories));
    }

    /// Changes the repositories, by id.
    pub fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, Repo>)) {
        change(&mut lock(&self.shared.world).repositories);
    }

    /// Replies like this to the chosen requests until [`Self::heal`].
    pub fn fault(&self, target: Target, reply: Reply) {
        self.script(target, move |_| Some(reply.clone()));
    }

    /// Lets `rule` choose the reply to the chosen requests. On `None`, earlier rules decide, and
    /// finally the specification.
    pub fn script(
        &self,
        target: Target,
        rule: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) {
        lock(&self.shared.rules).push((target, Arc::new(rule)));
    }

    /// Ends all faults and scripts.
    pub fn heal(&self) {
        lock(&self.shared.rules).clear();
    }

    /// Returns the requests received so far.
    pub fn requests(&self, target: Target) -> Vec<Request> {
        lock(&self.shared.log)
            .requests
            .iter()
            .filter(|request| target.holds(request))
            .cloned()
            .collect()
    }

    /// Forgets the requests received so far.
    pub fn forget(&self) {
        *lock(&self.shared.log) = Log::default();
    }
}

impl Shared {
    /// Serves one connection. The client notices errors.
    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let port = stream.peer_addr().map_or(0, |peer| peer.port());
        let mut plain = stream;
        let tls = lock(&self.tls).clone();
        let end = match tls {
            None => self.answer_all(&mut plain, port),
            Some(config) => ServerConnection::new(config)
                .map_err(io::Error::other)
                .and_then(|connection| {
                    self.answer_all(&mut StreamOwned::new(connection, plain), port)
                }),
        };
        if let Ok(End::Reset) = end {
            // A socket without lingering is closed with a reset.
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    /// Answers requests until one peer ends the connection, and returns how it ends.
    fn answer_all(&self, stream: &mut (impl Read + Write), port: u16) -> io::Result<End> {
        loop {
            let Some(head) = read_head(stream)? else {
                stream.write_all(
                    b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                )?;
                return Ok(End::Close);
            };
            let reply = self.reply_to(&head, port);
            reply.send(stream)?;
            match reply.end() {
                End::Keep
                    if !head
                        .to_ascii_lowercase()
                        .contains("\r\nconnection: close\r\n") => {}
                End::Hang => while stream.read(&mut [0; 64])? > 0 {},
                end => return Ok(end),
            }
        }
    }

    /// Records the request and chooses its reply.
    fn reply_to(&self, head: &str, port: u16) -> Reply {
        let mut request = Request::parse(head);
        request.port = port;
        {
            let mut log = lock(&self.log);
            let count = log.counts.entry(request.path().to_owned()).or_default();
            request.nth = *count;
            *count += 1;
            log.requests.push(request.clone());
        }
        let rules: Vec<_> = lock(&self.rules).clone();
        let scripted = rules
            .iter()
            .rev()
            .filter(|(target, _)| target.holds(&request))
            .find_map(|(_, rule)| rule(&request));
        scripted.unwrap_or_else(|| lock(&self.world).answer(&request))
    }
}

impl World {
    fn answer(&self, request: &Request) -> Reply {
        if request.authorization.as_deref() != Some(&*format!("Bearer {}", self.key)) {
            return Reply::status(401);
        }
        if request.method != "GET" {
            return Reply::status(405);
        }
        if let Some(id) = request.repository() {
            let repository = id
                .parse()
                .ok()
                .and_then(|id: u64| self.repositories.get(&id));
            return repository.map_or_else(
                || Reply::status(404),
                |repository| Reply::json(&*repository.languages),
            );
        }
        if !request.is_listing() {
            return Reply::status(404);
        }
        let number = |name, missing| {
            request
                .query(name)
                .map_or(Some(missing), |text| text.parse().ok())
        };
        match (number("limit", 1000), number("after", 0)) {
            (Some(limit @ 1..=1000), Some(after))
                if after > 0 || request.query("after").is_none() =>
            {
                let page = self
                    .repositories
                    .range(after as u64 + 1..)
                    .take(limit.min(self.page_cap));
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
        let mut words = lines
            .next()
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned);
        let header = |name: &str| {
            let mut values = head
                .split("\r\n")
                .skip(1)
                .filter_map(|line| line.split_once(':'));
            values
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.trim().to_owned())
        };
        Self {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            authorization: header("authorization"),
            port: 0,
            nth: 0,
        }
    }
}

/// Reads the head of the next request; `None` if the bytes are not HTTP.
fn read_head(stream: &mut impl Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::<u8>::new();
    loop {
        let mut more = [0; 4096];
        match stream.read(&mut more)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => bytes.extend(&more[..length]),
        }
        if !bytes[0].is_ascii_uppercase() {
            return Ok(None);
        }
        if bytes.ends_with(b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}
