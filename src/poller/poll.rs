//! One poll: it reads the listing, then the languages of each repository.

use super::{
    JUMP, Poller,
    ledger::{FailedRead, MOST_LANGUAGES, NAME_BYTES, is_too_large},
    log::{self, PollLog},
    queue::Queue,
};
use crate::{
    api::{Api, ApiError, CURSOR_HINT, PollEnd, RequestFailure, Session},
    domain::{
        Defect, Failure, Fault, LanguageList, Listing, Next, Operation, PollFailure, Reason,
        RepositoryId,
        snapshot::{PollOutcome, Step},
    },
    support::{
        clock::Timestamp,
        humanize::{Rough, repositories},
    },
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The longest time between two publications of a poll.
const PUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The time until the first publication of a poll: a start shows its first data soon.
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// The largest difference of two clocks that agree: more than networks, leap seconds and sloppy
/// clocks cause, and far less than matters to a progress clock.
const AGREEMENT: Duration = Duration::from_secs(60 * 60);

impl<A: Api> Poller<A> {
    /// Polls once. The caller publishes afterwards, together with the time of the next poll.
    pub async fn poll(&mut self) -> PollOutcome {
        let settings = Arc::clone(&self.settings.borrow_and_update().poll);
        self.ledger.follow_scale(settings.completion_scale);
        self.poll_settings = settings;
        self.timeline.begin(self.clock.moment());
        if self.timeline.last.is_none() {
            self.publish();
        }
        let mut poll = Poll::new(self);
        poll.run().await;
        poll.conclude()
    }
}

/// A poll under way.
struct Poll<'a, A> {
    poller: &'a mut Poller<A>,
    outcome: PollOutcome,
    /// The failure that ended the listing before its end.
    listing_failure: Option<Failure>,
    /// The reason for which the poll ends early.
    end: Option<PollEnd>,
    log: PollLog,
    /// Publishes the progress of the poll at each tick.
    publications: Interval,
    /// The failed reads since the last response. The rest of the poll decides whether the API or a
    /// repository is at fault.
    unsettled: Vec<FailedRead>,
}

