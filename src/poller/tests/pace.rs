//! One queue and one pace, against APIs that refuse or fail some requests.

use super::*;
use crate::api::Pace;
use std::collections::{BTreeMap, BTreeSet};

const OK: u16 = 200;
/// A connection that is refused at once.
const REFUSED: u16 = 3;

impl FakeApi {
    /// An API that answers as a script says, to requests at the default pace.
    fn answering(
        repositories: u64,
        script: impl FnMut(Option<u64>, Instant) -> u16 + Send + 'static,
    ) -> Self {
        // Latency and jitter are the same in each run.
        fastrand::seed(1);
        let api = Self {
            pace: Arc::new(Pace::new(Some(10.0))),
            ..Self::new()
        };
        api.responses().list(repositories, |_| true);
        api.answer(script);
        api
    }

    /// An API that answers a repository with one status, and everything else well.
    fn refusing(repositories: u64, status: u16, which: fn(u64) -> bool) -> Self {
        Self::answering(repositories, move |id, _| {
            if id.is_some_and(which) { status } else { OK }
        })
    }

    fn answer(&self, script: impl FnMut(Option<u64>, Instant) -> u16 + Send + 'static) {
        self.responses().script = Some(Box::new(script));
    }

    fn poller(&self) -> Poller<Self> {
        let setup = Setup {
            concurrency: 8,
            max_attempts: 4,
            interval: Duration::from_secs(60),
            ..Setup::of(self.clone())
        };
        setup.build()
    }

    /// Returns the requests since the last call, by repository.
    fn requested(&self) -> Vec<Option<u64>> {
        let requests = std::mem::take(&mut self.responses().scripted);
        requests.into_iter().map(|(_, id, _)| id).collect()
    }

    /// Counts the successful reads of each repository.
    fn reads(&self) -> BTreeMap<u64, usize> {
        let mut reads = BTreeMap::new();
        for (_, id, status) in &self.responses().scripted {
            if let Some(id) = id {
                *reads.entry(*id).or_default() += usize::from(*status == OK);
            }
        }
        reads
    }
}

/// Refuses requests above a rate, like nginx' `limit_req`.
fn limit(rate: f64, status: u16) -> impl FnMut(Option<u64>, Instant) -> u16 + Send {
    let mut answered_at: Option<Instant> = None;
    move |_, now| {
        if answered_at.is_some_and(|at| (now - at).as_secs_f64() * rate < 0.999) {
            return status;
        }
        answered_at = Some(now);
        OK
    }
}

/// Polls some times, a minute after the other, and returns the outcomes.
async fn polls<const N: usize>(poller: &mut Poller<FakeApi>) -> [PollOutcome; N] {
    let mut outcomes = std::array::from_fn(|_| PollOutcome::default());
    for outcome in &mut outcomes {
        *outcome = poller.poll(pending()).await;
        pass(1).await;
    }
    outcomes
}

