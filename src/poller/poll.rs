//! One poll: it reads the listing, then the languages of each repository.

use super::{
    Poller,
    ledger::{MOST_REPOSITORIES, MOST_TRANSLATIONS},
    queue::{self, Queue, backoff},
};
use crate::{
    api::{Api, CURSOR_HINT, RequestFailure, Session},
    domain::{
        Defects, LanguageList, Listing, Next, Operation, PollFailure, Reason, RepositoryId, Stop,
        polling::PollOutcome,
    },
    metrics::instruments::{OfOperation, OfReason},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};
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
        self.status.next_poll_at = None;
        self.status.running = Some(PollOutcome {
            since: self.clock.now(),
            ..PollOutcome::default()
        });
        let span = error_span!("poll", poll = self.instruments.polls.get() + 1);
        let mut publications = interval_at(began + FIRST_PUBLISH, PUBLISH_EVERY);
        publications.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut poll = Poll {
            poller: self,
            publications,
            failures: BTreeMap::new(),
            lost: Vec::new(),
        };
        let stop = select! {
            biased;
            ended = poll.run().instrument(span.clone()) => ended.err(),
            () = interrupt => None,
        };
        span.in_scope(|| poll.conclude(began, stop))
    }
}

/// A poll under way.
struct Poll<'a, A> {
    poller: &'a mut Poller<A>,
    /// The ticks at which the progress of the poll is published and saved.
    publications: Interval,
    /// The last failure of each repository that was requested and not read.
    failures: BTreeMap<RepositoryId, RequestFailure>,
    /// The repositories whose completions have all fallen to 0.
    lost: Vec<Arc<str>>,
}

