//! What one poll does: it reads the listing, then the languages of each repository.

use super::{
    Poller, Settings,
    ledger::Listing,
    log::{self, PollLog},
    publications::Publications,
};
use crate::{
    api::{Api, ApiError, CURSOR_HINT, Session},
    model::{BadEntry, Failure, LanguageList, Next, Operation, PollFailure, RepositoryId},
    snapshot::{PollStatus, Snapshot},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{pin::pin, sync::Arc, time::Duration};

/// How often a long poll is saved while it runs.
const SAVE_EVERY: Duration = Duration::from_secs(5 * 60);

/// The progress of the poll under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollProgress {
    /// Repositories that were requested, successfully or not.
    pub done: usize,
    /// Repositories to request; while the listing is read, those that it has shown so far.
    pub of: usize,
    /// Whether the listing has ended.
    pub is_listed: bool,
}

/// What a poll has done so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Why the listing did not reach its end.
    pub listing: Option<Failure>,
    /// Whether that was because the API fails as a whole.
    pub is_outage: bool,
    pub read: usize,
    pub failed: usize,
    pub unreached: usize,
    /// The first reason why it did not read everything.
    pub failure: Option<PollFailure>,
    pub log: PollLog,
}

impl<A, P> Poller<A, P>
where
    A: Api,
    P: Fn(Arc<Snapshot>, PollStatus) + Send + Sync,
{
    /// Reads the listing and applies it.
    pub(super) async fn list(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        work: &mut Work,
    ) {
        let mut listing = self.ledger.begin_listing();
        let mut bad = Vec::new();
        let end = self
            .read_pages(session, settings, publications, &mut listing, &mut bad)
            .await;
        work.is_outage = matches!(end, Err(ApiError::Unavailable(_)));
        work.listing = match end {
            Ok(()) => None,
            Err(ApiError::Failed(failure) | ApiError::Unavailable(failure)) => Some(failure),
            Err(ApiError::NotAsked) => session.stopped().map(|stop| stop.failure),
        };
        let is_complete = work.listing.is_none();
        let (changes, duplicates) =
            self.ledger
                .apply_listing(listing, is_complete, &settings.filter, self.clock.now());
        for duplicate in duplicates {
            self.instruments
                .invalid_entry(Operation::ListRepositories, duplicate.defect);
            bad.push(duplicate);
        }
        if self.status.has_data {
            work.log.changes(&changes);
        } else if is_complete {
            let (repositories, filtered) = (self.ledger.polled(), self.ledger.filtered());
            tracing::info!(
                repositories,
                filtered,
                "the repositories were listed for the first time"
            );
        }
        if self.bad_entries.changed(is_complete, log::digest(&bad)) {
            work.log.bad_entries("the listing", &bad);
        }
        self.unsaved |= is_complete;
        self.status.has_data |= is_complete;
        if let Some(running) = &mut self.status.running {
            running.is_listed = is_complete;
        }
    }

    /// Reads the listing to its end; the error is why it could not.
    async fn read_pages(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        listing: &mut Listing,
        bad: &mut Vec<BadEntry>,
    ) -> Result<(), ApiError> {
        let mut after = None;
        loop {
            let mut request = pin!(session.list_repositories(after));
            let mut page = loop {
                tokio::select! {
                    page = &mut request => break page?,
                    () = publications.wait() => {
                        self.ledger.preview(listing, &settings.filter, self.clock.now());
                        self.publish();
                    }
                }
            };
            let (follows, next) = (page.follows(after), page.next);
            bad.append(&mut page.bad);
            listing.add(page);
            self.progress
                .send_modify(|progress| progress.of = listing.len());
            match next {
                Next::End => return Ok(()),
                Next::After(id) if follows => after = Some(id),
                _ => return Err(ApiError::Failed(self.broken_cursor(after))),
            }
        }
    }

    /// Reads the languages of all repositories.
    pub(super) async fn read(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        work: &mut Work,
    ) {
        let queue = self.ledger.queue();
        let of = queue.len();
        self.progress.send_replace(PollProgress {
            done: 0,
            of,
            is_listed: true,
        });
        if of > 0 && publications.is_first() {
            self.publish();
        }
        let mut queue = queue.into_iter();
        let mut requests = FuturesUnordered::new();
        loop {
            while requests.len() < settings.concurrency && session.stopped().is_none() {
                let Some(id) = queue.next() else { break };
                requests.push(async move { (id, session.list_languages(id).await) });
            }
            tokio::select! {
                answer = requests.next() => {
                    let Some((id, answer)) = answer else { break };
                    self.take_in(id, answer, settings, work);
                    self.progress.send_modify(|progress| progress.done += 1);
                }
                () = publications.wait() => self.publish(),
                Ok(()) = self.settings.changed() => self.follow_settings(),
            }
            if self.unsaved && self.last_save.elapsed() >= SAVE_EVERY {
                self.save();
            }
        }
        work.unreached += queue.len();
    }

    /// Handles the result of the request for one repository's languages.
    fn take_in(
        &mut self,
        id: RepositoryId,
        answer: Result<LanguageList, ApiError>,
        settings: &Settings<A>,
        work: &mut Work,
    ) {
        match answer {
            Ok(mut list) => {
                let excluded = &self.settings.borrow().filter.exclude_languages;
                let is_excluded = |code: &str| excluded.is_match(code);
                list.languages
                    .retain(|target| !is_excluded(&target.language.code));
                work.read += 1;
                if let Some(running) = &mut self.status.running {
                    running.read = work.read;
                }
                self.unsaved = true;
                if self.ledger.bad_entries_changed(id, log::digest(&list.bad)) {
                    work.log.bad_entries(self.ledger.name(id), &list.bad);
                }
                if self
                    .ledger
                    .succeeded(id, list, settings.completion_scale, self.clock.moment())
                {
                    work.log.recovered(self.ledger.name(id), id);
                }
            }
            Err(ApiError::Failed(failure)) => {
                work.failed += 1;
                if self
                    .ledger
                    .failed(id, failure.clone(), true, self.clock.now())
                {
                    work.log.failing(self.ledger.name(id), id, &failure);
                }
            }
            Err(ApiError::Unavailable(failure)) => {
                work.failed += 1;
                self.ledger.failed(id, failure, false, self.clock.now());
            }
            Err(ApiError::NotAsked) => work.unreached += 1,
        }
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