#[tokio::test(start_paused = true)]
async fn a_limited_api_is_read_in_whole_and_evenly() {
    for rate in [0.5, 2.0, 3.0] {
        for status in [429, 503] {
            let api = FakeApi::answering(60, limit(rate, status));
            let mut poller = api.poller();
            let outcomes = polls::<8>(&mut poller).await;
            let read: Vec<_> = outcomes.iter().map(|outcome| outcome.read).collect();
            let reads = api.reads();
            let (least, most) = (reads.values().min().unwrap(), reads.values().max().unwrap());
            if rate > 1.0 {
                // One in some hundred repositories is refused four times.
                assert!(
                    read.iter().all(|read| *read >= 57),
                    "{rate} {status} {read:?}"
                );
            }
            assert!(most - least <= 2, "{rate} {status} {reads:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn most_requests_to_a_limited_api_are_not_refused() {
    let api = FakeApi::answering(60, limit(2.0, 503));
    let mut poller = api.poller();
    polls::<2>(&mut poller).await;
    api.requested();
    polls::<6>(&mut poller).await;
    let requests = std::mem::take(&mut api.responses().scripted);
    let refused = requests
        .iter()
        .filter(|(_, _, status)| *status == 503)
        .count();
    assert!(
        refused * 5 < requests.len() * 2,
        "{refused} of {}",
        requests.len()
    );
}

#[tokio::test(start_paused = true)]
async fn repositories_that_are_always_refused_slow_down_no_other() {
    for status in [403, 404, 429, 500, 503, 0] {
        for (repositories, which) in [
            (9, (|id| id == 5) as fn(u64) -> bool),
            (100, |id| id % 20 == 0),
        ] {
            let api = FakeApi::refusing(repositories, status, which);
            let refused = (1..=repositories).filter(|id| which(*id)).count();
            let mut poller = api.poller();
            polls::<4>(&mut poller).await;
            let outcome = poller.poll(pending()).await;
            let well = usize::try_from(repositories).unwrap() - refused;
            assert_eq!((outcome.read, outcome.failed), (well, refused), "{status}");
            assert_eq!(outcome.failure(), Some(PollFailure::Repositories));
            // Ten requests a second: one for each repository, two for the listing, and a second to
            // spare. Repositories with more than one attempt in a poll would lower the pace.
            let usual = Duration::from_millis(100 * (repositories + 2) + 1000);
            let took = outcome.duration;
            assert!(
                took < usual,
                "{status}: the pace fell, {took:?} > {usual:?}"
            );
            api.answer(|_, _| OK);
            assert!(poller.poll(pending()).await.is_success(), "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failures_now_and_then_cost_a_poll_little() {
    for (status, percent) in [(503, 2), (503, 10), (502, 20), (429, 10)] {
        let mut number = 0_u64;
        let api = FakeApi::answering(100, move |_, _| {
            number += 1;
            let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57;
            if mixed % 100 < percent { status } else { OK }
        });
        let mut poller = api.poller();
        for outcome in polls::<4>(&mut poller).await {
            assert!(outcome.read >= 97, "{status} {outcome:?}");
            assert!(
                outcome.duration < Duration::from_secs(22),
                "{status} {outcome:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_whose_last_read_failed_has_one_attempt() {
    let api = FakeApi::refusing(30, 500, |id| id == 1);
    let mut poller = api.poller();
    let mut attempts = Vec::new();
    for _ in 0..5 {
        poller.poll(pending()).await;
        let requests = api.requested();
        attempts.push(requests.iter().filter(|id| **id == Some(1)).count());
        let last = requests.iter().rposition(|id| *id != Some(1)).unwrap();
        let first = requests.iter().position(|id| *id == Some(1)).unwrap();
        assert!(attempts.len() == 1 || first > last, "the second part waits");
        let distinct: BTreeSet<_> = requests[..30].iter().collect();
        assert!(
            distinct.len() >= 29,
            "no request is repeated in place: {requests:?}"
        );
    }
    assert_eq!(attempts, [4, 1, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_final_failure_is_not_repeated() {
    let is_final = [301, 400, 403, 404, 501, 1, 2].map(|status| (status, 1));
    let others = [0, 408, 409, 425, 429, 499, 500, 502, 503, 504].map(|status| (status, 4));
    for (status, attempts) in is_final.into_iter().chain(others) {
        let api = FakeApi::refusing(30, status, |id| id == 1);
        api.poller().poll(pending()).await;
        let requested = api.requested();
        let asked = requested.iter().filter(|id| **id == Some(1)).count();
        assert_eq!(asked, attempts, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_the_listing_is_repeated_in_the_same_way() {
    let mut failures = 3;
    let api = FakeApi::answering(5, move |id, _| {
        if id.is_none() && failures > 0 {
            failures -= 1;
            return 502;
        }
        OK
    });
    assert!(api.poller().poll(pending()).await.is_success());
    api.answer(|id, _| if id.is_none() { 502 } else { OK });
    api.requested();
    let mut poller = api.poller();
    let outcome = poller.poll(pending()).await;
    assert_eq!(api.requested().len(), 4);
    assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn twenty_failures_in_a_row_end_the_first_part_as_an_outage() {
    // 1 is a page of HTML.
    for status in [0, 1, 302, 500, 503] {
        let api = FakeApi::answering(300, |_, _| OK);
        let mut poller = api.poller();
        assert!(poller.poll(pending()).await.is_success());
        api.answer(move |id, _| if id.is_some() { status } else { OK });
        api.requested();
        let outcome = poller.poll(pending()).await;
        assert_eq!(
            outcome.failure(),
            Some(PollFailure::Unavailable),
            "{status}"
        );
        // Seven more are in flight when the twentieth fails.
        let requests = api.requested().len();
        assert!(
            (20..=45).contains(&requests),
            "{status}: {requests} requests"
        );
        assert_eq!(outcome.unread(), 300);
        // A failed listing counts as fifteen.
        api.answer(move |_, _| status);
        poller.poll(pending()).await;
        let requests = api.requested().len();
        assert!(requests <= 24, "{status}: {requests} requests");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_reads_and_another_shape_are_no_outage() {
    // 2 is JSON of another shape.
    for status in [403, 404, 2] {
        let api = FakeApi::refusing(100, status, |id| id != 77);
        let outcome = api.poller().poll(pending()).await;
        assert_eq!(
            outcome.failure(),
            Some(PollFailure::Repositories),
            "{status}"
        );
        assert_eq!((outcome.read, outcome.failed), (1, 99));
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_all_languages_stays_one_of_few_requests() {
    for (repositories, status, most) in [(60, 500, 60), (100, 429, 50)] {
        let api = FakeApi::answering(
            repositories,
            move |id, _| if id.is_some() { status } else { OK },
        );
        let mut poller = api.poller();
        for poll in 0..12 {
            let failure = poller.poll(pending()).await.failure();
            assert_eq!(failure, Some(PollFailure::Unavailable), "{status}");
            let requests = api.requested().len();
            if poll == 0 {
                // A row of 429 ends a poll only at the lowest pace.
                assert!(requests > 21, "{status}: {requests} requests");
            } else {
                assert!(requests <= most, "{status}: {requests} requests");
            }
            pass(1).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn in_the_second_part_failures_only_leave_the_rest_to_the_next_poll() {
    let api = FakeApi::refusing(140, 500, |id| (21..=120).contains(&id));
    let mut poller = api.poller();
    polls::<12>(&mut poller).await;
    let mut requested = BTreeSet::new();
    for outcome in polls::<6>(&mut poller).await {
        assert_eq!(outcome.failure(), Some(PollFailure::Repositories));
        assert_eq!(outcome.read, 40, "{outcome:?}");
        assert!(outcome.failed <= 30 && outcome.left() >= 70, "{outcome:?}");
        requested.extend(api.requested());
    }
    assert_eq!(requested.len(), 141, "each has its turn");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_read_nothing_is_an_outage_unless_it_was_told_why() {
    let (outage, told) = (PollFailure::Unavailable, PollFailure::Repositories);
    // A page of HTML is 1, and JSON of another shape 2.
    for (listing, languages, failure) in [
        (500, 500, outage),
        (500, 1, outage),
        (500, 404, outage),
        (OK, 500, outage),
        (OK, 1, outage),
        (OK, 429, outage),
        (OK, 403, told),
        (OK, 404, told),
        (OK, 2, told),
    ] {
        for repositories in [3, 19, 30] {
            let api =
                FakeApi::answering(
                    repositories,
                    move |id, _| if id.is_some() { languages } else { listing },
                );
            let mut poller = api.poller();
            for _ in 0..3 {
                let outcome = poller.poll(pending()).await;
                assert_eq!(outcome.failure(), Some(failure), "{outcome:?}");
                let status = &poller.document().status;
                assert!(!outcome.is_up() && !status.has_data, "{status:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_answers_404_to_everything_is_an_outage_of_few_requests() {
    let api = FakeApi::answering(60, |_, _| OK);
    let mut poller = api.poller();
    poller.poll(pending()).await;
    api.requested();
    api.answer(|_, _| 404);
    let outcome = poller.poll(pending()).await;
    assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
    let requests = api.requested().len();
    assert!(requests <= 15, "{requests} requests");
}

#[tokio::test(start_paused = true)]
async fn whatever_can_be_read_is_read_within_a_few_polls() {
    // All but one fail, the first ones fail, half of them hang.
    for which in [
        |id| id != 77,
        |id| id <= 40,
        (|id| id % 2 == 0) as fn(u64) -> bool,
    ] {
        for status in [0, 403, 500] {
            let api = FakeApi::refusing(100, status, which);
            let mut poller = api.poller();
            polls::<6>(&mut poller).await;
            let reads = api.reads();
            assert!(
                (1..=100).all(|id| which(id) || reads[&id] > 0),
                "{status} {reads:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_up_to_five_minutes_delays_a_poll() {
    for (seconds, ends) in [(300, false), (301, true)] {
        for (refused, status) in [(Some(3), 429), (None, 503), (Some(3), 503), (Some(3), 500)] {
            let mut is_refused = false;
            let api = FakeApi::answering(5, move |id, _| {
                if id == refused && !std::mem::replace(&mut is_refused, true) {
                    return status;
                }
                OK
            });
            api.responses().hold = Some(Duration::from_secs(seconds));
            let outcome = api.poller().poll(pending()).await;
            let holds = refused.is_none() || status == 429;
            let is_held = outcome.failure() == Some(PollFailure::Held);
            assert_eq!(is_held, holds && ends, "{status} {outcome:?}");
            let is_delayed = outcome.duration >= Duration::from_secs(300);
            assert_eq!(is_delayed, holds && !ends, "{status} {outcome:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_503_of_a_repository_sets_its_own_backoff_alone() {
    for (seconds, attempts) in [(20, 4), (30, 4), (31, 1), (3600, 1)] {
        let api = FakeApi::answering(40, |id, _| if id == Some(3) { 503 } else { OK });
        api.responses().hold = Some(Duration::from_secs(seconds));
        let mut poller = api.poller();
        let outcome = poller.poll(pending()).await;
        assert_eq!((outcome.read, outcome.failed), (39, 1), "{outcome:?}");
        assert_eq!(poller.document().status.held_until, None);
        let mut requests = std::mem::take(&mut api.responses().scripted);
        requests.retain(|(_, id, _)| *id == Some(3));
        assert_eq!(requests.len(), attempts, "{seconds}");
        for pair in requests.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= Duration::from_secs(seconds));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_in_flight_are_taken_when_a_refused_key_ends_the_poll() {
    let api = FakeApi::new();
    api.responses().end = Some(EndOfPoll::Number(1, PollFailure::Unauthorized));
    api.responses().takes = Duration::from_secs(1);
    let setup = Setup {
        concurrency: 3,
        ..Setup::of(api)
    };
    let outcome = setup.build().poll(pending()).await;
    assert_eq!(outcome.failure(), Some(PollFailure::Unauthorized));
    assert_eq!((outcome.read, outcome.failed), (2, 1), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_and_a_forbidden_listing_end_the_poll_at_once() {
    for (status, of_listing, requests) in [(401, false, 12), (401, true, 1), (403, true, 1)] {
        let api = FakeApi::answering(50, move |id, _| {
            if id.is_none() == of_listing {
                status
            } else {
                OK
            }
        });
        let outcome = api.poller().poll(pending()).await;
        assert_eq!(
            outcome.failure(),
            Some(PollFailure::Unauthorized),
            "{status}"
        );
        assert!(api.requested().len() <= requests, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_dead_for_a_weekend_gets_few_requests() {
    let api = FakeApi::answering(300, |_, _| OK);
    let mut poller = api.poller();
    assert!(poller.poll(pending()).await.is_success());
    api.answer(|_, _| 500);
    api.requested();
    // Sixty hours. A poll has four attempts of the listing, and then twenty failures in a row
    // while eight requests are in flight.
    for hour in 1..=60 {
        polls::<12>(&mut poller).await;
        let requests = api.requested().len();
        assert!(requests <= 12 * (4 + 20 + 7), "{requests} in hour {hour}");
    }
    api.answer(|_, _| OK);
    assert_eq!(poller.poll(pending()).await.read, 300);
    assert!(poller.poll(pending()).await.is_success());
}

/// Returns a poller with many requests in flight.
fn greedy(api: &FakeApi) -> Poller<FakeApi> {
    let setup = Setup {
        concurrency: 1024,
        max_attempts: 4,
        ..Setup::of(api.clone())
    };
    setup.build()
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_once_an_outage_is_certain() {
    let api = FakeApi::answering(2000, |id, _| if id.is_some() { 500 } else { OK });
    let outcome = greedy(&api).poll(pending()).await;
    assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
    let requests = api.requested().len();
    assert!(requests < 40, "{requests} requests");
}

#[tokio::test(start_paused = true)]
async fn refused_connections_are_an_outage_after_two_seconds() {
    for (gap, is_outage) in [(300, false), (60_000, true)] {
        let start = Instant::now();
        let gap = Duration::from_millis(gap);
        let mut api = FakeApi::answering(60, move |id, now| {
            if id.is_some() && now - start < gap {
                REFUSED
            } else {
                OK
            }
        });
        api.pace = Arc::new(Pace::new(None));
        let outcome = greedy(&api).poll(pending()).await;
        assert_eq!(outcome.is_outage(), is_outage, "{outcome:?}");
        assert_eq!(outcome.is_success(), !is_outage, "{outcome:?}");
    }
}
