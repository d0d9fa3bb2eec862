//! The poller: when it polls, what one poll does, and what is published of it.
//!
//! A poll lists all repositories and then reads each one's languages, the oldest attempt first. What was read is
//! published while the poll goes on, and what was known stays until something better is known: see `ledger`.
//! Nothing here knows HTTP or metrics; the API is asked through [`Api`].

mod ledger;
mod publications;
mod save;
mod schedule;
mod tell;

pub use save::Saver;

use crate::{
    api::{Api, ApiError, CURSOR_HINT, End, Session, wire},
    clock::Clock,
    config::FilterConfig,
    instruments::Instruments,
    model::{Defect, Failure, Operation, RepositoryId, Timestamp},
    snapshot::{PollOutcome, PollStatus, Snapshot, staleness_limit},
    state::Memory,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use ledger::{Ledger, News};
use publications::Publications;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How often a long poll is saved on its way.
const SAVE_EVERY: Duration = Duration::from_secs(5 * 60);

/// What a poll does. Replaced as a whole by a reload, and taken up by the next poll.
#[derive(Debug)]
pub struct Settings<A> {
    pub api: A,
    /// Requests in flight at once, at least 1.
    pub concurrency: usize,
    /// From the start of one poll to that of the next.
    pub interval: Duration,
    pub stale_after: Duration,
    pub filter: FilterConfig,
    /// The completion that means finished.
    pub completion_scale: f64,
}

/// How far the poll under way has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollProgress {
    /// Repositories that were asked for, successfully or not.
    pub done: usize,
    /// Repositories that will be; while the listing is read, those that it has shown so far.
    pub of: usize,
    /// Whether the listing has ended.
    pub is_listed: bool,
}

/// Polls on an interval, and publishes what it knows through `publish`, which must not block; `None` where nobody wants
/// to know before a poll has ended.
#[derive(Debug)]
pub struct Poller<A, P> {
    settings: watch::Receiver<Arc<Settings<A>>>,
    /// Those of the last poll, until the next one begins.
    in_force: Arc<Settings<A>>,
    publish: Option<P>,
    clock: Clock,
    instruments: Arc<Instruments>,
    saver: Option<Saver>,
    ledger: Ledger,
    status: PollStatus,
    last_full_poll: Option<Duration>,
    /// When the poll under way began.
    began: Option<Instant>,
    progress: watch::Sender<PollProgress>,
    /// Whether something was read that is not saved yet.
    unsaved: bool,
    last_save: Instant,
    /// When the listing began to fail, and when polls began to be ended early.
    listing_fails_since: Option<Timestamp>,
    ended_early_since: Option<Timestamp>,
    /// Digests of the flaws of the last listing that broke off and of the last complete one, so that they are logged
    /// once per change.
    listing_flaws: [u64; 2],
}

