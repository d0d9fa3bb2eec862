//! When a request may be sent: the steady rate and the API's Retry-After across all polls, the retry budget and the
//! reasons to end a poll within one.
//!
//! An exporter that hammers an API in trouble gets its key revoked, so every request, retries too, comes through here.

use super::error::Refusal;
use crate::{
    model::{Reason, RepositoryId},
    sync::lock,
};
use std::{
    collections::HashSet,
    sync::Mutex,
    time::{Duration, SystemTime},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// The longest Retry-After that is obeyed.
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 60 * 60);
/// A Retry-After longer than this ends the poll.
const LONGEST_HOLD_WITHIN_POLL: Duration = Duration::from_secs(5 * 60);
/// Requests in a row that fail for the API's own trouble before the poll ends.
const TROUBLE_LIMIT: u32 = 10;
/// Over how many repositories they must be spread, unless one of them was on the listing.
const TROUBLE_REPOSITORIES: usize = 5;
/// Repositories in a row that are forbidden before the poll ends.
const FORBIDDEN_LIMIT: u32 = 3;
/// Retries that every poll may make, besides a fifth of its requests.
const FREE_RETRIES: u32 = 10;
/// How late a turn may be for the next ones to make up for it: more than the timer's coarseness, and no burst.
const CATCH_UP: Duration = Duration::from_millis(10);
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Spaces all requests out, and holds them while the API wants to be left alone. Outlives polls and reloads.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    /// When the next request may go. Those who wait stand in line at this lock; who leaves takes no turn along.
    line: tokio::sync::Mutex<Option<Instant>>,
    held_until: Mutex<Option<Instant>>,
}

impl Pacer {
    /// Until when the API wants to be left alone.
    pub fn held_until(&self) -> Option<Instant> {
        lock(&self.held_until).filter(|until| *until > Instant::now())
    }

    fn hold(&self, duration: Duration) {
        let until = Instant::now() + duration.min(LONGEST_HOLD);
        let mut held_until = lock(&self.held_until);
        *held_until = Some(held_until.map_or(until, |held| held.max(until)));
    }

    /// Waits for a turn: until those who came before are gone, their spacing is over, and nothing is held any more.
    pub async fn turn(&self, spacing: Duration) {
        let mut next = self.line.lock().await;
        // The timer counts milliseconds, and would sleep up to one for a moment that has come.
        while let Some(due) = next.max(self.held_until()).filter(|due| *due > Instant::now()) {
            sleep_until(due).await;
        }
        let now = Instant::now();
        let turn = next.map_or(now, |next| next.max(now.checked_sub(CATCH_UP).unwrap_or(now)));
        *next = Some(turn + spacing);
    }
}

/// Why a poll was ended before it had asked for everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub what: String,
    pub hint: &'static str,
}

/// What one poll may still do.
#[derive(Debug)]
pub(super) struct Allowance {
    run: Mutex<Run>,
    ended: watch::Sender<Option<End>>,
}

#[derive(Debug, Default)]
struct Run {
    requests: u32,
    retries: u32,
    trouble: u32,
    troubled: HashSet<RepositoryId>,
    trouble_on_listing: bool,
    forbidden: u32,
}

impl Run {
    fn trouble_is_over(&mut self) {
        self.trouble = 0;
        self.troubled.clear();
        self.trouble_on_listing = false;
    }
}

impl Allowance {
    pub fn new() -> Self {
        Self { run: Mutex::default(), ended: watch::Sender::new(None) }
    }

    pub fn end(&self, what: impl Into<String>, hint: &'static str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| End { what: what.into(), hint });
            first
        });
    }

    pub fn ended(&self) -> Option<End> {
        self.ended.borrow().clone()
    }

    /// `None` if the poll is ended before `wait` is over.
    pub async fn unless_ended<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        let is_ended = || self.ended.borrow().is_some();
        if is_ended() {
            return None;
        }
        let mut ended = self.ended.subscribe();
        // What need not wait is spared the registration for the end.
        tokio::select! {
            biased;
            result = wait => (!is_ended()).then_some(result),
            _ = ended.wait_for(Option::is_some) => None,
        }
    }

    /// A first attempt is made.
    pub fn requested(&self) {
        lock(&self.run).requests += 1;
    }

    /// Whether one more retry may be made; if so, it counts as made.
    pub fn take_retry(&self) -> bool {
        let mut run = lock(&self.run);
        let allowed = run.retries < FREE_RETRIES + run.requests / 5;
        run.retries += u32::from(allowed);
        allowed
    }

    /// The API gave an answer that can be used.
    pub fn answered(&self) {
        let mut run = lock(&self.run);
        run.trouble_is_over();
        run.forbidden = 0;
    }

    /// A request failed; `repository` is `None` for the listing. Ends the poll where it is time to.
    pub fn refused(&self, repository: Option<RepositoryId>, refusal: &Refusal, pacer: &Pacer) {
        if let Some(wait) = refusal.retry_after {
            pacer.hold(wait);
            if wait > LONGEST_HOLD_WITHIN_POLL {
                let wait = humantime::format_duration(Duration::from_secs(wait.min(LONGEST_HOLD).as_secs()));
                self.end(format!("the API asked to be left alone for {wait} ({})", refusal.how), refusal.hint);
            }
        }
        let mut run = lock(&self.run);
        if refusal.reason == Reason::Forbidden {
            run.forbidden += 1;
            if repository.is_none() {
                self.end("the API forbids the listing (status 403)", refusal.hint);
            } else if run.forbidden == FORBIDDEN_LIMIT {
                self.end(format!("the API forbade {FORBIDDEN_LIMIT} repositories in a row (status 403)"), refusal.hint);
            }
        } else {
            run.forbidden = 0;
        }
        if !refusal.is_trouble() {
            run.trouble_is_over();
            return;
        }
        run.trouble += 1;
        match repository {
            Some(repository) => drop(run.troubled.insert(repository)),
            None => run.trouble_on_listing = true,
        }
        if run.trouble >= TROUBLE_LIMIT && (run.trouble_on_listing || run.troubled.len() >= TROUBLE_REPOSITORIES) {
            let what = format!("{} requests in a row failed, the last because {}", run.trouble, refusal.how);
            self.end(what, refusal.hint);
        }
    }
}

