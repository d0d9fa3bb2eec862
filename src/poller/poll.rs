//! One poll: it reads the listing, then the languages of each repository.

use super::{
    Poller,
    ledger::{MOST_REPOSITORIES, MOST_TRANSLATIONS},
    log::{self, PollLog},
    queue::{self, Queue, backoff},
};
use crate::{
    api::{Api, CURSOR_HINT, RequestFailure, Session},
    domain::{
        Defects, LanguageList, Listing, Next, Operation, PollFailure, Reason, RepositoryId,
        Settings, Stop, polling::PollOutcome,
    },
    metrics::instruments::{OfOperation, OfReason},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{collections::BTreeMap, mem::take, pin::pin, sync::Arc, time::Duration};
use tokio::{
    select,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, sleep_until},
};
use tracing::{Instrument as _, debug_span, error_span};

/// The longest time between two publications of a poll.
const PUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The time until the first publication of a poll: a start shows its first data soon.
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// The longest hold that a poll waits for. A longer hold ends the poll.
const LONGEST_HOLD: Duration = Duration::from_secs(5 * 60);

impl<A: Api> Poller<A> {
    /// Polls once, or until `interrupt`. The caller publishes afterwards, together with the time
    /// of the next poll.
    pub async fn poll(&mut self, interrupt: impl Future<Output = ()>) -> PollOutcome {
        let began = Instant::now();
        (self.is_polling, self.next_poll) = (true, None);
        self.progress = PollOutcome {
            since: self.clock.now(),
            ..PollOutcome::default()
        };
        let span = error_span!("poll", poll = self.instruments.polls.get() + 1);
        let (mut poll, mut is_interrupted) = (Poll::new(self), false);
        let stop = select! {
            biased;
            ended = poll.run().instrument(span.clone()) => ended.err(),
            () = interrupt => {
                is_interrupted = true;
                None
            }
        };
        let outcome = span.in_scope(|| poll.conclude(began, stop, is_interrupted));
        self.ledger.poll_ended(began);
        outcome
    }
}

/// A poll under way.
struct Poll<'a, A> {
    poller: &'a mut Poller<A>,
    settings: Arc<Settings>,
    log: PollLog,
    /// The ticks at which the progress of the poll is published and saved.
    publications: Interval,
    /// The last failure of each repository that was requested and not read.
    failures: BTreeMap<RepositoryId, RequestFailure>,
}