impl<'a, A: Api> Poll<'a, A> {
    fn new(poller: &'a mut Poller<A>) -> Self {
        let mut publications = interval_at(Instant::now() + FIRST_PUBLISH, PUBLISH_EVERY);
        publications.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            poller,
            outcome: PollOutcome::default(),
            listing_failure: None,
            end: None,
            log: PollLog::default(),
            publications,
            unsettled: Vec::new(),
        }
    }

    async fn run(&mut self) {
        let settings = Arc::clone(&self.poller.poll_settings);
        // The key and the certificates may be on a disk that hangs.
        match self.wait_for(settings.api.begin()).await {
            Ok(session) => {
                let listing = self.list(&session).await;
                self.read(&session, listing.err()).await;
            }
            Err(end) => {
                self.outcome.unreached = self.poller.ledger.polled();
                self.listing_failure = Some(end.failure.clone());
                self.end = Some(end);
            }
        }
    }

    /// Reports how the poll ended.
    fn conclude(self) -> PollOutcome {
        let poller = self.poller;
        let before = poller.timeline.last.clone();
        let outcome = poller.timeline.end(
            self.outcome,
            self.listing_failure,
            self.end,
            poller.clock.moment(),
        );
        // A poll of a few chosen repositories is no measure for polls of all.
        if outcome.cut_short().is_none() && poller.poll_settings.only.is_empty() {
            poller.timeline.last_full_poll = Some(outcome.duration);
        }
        poller.ledger.forget_excess();
        poller.instruments.poll_ended(outcome.failure());
        if outcome.failure() == Some(PollFailure::Unavailable) {
            poller.poll_settings.api.forget_pace();
        }
        if outcome.duration > poller.interval() {
            poller.instruments.poll_overran();
        }
        self.log.end();
        log::outcome(before.as_ref(), &outcome);
        poller.save_changes();
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
                () = self.poller.saving.due() => self.poller.save(),
                Ok(()) = self.poller.settings.changed() => self.poller.follow_settings(),
            }
        }
    }

    /// Reads the listing and applies it to the ledger. Returns the error that ended the listing
    /// early; the ledger has then taken the new repositories of the part before it.
    async fn list(&mut self, session: &A::Session) -> Result<(), ApiError> {
        let mut listing = Listing::default();
        let end = self.read_pages(session, &mut listing).await;
        let poller = &mut *self.poller;
        let (ledger, settings) = (&mut poller.ledger, &poller.poll_settings);
        let now = poller.clock.now();
        let (is_first, before) = (!ledger.has_data(), ledger.names());
        let applied = match end {
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
        let applied = applied?;
        if is_first {
            let (repositories, filtered) = (ledger.polled(), ledger.filtered());
            tracing::info!(repositories, filtered, "the first listing is complete");
        }
        if let Some(before) = applied.dropped_of {
            poller.instruments.repositories_dropped(now, before);
        }
        poller.saving.is_changed = true;
        self.count_defects(Operation::ListRepositories, &applied.defects);
        Ok(())
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        listing: &mut Listing,
    ) -> Result<(), ApiError> {
        let operation = Operation::ListRepositories;
        let most = self.poller.poll_settings.max_repositories;
        let mut after = None;
        loop {
            let page = self.wait_for(session.list_repositories(after)).await?;
            if let Some(sent_at) = page.sent_at {
                self.compare_clocks(sent_at);
            }
            listing.append(page.listing);
            // Counted here, the defects of a listing that breaks off count too.
            self.count_defects(operation, &std::mem::take(&mut listing.bad.all));
            let shown = listing.count();
            let step = &self.poller.timeline.step;
            step.send_replace(Step::Listing { shown });
            if is_too_large(shown, listing.name_bytes, most) {
                // The listing may have no end. The ledger takes nothing from it.
                *listing = Listing::default();
                let what = format!(
                    "the listing has more than {most} repositories, names of more than \
                     {NAME_BYTES} bytes on average for so many, or no end: it is not read further"
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
                         read, or does not rise"
                    );
                    return Err(self.unusable(operation, Reason::Cursor, what, CURSOR_HINT));
                }
            }
        }
    }

    /// Confirms the wall clock if the API's clock, which showed `sent_at` just now, agrees with it.
    fn compare_clocks(&mut self, sent_at: Timestamp) {
        let now = self.poller.clock.now();
        if now.since(sent_at).max(sent_at.since(now)) > AGREEMENT {
            return;
        }
        let behind = self.poller.ledger.clock_behind(now);
        if behind >= JUMP {
            tracing::warn!(
                by = %Rough(behind),
                "recorded times are later than the clocks of this machine and of the API, which \
                 agree; they are set to now"
            );
        }
        self.poller.ledger.follow_clock(now);
    }

    /// Reads the languages of the repositories. `listing_error` ended the listing before its end.
    async fn read(&mut self, session: &A::Session, listing_error: Option<ApiError>) {
        let settings = Arc::clone(&self.poller.poll_settings);
        let order = self.poller.ledger.order(&settings.only);
        let mut queue = Queue::new(order, listing_error.as_ref());
        let (of, is_listed) = (queue.len(), listing_error.is_none());
        let mut requests = FuturesUnordered::new();
        loop {
            let PollOutcome { read, failed, .. } = self.outcome;
            self.poller.timeline.step.send_replace(Step::Reading {
                is_listed,
                of,
                tried: read + failed,
                read,
            });
            while requests.len() < settings.concurrency
                && let Some(request) = queue.next()
            {
                requests.push(async move {
                    let result = session.list_languages(request.id, request.attempts).await;
                    (request, result)
                });
            }
            let Some((request, result)) = self.wait_for(requests.next()).await else {
                break;
            };
            let result = result.and_then(|list| self.to_keep(request.id, list));
            queue.completed(request, &result);
            self.take_in(request.id, result);
        }
        if queue.ended_by_breaker() {
            self.outcome.unreached += queue.len();
        } else {
            self.outcome.postponed = queue.len();
        }
        if self.end.is_none() {
            self.end = self.outage(listing_error.as_ref(), queue.ended_by_breaker());
        }
        self.listing_failure = listing_error.map(ApiError::into_failure);
        self.settle();
    }

    /// Takes in the result of the request for one repository's languages.
    fn take_in(&mut self, id: RepositoryId, result: Result<LanguageList, ApiError>) {
        let failed_read = |RequestFailure { failure, reason }| FailedRead {
            id,
            failure,
            reason: Some(reason),
        };
        match result {
            Ok(list) => {
                self.settle();
                self.outcome.read += 1;
                let poller = &mut *self.poller;
                let (scale, now) = (poller.poll_settings.completion_scale, poller.clock.moment());
                let log = &mut self.log;
                poller.ledger.succeeded(id, list, scale, now, log);
                poller.saving.is_changed = true;
            }
            Err(ApiError::Failed(failure)) => {
                self.settle();
                self.outcome.failed += 1;
                self.failed(failed_read(failure), Fault::Repository);
            }
            Err(ApiError::Unreachable { failure, .. }) => {
                self.outcome.failed += 1;
                self.unsettled.push(failed_read(failure));
            }
            Err(ApiError::PollEnded(end)) => {
                self.outcome.unreached += 1;
                if self.end.is_none() {
                    // This request ended the poll: the next poll sends it after all others.
                    self.unsettled.push(FailedRead {
                        id,
                        failure: end.failure.clone(),
                        reason: None,
                    });
                    self.end = Some(end);
                }
            }
        }
    }

    /// Settles the unsettled failures: the API is at fault if the poll ended early. Otherwise the
    /// repositories are, because the API answered before or after them.
    fn settle(&mut self) {
        let fault = match self.end {
            Some(_) => Fault::Api,
            None => Fault::Repository,
        };
        for failed in std::mem::take(&mut self.unsettled) {
            self.failed(failed, fault);
        }
    }

    fn failed(&mut self, failed: FailedRead, fault: Fault) {
        // A repository may look like an outage and hide that the API works. So it waits behind the
        // others, if any of them could be read.
        let comes_last = fault == Fault::Repository || self.outcome.read > 0;
        let (poller, log) = (&mut *self.poller, &mut self.log);
        let now = poller.clock.now();
        poller.ledger.failed(failed, fault, comes_last, now, log);
        poller.saving.is_changed = true;
    }

    /// Returns the end of a poll in which the API failed as a whole: the poll was
    /// `ended_by_breaker`, or it read nothing, and either the listing or every repository failed as
    /// in an outage.
    fn outage(&self, listing_error: Option<&ApiError>, ended_by_breaker: bool) -> Option<PollEnd> {
        let is_nothing_read = self.outcome.read == 0;
        let all_unreachable = is_nothing_read && self.outcome.failed == self.unsettled.len();
        let failure = match (listing_error, self.unsettled.last()) {
            (Some(ApiError::PollEnded(end)), _) => return Some(end.clone()),
            (Some(ApiError::Unreachable { failure, .. }), _)
                if is_nothing_read || ended_by_breaker =>
            {
                failure.failure.clone()
            }
            (_, Some(last)) if ended_by_breaker || listing_error.is_none() && all_unreachable => {
                let failed = repositories(self.unsettled.len());
                let Failure { what, hint } = &last.failure;
                let what = format!("{failed} in a row cannot be read, the last: {what}");
                Failure::new(what, Arc::clone(hint))
            }
            _ => return None,
        };
        Some(PollEnd {
            reason: PollFailure::Unavailable,
            failure,
        })
    }

    /// Removes the excluded languages. Fails if the ledger has no room for the others.
    fn to_keep(&self, id: RepositoryId, mut list: LanguageList) -> Result<LanguageList, ApiError> {
        let operation = Operation::ListLanguages;
        self.count_defects(operation, &list.bad.all);
        let excluded = &self.poller.settings.borrow().live.excluded_languages;
        list.languages
            .retain(|target| !excluded.matches(&target.language.code));
        if self.poller.ledger.has_room(id, list.languages.len()) {
            return Ok(list);
        }
        let what = format!("with it, all repositories have more than {MOST_LANGUAGES} languages");
        let hint = "leave out some with filter.exclude, or poll them with another process";
        Err(self.unusable(operation, Reason::TooLarge, what, hint))
    }

    /// Returns, and counts, the error of a response that was decoded but cannot be used.
    fn unusable(&self, operation: Operation, reason: Reason, what: String, hint: &str) -> ApiError {
        self.poller.instruments.api_failure(operation, reason);
        let failure = Failure::new(what, hint);
        ApiError::Failed(RequestFailure { reason, failure })
    }

    fn count_defects(&self, operation: Operation, defects: &[Defect]) {
        for defect in defects {
            self.poller.instruments.invalid_entry(operation, *defect);
        }
    }
}