/// How long to wait before attempt number `attempt` + 1: exponential, with full jitter.
pub(super) fn backoff(attempt: u32) -> Duration {
    longest_backoff(attempt).mul_f64(fastrand::f64())
}

fn longest_backoff(attempt: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST_BACKOFF)
}

/// A Retry-After: seconds, or an HTTP date (RFC 9110, 10.2.3). `None` for anything else.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long time all the same.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;

    fn id(id: u64) -> Option<RepositoryId> {
        RepositoryId::new(id)
    }

    fn status(code: u16) -> Refusal {
        Refusal::status(StatusCode::from_u16(code).unwrap(), None)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_nothing_else() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let seconds = |value| retry_after(value, now).map(|wait| wait.as_secs());
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("99999999999999999999999"), Some(u64::MAX));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        for nonsense in ["", "-1", "1.5", "soon", "+3"] {
            assert_eq!(seconds(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn backoff_doubles_up_to_its_bound() {
        let waits: Vec<_> = (1..=9).map(|attempt| longest_backoff(attempt).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
        assert!((0..100).all(|_| backoff(2) <= Duration::from_secs(1)));
    }

    #[test]
    fn retries_are_a_fifth_of_the_requests_and_ten() {
        let allowance = Allowance::new();
        for _ in 0..50 {
            allowance.requested();
        }
        assert_eq!((0..100).filter(|_| allowance.take_retry()).count(), 20);
    }

    #[test]
    fn ten_troubles_in_a_row_over_five_repositories_end_the_poll() {
        let pacer = Pacer::default();
        let one_repository = Allowance::new();
        (0..50).for_each(|_| one_repository.refused(id(1), &status(503), &pacer));
        assert_eq!(one_repository.ended(), None);

        let spread = Allowance::new();
        (0..9).for_each(|n| spread.refused(id(n % 5 + 1), &status(500), &pacer));
        assert_eq!(spread.ended(), None);
        spread.refused(id(5), &status(500), &pacer);
        assert!(spread.ended().is_some());

        let interrupted = Allowance::new();
        (0..9).for_each(|n| interrupted.refused(id(n + 1), &status(500), &pacer));
        interrupted.refused(id(10), &status(404), &pacer);
        interrupted.refused(id(11), &status(500), &pacer);
        assert_eq!(interrupted.ended(), None);

        let listing = Allowance::new();
        (0..10).for_each(|_| listing.refused(None, &status(502), &pacer));
        assert!(listing.ended().is_some());
    }

    #[test]
    fn three_forbidden_repositories_in_a_row_or_the_listing_end_the_poll() {
        let pacer = Pacer::default();
        let row = Allowance::new();
        row.refused(id(1), &status(403), &pacer);
        row.refused(id(2), &status(403), &pacer);
        row.answered();
        row.refused(id(3), &status(403), &pacer);
        row.refused(id(4), &status(403), &pacer);
        assert_eq!(row.ended(), None);
        row.refused(id(5), &status(403), &pacer);
        assert!(row.ended().is_some());

        let listing = Allowance::new();
        listing.refused(None, &status(403), &pacer);
        assert!(listing.ended().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_spaced_and_held() {
        let pacer = Pacer::default();
        let start = Instant::now();
        let spacing = Duration::from_millis(100);
        for _ in 0..3 {
            pacer.turn(spacing).await;
        }
        assert_eq!(start.elapsed().as_millis(), 200);
        pacer.hold(Duration::from_secs(10));
        pacer.turn(spacing).await;
        assert_eq!(start.elapsed().as_millis(), 10_200);
        assert_eq!(pacer.held_until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_begins_while_some_wait_holds_them_all() {
        let pacer = Pacer::default();
        let start = Instant::now();
        let spacing = Duration::from_millis(100);
        pacer.hold(Duration::from_secs(10));
        let first = async {
            pacer.turn(spacing).await;
            pacer.hold(Duration::from_secs(10));
        };
        let second = async {
            pacer.turn(spacing).await;
            start.elapsed().as_millis()
        };
        assert_eq!(tokio::join!(first, second).1, 20_000);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_no_turn() {
        let pacer = Pacer::default();
        let start = Instant::now();
        let spacing = Duration::from_secs(1);
        pacer.turn(spacing).await;
        let waiting = futures_util::future::join_all((0..100).map(|_| pacer.turn(spacing)));
        assert!(tokio::time::timeout(Duration::from_millis(500), waiting).await.is_err());
        pacer.turn(spacing).await;
        assert_eq!(start.elapsed().as_millis(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_year_is_a_day_and_ends_the_poll_while_five_minutes_do_not() {
        let pacer = Pacer::default();
        let refused_for = |seconds| {
            let allowance = Allowance::new();
            let wait = Some(Duration::from_secs(seconds));
            allowance.refused(id(1), &Refusal::status(StatusCode::TOO_MANY_REQUESTS, wait), &pacer);
            allowance.ended().is_some()
        };
        assert!(!refused_for(300));
        assert!(refused_for(301));
        assert!(refused_for(365 * 86_400));
        assert!(pacer.held_until().unwrap() - Instant::now() <= LONGEST_HOLD);
    }
}