impl<'a, A: Api> Poll<'a, A> {
    fn new(poller: &'a mut Poller<A>) -> Self {
        let mut publications = interval_at(Instant::now() + FIRST_PUBLISH, PUBLISH_EVERY);
        publications.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            settings: Arc::clone(&poller.settings),
            poller,
            log: PollLog::default(),
            publications,
            failures: BTreeMap::new(),
        }
    }

    async fn run(&mut self) -> Result<(), Stop> {
        let api = Arc::clone(&self.poller.api);
        // The key and the certificates may be on a disk that hangs.
        let session = self.wait_for(api.begin()).await?;
        let listing_failure = self.list(&session).await.err();
        if let Some(failure) = &listing_failure {
            stop_for(Operation::ListRepositories, failure)?;
        }
        self.read(&session, listing_failure).await
    }

    /// Records, counts and logs the outcome of the poll.
    fn conclude(self, began: Instant, stop: Option<Stop>, is_interrupted: bool) -> PollOutcome {
        let poller = self.poller;
        let now = poller.clock.now();
        let has_overrun = began.elapsed() > self.settings.interval;
        let outcome = PollOutcome {
            ended_at: now,
            duration: began.elapsed(),
            total: poller.ledger.order(&poller.only).len(),
            stop,
            ..poller.progress.clone()
        };
        for (id, failure) in self.failures {
            poller.ledger.failed(id, failure, now);
        }
        // A poll of a few chosen repositories has not read everything, and a signal fails no poll.
        if poller.only.is_empty() && !is_interrupted && outcome.is_well() {
            poller.status.last_success_at = Some(now);
        }
        poller.status.has_data |= outcome.is_success();
        poller.status.last = Some(outcome.clone());
        poller.is_polling = false;
        let instruments = &poller.instruments;
        instruments.polls.inc();
        instruments.poll_overruns.inc_by(has_overrun.into());
        if let Some(failure) = outcome.failure() {
            let labels = [("reason", failure.label())];
            instruments.poll_failures.get_or_create(&labels).inc();
        }
        self.log.end();
        log::outcome(&outcome);
        poller.save();
        outcome
    }

    /// Waits for an answer. Meanwhile publishes and saves. The answer is never cancelled, and the
    /// other branches are cancel safe.
    async fn wait_for<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                _ = self.publications.tick() => {
                    self.poller.publish();
                    self.poller.save();
                }
            }
        }
    }

    /// Reads the listing and applies it to the ledger. Returns the early end of the listing; the
    /// ledger has then taken the new repositories of the part before it.
    async fn list(&mut self, session: &A::Session) -> Result<(), RequestFailure> {
        let mut listing = Listing::default();
        let end = self.read_pages(session, &mut listing).await;
        let poller = &mut *self.poller;
        let (filter, log) = (&self.settings.filter, &mut self.log);
        let now = poller.clock.now();
        let bad = (poller.ledger).apply(listing, end.is_ok(), filter, now, log);
        self.count_defects(Operation::ListRepositories, &bad);
        take(&mut self.log).end();
        self.poller.save();
        end
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        listing: &mut Listing,
    ) -> Result<(), RequestFailure> {
        let operation = Operation::ListRepositories;
        let mut after = None;
        loop {
            let page = self.read_page(session, after).await?;
            listing.append(page);
            let shown = listing.count();
            self.poller.progress.total = shown;
            if shown > MOST_REPOSITORIES {
                // The listing may have no end. The ledger takes nothing from it.
                *listing = Listing::default();
                let what = format!(
                    "the listing has more than {MOST_REPOSITORIES} repositories, or no end: it is \
                     not read further"
                );
                let hint = "report it to the API's operators";
                return Err(self.unusable(operation, Reason::TooLarge, what, hint));
            }
            match listing.next {
                Next::End if listing.is_unsorted => {
                    let what = "the listing is not sorted by id: others may be missing from it";
                    let what = what.to_owned();
                    return Err(self.unusable(operation, Reason::Cursor, what, CURSOR_HINT));
                }
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
    ) -> Result<Listing, RequestFailure> {
        let operation = Operation::ListRepositories;
        let mut attempt = 1;
        loop {
            let api = Arc::clone(&self.poller.api);
            let page = async {
                api.pace().permit().await;
                session.list_repositories(after).await
            };
            let page = self.wait_for(page).await;
            let failure = match page {
                Ok(page) => return Ok(page),
                Err(failure) => failure,
            };
            let is_final = !failure.is_momentary() || stop_for(operation, &failure).is_err();
            if is_final || attempt >= self.settings.max_attempts {
                return Err(failure);
            }
            self.wait_for(sleep(backoff(attempt))).await;
            self.count_retry(operation);
            attempt += 1;
        }
    }

    /// Reads the languages of the repositories. `listing_failure` is the failure that ended the
    /// listing early, if any.
    async fn read(
        &mut self,
        session: &A::Session,
        listing_failure: Option<RequestFailure>,
    ) -> Result<(), Stop> {
        let settings = Arc::clone(&self.settings);
        let poller = &mut *self.poller;
        let order = poller.ledger.order(&poller.only);
        let of = order.len();
        let mut queue = Queue::new(&order, listing_failure.as_ref(), settings.max_attempts);
        let mut requests = FuturesUnordered::new();
        let progress = &mut self.poller.progress;
        (progress.total, progress.is_listed) = (of, listing_failure.is_none());
        let api = Arc::clone(&self.poller.api);
        let mut end = Ok(());
        loop {
            let has_room = end.is_ok() && requests.len() < settings.concurrency;
            let due = queue.due().filter(|_| has_room);
            if requests.is_empty() && due.is_none() {
                return end.and_then(|()| self.check_outage(listing_failure.as_ref(), &queue));
            }
            // Only the next request waits for a permit, so that none is left when a part ends.
            let permit = async {
                sleep_until(due.unwrap_or_else(Instant::now)).await;
                api.pace().permit().await;
            };
            let completed = async {
                select! {
                    Some(completed) = requests.next() => Some(completed),
                    () = permit, if due.is_some() => None,
                }
            };
            let completed = self.wait_for(completed).await;
            if completed.is_none()
                && let Some(fetch) = queue.next()
            {
                if fetch.attempt > 1 {
                    self.count_retry(Operation::ListLanguages);
                }
                let request = session.list_languages(fetch.id);
                let span = debug_span!("repository", repository = fetch.id.get());
                let request = async move { (fetch, request.await) };
                requests.push(request.instrument(span));
            }
            if let Some((fetch, result)) = completed {
                self.poller.ledger.attempted(fetch.id);
                let is_lowest = self.poller.api.pace().is_lowest();
                queue.completed(fetch, result.as_ref().err(), is_lowest);
                // The poll has ended; answers of the API are still taken.
                end = end.and(self.take_in(fetch.id, result));
            }
        }
    }

    /// Takes in the result of the request for one repository's languages.
    fn take_in(
        &mut self,
        id: RepositoryId,
        result: Result<LanguageList, RequestFailure>,
    ) -> Result<(), Stop> {
        let mut end = Ok(());
        let result = result.and_then(|list| self.admit(id, list));
        match result {
            Ok(list) => {
                self.count_defects(Operation::ListLanguages, &list.bad);
                self.failures.remove(&id);
                let poller = &mut *self.poller;
                poller.progress.read += 1;
                let now = poller.clock.now();
                (poller.ledger).succeeded(id, list, &self.settings, now, &mut self.log);
            }
            Err(failure) => {
                end = stop_for(Operation::ListLanguages, &failure);
                self.failures.insert(id, failure);
            }
        }
        self.poller.progress.failed = self.failures.len();
        end
    }

    /// Fails if there is no room for the languages.
    fn admit(&self, id: RepositoryId, list: LanguageList) -> Result<LanguageList, RequestFailure> {
        if self.poller.ledger.has_room(id, list.languages.len()) {
            return Ok(list);
        }
        let what =
            format!("with it, the repositories have more than {MOST_TRANSLATIONS} languages");
        let hint = "leave out some with filter.exclude, or poll them with another process";
        Err(self.unusable(Operation::ListLanguages, Reason::TooLarge, what, hint))
    }

    /// Fails if the listing did not reach its end, or if the API failed as a whole: failures in a
    /// row ended the poll, or it read nothing.
    fn check_outage(
        &self,
        listing_failure: Option<&RequestFailure>,
        queue: &Queue,
    ) -> Result<(), Stop> {
        let is_nothing_read = self.poller.progress.read == 0;
        let failures = listing_failure.into_iter().chain(self.failures.values());
        let suggests_outage = |failure: &&RequestFailure| {
            queue::suggests_outage(failure.reason, listing_failure.is_none())
        };
        let mut of_api = failures.filter(suggests_outage);
        let of_api = of_api
            .next()
            .filter(|_| is_nothing_read || queue.is_outage());
        let (reason, failure) = match (of_api, listing_failure) {
            (Some(failure), _) => (PollFailure::Unavailable, failure),
            (None, Some(failure)) => (PollFailure::Listing, failure),
            (None, None) => return Ok(()),
        };
        Err(stop(reason, failure))
    }

    /// Returns, and counts, the failure of a response that was decoded but cannot be used.
    fn unusable(
        &self,
        operation: Operation,
        reason: Reason,
        what: String,
        hint: &'static str,
    ) -> RequestFailure {
        let failures = &self.poller.instruments.api_request_failures;
        let label = reason.label();
        let labels = OfReason {
            operation,
            reason: label,
        };
        failures.get_or_create(&labels).inc();
        RequestFailure::new(reason, what).hint(hint)
    }

    fn count_retry(&self, operation: Operation) {
        let retries = &self.poller.instruments.api_retries;
        retries.get_or_create(&OfOperation { operation }).inc();
    }

    fn count_defects(&self, operation: Operation, bad: &Defects) {
        for (defect, found) in &bad.0 {
            let reason = defect.label();
            let entries = &self.poller.instruments.invalid_entries;
            let entries = entries.get_or_create(&OfReason { operation, reason });
            entries.inc_by(found.count as u64);
        }
    }
}

/// Fails with the reason to stop the poll, if a failure concerns all requests.
fn stop_for(operation: Operation, failure: &RequestFailure) -> Result<(), Stop> {
    let reason = match (failure.reason, operation) {
        (Reason::Unauthorized, _) | (Reason::Forbidden, Operation::ListRepositories) => {
            PollFailure::Unauthorized
        }
        _ if failure.hold(operation == Operation::ListRepositories) > Some(LONGEST_HOLD) => {
            PollFailure::Held
        }
        _ => return Ok(()),
    };
    Err(stop(reason, failure))
}

fn stop(reason: PollFailure, failure: &RequestFailure) -> Stop {
    Stop {
        reason,
        failure: failure.told(),
        request: Some(failure.reason),
    }
}
