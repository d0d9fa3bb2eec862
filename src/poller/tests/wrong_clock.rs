//! A wrong wall clock: it changes no progress clock permanently, at the start or later.

use super::*;

const YEAR: Duration = Duration::from_secs(365 * 86_400);
const LATER: Timestamp = Timestamp::from_millis(START.as_millis() + 3_600_000);
const AHEAD: Timestamp = Timestamp::from_millis(4_070_908_800_000);

fn before(duration: Duration) -> Timestamp {
    Timestamp::from_millis(START.as_millis() - i64::try_from(duration.as_millis()).unwrap())
}

impl Bench {
    fn set_clock(&mut self, now: Timestamp) {
        self.poller.clock = Clock::following_tokio(now);
    }

    /// Returns the progress clocks of the repositories, as the state file keeps them.
    fn kept(&self) -> Vec<Timestamp> {
        let repositories = self.memory().repositories;
        let languages = repositories.into_iter().map(|kept| kept.languages.unwrap());
        languages
            .map(|languages| languages.readings[0].progress().unwrap().at)
            .collect()
    }

    /// Returns the latest timestamp in the snapshot.
    fn latest_shown(&self) -> Timestamp {
        let conditions = self.poller.snapshot().repositories.into_iter();
        let languages = conditions.filter_map(|shown| shown.condition.languages().cloned());
        languages
            .flat_map(|languages| {
                [
                    languages.read_at,
                    languages.readings[0].progress().unwrap().at,
                ]
            })
            .max()
            .unwrap()
    }

