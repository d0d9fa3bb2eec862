//! One poll: it reads the listing, then the languages of each repository.

use super::{
    Poller, Settings,
    ledger::MOST_LANGUAGES,
    log::{self, PollLog},
    queue::{Queue, backoff},
};
use crate::{
    api::{Api, CURSOR_HINT, RequestFailure, Session},
    domain::{
        Defect, Failure, LanguageList, Listing, Next, Operation, Page, PollFailure, Reason,
        RepositoryId, Stop,
        polling::{PollOutcome, Running},
    },
    support::humanize::repositories,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};
use tokio::{
    select,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, sleep_until},
};

/// The longest time between two publications of a poll.
const PUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The time until the first publication of a poll: a start shows its first data soon.
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// The time between two saves of a poll.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The longest hold that a poll waits for. A longer hold ends the poll.
const LONGEST_HOLD: Duration = Duration::from_secs(5 * 60);

impl<A: Api> Poller<A> {
    /// Polls once. The caller publishes afterwards, together with the time of the next poll.
    pub async fn poll(&mut self) -> PollOutcome {
        let settings = Arc::clone(&self.settings.borrow_and_update());
        let began = Instant::now();
        (self.began, self.silent_since, self.next_poll) = (Some(began), began, None);
        self.progress.send_replace(Running::default());
        if self.status.last.is_none() {
            self.publish();
        }
        let mut poll = Poll::new(self, settings);
        poll.run().await;
        let outcome = poll.conclude(began);
        self.ledger.poll_ended(began);
        outcome
    }
}

/// A poll under way.
struct Poll<'a, A> {
    poller: &'a mut Poller<A>,
    settings: Arc<Settings<A>>,
    outcome: PollOutcome,
    log: PollLog,
    /// The ticks at which the progress of the poll is published.
    publications: Interval,
    /// The ticks at which the progress is saved.
    saves: Interval,
    /// True once the API has refused a request with 429 or 503.
    is_refused: bool,
    /// The last failure of each repository that was requested and not read.
    failures: BTreeMap<RepositoryId, RequestFailure>,
}

