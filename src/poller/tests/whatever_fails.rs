//! What can be read is read, whatever else fails.

use super::*;
use crate::poller::ledger::{Ledger, MOST_LANGUAGES};

/// An account of so many repositories of which only these cannot be read, for a reason of their own.
fn broken(ids: std::ops::RangeInclusive<u64>, all: u64) -> Bench {
    let bench = bench();
    bench.change(|answers| {
        answers.pages = vec![
            (1..=all)
                .map(|id| (id, &*format!("o/{id}").leak()))
                .collect(),
        ];
        answers.completions = (1..=all)
            .filter(|id| !ids.contains(id))
            .map(|id| (id, 50.0))
            .collect();
    });
    bench
}

impl Bench {
    fn count(&self, state: &str) -> usize {
        let snapshot = self.poller.snapshot();
        let shown = snapshot.repositories.iter();
        shown
            .filter(|shown| shown.condition.label() == state)
            .count()
    }
}

#[tokio::test(start_paused = true)]
async fn with_100_of_140_forbidden_the_others_stay_fresh_through_a_blip_and_a_restart() {
    let mut bench = broken(21..=120, 140);
    for poll in 0..50 {
        let is_blip = poll == 20;
        if is_blip {
            bench.change(|answers| answers.completions.retain(|(id, _)| *id != 7));
        }
        if poll == 30 {
            bench.restart(bench.poller.clock.now());
            assert_eq!(bench.count("pending") + bench.count("failing"), 140);
        }
        bench.poll().await;
        if is_blip {
            bench.change(|answers| answers.completions.push((7, 50.0)));
        }
        let asked = bench.asked();
        assert!(poll == 0 || asked.len() <= 60, "{} requests", asked.len());
        assert_eq!(
            bench.count("fresh"),
            40 - usize::from(is_blip),
            "poll {poll}"
        );
        pass(5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_that_ends_each_poll_keeps_no_other_from_being_read() {
    for (first, failing) in [(1, 0), (7, 0), (40, 0), (7, 5)] {
        let mut bench = broken(41..=40 + failing, 40 + failing);
        bench.change(|answers| answers.stops = Some(first));
        for poll in 0..6 {
            let outcome = bench.poll().await;
            if poll > 0 {
                assert_eq!(bench.count("fresh"), 39, "{first}, poll {poll}");
                assert!(outcome.read >= 39, "{first}, poll {poll}: {outcome:?}");
            }
        }
        bench.change(|answers| {
            answers.completions.extend((41..=45).map(|id| (id, 1.0)));
        });
        for _ in 0..3 {
            bench.poll().await;
        }
        assert_eq!(bench.count("fresh") as u64, 39 + failing, "{first}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_those_that_fail_is_tried_again_within_a_few_polls() {
    let mut bench = broken(1..=100, 140);
    for _ in 0..30 {
        bench.poll().await;
    }
    bench.asked();
    for _ in 0..5 {
        bench.poll().await;
    }
    let asked = bench.asked();
    assert!((1..=140).all(|id| asked.contains(&id)));
}

#[tokio::test(start_paused = true)]
async fn what_hangs_at_the_end_of_many_requests_at_once_is_told_from_an_outage_in_three_polls() {
    let mut bench = broken(41..=140, 140);
    bench.change(|answers| {
        answers.is_unreachable = true;
        answers.takes = Duration::from_secs(3);
    });
    let settings = Settings {
        concurrency: 50,
        ..settings(&bench.api)
    };
    let (_sender, receiver) = watch::channel(Arc::new(settings));
    bench.poller.settings = receiver;
    for _ in 0..3 {
        bench.poll().await;
    }
    bench.asked();
    let outcome = bench.poll().await;
    assert_eq!((outcome.read, outcome.failed), (40, 20));
    assert_eq!(outcome.failure(), Some(PollFailure::Repositories));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_api_is_no_failure_of_a_repository() {
    let mut bench = broken(401..=401, 400);
    bench.poll().await;
    let completions = std::mem::take(&mut bench.api.0.lock().unwrap().completions);
    bench.change(|answers| answers.is_unreachable = true);
    bench.asked();
    for _ in 0..30 {
        let outcome = bench.poll().await;
        assert_eq!(outcome.failure(), Some(PollFailure::Unavailable));
        let asked = bench.asked().len();
        assert!(asked <= 20, "{asked} requests");
    }
    bench.change(|now| now.completions = completions);
    bench.poll().await;
    assert_eq!((bench.asked().len(), bench.count("fresh")), (400, 400));
}

/// When the polls of an API that fails end, in seconds after the start, where a state of that age was restored.
async fn ends(age: Option<Duration>, change: impl FnOnce(&mut Answers)) -> Vec<u64> {
    let mut memory = kept().await;
    for remembered in &mut memory.repositories {
        if let Some(languages) = &mut remembered.languages {
            let read_at =
                START.as_millis() - age.map_or(0, |age| i64::try_from(age.as_millis()).unwrap());
            Arc::make_mut(languages).read_at = Timestamp::from_millis(read_at);
        }
    }
    let api = bench().api;
    change(&mut api.0.lock().unwrap());
    ends_of(&api, age.map(|_| memory)).await
}

/// When its polls end, in seconds after the start.
async fn ends_of(api: &FakeApi, memory: Option<crate::state::Memory>) -> Vec<u64> {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&ended);
    let publish = move |_: Arc<Snapshot>, status: PollStatus| {
        if let Some(last) = &status.last {
            let at = last.ended_at.since(START).as_secs();
            log.lock().unwrap().push(at);
        }
    };
    polling(api, memory, publish).run(pass(12)).await;
    let mut ended = std::mem::take(&mut *ended.lock().unwrap());
    ended.dedup();
    ended
}

fn late(answers: &mut Answers) {
    answers.listing_breaks = true;
    answers.is_unreachable = true;
    answers.pages.clear();
    answers.completions.clear();
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_late_is_tried_again_after_a_second_doubling_to_a_minute() {
    let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
    for age in [None, hours(8)] {
        let tries = ends(age, late).await;
        assert_eq!(tries[..9], [0, 1, 3, 7, 15, 31, 63, 123, 183], "{age:?}");
    }
    let fresh = Some(Duration::from_secs(60));
    assert_eq!(ends(fresh, late).await, [0, 300, 600]);
    let up_after_the_listing = |answers: &mut Answers| {
        late(answers);
        answers.completions = vec![(1, 50.0)];
    };
    let tries = ends(hours(8), up_after_the_listing).await;
    assert_eq!(tries, [0, 300, 600], "the first poll read something");
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_late_and_then_lists_nothing_is_tried_sooner_for_two_minutes() {
    let api = bench().api;
    late(&mut api.0.lock().unwrap());
    let up = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        api.0.lock().unwrap().is_unreachable = false;
    };
    let (tries, ()) = tokio::join!(ends_of(&api, None), up);
    assert_eq!(tries, [0, 1, 3, 7, 15, 31, 63, 123, 423]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_holds_the_first_poll_is_asked_when_the_hold_ends() {
    let held = |answers: &mut Answers| {
        answers.stop_after = Some((1, PollFailure::Held));
        answers.held_until = Some(Instant::now() + Duration::from_secs(20));
    };
    assert_eq!(ends(None, held).await[..2], [0, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_lasts_keeps_the_time_of_its_first_poll() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| {
        answers.listing_breaks = true;
        answers.completions.retain(|(id, _)| *id != 2);
        answers.stop_after = Some((2, PollFailure::Held));
    });
    let first = bench.poll().await;
    let since = Some(first.ended_at);
    pass(60).await;
    let second = bench.poll().await;
    assert_eq!(
        second.ended_at.since(first.ended_at),
        Duration::from_secs(3600)
    );
    assert_eq!(second.listing.map(|failure| failure.since), since);
    let stop = second.stop.map(|stop| stop.lasting.since);
    assert_eq!(stop, since);
    bench.change(|answers| answers.stop_after = None);
    bench.poll().await;
    let snapshot = bench.poller.snapshot();
    let failure = snapshot.repositories[1].condition.failure().unwrap();
    assert_eq!(Some(failure.lasting.since), since);
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_poll_is_published_once_with_the_time_of_the_next() {
    let api = bench().api;
    let published = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&published);
    let publish = move |_: Arc<Snapshot>, status: PollStatus| {
        let next = status.next_poll_at().map(|at| at.since(START).as_secs());
        log.lock().unwrap().push(next);
    };
    polling(&api, None, publish).run(pass(9)).await;
    assert_eq!(*published.lock().unwrap(), [None, Some(300), Some(600)]);
}

#[test]
fn the_languages_of_all_repositories_are_bounded() {
    let ledger = Ledger::default();
    let id = RepositoryId::new(1).unwrap();
    assert!(ledger.has_room(id, MOST_LANGUAGES));
    assert!(!ledger.has_room(id, MOST_LANGUAGES + 1));
}
