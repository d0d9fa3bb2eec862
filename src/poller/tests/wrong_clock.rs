//! A wrong clock of the machine: while the API's Date differs by more than an hour, the poller
//! takes its time from there, so that no wrong time is recorded.

use super::*;
use crate::domain::{RepositoryId, record::Record};
use globset::{Glob, GlobSet};
use std::collections::BTreeMap;

const DAY: Duration = Duration::from_secs(86_400);
/// The times that a wrong clock shows: 1970, 2099, and an hour and a half off.
const WRONG: [Timestamp; 4] = [
    Timestamp::from_millis(0),
    AHEAD,
    Timestamp::from_millis(START.as_millis() - 5_400_000),
    Timestamp::from_millis(START.as_millis() + 5_400_000),
];
const AHEAD: Timestamp = Timestamp::from_millis(4_070_908_800_000);

impl Bench {
    /// Sets the clock of the machine.
    fn set_clock(&mut self, now: Timestamp) {
        self.poller.clock.set(now);
    }

    /// Returns the progress clocks of the repositories, as the state file keeps them.
    fn kept(&self) -> Vec<Timestamp> {
        let repositories = self.saved().repositories;
        let languages = repositories.into_iter().map(|kept| kept.languages.unwrap());
        languages
            .map(|languages| languages.records[0].known.unwrap().progress_at)
            .collect()
    }

    /// Returns the start of the failures of o/b, as shown and as the state file keeps it.
    fn failing_since(&self) -> (Timestamp, Option<Timestamp>) {
        let snapshot = self.poller.snapshot();
        let failure = snapshot.repositories[1].condition.failure().unwrap();
        (failure.since, self.saved().repositories[1].failing_since)
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_in_the_future_is_shown_as_now_until_the_next_progress() {
    let mut bench = Bench::new();
    // The API says no time, so that the wrong one of the machine is recorded.
    bench.restart(AHEAD);
    bench.poll().await;
    bench.restart(START);
    bench.poll().await;
    assert_eq!(bench.kept(), [AHEAD; 3]);
    let snapshot = bench.poller.snapshot();
    let record = &snapshot.repositories[0].records()[0];
    assert_eq!(record.last_progress(snapshot.taken_at), Some(START));
    bench.change(|api| {
        api.sent_at = Some(START);
        api.completions = (1..=3).map(|id| (id, 50.0)).collect();
    });
    bench.poll().await;
    assert_eq!(bench.kept(), [START; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_listing_forgets_departed_languages_of_a_repository_that_cannot_be_read() {
    for (days, kept) in [(29, 1), (30, 0)] {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.change(|api| api.without_languages = true);
        bench.poll().await;
        bench.change(|api| api.completions.clear());
        bench.restart(START.saturating_add(DAY * days));
        bench.poll().await;
        let departed = &bench.saved().repositories[0].departed;
        assert_eq!(departed.len(), kept, "{days} days");
    }
}

/// Returns the times at which the languages of repositories that left did so.
fn left(gone: &BTreeMap<RepositoryId, Arc<[Record]>>) -> Vec<Timestamp> {
    let records = gone.values().flat_map(|records| records.iter());
    records.map(|record| record.left_at.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_forgets_no_departed_language() {
    for wrong in WRONG {
        let mut bench = Bench::new();
        bench.change(|api| api.sent_at = Some(START));
        bench.poll().await;
        bench.restart(wrong);
        bench.change(|api| drop(api.pages.pop()));
        bench.poll().await;
        let gone = bench.saved().gone;
        assert_eq!(left(&gone), [START]);
        bench.poll().await;
        bench.restart(wrong);
        bench.poll().await;
        assert_eq!(bench.saved().gone, gone, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_language_excluded_by_a_wrong_clock_left_after_its_last_read() {
    let mut bench = Bench::new();
    bench.poll().await;
    let mut setup = Setup {
        saved: Some(bench.saved()),
        start: Timestamp::from_millis(0),
        ..Setup::of(bench.api.clone())
    };
    setup.filter.exclude = GlobSet::new([Glob::new("o/b").unwrap()]).unwrap();
    bench.poller = setup.build();
    assert_eq!(left(&bench.saved().gone), [START]);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_a_wrong_clock_began_is_dated_by_the_corrected_one() {
    for wrong in WRONG {
        let mut bench = Bench::new();
        bench.change(|api| {
            api.sent_at = Some(START);
            api.takes = HOUR;
        });
        bench.restart(wrong);
        let poll = tokio::time::timeout(Duration::from_secs(60), bench.poll());
        assert!(poll.await.is_err());
        let running = bench.poller.status().running.unwrap();
        assert_eq!(running.since, START, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_poll_has_ended_in_the_future_when_the_clock_steps_back() {
    let mut bench = Bench::new();
    bench.poll().await;
    let now = START.saturating_sub(HOUR / 2);
    bench.set_clock(now);
    let status = bench.poller.status();
    assert_eq!(status.last.unwrap().ended_at, now);
}

#[tokio::test(start_paused = true)]
async fn a_clock_ahead_forgets_no_departed_language_while_the_api_is_unreachable() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| drop(api.pages.pop()));
    bench.poll().await;
    let gone = bench.saved().gone;
    assert_eq!(gone.len(), 1);
    bench.restart(AHEAD);
    bench.change(|api| {
        api.pages.clear();
        (api.listing_breaks, api.is_unreachable) = (true, true);
    });
    bench.poll().await;
    assert_eq!(bench.saved().gone, gone);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_a_wrong_clock_dated_is_dated_right_when_it_recurs() {
    for wrong in WRONG {
        let mut bench = Bench::new();
        bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
        bench.restart(wrong);
        bench.poll().await;
        bench.set_clock(START);
        pass(30).await;
        bench.poll().await;
        assert_eq!(bench.failing_since(), (START, Some(START)), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_an_earlier_process_keeps_its_date_under_a_wrong_clock() {
    for wrong in WRONG {
        let mut bench = Bench::new();
        bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
        bench.poll().await;
        bench.restart(wrong);
        bench.poll().await;
        bench.set_clock(START.saturating_add(2 * HOUR));
        bench.poll().await;
        assert_eq!(bench.failing_since(), (START, Some(START)), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn reads_of_an_earlier_process_keep_their_date_under_a_clock_behind() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| {
        api.pages.clear();
        api.completions.clear();
        (api.listing_breaks, api.is_unreachable) = (true, true);
    });
    bench.restart(Timestamp::from_millis(0));
    bench.poll().await;
    assert_eq!(bench.poller.status().last_success_at, Some(START));
    for shown in bench.poller.snapshot().repositories {
        assert_eq!(shown.condition.languages().unwrap().read_at, START);
    }
}
