//! The API in memory: an account, its troubles, and the model of what it said.

use super::{
    super::*,
    model::{Filters, Model},
};
use crate::{
    api::{Pace, RequestFailure, Session},
    domain::{Defect, LanguageList, Listing, Next, Reason, RepositoryId, Stop},
};
use reqwest::StatusCode;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard},
};

/// The number of repositories on a page of the listing.
const PAGE: usize = 10;
/// The id of an entry without a readable name.
const NAMELESS: u64 = 1_000_000;
const LATENCY: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(30);

pub const CODES: [&str; 3] = ["de", "fr", "pt-BR"];

/// The requests that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    All,
    Listing,
    /// The page of the listing after the first one.
    SecondPage,
    Repositories,
    /// The repositories whose id ends with this digit.
    Digit(u8),
}

/// The way in which requests fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Status(u16),
    /// The status, with this number of seconds in Retry-After.
    Hold(u16, u16),
    /// The status for this percentage of the requests.
    Sometimes(u16, u8),
    /// A limit of requests in 10 s, beyond which each one gets this status.
    Limit(u16, u8),
    Timeout,
    Connect,
    Truncated,
    Html,
}

#[derive(Debug, Clone)]
pub struct Account {
    pub name: String,
    pub languages: BTreeMap<&'static str, Option<f64>>,
    /// The defect of a further entry, which cannot be read.
    pub bad: Option<Defect>,
}

/// The poll under way, or the last one.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Polling {
    filters: Filters,
    scale: f64,
    key: u32,
    /// The entries of the listing, which is open until its end or the first read.
    pages: BTreeMap<u64, String>,
    is_open: bool,
    pub is_listed: bool,
    bad_listing: Option<Defect>,
    requests: usize,
    /// The number of successful reads of each repository.
    pub reads: BTreeMap<u64, usize>,
    /// The key was refused.
    pub has_refused_key: bool,
    /// A request failed as those of an outage do.
    pub is_dead: bool,
    /// The repositories that a 503 with Retry-After left to a time, or to the next poll.
    waits: BTreeMap<u64, Option<Instant>>,
    /// A page of the listing was not sorted.
    is_unsorted: bool,
    pub ended: Option<Instant>,
}

#[derive(Debug)]
pub struct World {
    pub begun: Instant,
    pub account: BTreeMap<u64, Account>,
    pub troubles: Vec<(Who, How)>,
    /// The current key; a session that began with another one gets 401.
    pub key: u32,
    pub is_revoked: bool,
    /// The number of minutes by which the clock of the machine is ahead.
    pub ahead_by: i64,
    pub model: Model,
    pub violations: Vec<String>,
    pub requests: Vec<Instant>,
    /// The number of polls that have begun.
    pub polls: usize,
    answered: Vec<Instant>,
    held_until: Option<Instant>,
    pub poll: Polling,
    /// The defect of a further entry of the listing.
    pub bad_entry: Option<Defect>,
    /// The first page of the listing is not sorted, and one of its entries is lost.
    pub is_unsorted: bool,
    /// The names that two ids of the last complete listing had.
    pub doubled: Vec<String>,
    /// The last complete listing had an entry that cannot be read.
    pub is_listing_bad: bool,
    /// The repositories whose last response had an entry that could not be read.
    pub bad_said: BTreeSet<u64>,
}

