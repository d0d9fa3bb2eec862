//! What one poll does: it reads the listing, then the languages of each repository.

use super::{
    JUMP, PUBLISH_EVERY, Poller,
    ledger::{FailedRead, MOST_LANGUAGES},
    log::PollLog,
    queue::Queue,
};
use crate::{
    api::{Api, ApiError, CURSOR_HINT, PollEnd, RequestFailure, Session},
    domain::{
        Defects, Failure, Fault, LanguageList, Listing, Next, Operation, PollFailure, Reason,
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
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

/// By how much two clocks that agree may differ: more than networks, leap seconds and sloppy clocks make, and far less than
/// matters to a progress clock.
const AGREEMENT: Duration = Duration::from_secs(60 * 60);

/// How many bytes a name may have on average: 16 MiB for all, where `api.max_repositories` has its default.
pub const NAME_BYTES: usize = 84;

/// When a poll publishes first.
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// One poll while it is under way.
#[derive(Debug)]
pub struct Round {
    pub outcome: PollOutcome,
    /// Why the listing did not reach its end, if it did not.
    pub listing_failure: Option<Failure>,
    /// Why the poll ended early, if it did.
    pub end: Option<PollEnd>,
    pub log: PollLog,
    /// When what was read so far is published: soon at first, so that a start shows something.
    pub publications: Interval,
    /// Reads since the last answer that failed as in an outage: the rest of the poll decides whose
    /// failures they are.
    unsettled: Vec<UnsettledRead>,
}

/// A failed read whose fault is not decided yet.
#[derive(Debug)]
struct UnsettledRead {
    id: RepositoryId,
    failure: Failure,
    reason: Option<Reason>,
}

impl UnsettledRead {
    fn blamed_on(self, fault: Fault) -> FailedRead {
        let Self {
            id,
            failure,
            reason,
        } = self;
        FailedRead {
            id,
            failure,
            reason,
            fault,
        }
    }
}

impl Round {
    pub fn begin() -> Self {
        let mut publications = interval_at(Instant::now() + FIRST_PUBLISH, PUBLISH_EVERY);
        publications.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            outcome: PollOutcome::default(),
            listing_failure: None,
            end: None,
            log: PollLog::default(),
            publications,
            unsettled: Vec::new(),
        }
    }

    /// Why the poll ended early, if it did: the error of its listing says so, or the API failed as a whole. That is so if trouble
    /// ended the poll, or if nothing was read and either the listing or all repositories failed as in an outage.
    fn early_end(&self, listing_error: Option<&ApiError>, is_open: bool) -> Option<PollEnd> {
        let Self {
            outcome, unsettled, ..
        } = self;
        let nothing_else = outcome.read == 0 && outcome.failed == unsettled.len();
        let failure = match (listing_error, unsettled.last()) {
            (Some(ApiError::PollEnded(end)), _) => return Some(end.clone()),
            (Some(ApiError::Unreachable { failure, .. }), _) if outcome.read == 0 || is_open => {
                failure.failure.clone()
            }
            (_, Some(last)) if is_open || listing_error.is_none() && nothing_else => {
                let failed = repositories(unsettled.len());
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
}

impl<A: Api> Poller<A> {
    /// Waits for an answer, and cancels nothing. In the meantime, what was read so far and what a reload changes is published, and
    /// saved when it is time.
    pub async fn wait_for<T>(&mut self, answer: impl Future<Output = T>, round: &mut Round) -> T {
        let mut answer = pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                _ = round.publications.tick() => self.publish(),
                () = sleep_until(self.saves.next), if self.unsaved && self.saves.has_begun => self.save(),
                Ok(()) = self.settings.changed() => self.follow_settings(),
            }
        }
    }

    /// Reads the listing and applies it; the error is why it did not reach its end.
    pub async fn list(&mut self, session: &A::Session, round: &mut Round) -> Result<(), ApiError> {
        let mut listing = Listing::default();
        let end = self.read_pages(session, round, &mut listing).await;
        let (settings, now) = (&self.poll_settings, self.clock.moment());
        let filter = &settings.filter;
        let before = self.ledger.names();
        let is_first = !self.has_data;
        let mut bad = Defects::default();
        if end.is_ok() {
            bad = self.ledger.apply_complete(listing, filter, now.wall);
            if let Some(before) = self.ledger.dropped_of {
                self.instruments.repositories_dropped(now.wall, before);
            }
        } else {
            let most = settings.max_repositories;
            self.ledger
                .apply_incomplete(listing, most, filter, now.wall);
        }
        if !is_first {
            round.log.changes(before, self.ledger.names());
        }
        end?;
        self.count_defects(Operation::ListRepositories, &mut bad);
        if is_first {
            self.has_data = true;
            let (repositories, filtered) = (self.ledger.polled(), self.ledger.filtered());
            tracing::info!(
                repositories,
                filtered,
                "the repositories were listed for the first time"
            );
        }
        let (bad, logged) = (&bad.described, &mut self.bad_entries);
        round.log.bad_entries("the listing", bad, logged);
        self.unsaved = true;
        if !self.saves.has_begun {
            self.save();
        }
        Ok(())
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        round: &mut Round,
        listing: &mut Listing,
    ) -> Result<(), ApiError> {
        let mut after = None;
        loop {
            let request = session.list_repositories(after);
            let page = self.wait_for(request, round).await?;
            if let Some(sent_at) = page.sent_at {
                self.compare_clocks(sent_at);
            }
            listing.append(page.listing);
            self.count_defects(Operation::ListRepositories, &mut listing.bad);
            let shown = listing.count();
            self.progress.send_replace(Step::Listing { shown });
            let most = self.poll_settings.max_repositories;
            if shown > most || listing.name_bytes > most.saturating_mul(NAME_BYTES) {
                // It may have no end: nothing of it is taken over.
                *listing = Listing::default();
                let what = format!(
                    "the listing has more than {most} repositories, names of more than {NAME_BYTES} bytes on average for so many, or no end: it is not read any further"
                );
                let hint = "raise api.max_repositories if the account has that many, or report it to the API's operators";
                return Err(self.unusable(
                    Operation::ListRepositories,
                    Reason::TooLarge,
                    what,
                    hint,
                ));
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
                        "{page} of the listing has no id to continue from: its last id cannot be read, or does not rise"
                    );
                    let (operation, reason) = (Operation::ListRepositories, Reason::Cursor);
                    return Err(self.unusable(operation, reason, what, CURSOR_HINT));
                }
            }
        }
    }

    /// Believes the wall clock if that of the API, which has just shown `sent_at`, agrees with it.
    fn compare_clocks(&mut self, sent_at: Timestamp) {
        let now = self.clock.now();
        if now.since(sent_at).max(sent_at.since(now)) > AGREEMENT {
            return;
        }
        let behind = self.ledger.clock_behind(now);
        if behind >= JUMP {
            tracing::warn!(
                by = %Rough(behind),
                "the wall clock is behind recorded times, and the API's agrees with it: they are set to now"
            );
        }
        self.ledger.follow_clock(now);
    }

    /// Reads the languages of the repositories, after the listing and the error that ended it, if one did.
    pub async fn read(
        &mut self,
        session: &A::Session,
        round: &mut Round,
        listing_error: Option<ApiError>,
    ) {
        let (first, failed_before) = self.ledger.order(&self.poll_settings.only);
        let mut queue = Queue::new(first, failed_before, listing_error.as_ref());
        let (of, is_listed) = (queue.len(), listing_error.is_none());
        let mut requests = FuturesUnordered::new();
        loop {
            let PollOutcome { read, failed, .. } = round.outcome;
            let step = Step::Reading {
                is_listed,
                of,
                tried: read + failed,
                read,
            };
            self.progress.send_replace(step);
            while requests.len() < self.poll_settings.concurrency
                && let Some(question) = queue.next()
            {
                requests.push(async move {
                    let answer = session.list_languages(question.id, question.attempts).await;
                    (question, answer)
                });
            }
            let Some((question, answer)) = self.wait_for(requests.next(), round).await else {
                break;
            };
            let answer = answer.and_then(|list| self.to_keep(question.id, list));
            queue.answered(question, &answer);
            self.take_in(question.id, answer, round);
        }
        if queue.is_open() {
            round.outcome.unreached += queue.len();
        } else {
            round.outcome.postponed = queue.len();
        }
        if round.end.is_none() {
            round.end = round.early_end(listing_error.as_ref(), queue.is_open());
        }
        round.listing_failure = listing_error.map(ApiError::into_failure);
        self.settle(round);
    }

    /// Takes in the result of the request for one repository's languages.
    fn take_in(
        &mut self,
        id: RepositoryId,
        answer: Result<LanguageList, ApiError>,
        round: &mut Round,
    ) {
        match answer {
            Ok(list) => {
                self.unsaved = true;
                self.settle(round);
                round.outcome.read += 1;
                let (scale, now) = (self.poll_settings.completion_scale, self.clock.moment());
                self.ledger.succeeded(id, list, scale, now, &mut round.log);
            }
            Err(ApiError::Failed(RequestFailure { failure, reason })) => {
                self.settle(round);
                round.outcome.failed += 1;
                let failed = FailedRead {
                    id,
                    failure,
                    reason: Some(reason),
                    fault: Fault::Repository,
                };
                self.failed(failed, round);
            }
            Err(ApiError::Unreachable { failure, .. }) => {
                round.outcome.failed += 1;
                let RequestFailure { failure, reason } = failure;
                round.unsettled.push(UnsettledRead {
                    id,
                    failure,
                    reason: Some(reason),
                });
            }
            Err(ApiError::PollEnded(end)) => {
                round.outcome.unreached += 1;
                if round.end.is_none() {
                    // The request for this repository ended the poll: the next one requests it after
                    // all others.
                    round.unsettled.push(UnsettledRead {
                        id,
                        failure: end.failure.clone(),
                        reason: None,
                    });
                    round.end = Some(end);
                }
            }
        }
    }

    fn count_defects(&self, operation: Operation, bad: &mut Defects) {
        for defect in bad.all.drain(..) {
            self.instruments.invalid_entry(operation, defect);
        }
    }

    /// The languages that are not excluded, if there is room for them.
    fn to_keep(&self, id: RepositoryId, mut list: LanguageList) -> Result<LanguageList, ApiError> {
        let operation = Operation::ListLanguages;
        self.count_defects(operation, &mut list.bad);
        let excluded = &self.settings.borrow().excluded_languages;
        list.languages
            .retain(|target| !excluded.matches(&target.language.code));
        if self.ledger.has_room(id, list.languages.len()) {
            return Ok(list);
        }
        let what = format!("with it, all repositories have more than {MOST_LANGUAGES} languages");
        let hint = "leave out some with filter.exclude, or poll them with another process";
        Err(self.unusable(operation, Reason::TooLarge, what, hint))
    }

    /// An answer that was decoded, but cannot be used.
    fn unusable(&self, operation: Operation, reason: Reason, what: String, hint: &str) -> ApiError {
        self.instruments.api_failure(operation, reason);
        let failure = Failure::new(what, hint);
        ApiError::Failed(RequestFailure { reason, failure })
    }

    /// Decides whose failures the unsettled ones are: the API's if something ended the poll early,
    /// otherwise the repositories' own, since the API answered before or after them.
    fn settle(&mut self, round: &mut Round) {
        let fault = match round.end {
            Some(_) => Fault::Api,
            None => Fault::Repository,
        };
        for unsettled in std::mem::take(&mut round.unsettled) {
            self.failed(unsettled.blamed_on(fault), round);
        }
    }

    fn failed(&mut self, failed: FailedRead, round: &mut Round) {
        self.unsaved = true;
        // Even in an outage it waits behind the others if any of them could be read: this may be why it looked like one.
        let comes_last = failed.fault == Fault::Repository || round.outcome.read > 0;
        let now = self.clock.now();
        self.ledger.failed(failed, comes_last, now, &mut round.log);
    }
}
