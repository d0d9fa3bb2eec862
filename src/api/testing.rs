//! An API in memory with a rate limit. Requests go through the real session, with its pace, its
//! retries and its rules for the end of a poll.

use super::{
    Api, ApiError, Attempts, Client, PollEnd, PollSession, Session, error::RequestError,
    tests::client,
};
use crate::{
    domain::{
        Completion, Language, LanguageList, Listing, Next, Operation, Page, Repository,
        RepositoryId, TargetLanguage, snapshot::Pace,
    },
    support::lock::lock,
};
use reqwest::StatusCode;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// The time that each response takes.
const LATENCY: Duration = Duration::from_millis(50);

/// The response to a refused request.
#[derive(Debug, Clone, Copy)]
pub struct Refused {
    pub status: u16,
    pub retry_after: Option<Duration>,
}

/// An API that answers a request if its last answer is long enough ago, like nginx's `limit_req`.
#[derive(Debug, Clone)]
pub struct LimitedApi {
    client: Client,
    server: Arc<Mutex<Server>>,
}

#[derive(Debug)]
pub struct Server {
    pub repositories: u64,
    /// The allowed rate in requests a second; 0 refuses all requests.
    pub allowed: f64,
    pub refused: Refused,
    /// A repository whose requests are refused at any rate.
    pub unwilling: Option<RepositoryId>,
    answered_at: Option<Instant>,
    /// The number of all requests.
    pub requests: usize,
    /// The number of successful reads by repository.
    pub reads: BTreeMap<u64, usize>,
}

impl LimitedApi {
    pub fn new(repositories: u64, allowed: f64, refused: Refused) -> Self {
        let client = client();
        client.pacer.configure(Some(10.0));
        let server = Server {
            repositories,
            allowed,
            refused,
            unwilling: None,
            answered_at: None,
            requests: 0,
            reads: (1..=repositories).map(|id| (id, 0)).collect(),
        };
        Self {
            client,
            server: Arc::new(Mutex::new(server)),
        }
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut Server) -> T) -> T {
        change(&mut lock(&self.server))
    }
}

impl Server {
    /// Admits or refuses a request for the languages of `repository`, or for the listing.
    fn admit(&mut self, repository: Option<RepositoryId>) -> Result<(), RequestError> {
        self.requests += 1;
        let is_unwilling = repository.is_some() && repository == self.unwilling;
        let now = Instant::now();
        let is_early = self
            .answered_at
            .is_some_and(|at| (now - at).as_secs_f64() * self.allowed < 0.999);
        if is_early || is_unwilling || self.allowed == 0.0 {
            let status = StatusCode::from_u16(self.refused.status).unwrap();
            return Err(RequestError::status(status, self.refused.retry_after));
        }
        self.answered_at = Some(now);
        Ok(())
    }
}

impl Api for LimitedApi {
    type Session = LimitedSession;

    async fn begin(&self) -> Result<LimitedSession, PollEnd> {
        Ok(LimitedSession {
            session: self.client.begin().await?,
            server: Arc::clone(&self.server),
        })
    }

    fn held_until(&self) -> Option<Instant> {
        self.client.held_until()
    }

    fn pace(&self) -> Option<Pace> {
        self.client.pace()
    }

    fn forget_pace(&self) {
        self.client.forget_pace();
    }
}

#[derive(Debug)]
pub struct LimitedSession {
    session: PollSession,
    server: Arc<Mutex<Server>>,
}

impl LimitedSession {
    async fn request<T>(
        &self,
        repository: Option<RepositoryId>,
        attempts: Attempts,
        answer: impl Fn(&mut Server) -> T,
    ) -> Result<T, ApiError> {
        let url = &self.session.client().repositories;
        let operation = match repository {
            Some(_) => Operation::ListLanguages,
            None => Operation::ListRepositories,
        };
        let send = async |_, _| {
            let admitted = lock(&self.server).admit(repository);
            sleep(LATENCY).await;
            admitted.map(|()| answer(&mut lock(&self.server)))
        };
        self.session.pursue(operation, attempts, url, send).await
    }
}

impl Session for LimitedSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let answer = |server: &mut Server| {
            let (mut listing, mut next) = (Listing::default(), Next::End);
            for id in after.map_or(1, |id| id.get() + 1)..=server.repositories {
                let id = RepositoryId::new(id).unwrap();
                next = Next::After(id);
                listing.add(Arc::new(Repository {
                    id,
                    name: format!("o/{id}").into(),
                    private: Some(false),
                    created_at: None,
                }));
            }
            Page {
                listing,
                next,
                sent_at: None,
            }
        };
        self.request(None, Attempts::Several, answer).await
    }

    async fn list_languages(
        &self,
        id: RepositoryId,
        attempts: Attempts,
    ) -> Result<LanguageList, ApiError> {
        let answer = |server: &mut Server| {
            *server.reads.entry(id.get()).or_default() += 1;
            let language = Arc::new(Language {
                code: "de".into(),
                name: "German".into(),
            });
            LanguageList {
                languages: vec![TargetLanguage {
                    language,
                    completion: Completion::new(50.0),
                }],
                ..LanguageList::default()
            }
        };
        self.request(Some(id), attempts, answer).await
    }
}