impl World {
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
            account: BTreeMap::new(),
            troubles: Vec::new(),
            key: 0,
            is_revoked: false,
            ahead_by: 0,
            model: Model::new(),
            violations: Vec::new(),
            requests: Vec::new(),
            polls: 0,
            answered: Vec::new(),
            held_until: None,
            poll: Polling::default(),
            bad_entry: None,
            is_unsorted: false,
            doubled: Vec::new(),
            is_listing_bad: false,
            bad_said: BTreeSet::new(),
        }
    }

    /// Gives each language this completion.
    pub fn say(&mut self, completion: f64) {
        let languages = self
            .account
            .values_mut()
            .flat_map(|it| it.languages.values_mut());
        languages.for_each(|said| *said = Some(completion));
    }

    /// Returns the id of a repository by its place among those that there are.
    pub fn chosen(&self, place: usize) -> Option<u64> {
        let place = place.checked_rem(self.account.len())?;
        self.account.keys().nth(place).copied()
    }

    /// Changes the repository at a place.
    pub fn change(&mut self, place: usize, change: impl FnOnce(&mut Account)) {
        if let Some(id) = self.chosen(place) {
            change(self.account.get_mut(&id).unwrap());
        }
    }

    pub fn violation(&mut self, what: &str) {
        let at = self.begun.elapsed().as_secs_f64();
        self.violations.push(format!("at {at:.3} s: {what}"));
    }

    /// Returns the time by the clock of the machine.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.right_time().as_millis() + self.ahead_by * 60_000)
    }

    fn right_time(&self) -> Timestamp {
        START.saturating_add(self.begun.elapsed())
    }

    /// Takes in the listing of the last poll, if it broke off.
    pub fn end_listing(&mut self) {
        if std::mem::take(&mut self.poll.is_open) {
            let pages = std::mem::take(&mut self.poll.pages);
            self.model.incomplete(pages, self.poll.filters);
        }
    }

    /// Follows the start of a process. The state keeps no hold, and polled repositories only.
    pub fn start(&mut self, filters: Filters) {
        self.held_until = None;
        self.poll.ended = None;
        self.model.restart(filters);
    }

    fn sent(&mut self) -> u32 {
        let now = Instant::now();
        if self.held_until.is_some_and(|until| now < until) {
            self.violation("a request was sent in a hold");
        }
        self.requests.push(now);
        self.poll.requests += 1;
        // Each page and each repository has four attempts.
        let most = 4 * (self.account.len() + self.model.polled.len() + 10);
        if self.poll.requests > most {
            self.violation(&format!("a poll has more than {most} requests"));
        }
        // Two more than ten a second: a permit may catch up, and a restart has a new pace.
        let tenth = self.requests.len().checked_sub(13);
        if tenth.is_some_and(|tenth| now - self.requests[tenth] < Duration::from_secs(1)) {
            self.violation("more than ten requests in a second");
        }
        self.poll.key
    }

    fn trouble(&self, repository: Option<u64>, is_second_page: bool) -> Option<How> {
        let concerns = |who: &Who| match (*who, repository) {
            (Who::All, _) | (Who::Listing, None) | (Who::Repositories, Some(_)) => true,
            (Who::SecondPage, None) => is_second_page,
            (Who::Digit(digit), Some(id)) => id % 10 == u64::from(digit),
            _ => false,
        };
        let found = self.troubles.iter().find(|(who, _)| concerns(who));
        found.map(|(_, how)| *how)
    }

    fn failure(&mut self, how: How, key: u32, repository: Option<u64>) -> Option<RequestFailure> {
        let now = Instant::now();
        if self.is_revoked || key != self.key {
            self.poll.has_refused_key = true;
            return Some(status(401, None));
        }
        Some(match how {
            How::Status(code) => status(code, None),
            How::Hold(code, seconds) => {
                let hold = Duration::from_secs(seconds.into());
                match repository {
                    Some(id) if code == 503 => {
                        // Beyond 30 s, the poll leaves it to the next one.
                        let due = (seconds <= 30).then(|| now + hold);
                        self.poll.waits.insert(id, due);
                    }
                    _ if [429, 503].contains(&code) => {
                        self.held_until = self.held_until.max(Some(now + hold));
                    }
                    _ => {}
                }
                status(code, Some(hold))
            }
            How::Sometimes(code, percent) => {
                // Reproducible, and of no period that a poll could have too.
                let number = self.requests.len() as u64;
                let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57;
                (mixed % 100 < u64::from(percent)).then(|| status(code, None))?
            }
            How::Limit(code, count) => {
                let recent = |at: &&Instant| now - **at < Duration::from_secs(10);
                let recent = self.answered.iter().rev().take_while(recent).count();
                if recent < usize::from(count) {
                    return None;
                }
                status(code, None)
            }
            How::Timeout => RequestFailure::new(Reason::Timeout, "no complete answer in time"),
            How::Connect => RequestFailure::new(Reason::Connect, "refused"),
            How::Truncated => RequestFailure::new(Reason::Truncated, "cut short"),
            How::Html => RequestFailure::new(Reason::NotJson, "HTML"),
        })
    }

    fn page(&mut self, after: Option<RepositoryId>) -> Listing {
        let after = after.map_or(0, RepositoryId::get);
        let entries = self.account.range(after + 1..).take(PAGE);
        let entries = entries.map(|(id, account)| (*id, account.name.as_str()));
        let mut entries: Vec<_> = entries.collect();
        if self.is_unsorted && after == 0 && entries.len() > 3 {
            entries.swap(0, 1);
            entries.remove(2);
            self.poll.is_unsorted = true;
        }
        let mut page = api::page(entries.into_iter());
        if let Some(defect) = self.bad_entry
            && after == 0
        {
            page.bad.add(defect, Some(1), "");
            if defect == Defect::Name {
                page.nameless.insert(RepositoryId::new(NAMELESS).unwrap());
            }
            self.poll.bad_listing = Some(defect);
        }
        for repository in page.repositories.values() {
            let (id, name) = (repository.id.get(), repository.name.to_string());
            self.poll.pages.insert(id, name);
        }
        if page.next == Next::End && !self.poll.is_unsorted {
            self.poll.is_open = false;
            self.poll.is_listed = true;
            let pages = std::mem::take(&mut self.poll.pages);
            let filters = self.poll.filters;
            let names = pages.values().filter(|name| filters.accepts(name)).cloned();
            let mut seen = BTreeSet::new();
            self.doubled = names.filter(|name| !seen.insert(name.clone())).collect();
            self.is_listing_bad = self.poll.bad_listing.is_some();
            self.model.complete(pages, self.poll.filters);
        }
        page
    }

    fn languages(&mut self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let Some(account) = self.account.get(&id.get()) else {
            return Err(status(404, None));
        };
        let said = account.languages.clone();
        let mut list = api::languages(said.iter().map(|(code, completion)| (*code, *completion)));
        self.bad_said.remove(&id.get());
        let account_bad = account.bad;
        if let Some(defect) = account_bad {
            list.bad.add(defect, Some(1), "");
            self.bad_said.insert(id.get());
        }
        *self.poll.reads.entry(id.get()).or_default() += 1;
        let (scale, now) = (self.poll.scale, self.now());
        let has_hidden = account_bad.is_some();
        (self.model).said(id.get(), (said, has_hidden), scale, now);
        Ok(list)
    }
}

