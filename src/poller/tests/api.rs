//! An API in memory, and the builder of a poller of any API.

use super::*;
use crate::support::hint::Failure;
use crate::{
    api::{Pace, RequestFailure, Session},
    domain::{
        Completion, Defects, LanguageList, Listing, Next, PollFailure, Reason, ReportedLanguage,
        RepositoryId, Stop, filter::Filter,
    },
    testing,
};
use reqwest::StatusCode;
use std::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

/// The time that each response of a script takes, give or take half of it.
const LATENCY: Duration = Duration::from_millis(80);

/// Returns the status of a response to a request for a repository, or for the listing. Status 0 is
/// no response, 1 is a page of HTML, 2 another shape, and 3 a refused connection.
pub type Script = Box<dyn FnMut(Option<u64>, Instant) -> u16 + Send>;

/// The responses of the API in memory, and the requests that it got.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
pub struct Responses {
    /// Pages of ids and names. The empty page follows, unless `listing_breaks`.
    pub pages: Vec<Vec<(u64, &'static str)>>,
    pub listing_breaks: bool,
    pub page_takes: Duration,
    /// The completion of each repository; the API cannot read the others.
    pub completions: Vec<(u64, f64)>,
    /// The ids of the repositories whose languages were requested.
    pub requested: Vec<u64>,
    /// The bad entries among the languages of repositories.
    pub bad: Vec<(u64, Defects)>,
    pub without_languages: bool,
    /// Failures look like an outage.
    pub is_unreachable: bool,
    pub end: Option<EndOfPoll>,
    pub has_no_key: bool,
    /// The duration of a request for languages.
    pub takes: Duration,
    pub script: Option<Script>,
    /// Retry-After of the failures in the script.
    pub hold: Option<Duration>,
    /// The requests that the script answered: their times, repositories and statuses.
    pub scripted: Vec<(Instant, Option<u64>, u16)>,
}

/// A request for languages that ends the poll.
#[derive(Debug, Clone, Copy)]
pub enum EndOfPoll {
    /// The request with this number in a poll.
    Number(usize, PollFailure),
    /// A request for this repository.
    Repository(u64, PollFailure),
}

/// Returns the failure that ends a poll.
fn ending(reason: PollFailure) -> RequestFailure {
    match reason {
        PollFailure::Held => refusal(HOUR),
        PollFailure::Unauthorized => RequestFailure::status(StatusCode::UNAUTHORIZED, None),
        _ => unreachable!("{reason:?} ends no poll"),
    }
}

/// Returns a refusal that holds all requests.
pub fn refusal(hold: Duration) -> RequestFailure {
    RequestFailure::status(StatusCode::TOO_MANY_REQUESTS, Some(hold))
}

impl Responses {
    /// Returns the failure of the API, or `otherwise` of one resource.
    fn failure(&self, otherwise: Reason, what: &str) -> RequestFailure {
        let reason = if self.is_unreachable {
            Reason::ServerError
        } else {
            otherwise
        };
        RequestFailure::new(reason, what)
    }

    /// Lists `repositories` named o/001, o/002 and so on, of which some can be read.
    pub fn list(&mut self, repositories: u64, can_be_read: impl Fn(&u64) -> bool) {
        let named = |id| (id, &*format!("o/{id:03}").leak());
        self.pages = vec![(1..=repositories).map(named).collect()];
        let ids = (1..=repositories).filter(can_be_read);
        self.completions = ids.map(|id| (id, 50.0)).collect();
    }
}

/// An API in memory of the repositories o/a, o/b and o/c.
#[derive(Clone)]
pub struct FakeApi {
    pub responses: Arc<Mutex<Responses>>,
    pub pace: Arc<Pace>,
}

impl FakeApi {
    pub fn new() -> Self {
        let responses = Responses {
            pages: vec![vec![(1, "o/a"), (2, "o/b")], vec![(3, "o/c")]],
            completions: vec![(1, 10.0), (2, 20.0), (3, 30.0)],
            ..Responses::default()
        };
        Self {
            responses: Arc::new(Mutex::new(responses)),
            pace: Arc::new(Pace::new(None)),
        }
    }

    pub fn responses(&self) -> MutexGuard<'_, Responses> {
        self.responses.lock().unwrap()
    }

    /// Waits for the response of the script, if there is one.
    async fn scripted(&self, id: Option<u64>) -> Result<(), RequestFailure> {
        let status = {
            let now = Instant::now();
            let mut responses = self.responses();
            let Some(script) = &mut responses.script else {
                return Ok(());
            };
            let status = script(id, now);
            responses.scripted.push((now, id, status));
            status
        };
        sleep(LATENCY.mul_f64(0.5 + fastrand::f64())).await;
        match status {
            200 => Ok(()),
            0 => Err(RequestFailure::new(Reason::Timeout, "no answer")),
            1 => Err(RequestFailure::new(Reason::NotJson, "HTML")),
            2 => Err(RequestFailure::new(Reason::Decode, "an object")),
            3 => Err(RequestFailure::new(Reason::Connect, "refused")),
            _ => {
                let status = StatusCode::from_u16(status).unwrap();
                Err(RequestFailure::status(status, self.responses().hold))
            }
        }
    }

    /// Holds all requests, as a Retry-After does.
    pub fn hold(&self, hold: Duration) {
        self.pace.answered(None, Some(&refusal(hold)));
    }
}

