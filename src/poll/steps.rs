//! What one poll does: it reads the listing, then the languages of each repository.

use super::{
    Poller, Settings,
    ledger::{Listing, MOST_LANGUAGES},
    log::{self, PollLog},
    publications::Publications,
    queue::{Question, Verdict},
};
use crate::{
    api::{Api, ApiError, CURSOR_HINT, Session},
    model::{
        Defects, Failure, LanguageList, Next, Operation, PollFailure, Reason, RepositoryId, Scope,
        Stop,
    },
    snapshot::{Activity, DataSource, PollStatus, Snapshot, Step},
    words::repositories,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{pin::pin, sync::Arc, time::Duration};

/// How often a long poll is saved while it runs.
const SAVE_EVERY: Duration = Duration::from_secs(5 * 60);

/// What a poll has done with the repositories so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub read: usize,
    pub failed: usize,
    pub unreached: usize,
    pub postponed: usize,
    /// Why nothing more was asked for.
    pub stop: Option<Stop>,
    /// Those that failed by trouble since the last answer: that may be their own failure or that of the API.
    troubled: Vec<(RepositoryId, Failure)>,
    pub log: PollLog,
}

impl<A, P> Poller<A, P>
where
    A: Api,
    P: Fn(Arc<Snapshot>, PollStatus) + Send + Sync,
{
    /// Reads the listing and applies it; the error is why it did not reach its end.
    pub(super) async fn list(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        work: &mut Work,
    ) -> Result<(), ApiError> {
        let mut listing = Listing::default();
        let end = self
            .read_pages(session, settings, publications, &mut listing)
            .await;
        let now = self.clock.now();
        if end.is_err() {
            let changes = self.ledger.apply_incomplete(
                listing,
                settings.max_repositories,
                &settings.filter,
                now,
            );
            if self.status.has_data() {
                work.log.changes(&changes);
            }
            return end;
        }
        let (changes, mut bad) = self.ledger.apply_complete(listing, &settings.filter, now);
        self.count_defects(Operation::ListRepositories, &mut bad);
        if self.status.has_data() {
            work.log.changes(&changes);
        } else {
            self.status.data = DataSource::Api;
            let (repositories, filtered) = (self.ledger.polled(), self.ledger.filtered());
            tracing::info!(
                repositories,
                filtered,
                "the repositories were listed for the first time"
            );
        }
        let digest = log::digest(&bad.described);
        if std::mem::replace(&mut self.bad_entries, digest) != digest {
            work.log.bad_entries("the listing", &bad.described);
        }
        self.unsaved = true;
        end
    }

    async fn read_pages(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        listing: &mut Listing,
    ) -> Result<(), ApiError> {
        let mut after = None;
        loop {
            let mut request = pin!(session.list_repositories(after));
            let page = loop {
                tokio::select! {
                    page = &mut request => break page?,
                    () = publications.wait() => self.publish(),
                    Ok(()) = self.settings.changed() => self.follow_settings(),
                }
            };
            let (follows, next) = (page.follows(after), page.next);
            listing.add(page);
            self.count_defects(Operation::ListRepositories, &mut listing.bad);
            self.came_to(Step::Listing {
                shown: listing.len(),
            });
            if listing.len() > settings.max_repositories {
                // It may have no end: nothing of it is taken over.
                *listing = Listing::default();
                self.instruments
                    .api_failure(Operation::ListRepositories, Reason::TooLarge);
                return Err(ApiError::Failed(self.too_large(settings.max_repositories)));
            }
            match next {
                Next::End => return Ok(()),
                Next::After(id) if follows => after = Some(id),
                _ => return Err(ApiError::Failed(self.broken_cursor(after))),
            }
        }
    }

    /// Reads the languages of the repositories.
    pub(super) async fn read(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        listing: &Result<(), ApiError>,
        work: &mut Work,
    ) {
        let mut queue = self.ledger.queue();
        match listing {
            Ok(()) => {}
            Err(ApiError::Trouble { requests, .. }) => {
                queue = queue.after_incomplete_listing(*requests);
            }
            Err(ApiError::Failed(_)) => queue = queue.after_incomplete_listing(0),
            Err(ApiError::Stopped(stop)) => {
                queue.stop();
                work.stop = Some(stop.clone());
            }
        }
        let (of, is_listed) = (queue.len(), listing.is_ok());
        let mut requests = FuturesUnordered::new();
        loop {
            self.came_to(Step::Reading {
                is_listed,
                of,
                requested: work.read + work.failed,
                read: work.read,
            });
            while requests.len() < settings.concurrency
                && let Some(question) = queue.next()
            {
                requests.push(async move {
                    let answer = session.list_languages(question.id, question.attempts).await;
                    (question, answer)
                });
            }
            tokio::select! {
                answer = requests.next() => {
                    let Some((question, answer)) = answer else { break };
                    match self.take_in(question, answer, settings, work) {
                        Some(verdict) => queue.answered(question, verdict),
                        None => queue.stop(),
                    }
                }
                () = publications.wait() => self.publish(),
                Ok(()) = self.settings.changed() => self.follow_settings(),
            }
            if self.unsaved && self.last_save.elapsed() >= SAVE_EVERY {
                self.save();
            }
        }
        let gave_up = queue.gave_up();
        if gave_up {
            work.unreached += queue.len();
        } else {
            work.postponed = queue.len();
        }
        if work.stop.is_none() {
            work.stop = self.outage(listing, gave_up, work);
        }
        self.book_trouble(work);
    }

    /// Handles the result of the request for one repository's languages; `None` if it ends the poll.
    fn take_in(
        &mut self,
        Question { id, .. }: Question,
        answer: Result<LanguageList, ApiError>,
        settings: &Settings<A>,
        work: &mut Work,
    ) -> Option<Verdict> {
        let answer = answer.and_then(|mut list| {
            self.count_defects(Operation::ListLanguages, &mut list.bad);
            self.to_keep(id, list)
        });
        match answer {
            Ok(list) => {
                self.book_trouble(work);
                work.read += 1;
                self.unsaved = true;
                if self
                    .ledger
                    .bad_entries_changed(id, log::digest(&list.bad.described))
                {
                    work.log
                        .bad_entries(self.ledger.name(id), &list.bad.described);
                }
                if self
                    .ledger
                    .succeeded(id, list, settings.completion_scale, self.clock.moment())
                {
                    work.log.recovered(self.ledger.name(id), id);
                }
                Some(Verdict::Answers { is_read: true })
            }
            Err(ApiError::Failed(failure)) => {
                self.book_trouble(work);
                work.failed += 1;
                self.failed(id, failure, work);
                Some(Verdict::Answers { is_read: false })
            }
            Err(ApiError::Trouble { failure, requests }) => {
                work.failed += 1;
                work.troubled.push((id, failure));
                Some(Verdict::Trouble { requests })
            }
            Err(ApiError::Stopped(stop)) => {
                work.unreached += 1;
                work.stop.get_or_insert(stop);
                None
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
        let excluded = &self.settings.borrow().filter.exclude_languages;
        if !excluded.is_empty() {
            list.languages
                .retain(|target| !excluded.is_match(&*target.language.code));
        }
        if self.ledger.has_room(id, list.languages.len()) {
            return Ok(list);
        }
        self.instruments
            .api_failure(Operation::ListLanguages, Reason::TooLarge);
        let what = format!("with it, all repositories have more than {MOST_LANGUAGES} languages");
        let hint = "leave out some with filter.exclude, or poll them with another process";
        let failure = Failure::new(self.clock.now(), what, hint);
        Err(ApiError::Failed(failure))
    }

    /// Decides whose failure it was that the last repositories failed by trouble: the API's if that ended the poll, otherwise
    /// their own, since others were read before or after them.
    fn book_trouble(&mut self, work: &mut Work) {
        for (id, failure) in std::mem::take(&mut work.troubled) {
            let failure = match work.stop {
                Some(_) => failure.of_the_api(),
                None => failure,
            };
            self.failed(id, failure, work);
        }
    }

    fn failed(&mut self, id: RepositoryId, failure: Failure, work: &mut Work) {
        self.unsaved = true;
        let (what, hint) = (Arc::clone(&failure.what), Arc::clone(&failure.hint));
        // Even in an outage it waits behind the others if any of them could be read: this may be why it looked like one.
        let comes_last = failure.scope == Scope::Request || work.read > 0;
        if self
            .ledger
            .failed(id, failure, comes_last, self.clock.now())
        {
            work.log.failing(self.ledger.name(id), id, &what, &hint);
        }
    }

    /// Whether the API failed as a whole: trouble ended the poll, or nothing was read and all failed by trouble.
    fn outage(&self, listing: &Result<(), ApiError>, gave_up: bool, work: &Work) -> Option<Stop> {
        let nothing_else = work.read == 0 && work.failed == work.troubled.len();
        let failure = match (listing, work.troubled.last()) {
            (Err(ApiError::Trouble { failure, .. }), _) if work.read == 0 || gave_up => {
                failure.clone()
            }
            (_, Some((_, last))) if gave_up || listing.is_ok() && nothing_else => {
                let failed = repositories(work.troubled.len());
                let what = format!("{failed} in a row cannot be read, the last: {}", last.what);
                Failure::new(self.clock.now(), what, Arc::clone(&last.hint))
            }
            _ => return None,
        };
        Some(Stop {
            reason: PollFailure::Unavailable,
            failure,
        })
    }

    /// Shows how far the poll under way has come.
    fn came_to(&mut self, step: Step) {
        self.progress
            .send_if_modified(|before| std::mem::replace(before, step) != step);
        if let Activity::Polling(running) = &mut self.status.activity {
            running.step = step;
        }
    }

    fn too_large(&self, most: usize) -> Failure {
        let what = format!(
            "the listing has more than {most} repositories, or no end: it is not read any further"
        );
        let hint = "raise api.max_repositories if the account has that many, or report it to the API's operators";
        Failure::new(self.clock.now(), what, hint)
    }

    fn broken_cursor(&self, after: Option<RepositoryId>) -> Failure {
        let page = after.map_or_else(
            || "the first page".to_owned(),
            |after| format!("the page after id {after}"),
        );
        let what = format!(
            "{page} of the listing has no id to continue from: its last id cannot be read, or does not rise"
        );
        Failure::new(self.clock.now(), what, CURSOR_HINT)
    }
}