fn status(code: u16, hold: Option<Duration>) -> RequestFailure {
    RequestFailure::status(StatusCode::from_u16(code).unwrap(), hold)
}

/// The world as seen by a process with these filters.
#[derive(Debug, Clone)]
pub struct Seen {
    pub world: Arc<Mutex<World>>,
    pub pace: Arc<Pace>,
    pub filters: Filters,
    pub scale: f64,
}

impl Seen {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    async fn request<T>(
        &self,
        repository: Option<u64>,
        is_second_page: bool,
        answer: impl FnOnce(&mut World) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let (key, how) = {
            let mut world = self.world();
            let key = world.sent();
            let wait = repository.and_then(|id| world.poll.waits.remove(&id));
            if wait.is_some_and(|due| due.is_none_or(|due| Instant::now() < due)) {
                world.violation(&format!(
                    "{repository:?} is requested before its Retry-After"
                ));
            }
            if repository.is_some() {
                world.end_listing();
            }
            (key, world.trouble(repository, is_second_page))
        };
        tokio::time::sleep(match how {
            Some(How::Timeout) => TIMEOUT,
            _ => LATENCY,
        })
        .await;
        let mut world = self.world();
        let is_known = |id: &u64| world.model.polled.contains_key(id);
        if repository.is_some_and(|id| !is_known(&id)) {
            world.violation(&format!("{repository:?} was requested, and is not known"));
        }
        // Without trouble, a key may still be wrong.
        let how = how.unwrap_or(How::Sometimes(500, 0));
        let answer = match world.failure(how, key, repository) {
            Some(failure) => {
                let is_forbidden = failure.status == Some(StatusCode::FORBIDDEN);
                world.poll.has_refused_key |= repository.is_none() && is_forbidden;
                let is_told = [Reason::Forbidden, Reason::NotFound].contains(&failure.reason);
                world.poll.is_dead |= !is_told;
                Err(failure)
            }
            None => answer(&mut world),
        };
        if answer.is_ok() {
            world.answered.push(Instant::now());
        }
        let repository = repository.and_then(RepositoryId::new);
        self.pace.answered(repository, answer.as_ref().err());
        answer
    }
}

impl Api for Seen {
    type Session = Self;

    async fn begin(&self) -> Result<Self, Stop> {
        let mut world = self.world();
        world.end_listing();
        world.polls += 1;
        world.poll = Polling {
            filters: self.filters,
            scale: self.scale,
            is_open: true,
            key: world.key,
            ..Polling::default()
        };
        Ok(self.clone())
    }

    fn pace(&self) -> &Pace {
        &self.pace
    }
}

impl Session for Seen {
    async fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> Result<Listing, RequestFailure> {
        self.request(None, after.is_some(), |world| Ok(world.page(after)))
            .await
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        self.request(Some(id.get()), false, |world| world.languages(id))
            .await
    }
}
