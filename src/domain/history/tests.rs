use super::*;

/// A Monday, 8:00 in UTC.
const START: Timestamp = Timestamp::from_millis(1_700_467_200_000);

fn completion(value: f64) -> Completion {
    Completion::new(value).unwrap()
}

fn at(days: f64) -> Timestamp {
    let distance = DAY.mul_f64(days.abs());
    if days < 0.0 {
        START.saturating_sub(distance)
    } else {
        START.saturating_add(distance)
    }
}

/// Reads the completions at these days after [`START`]; 100 is ready.
fn read(readings: impl IntoIterator<Item = (f64, f64)>) -> History {
    let mut history = None;
    for (days, value) in readings {
        let history = history.get_or_insert_with(|| History::new(completion(value), at(days)));
        history.observe(completion(value), value >= 100.0, at(days));
    }
    history.unwrap()
}

/// Reads one completion a day.
fn daily(readings: &[f64]) -> History {
    read((0..).map(f64::from).zip(readings.iter().copied()))
}

/// Returns the days from the start to the progress clock.
fn clock(history: &History) -> u64 {
    history.progress_at.since(START).as_secs() / 86_400
}

fn gained(history: &History) -> f64 {
    history.gained()
}

#[test]
fn progress_is_a_rise_to_a_completion_that_two_days_have_not_seen() {
    for (readings, days, gain) in [
        (&[50.0, 50.0, 48.0, 46.0][..], 0, 0.0),
        (&[50.0, 51.0], 1, 1.0),
        (&[100.0, 80.0, 83.0], 2, 3.0),
        // New text is taken back, within two days and later.
        (&[50.0, 49.0, 50.0], 0, 0.0),
        (&[50.0, 49.0, 49.0, 49.0, 50.0], 4, 1.0),
        // The gain is the distance from the next lower completion.
        (&[50.0, 48.0, 46.0, 49.0], 3, 1.0),
        (&[50.0, 46.0, 46.0, 46.0, 49.0], 4, 3.0),
    ] {
        let history = daily(readings);
        assert_eq!(
            (clock(&history), gained(&history)),
            (days, gain),
            "{readings:?}"
        );
    }
}

#[test]
fn two_replicas_that_disagree_make_no_progress() {
    for (one, other) in [
        (62.0, 60.0),
        (60.0, 62.0),
        (66.666_666_666_666_67, 66.666_666_666_666_66),
    ] {
        for hours in [1, 4, 12] {
            let readings = (0..400).map(|n| {
                let value = if n / hours % 2 == 0 { one } else { other };
                (f64::from(n) / 24.0, value)
            });
            assert_eq!(
                clock(&read(readings)),
                0,
                "{one} and {other}, {hours} h each"
            );
        }
    }
}

#[test]
fn the_time_unready_begins_with_the_first_reading_below_the_target() {
    let since = |readings: &[f64]| {
        let since = daily(readings).unready_since?;
        Some(since.since(START).as_secs() / 86_400)
    };
    assert_eq!(since(&[50.0, 60.0]), Some(0));
    assert_eq!(since(&[50.0, 100.0]), None);
    assert_eq!(since(&[50.0, 100.0, 97.0, 96.0]), Some(2));
    let idle = daily(&[50.0, 100.0, 100.0, 97.0]).idle_since();
    assert_eq!(idle, Some(at(3.0)), "it was ready on the day before");
}

#[test]
fn the_record_has_the_last_14_days_and_the_one_before_them() {
    assert_eq!(daily(&[20.0; 40]).past, None);
    let moves: Vec<_> = (0..60).map(f64::from).collect();
    let history = daily(&moves);
    let last = 59.0;
    for ago in 0..=14_u32 {
        let date = at(last).saturating_sub(DAY * ago).day_start();
        let before = last - f64::from(ago) - 1.0;
        assert_eq!(history.before(date), completion(before), "{ago} days ago");
    }
    let hourly = read((0..2000).map(|hour| (f64::from(hour) / 24.0, f64::from(hour))));
    let past = hourly.past.unwrap();
    let gains = past
        .days
        .windows(2)
        .map(|pair| pair[0].gained - pair[1].gained);
    assert_eq!(
        gains.take(2).collect::<Vec<_>>(),
        [16.0, 24.0],
        "one an hour"
    );
}