impl<'a, A: Api> Poll<'a, A> {
    fn new(poller: &'a mut Poller<A>, settings: Arc<Settings<A>>) -> Self {
        let ticks = |first, every| {
            let mut ticks = interval_at(Instant::now() + first, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        Self {
            poller,
            settings,
            outcome: PollOutcome::default(),
            log: PollLog::default(),
            publications: ticks(FIRST_PUBLISH, PUBLISH_EVERY),
            saves: ticks(SAVE_EVERY, SAVE_EVERY),
            is_refused: false,
            failures: BTreeMap::new(),
        }
    }

    async fn run(&mut self) {
        let settings = Arc::clone(&self.settings);
        let now = self.poller.clock.now();
        // The key and the certificates may be on a disk that hangs.
        match self.wait_for(settings.api.begin(now)).await {
            Ok(session) => {
                let listing_failure = self.list(&session).await.err();
                let now = self.poller.clock.now();
                self.outcome.listing_failure =
                    listing_failure.as_ref().map(|failure| failure.dated(now));
                self.read(&session, listing_failure).await;
            }
            Err(stop) => {
                self.outcome.unreached = self.poller.ledger.polled();
                self.outcome.listing_failure = Some(stop.failure.clone());
                self.outcome.stop = Some(stop);
            }
        }
    }

    /// Records, counts and logs the outcome of the poll.
    fn conclude(self, began: Instant) -> PollOutcome {
        let poller = self.poller;
        let now = poller.clock.now();
        let before = poller.status.last.take();
        poller.status.last.clone_from(&before);
        poller.status.ended(PollOutcome {
            ended_at: now,
            duration: began.elapsed(),
            ..self.outcome
        });
        poller.began = None;
        let outcome = poller.status.last.clone().unwrap_or_default();
        // A poll of a few chosen repositories has not read everything.
        if self.settings.only.is_empty() {
            if outcome.is_success() {
                poller.status.last_success_at = Some(now);
            }
            let since = poller.status.failing_since;
            let since = since.or_else(|| Some(before.as_ref().map_or(now, |one| one.ended_at)));
            let since = since.filter(|_| !outcome.is_well());
            poller.status.failing_since = since;
        }
        poller.instruments.poll_ended(outcome.failure());
        // The refusals of an outage still slow down the polls after it.
        let slowed_to = self.settings.api.pace().slowed();
        poller.status.slowed_to = slowed_to.filter(|_| self.is_refused);
        if outcome.duration > self.settings.interval {
            poller.instruments.poll_overruns.inc();
        }
        self.log.end();
        log::outcome(before.as_ref(), &outcome);
        poller.save();
        outcome
    }

    /// Waits for an answer. Meanwhile publishes, saves and follows a reload. The answer is never
    /// cancelled, and the other branches are cancel safe.
    async fn wait_for<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                _ = self.publications.tick() => self.poller.publish(),
                _ = self.saves.tick() => self.poller.save(),
                Ok(()) = self.poller.settings.changed() => self.poller.publish(),
            }
        }
    }

    /// Reads the listing and applies it to the ledger. Returns the failure that ended the listing
    /// early; the ledger has then taken the new repositories of the part before it.
    async fn list(&mut self, session: &A::Session) -> Result<(), RequestFailure> {
        let mut listing = Listing::default();
        let end = self.read_pages(session, &mut listing).await;
        let operation = Operation::ListRepositories;
        for (defect, found) in &listing.bad.0 {
            self.count_defects(operation, *defect, found.count);
        }
        let poller = &mut *self.poller;
        let (ledger, settings) = (&mut poller.ledger, &self.settings);
        let now = poller.clock.now();
        let (is_first, before) = (!ledger.has_data(), ledger.names());
        let duplicates = match end {
            Ok(()) => Ok(ledger.apply_complete(listing, &settings.filter, now, &mut self.log)),
            Err(error) => {
                let most = settings.max_repositories;
                ledger.apply_incomplete(listing, most, &settings.filter, now);
                Err(error)
            }
        };
        if !is_first {
            self.log.changes(before, ledger.names());
        }
        let duplicates = duplicates?;
        if is_first {
            let (repositories, filtered) = (ledger.polled(), ledger.filtered());
            tracing::info!(repositories, filtered, "the first listing is complete");
        }
        self.count_defects(operation, Defect::DuplicateName, duplicates);
        Ok(())
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        listing: &mut Listing,
    ) -> Result<(), RequestFailure> {
        let operation = Operation::ListRepositories;
        let most = self.settings.max_repositories;
        let mut after = None;
        loop {
            let page = self.read_page(session, after).await?;
            if let Some(sent_at) = page.sent_at {
                self.poller.clock.compare(sent_at);
            }
            listing.append(page.listing);
            let shown = listing.count();
            self.poller.progress.send_modify(|poll| poll.listed = shown);
            if shown > most {
                // The listing may have no end. The ledger takes nothing from it.
                *listing = Listing::default();
                let what = format!(
                    "the listing has more than {most} repositories, or no end: it is not read \
                     further"
                );
                let hint = "raise api.max_repositories if the account has that many, or report it \
                            to the API's operators";
                return Err(self.unusable(operation, Reason::TooLarge, what, hint));
            }
            match page.next {
                Next::End => return Ok(()),
                Next::After(id) if after.is_none_or(|after| id > after) => after = Some(id),
                Next::After(_) | Next::Unreadable => {
                    let page = after.map_or_else(
                        || "the first page".to_owned(),
                        |after| format!("the page after id {after}"),
                    );
                    let what = format!(
                        "{page} of the listing has no id to continue from: its last id cannot be \
                         read, or is not higher than the one before"
                    );
                    return Err(self.unusable(operation, Reason::Cursor, what, CURSOR_HINT));
                }
            }
        }
    }

    /// Requests a page of the listing, and retries after a transient failure.
    async fn read_page(
        &mut self,
        session: &A::Session,
        after: Option<RepositoryId>,
    ) -> Result<Page, RequestFailure> {
        let operation = Operation::ListRepositories;
        let mut attempt = 1;
        loop {
            let page = self.wait_for(session.list_repositories(after)).await;
            self.poller.silent_since = Instant::now();
            let failure = match page {
                Ok(page) => return Ok(page),
                Err(failure) => failure,
            };
            self.outcome.stop = self.stop_for(operation, &failure);
            let is_final = !failure.is_momentary || self.outcome.stop.is_some();
            if is_final || attempt >= self.settings.max_attempts {
                return Err(failure);
            }
            self.wait_for(sleep(backoff(attempt))).await;
            self.poller.instruments.api_retries(operation).inc();
            attempt += 1;
        }
    }

    /// Reads the languages of the repositories. `listing_failure` is the failure that ended the
    /// listing early, if any.
    async fn read(&mut self, session: &A::Session, listing_failure: Option<RequestFailure>) {
        let settings = Arc::clone(&self.settings);
        let order = self.poller.ledger.order(&settings.only);
        let of = order.len();
        let mut queue = Queue::new(&order, listing_failure.as_ref(), settings.max_attempts);
        let mut requests = FuturesUnordered::new();
        self.poller.progress.send_modify(|poll| {
            (poll.of, poll.is_listed) = (Some(of), listing_failure.is_none());
        });
        while self.outcome.stop.is_none() {
            while requests.len() < settings.concurrency
                && let Some(fetch) = queue.next()
            {
                if fetch.attempt > 1 {
                    let instruments = &self.poller.instruments;
                    instruments.api_retries(Operation::ListLanguages).inc();
                }
                let request = session.list_languages(fetch.id);
                requests.push(async move { (fetch, request.await) });
            }
            let due = queue
                .due()
                .filter(|_| requests.len() < settings.concurrency);
            if requests.is_empty() && due.is_none() {
                break;
            }
            let completed = async {
                select! {
                    Some(completed) = requests.next() => Some(completed),
                    () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => None,
                }
            };
            if let Some((fetch, result)) = self.wait_for(completed).await {
                self.poller.silent_since = Instant::now();
                self.poller.ledger.attempted(fetch.id);
                let result = result.and_then(|list| self.admit(fetch.id, list));
                let is_lowest = settings.api.pace().is_lowest();
                let is_final = queue.completed(fetch, result.as_ref().err(), is_lowest);
                self.take_in(fetch.id, result, is_final);
            }
        }
        self.outcome.failed = self.failures.len();
        let left = of - self.outcome.read - self.outcome.failed;
        if self.outcome.stop.is_none() {
            self.outcome.stop = self.outage(listing_failure.as_ref(), &queue);
        }
        if self.outcome.stop.is_some() {
            self.outcome.unreached = left;
        } else {
            self.outcome.postponed = left;
        }
        self.settle();
    }

    /// Takes in the result of the request for one repository's languages. A failure is final if
    /// this poll does not try the repository again.
    fn take_in(
        &mut self,
        id: RepositoryId,
        result: Result<LanguageList, RequestFailure>,
        is_final: bool,
    ) {
        match result {
            Ok(list) => {
                self.failures.remove(&id);
                self.outcome.read += 1;
                self.poller.progress.send_modify(|poll| poll.read += 1);
                let poller = &mut *self.poller;
                let (scale, now) = (self.settings.completion_scale, poller.clock.moment());
                let log = &mut self.log;
                poller.ledger.succeeded(id, list, scale, now, log);
            }
            Err(failure) => {
                self.outcome.stop = self.stop_for(Operation::ListLanguages, &failure);
                let dated = failure.dated(self.poller.clock.now());
                self.poller.progress.send_modify(|poll| {
                    poll.failed += usize::from(is_final);
                    poll.failure = Some(dated);
                });
                self.failures.insert(id, failure);
            }
        }
    }

    /// Passes the failures to the ledger. In an outage they say nothing about the repositories.
    fn settle(&mut self) {
        let (poller, log) = (&mut *self.poller, &mut self.log);
        let now = poller.clock.now();
        let is_outage = self.outcome.stop.is_some();
        for (id, failure) in std::mem::take(&mut self.failures) {
            poller.ledger.failed(id, failure.dated(now), is_outage, log);
        }
    }

    /// Returns the reason to stop the poll, if a failure concerns all requests.
    fn stop_for(&mut self, operation: Operation, failure: &RequestFailure) -> Option<Stop> {
        self.is_refused |= failure.is_refusal();
        let hold = failure.hold.unwrap_or_default();
        let (reason, what) = match (failure.reason, operation) {
            (Reason::Unauthorized, _) => (
                PollFailure::Unauthorized,
                "the API refuses the key (401 Unauthorized)".to_owned(),
            ),
            (Reason::Forbidden, Operation::ListRepositories) => (
                PollFailure::Unauthorized,
                "the API forbids the listing (403 Forbidden)".to_owned(),
            ),
            _ if hold > LONGEST_HOLD => {
                let hold = humantime::format_duration(Duration::from_secs(hold.as_secs()));
                let what = format!(
                    "Retry-After holds all requests for {hold} ({})",
                    failure.what
                );
                (PollFailure::Held, what)
            }
            _ => return None,
        };
        let failure = Failure::new(what, failure.hint, self.poller.clock.now());
        Some(Stop { reason, failure })
    }

    /// Returns the reason to stop the poll if the API failed as a whole: failures in a row ended
    /// it, or it read nothing after a listing that failed.
    fn outage(&self, listing_failure: Option<&RequestFailure>, queue: &Queue) -> Option<Stop> {
        let now = self.poller.clock.now();
        let is_nothing_read = self.outcome.read == 0;
        let is_ended_by_row = queue.is_outage(is_nothing_read);
        let failure = match (listing_failure, &self.poller.progress.borrow().failure) {
            (Some(failure), _) if is_nothing_read || is_ended_by_row => failure.dated(now),
            (None, Some(last)) if is_ended_by_row => {
                let failed = repositories(self.failures.len());
                let what = format!("{failed} cannot be read, the last: {}", last.what);
                Failure::new(what, Arc::clone(&last.hint), now)
            }
            _ => return None,
        };
        Some(Stop {
            reason: PollFailure::Unavailable,
            failure,
        })
    }

    /// Fails if the ledger has no room for the languages.
    fn admit(&self, id: RepositoryId, list: LanguageList) -> Result<LanguageList, RequestFailure> {
        let operation = Operation::ListLanguages;
        for (defect, found) in &list.bad.0 {
            self.count_defects(operation, *defect, found.count);
        }
        if self.poller.ledger.has_room(id, list.languages.len()) {
            return Ok(list);
        }
        let what = format!(
            "with it, the repositories have more than {MOST_LANGUAGES} translations, those that \
             left within 30 days included"
        );
        let hint = "leave out some with filter.exclude, or poll them with another process";
        Err(self.unusable(operation, Reason::TooLarge, what, hint))
    }

    /// Returns, and counts, the failure of a response that was decoded but cannot be used.
    fn unusable(
        &self,
        operation: Operation,
        reason: Reason,
        what: String,
        hint: &'static str,
    ) -> RequestFailure {
        let instruments = &self.poller.instruments;
        instruments.api_request_failures(operation, reason).inc();
        RequestFailure {
            hint,
            ..RequestFailure::new(reason, what)
        }
    }

    fn count_defects(&self, operation: Operation, defect: Defect, count: usize) {
        let entries = self.poller.instruments.invalid_entries(operation, defect);
        entries.inc_by(count as u64);
    }
}