    fn has_finding(&mut self) -> bool {
        self.poller.publish();
        self.poller.instruments.facts().clock_behind.is_some()
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_behind_at_the_start_destroys_nothing() {
    for wrong in [Timestamp::from_millis(0), before(4 * YEAR)] {
        let mut bench = Bench::new();
        bench.change(|api| api.sent_at = Some(START));
        bench.poll().await;
        bench.restart(wrong);
        assert!(bench.has_finding());
        bench.change(|api| api.completions[0].1 += 1.0);
        bench.poll().await;
        assert_eq!(bench.kept(), [START; 3], "a rise too");
        assert_eq!(bench.latest_shown(), wrong);
        bench.restart(wrong);
        assert_eq!(bench.kept(), [START; 3], "whatever the number of restarts");
        bench.set_clock(LATER);
        assert!(!bench.has_finding());
        bench.change(|api| api.completions[0].1 += 1.0);
        bench.poll().await;
        assert_eq!(bench.kept(), [LATER, START, START]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_ahead_heals_at_a_listing() {
    for restarts in [false, true] {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.restart(AHEAD);
        bench.change(|api| {
            api.completions[0].1 += 1.0;
            api.sent_at = Some(START);
        });
        bench.poll().await;
        assert_eq!(bench.kept(), [AHEAD, START, START], "the API disagrees");
        if restarts {
            bench.restart(LATER);
        } else {
            bench.set_clock(LATER);
        }
        assert!(bench.has_finding());
        assert_eq!(bench.latest_shown(), LATER, "nothing is shown ahead");
        bench.change(|api| api.sent_at = None);
        bench.poll().await;
        assert_eq!(bench.kept(), [AHEAD, START, START], "the API has no clock");
        bench.change(|api| api.sent_at = Some(LATER));
        bench.poll().await;
        assert!(!bench.has_finding());
        assert_eq!(bench.kept(), [LATER, START, START]);
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_agree_up_to_an_hour() {
    for (differ_by, agree) in [(HOUR, true), (HOUR + Duration::from_millis(1), false)] {
        let ahead_by = START.saturating_add(differ_by);
        for sent_at in [before(differ_by), ahead_by] {
            let mut bench = Bench::new();
            bench.poll().await;
            bench.restart(AHEAD);
            bench.change(|api| api.completions[0].1 += 1.0);
            bench.poll().await;
            bench.restart(START);
            bench.change(|api| api.sent_at = Some(sent_at));
            bench.poll().await;
            let kept = if agree { START } else { AHEAD };
            assert_eq!(bench.kept()[0], kept, "{sent_at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn departed_clocks_are_forgotten_after_30_days_by_a_single_poll() {
    for (days, is_confirmed, kept) in [(29, true, 1), (30, false, 1), (30, true, 0)] {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.change(|api| drop(api.pages.pop()));
        bench.poll().await;
        let now = START.saturating_add(24 * HOUR * days);
        bench.restart(now);
        bench.change(|api| api.sent_at = is_confirmed.then_some(now));
        bench.poll().await;
        assert_eq!(bench.memory().departed.len(), kept, "{days} days");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_back_of_an_hour_is_a_finding_for_an_hour() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.set_clock(before(HOUR));
    bench.change(|api| api.completions[0].1 += 1.0);
    bench.poll().await;
    assert!(bench.has_finding());
    assert_eq!(bench.kept(), [START; 3]);
    pass(60).await;
    assert!(!bench.has_finding());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_ahead_forgets_no_departed_clock() {
    for restarts in 0..3 {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.change(|api| drop(api.pages.pop()));
        bench.poll().await;
        let departed = bench.memory().departed;
        assert_eq!(departed.len(), 1);
        bench.change(|api| api.sent_at = Some(START));
        bench.set_clock(AHEAD);
        bench.poll().await;
        for _ in 0..restarts {
            // The last process read by the wrong clock too.
            bench.restart(AHEAD);
            bench.poll().await;
        }
        pass(60).await;
        bench.poll().await;
        assert_eq!(bench.memory().departed, departed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_ahead_and_recorded_nothing_is_no_finding() {
    for has_state in [false, true] {
        let mut bench = Bench::new();
        if has_state {
            bench.poll().await;
        }
        bench.restart(AHEAD);
        bench.poller.follow_settings();
        bench.set_clock(LATER);
        assert!(!bench.has_finding());
    }
}

#[tokio::test(start_paused = true)]
async fn the_age_of_restored_data_follows_a_clock_that_is_set_right() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.restart(before(4 * YEAR));
    bench.change(|api| api.completions.clear());
    bench.poll().await;
    assert_eq!(bench.shown(), "1:failing 2:failing 3:failing");
    bench.set_clock(LATER.saturating_add(HOUR));
    bench.poller.publish();
    assert_eq!(bench.shown(), "1:stale 2:stale 3:stale");
    bench.set_clock(LATER);
    bench.poller.publish();
    assert_eq!(bench.shown(), "1:failing 2:failing 3:failing");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_outdates_the_last_publication() {
    let mut bench = Bench::new();
    bench.poll().await;
    for (set_to, is_outdated) in [(HOUR, true), (Duration::from_millis(500), false)] {
        bench.poller.publish();
        pass(3).await;
        assert!(!bench.poller.is_outdated());
        let now = bench.poller.clock.now();
        bench.set_clock(now.saturating_add(set_to));
        assert_eq!(bench.poller.is_outdated(), is_outdated);
        let set_to = i64::try_from(set_to.as_millis()).unwrap();
        bench.set_clock(Timestamp::from_millis(now.as_millis() - set_to));
        assert_eq!(bench.poller.is_outdated(), is_outdated);
    }
}

#[tokio::test(start_paused = true)]
async fn a_confirmed_clock_dates_departed_clocks_and_falls_too() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.set_clock(AHEAD);
    bench.change(|api| {
        api.pages.pop();
        api.completions[0].1 -= 1.0;
    });
    bench.poll().await;
    bench.set_clock(LATER);
    bench.change(|api| api.sent_at = Some(LATER));
    bench.poll().await;
    let memory = bench.memory();
    let left_at: Vec<_> = memory.departed.values().map(|(_, at)| *at).collect();
    let fell_at: Vec<_> = memory.falls.iter().map(|(.., fall)| fall.at).collect();
    assert_eq!((left_at, fell_at), (vec![LATER], vec![LATER]));
}

#[tokio::test(start_paused = true)]
async fn a_clock_behind_the_departed_clocks_is_a_finding_after_a_restart() {
    let mut bench = Bench::new();
    bench.poll().await;
    let leave = |api: &mut Responses| api.pages.truncate(1);
    bench.change(leave);
    bench.poll().await;
    let mut memory = bench.memory();
    assert_eq!(memory.departed.len(), 1);
    memory.repositories.clear();
    let setup = Setup {
        memory: Some(memory),
        start: before(HOUR),
        ..Setup::of(bench.api.clone())
    };
    bench.poller = setup.build();
    assert!(bench.has_finding());
}