#[test]
fn a_day_before_the_first_reading_has_that() {
    let young = daily(&[20.0, 30.0, 40.0]);
    assert_eq!(young.before(at(-5.0)), completion(20.0));
    assert_eq!(young.first_date(), START.day_start());
    assert_eq!(daily(&[20.0]).before(at(-5.0)), completion(20.0));
}

#[test]
fn a_fall_is_from_the_highest_end_of_7_days_until_that_is_reached_again() {
    let fall = |readings: &[f64]| {
        let last = u32::try_from(readings.len() - 1).unwrap();
        let (from, on) = daily(readings).fall(at(f64::from(last)))?;
        Some((from.get(), on.since(START.day_start()).as_secs() / 86_400))
    };
    assert_eq!(fall(&[10.0, 20.0, 20.0]), None);
    assert_eq!(fall(&[80.0, 20.0]), Some((80.0, 1)));
    assert_eq!(fall(&[80.0, 20.0, 79.0]), Some((80.0, 1)));
    assert_eq!(fall(&[80.0, 20.0, 80.0]), None);
    assert_eq!(fall(&[80.0, 50.0, 60.0, 20.0]), Some((80.0, 3)));
    let stands = |days| [&[80.0, 20.0][..], &vec![20.0; days]].concat();
    assert_eq!(fall(&stands(6)), Some((80.0, 1)));
    assert_eq!(fall(&stands(7)), None);
    let within_a_day = read([(0.0, 50.0), (1.0, 50.0), (1.2, 90.0), (1.4, 50.0)]);
    assert_eq!(within_a_day.fall(at(1.4)), None);
}

#[test]
fn the_pace_counts_gains_by_the_days_that_ended_unready() {
    let pace = |readings: &[(f64, f64)], now: f64| {
        let history = read(readings.iter().copied());
        let is_ready = |value: Completion| value.get() >= 100.0;
        history
            .pace(at(now), is_ready)
            .map(|pace| (pace * 1e6).round() / 1e6)
    };
    assert_eq!(
        pace(&[(0.0, 50.0), (0.5, 60.0)], 0.5),
        None,
        "no day has ended"
    );
    assert_eq!(pace(&[(0.0, 50.0)], 1.0), Some(0.0));
    // Midnight is 16 hours after the start: two days ended unready, and 16 hours have passed.
    let steady = [(0.0, 50.0), (1.0, 58.0), (2.0 + 1.0 / 3.0, 66.0)];
    assert_eq!(pace(&steady, 2.0 + 1.0 / 3.0), Some(6.0));
    // Text of 20 on Monday, done by Thursday morning; the ready days do not count.
    let weekly = [
        (-14.0, 100.0),
        (-7.0, 80.0),
        (-6.0, 87.0),
        (-5.0, 94.0),
        (-4.0, 100.0),
        (0.0, 80.0),
    ];
    assert_eq!(pace(&weekly, 0.0), Some(6.0), "20 in 3 days and 8 hours");
    let old = [(-40.0, 50.0), (-20.0, 60.0)];
    assert_eq!(pace(&old, 0.0), Some(0.0));
}

#[test]
fn a_clock_that_steps_by_years_blocks_nothing() {
    for years in [-3650.0, 3650.0] {
        let mut history = read([(0.0, 60.0), (1.0, 50.0), (years, 49.0), (2.0, 48.0)]);
        assert_eq!(history.before(at(3.0)), completion(48.0));
        assert!(history.progress_at <= at(2.0) && history.unready_since <= Some(at(2.0)));
        history.observe(completion(49.0), false, at(5.0));
        assert_eq!(history.progress_at, at(5.0), "{years} days");
        assert!(history.first_date() <= at(5.0));
    }
}

#[test]
fn a_history_has_at_most_48_bytes_and_a_past_96() {
    assert!(size_of::<History>() <= 48, "{}", size_of::<History>());
    assert_eq!(size_of::<Past>(), 96);
}