impl<A, P> Poller<A, P>
where
    A: Api,
    P: Fn(Arc<Snapshot>, PollStatus) + Send + Sync,
{
    /// `memory` is what the state file kept, if there is one that kept something.
    #[must_use]
    pub fn new(
        settings: watch::Receiver<Arc<Settings<A>>>,
        memory: Option<Memory>,
        saver: Option<Saver>,
        clock: Clock,
        instruments: Arc<Instruments>,
        publish: Option<P>,
    ) -> Self {
        let status = PollStatus {
            interval: settings.borrow().interval,
            running_since: None,
            next_poll_at: None,
            last: None,
            last_success_at: None,
            held_until: None,
            has_data: memory.is_some(),
            state_is_kept: saver.is_some(),
        };
        let last_full_poll = memory.as_ref().and_then(|memory| memory.last_full_poll);
        let mut ledger = memory.map_or_else(Ledger::default, Ledger::restore);
        // The filters may be others than those of the process that kept it.
        ledger.reselect(&settings.borrow().filter, clock.now());
        let in_force = Arc::clone(&settings.borrow());
        Self {
            settings,
            in_force,
            publish,
            clock,
            instruments,
            saver,
            ledger,
            status,
            last_full_poll,
            began: None,
            progress: watch::Sender::default(),
            unsaved: false,
            last_save: Instant::now(),
            listing_fails_since: None,
            ended_early_since: None,
            listing_flaws: [0; 2],
        }
    }

    /// How far the poll under way has come.
    pub fn progress(&self) -> watch::Receiver<PollProgress> {
        self.progress.subscribe()
    }

    /// Polls once.
    pub async fn poll(&mut self) -> PollOutcome {
        let settings = Arc::clone(&self.settings.borrow_and_update());
        self.in_force = Arc::clone(&settings);
        let started = Instant::now();
        self.began = Some(started);
        self.status.interval = settings.interval;
        self.status.running_since = Some(self.clock.now());
        self.status.next_poll_at = None;
        self.progress.send_replace(PollProgress::default());
        if self.status.last.is_none() {
            self.publish();
        }
        let mut work = Work::default();
        match settings.api.begin().await {
            Ok(session) => {
                let mut publications = Publications::begin();
                work.listing = self.list(&session, &settings, &mut publications).await;
                self.read(&session, &settings, &mut publications, &mut work).await;
                work.ended_early = session.ended();
            }
            Err(end) => {
                work.unreached = self.ledger.queue().len();
                work.listing = Some(end);
            }
        }
        let outcome = self.conclude(work, started.elapsed());
        if self.unsaved {
            self.save();
        }
        outcome
    }

    /// Reads the listing; the answer is why it did not reach its end, if it did not.
    async fn list(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
    ) -> Option<End> {
        let mut listing = self.ledger.begin_listing();
        let mut flaws = Vec::new();
        let mut after = None;
        let mut shown = 0;
        let failure = loop {
            let mut asked = pin!(session.list_repositories(after));
            let answer = loop {
                tokio::select! {
                    answer = &mut asked => break answer,
                    () = publications.wait() => {
                        self.ledger.preview(&listing, &settings.filter, self.clock.now());
                        self.publish();
                    }
                }
            };
            let mut page = match answer {
                Ok(page) => page,
                Err(ApiError::Failed(failure)) => break Some(End { what: failure.what, hint: failure.hint }),
                Err(ApiError::NotAsked) => break session.ended(),
            };
            let (follows, next) = (page.follows(after), page.next);
            flaws.append(&mut page.flaws);
            shown += page.repositories.len();
            listing.add(page);
            self.progress.send_modify(|progress| progress.of = shown);
            match next {
                wire::Next::End => break None,
                wire::Next::After(id) if follows => after = Some(id),
                _ => break Some(broken_cursor(after)),
            }
        };
        let eclipsed = self.ledger.list(&listing, failure.is_none(), &settings.filter, self.clock.now());
        for repository in eclipsed {
            self.instruments.invalid_entry(Operation::ListRepositories, Defect::DuplicateName);
            let entry = format!("id {} ({:?})", repository.id, repository.name);
            flaws.push(wire::Flaw { entry, defect: Defect::DuplicateName });
        }
        // A listing that broke off shows but some of what is wrong: it is compared with its like.
        let digest = tell::digest(&flaws);
        let before = std::mem::replace(&mut self.listing_flaws[usize::from(failure.is_none())], digest);
        if before != digest && (failure.is_none() || digest != 0) {
            tell::flaws("the listing", &flaws);
        }
        self.unsaved |= failure.is_none();
        self.status.has_data |= failure.is_none();
        failure
    }

    /// Reads the languages of all repositories.
    async fn read(
        &mut self,
        session: &A::Session,
        settings: &Settings<A>,
        publications: &mut Publications,
        work: &mut Work,
    ) {
        let queue = self.ledger.queue();
        let of = queue.len();
        self.progress.send_replace(PollProgress { done: 0, of, is_listed: true });
        if of > 0 && publications.is_first() {
            self.publish();
        }
        let mut queue = queue.into_iter();
        let mut asked = FuturesUnordered::new();
        loop {
            while asked.len() < settings.concurrency && session.ended().is_none() {
                let Some(id) = queue.next() else { break };
                asked.push(async move { (id, session.list_languages(id).await) });
            }
            tokio::select! {
                answer = asked.next() => {
                    let Some((id, answer)) = answer else { break };
                    self.take_in(id, answer, settings, work);
                    self.progress.send_modify(|progress| progress.done += 1);
                }
                () = publications.wait() => self.publish(),
            }
            if self.unsaved && self.last_save.elapsed() >= SAVE_EVERY {
                self.save();
            }
        }
        work.unreached += queue.len();
    }

    fn take_in(
        &mut self,
        id: RepositoryId,
        answer: Result<wire::LanguageList, ApiError>,
        settings: &Settings<A>,
        work: &mut Work,
    ) {
        let now = self.clock.now();
        match answer {
            Ok(list) => {
                work.read += 1;
                self.unsaved = true;
                if self.ledger.flaws_changed(id, tell::digest(&list.flaws)) {
                    tell::flaws(self.ledger.name(id).unwrap_or_default(), &list.flaws);
                }
                if self.ledger.succeeded(id, list, settings.completion_scale, now) == News::Changed {
                    tracing::info!(repo = self.ledger.name(id), id = id.get(), "languages can be read again");
                }
            }
            Err(ApiError::Failed(failure)) => {
                work.failed += 1;
                if self.ledger.failed(id, &failure.what, failure.hint, now) == News::Changed {
                    work.newly_failed += 1;
                    if work.newly_failed <= tell::AT_MOST {
                        tracing::warn!(
                            repo = self.ledger.name(id),
                            id = id.get(),
                            error = failure.what,
                            hint = failure.hint,
                            "cannot read languages"
                        );
                    }
                }
            }
            Err(ApiError::NotAsked) => work.unreached += 1,
        }
    }

    /// Draws the balance of a poll.
    fn conclude(&mut self, work: Work, duration: Duration) -> PollOutcome {
        let ended_at = self.clock.now();
        if work.newly_failed > tell::AT_MOST {
            tracing::warn!(
                repositories = work.newly_failed - tell::AT_MOST,
                "more repositories newly fail than are logged"
            );
        }
        let outcome = PollOutcome {
            ended_at,
            duration,
            listing: lasting(&mut self.listing_fails_since, work.listing, ended_at),
            ended_early: lasting(&mut self.ended_early_since, work.ended_early, ended_at),
            read: work.read,
            failed: work.failed,
            unreached: work.unreached,
        };
        self.instruments.poll_ended(outcome.is_success());
        if duration > self.status.interval {
            self.instruments.poll_overran();
        }
        // One that was ended when it had asked for everything is as full as any.
        if outcome.listing.is_none() && outcome.unreached == 0 {
            self.last_full_poll = Some(duration);
        }
        if outcome.is_success() {
            self.status.last_success_at = Some(ended_at);
        }
        // Who polls once reports the outcome as the result of the program.
        if self.publish.is_some() {
            tell::outcome(self.status.last.as_ref(), &outcome);
        }
        self.began = None;
        self.status.running_since = None;
        self.status.last = Some(outcome.clone());
        self.publish();
        outcome
    }

    fn staleness_limit(&self) -> Duration {
        // Until one poll was full, the one under way tells best how long such a poll takes.
        let full_poll = self.last_full_poll.or_else(|| self.began.map(|began| began.elapsed()));
        staleness_limit(self.in_force.stale_after, full_poll)
    }

    /// What is known now.
    pub fn snapshot(&self) -> Snapshot {
        self.ledger.snapshot(self.in_force.completion_scale, self.staleness_limit(), self.clock.now())
    }

    /// How the polling goes.
    pub fn status(&self) -> &PollStatus {
        &self.status
    }

    fn publish(&self) {
        if let Some(publish) = &self.publish {
            publish(Arc::new(self.snapshot()), self.status.clone());
        }
    }

    fn save(&mut self) {
        self.unsaved = false;
        self.last_save = Instant::now();
        if let Some(saver) = &self.saver {
            saver.save(self.ledger.memory(self.last_full_poll));
        }
    }
}

/// What a poll has done so far.
#[derive(Debug, Default)]
struct Work {
    listing: Option<End>,
    ended_early: Option<End>,
    read: usize,
    failed: usize,
    newly_failed: usize,
    unreached: usize,
}

fn broken_cursor(after: Option<RepositoryId>) -> End {
    let page = after.map_or_else(|| "the first page".to_owned(), |after| format!("the page after id {after}"));
    End {
        what: format!("{page} of the listing gives no id to go on from: its last id cannot be read, or does not rise"),
        hint: CURSOR_HINT,
    }
}

/// Failure of one poll, dated back to the first of an unbroken row of polls that had it.
fn lasting(since: &mut Option<Timestamp>, end: Option<End>, now: Timestamp) -> Option<Failure> {
    if end.is_none() {
        *since = None;
    }
    end.map(|End { what, hint }| Failure { since: *since.get_or_insert(now), what: what.into(), hint: hint.into() })
}

#[cfg(test)]
mod tests;