pub struct FakeSession {
    api: FakeApi,
    requests: Mutex<usize>,
}

impl Api for FakeApi {
    type Session = FakeSession;

    async fn begin(&self) -> Result<FakeSession, Stop> {
        if self.responses().has_no_key {
            return Err(Stop {
                reason: PollFailure::KeyFile,
                failure: Failure::new("the key file is empty", "fill it"),
                request: None,
            });
        }
        Ok(FakeSession {
            api: self.clone(),
            requests: Mutex::default(),
        })
    }

    fn pace(&self) -> &Pace {
        &self.pace
    }
}

impl Session for FakeSession {
    async fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> Result<Listing, RequestFailure> {
        let page = self.page(after).await;
        self.api.pace.answered(None, page.as_ref().err());
        page
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let languages = self.languages(id).await;
        self.api.pace.answered(Some(id), languages.as_ref().err());
        languages
    }
}

impl FakeSession {
    async fn page(&self, after: Option<RepositoryId>) -> Result<Listing, RequestFailure> {
        self.api.scripted(None).await?;
        let page_takes = self.api.responses().page_takes;
        sleep(page_takes).await;
        let responses = self.api.responses();
        let after = after.map_or(0, RepositoryId::get);
        let mut pages = responses.pages.iter();
        let page = pages.find(|page| page.last().is_some_and(|(id, _)| *id > after));
        if page.is_none() && responses.listing_breaks {
            return Err(responses.failure(Reason::Cursor, "the listing broke"));
        }
        let page = page.into_iter().flatten().copied();
        Ok(self::page(page.filter(|(id, _)| *id > after)))
    }

    async fn languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        self.api.scripted(Some(id.get())).await?;
        let takes = self.api.responses().takes;
        sleep(takes).await;
        let mut responses = self.api.responses();
        responses.requested.push(id.get());
        let mut requests = self.requests.lock().unwrap();
        *requests += 1;
        let reason = match responses.end {
            Some(EndOfPoll::Number(number, reason)) if number == *requests => Some(reason),
            Some(EndOfPoll::Repository(ends, reason)) if ends == id.get() => Some(reason),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(ending(reason));
        }
        let mut completions = responses.completions.iter();
        let Some((_, completion)) = completions.find(|(of, _)| *of == id.get()) else {
            let what = format!("repository {id} fails");
            return Err(responses.failure(Reason::Forbidden, &what));
        };
        let german = [("de", Some(*completion))];
        let german = german.into_iter().filter(|_| !responses.without_languages);
        let bad = responses.bad.iter().find(|(of, _)| *of == id.get());
        let bad = bad.map(|(_, bad)| bad.clone()).unwrap_or_default();
        Ok(LanguageList {
            bad,
            ..languages(german)
        })
    }
}

/// Makes a page of the listing from ids and names.
pub fn page<'a>(entries: impl Iterator<Item = (u64, &'a str)>) -> Listing {
    let mut listing = Listing::default();
    for (id, name) in entries {
        let repository = testing::repository(id, name);
        listing.next = Next::After(repository.id);
        listing.add(repository);
    }
    listing
}

/// Makes the languages of a repository from codes and completions.
pub fn languages<'a>(said: impl Iterator<Item = (&'a str, Option<f64>)>) -> LanguageList {
    let languages = said.map(|(code, completion)| ReportedLanguage {
        language: testing::record(code, None).language,
        completion: completion.and_then(Completion::new),
    });
    LanguageList {
        languages: languages.collect(),
        ..LanguageList::default()
    }
}

/// The parts of a poller under test, whose settings never change.
pub struct Setup<A> {
    pub api: A,
    pub concurrency: usize,
    pub max_attempts: u32,
    pub interval: Duration,
    pub filter: Filter,
    pub only: Globs<true>,
    pub saved: Option<SavedState>,
    pub saver: Option<Saver>,
    /// The time of the wall clock at the start.
    pub start: Timestamp,
    pub publish: Publish,
}

impl<A: Api> Setup<A> {
    pub fn of(api: A) -> Self {
        Self {
            api,
            concurrency: 1,
            max_attempts: 1,
            interval: Duration::from_secs(300),
            filter: Filter::default(),
            only: Globs::default(),
            saved: None,
            saver: None,
            start: START,
            publish: Box::new(|_| {}),
        }
    }

    pub fn build(self) -> Poller<A> {
        let settings = Settings {
            interval: self.interval,
            concurrency: self.concurrency,
            max_attempts: self.max_attempts,
            filter: self.filter,
            ..testing::settings()
        };
        let mut poller = Poller::new(
            self.api,
            Arc::new(settings),
            self.only,
            (self.saved, self.saver),
            Clock::following_tokio(self.start),
            Instruments::new(Some("/metrics")),
        );
        poller.seen = self.publish;
        poller
    }

    /// Polls for some minutes, and returns what `pick` finds in each publication.
    pub async fn run<T: Send + 'static>(
        self,
        minutes: u64,
        pick: impl Fn(&Document) -> Option<T> + Send + Sync + 'static,
    ) -> Vec<T> {
        let picked = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&picked);
        let publish: Publish = Box::new(move |document| {
            sink.lock().unwrap().extend(pick(document));
        });
        let poller = Self { publish, ..self }.build();
        poller
            .run(watch::Sender::new(Instant::now()), pass(minutes))
            .await;
        std::mem::take(&mut *picked.lock().unwrap())
    }
}