impl<A: Api> Poll<'_, A> {
    async fn run(&mut self) -> Result<(), Stop> {
        let api = Arc::clone(&self.poller.api);
        // The key and the certificates may be on a disk that hangs.
        let session = self.wait_for(api.begin()).await?;
        let listing_failure = self.list(&session).await.err();
        if let Some(failure) = &listing_failure {
            stop_for(Operation::ListRepositories, failure)?;
        }
        self.read(&session, listing_failure.as_ref()).await
    }

    fn progress(&mut self) -> &mut PollOutcome {
        self.poller.status.running.get_or_insert_default()
    }

    /// Records, counts and logs the outcome of the poll. The diagnosis logs the reason of a failure.
    fn conclude(self, began: Instant, stop: Option<Stop>) -> PollOutcome {
        let poller = self.poller;
        let now = poller.clock.now();
        let outcome = PollOutcome {
            ended_at: now,
            duration: began.elapsed(),
            total: poller.ledger.order(&poller.only).len(),
            stop,
            ..poller.status.running.take().unwrap_or_default()
        };
        for (id, failure) in self.failures {
            poller.ledger.failed(id, &failure, now);
        }
        poller.ledger.polls += 1;
        // A poll of a few chosen repositories has not read everything.
        if poller.only.items.is_empty() && outcome.is_well() {
            poller.ledger.saved.last_success_at = Some(now);
        }
        poller.status.has_data |= outcome.is_success();
        poller.status.last = Some(outcome.clone());
        let (instruments, duration) = (&poller.instruments, outcome.duration);
        instruments.polls.inc();
        let has_overrun = duration > poller.settings.interval;
        instruments.poll_overruns.inc_by(has_overrun.into());
        if let Some(failure) = outcome.failure() {
            let labels = [("reason", failure.label())];
            instruments.poll_failures.get_or_create(&labels).inc();
        }
        if let Some(first) = self.lost.first() {
            let (count, first) = (self.lost.len(), &**first);
            tracing::warn!(count, first, "all completions of the repository fell to 0");
        }
        let PollOutcome { read, failed, .. } = outcome;
        let duration = format!("{:.3}s", duration.as_secs_f64());
        tracing::info!(read, failed, left = outcome.left(), duration, "poll ended");
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
        let (filter, now) = (&poller.settings.filter, poller.clock.now());
        let bad = poller.ledger.apply(listing, end.is_ok(), filter, now);
        self.count_defects(Operation::ListRepositories, &bad);
        self.poller.save();
        end
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        listing: &mut Listing,
    ) -> Result<(), RequestFailure> {
        let mut after = None;
        loop {
            let page = self.read_page(session, after).await?;
            listing.append(page);
            let shown = listing.count();
            self.progress().total = shown;
            let (reason, what, hint) = match listing.next {
                _ if shown > MOST_REPOSITORIES => {
                    // The listing may have no end. The ledger takes nothing from it.
                    *listing = Listing::default();
                    let what = format!(
                        "the listing has more than {MOST_REPOSITORIES} repositories, or no end: it \
                         is not read further"
                    );
                    (Reason::TooLarge, what, "report it to the API's operators")
                }
                Next::End if listing.is_unsorted => {
                    let what = "the listing is not sorted by id: others may be missing from it";
                    (Reason::Cursor, what.to_owned(), CURSOR_HINT)
                }
                Next::End => return Ok(()),
                Next::After(id) if after < Some(id) => {
                    after = Some(id);
                    continue;
                }
                Next::After(_) | Next::Unreadable => {
                    let page = after.map_or_else(
                        || "the first page".to_owned(),
                        |after| format!("the page after id {after}"),
                    );
                    let what = format!(
                        "{page} of the listing has no id to continue from: its last id cannot be \
                         read, or is not higher than the one before"
                    );
                    (Reason::Cursor, what, CURSOR_HINT)
                }
            };
            return Err(self.unusable(Operation::ListRepositories, reason, what, hint));
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
            let failure = match self.wait_for(page).await {
                Ok(page) => return Ok(page),
                Err(failure) => failure,
            };
            let is_last = attempt >= self.poller.settings.max_attempts;
            if is_last || !failure.is_momentary() || stop_for(operation, &failure).is_err() {
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
        listing_failure: Option<&RequestFailure>,
    ) -> Result<(), Stop> {
        let api = Arc::clone(&self.poller.api);
        let settings = Arc::clone(&self.poller.settings);
        let order = self.poller.ledger.order(&self.poller.only);
        let total = order.len();
        let mut queue = Queue::new(&order, listing_failure, settings.max_attempts);
        let progress = self.progress();
        (progress.total, progress.is_listed) = (total, listing_failure.is_none());
        let (mut requests, mut end) = (FuturesUnordered::new(), Ok(()));
        loop {
            let has_room = end.is_ok() && requests.len() < settings.concurrency;
            let due = queue.due().filter(|_| has_room);
            if requests.is_empty() && due.is_none() {
                return end.and_then(|()| self.check_outage(listing_failure, &queue));
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
            let Some((fetch, result)) = self.wait_for(completed).await else {
                let Some(fetch) = queue.next() else { continue };
                if fetch.attempt > 1 {
                    self.count_retry(Operation::ListLanguages);
                }
                let request = session.list_languages(fetch.id);
                let span = debug_span!("repository", repository = fetch.id.get());
                let request = async move { (fetch, request.await) };
                requests.push(request.instrument(span));
                continue;
            };
            self.poller.ledger.attempted(fetch.id);
            queue.completed(fetch, result.as_ref().err(), api.pace().is_lowest());
            // The poll has ended; answers of the API are still taken.
            end = end.and(self.take_in(fetch.id, result));
        }
    }

    /// Takes in the result of the request for one repository's languages.
    fn take_in(
        &mut self,
        id: RepositoryId,
        result: Result<LanguageList, RequestFailure>,
    ) -> Result<(), Stop> {
        let mut end = Ok(());
        match result.and_then(|list| self.admit(id, list)) {
            Ok(list) => {
                self.count_defects(Operation::ListLanguages, &list.bad);
                self.failures.remove(&id);
                self.progress().read += 1;
                let poller = &mut *self.poller;
                let now = poller.clock.now();
                let ledger = &mut poller.ledger;
                (self.lost).extend(ledger.succeeded(id, list, &poller.settings, now));
            }
            Err(failure) => {
                end = stop_for(Operation::ListLanguages, &failure);
                self.failures.insert(id, failure);
            }
        }
        self.progress().failed = self.failures.len();
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
        &mut self,
        listing_failure: Option<&RequestFailure>,
        queue: &Queue,
    ) -> Result<(), Stop> {
        let may_be_outage = self.progress().read == 0 || queue.is_outage();
        let is_listed = listing_failure.is_none();
        let mut failures = listing_failure.into_iter().chain(self.failures.values());
        let of_api = failures
            .find(|failure| may_be_outage && queue::suggests_outage(failure.reason, is_listed));
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
        let labels = OfReason {
            operation,
            reason: reason.label(),
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
