//! What the poller logs, line by line.

use super::*;
use crate::domain::Defect;
use std::{cell::RefCell, fmt::Write as _, sync::Once};
use tracing::{Event, Level, Subscriber, field::Visit};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the lines above debug level, with the fields that are numbers, for the thread that logs them: one subscriber for all
/// tests, since subscribers that come and go on several threads can miss events.
struct Collector;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.0.insert_str(0, &format!("{value:?}")),
            "read" | "duration" | "hint" => {}
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::INFO {
            let mut line = Line(String::new());
            event.record(&mut line);
            LINES.with_borrow_mut(|lines| lines.push(line.0));
        }
    }
}

/// The lines of this thread from now on.
struct Log;

impl Log {
    fn collect() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Collector))
                .unwrap();
        });
        LINES.take();
        Self
    }

    /// Those since it was last asked.
    #[expect(clippy::unused_self, reason = "without a log nothing is collected")]
    fn take(&self) -> Vec<String> {
        LINES.take()
    }
}

/// An account of so many repositories.
fn account(repositories: u64) -> Bench {
    let bench = bench();
    bench.change(|answers| {
        answers.pages = vec![
            (1..=repositories)
                .map(|id| (id, &*format!("o/{id:03}").leak()))
                .collect(),
        ];
        answers.completions = (1..=repositories).map(|id| (id, 50.0)).collect();
    });
    bench
}

fn bad(place: usize, identity: &str) -> BadEntry {
    BadEntry {
        place: Some(place),
        identity: identity.to_owned(),
        defect: Defect::Completion,
    }
}

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[tokio::test(start_paused = true)]
async fn a_poll_like_the_one_before_logs_nothing() {
    let log = Log::collect();
    let mut bench = account(30);
    bench.poll().await;
    assert_eq!(
        log.take(),
        [
            "the repositories were listed for the first time repositories=30 filtered=0",
            "poll ended failed=0 unreached=0 postponed=0"
        ]
    );
    bench.poll().await;
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn bad_entries_are_logged_once_in_whatever_order_they_come() {
    let mut bench = account(1);
    let log = Log::collect();
    bench.change(|answers| answers.bad = vec![(1, vec![bad(1, "de"), bad(2, "fr"), bad(3, "")])]);
    bench.poll().await;
    assert_eq!(count(&log.take(), "bad entries"), 1);
    bench.change(|answers| answers.bad = vec![(1, vec![bad(1, ""), bad(7, "fr"), bad(9, "de")])]);
    bench.poll().await;
    assert_eq!(log.take(), [""; 0]);
    bench.change(|answers| answers.bad = vec![(1, vec![bad(1, ""), bad(7, "fr")])]);
    bench.poll().await;
    assert_eq!(count(&log.take(), "bad entries"), 1);
}

#[tokio::test(start_paused = true)]
async fn no_kind_of_line_about_single_repositories_is_logged_more_than_ten_times_a_poll() {
    let mut bench = account(40);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|answers| {
        answers.bad = (1..=20).map(|id| (id, vec![bad(1, "de")])).collect();
        answers.completions.truncate(20);
    });
    bench.poll().await;
    let lines = log.take();
    assert_eq!(count(&lines, "the answer has bad entries"), 10);
    assert_eq!(count(&lines, "cannot read languages"), 10);
    assert_eq!(
        count(
            &lines,
            "individually more=\"10 answers with bad entries, 10 failing\""
        ),
        1
    );
    assert_eq!(lines.len(), 22, "{lines:#?}");
    bench.change(|answers| {
        answers.bad.clear();
        answers.completions = (1..=40).map(|id| (id, 50.0)).collect();
    });
    bench.poll().await;
    let lines = log.take();
    assert_eq!(
        count(&lines, "all entries of the answer are good again"),
        10
    );
    assert_eq!(count(&lines, "languages can be read again"), 10);
    assert_eq!(
        count(
            &lines,
            "individually more=\"10 answers that are good again, 10 recovered\""
        ),
        1
    );
    assert_eq!(lines.len(), 22, "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_two_hours_of_500_repositories_is_some_lines_and_so_is_its_end() {
    let mut bench = account(500);
    let mut watch = crate::diagnosis::Watch::default();
    let mut observe = |bench: &Bench| observe(&mut watch, bench);
    bench.poll().await;
    observe(&bench);
    let log = Log::collect();
    for minute in 0..24 {
        bench.change(|answers| {
            answers.completions.clear();
            answers.is_unreachable = true;
            // What fails before the poll ends is a matter of luck.
            answers.stop_after = Some((10 + minute % 7, PollFailure::Unavailable));
        });
        bench.poll().await;
        observe(&bench);
        pass(5).await;
        observe(&bench);
    }
    let begin = log.take();
    assert_eq!(count(&begin, "cannot read languages"), 0);
    assert_eq!(count(&begin, "The API is unavailable"), 1, "{begin:#?}");
    assert_eq!(
        count(&begin, "stale and no longer shown"),
        1,
        "after an hour"
    );
    assert_eq!(begin.len(), 3, "{begin:#?}");
    bench.change(|answers| {
        answers.completions = (1..=500).map(|id| (id, 50.0)).collect();
        answers.stop_after = None;
    });
    bench.poll().await;
    observe(&bench);
    assert_eq!(
        log.take(),
        [
            "poll ended failed=0 unreached=0 postponed=0",
            "the API answers again after=2 h",
            "no data are stale any more after=55 min"
        ]
    );
}

/// Judges and logs as the daemon does.
fn observe(watch: &mut crate::diagnosis::Watch, bench: &Bench) {
    let (poller, now) = (&bench.poller, bench.poller.clock.now());
    let findings = crate::diagnosis::findings(
        &poller.snapshot(),
        &poller.status(),
        &poller.instruments.facts(),
        now,
    );
    watch.observe(&findings);
}

#[tokio::test(start_paused = true)]
async fn what_an_outage_hides_is_not_said_to_be_over() {
    for (repositories, readable, begins, ends) in [
        (
            3,
            2,
            "1 of 3 repositories cannot be read",
            "no repository fails any more",
        ),
        (
            0,
            0,
            "has no repositories",
            "there are repositories to show again",
        ),
    ] {
        let mut bench = account(repositories);
        let mut watch = crate::diagnosis::Watch::default();
        let log = Log::collect();
        bench.change(|answers| answers.completions.truncate(readable));
        bench.poll().await;
        observe(&mut watch, &bench);
        bench.change(|answers| {
            (answers.listing_breaks, answers.is_unreachable) = (true, true);
            answers.completions.clear();
        });
        bench.poll().await;
        observe(&mut watch, &bench);
        let lines = log.take();
        assert_eq!(
            [begins, "The API is unavailable", ends].map(|words| count(&lines, words)),
            [1, 1, 0],
            "{lines:#?}"
        );
        let healed = account(4).api;
        bench.change(|answers| std::mem::swap(answers, &mut healed.0.lock().unwrap()));
        bench.poll().await;
        observe(&mut watch, &bench);
        let lines = log.take();
        assert_eq!(
            [ends, "the API answers again"].map(|words| count(&lines, words)),
            [1, 1],
            "{lines:#?}"
        );
    }
}

#[test]
fn a_certificate_that_expires_after_the_warning_is_not_said_to_be_valid() {
    let mut watch = crate::diagnosis::Watch::default();
    let log = Log::collect();
    let instruments = Instruments::new("/metrics");
    instruments.certificate_expires(Some(START.saturating_add(Duration::from_secs(3600))));
    let poller = bench().poller;
    for (hours, is_valid) in [(0, false), (2, false), (3, true)] {
        let now = START.saturating_add(Duration::from_secs(hours * 3600));
        if is_valid {
            instruments.certificate_expires(None);
        }
        let facts = instruments.facts();
        let findings =
            crate::diagnosis::findings(&poller.snapshot(), &poller.status(), &facts, now);
        watch.observe(&findings);
        assert_eq!(
            count(&log.take(), "the TLS certificate is valid again") > 0,
            is_valid,
            "after {hours} h"
        );
    }
}

#[test]
fn a_refused_reload_is_logged_only_where_it_is_refused() {
    let mut watch = crate::diagnosis::Watch::default();
    let log = Log::collect();
    let instruments = Instruments::new("/metrics");
    instruments.config_loaded(Err(Failure::new("line 3", "correct it")), START);
    let poller = bench().poller;
    let facts = instruments.facts();
    let findings = crate::diagnosis::findings(&poller.snapshot(), &poller.status(), &facts, START);
    assert!(
        findings
            .iter()
            .any(|finding| finding.symptom == crate::diagnosis::Symptom::ReloadRefused)
    );
    watch.observe(&findings);
    assert_eq!(count(&log.take(), "refused"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_its_own_is_logged_once_even_with_an_outage_in_between() {
    let mut bench = account(3);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|answers| answers.completions.retain(|(id, _)| *id != 2));
    for is_unreachable in [false, true, false] {
        bench.change(|answers| answers.is_unreachable = is_unreachable);
        bench.poll().await;
    }
    assert_eq!(count(&log.take(), "cannot read languages"), 1);
    bench.change(|answers| answers.completions.push((2, 50.0)));
    bench.poll().await;
    assert_eq!(count(&log.take(), "languages can be read again"), 1);
}

#[tokio::test(start_paused = true)]
async fn each_repository_that_appears_leaves_or_is_renamed_is_logged() {
    let mut bench = account(3);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|answers| {
        answers.pages = vec![vec![(1, "o/001"), (2, "o/new-name"), (4, "o/004")]];
        answers.completions.push((4, 50.0));
    });
    bench.poll().await;
    assert_eq!(
        log.take(),
        [
            "repository renamed repo=\"o/new-name\" before=\"o/002\" id=2",
            "repository appeared repo=\"o/004\" id=4",
            "repository left repo=\"o/003\" id=3",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_ten_repositories_that_appear_are_logged_one_by_one() {
    let mut bench = account(3);
    bench.poll().await;
    let log = Log::collect();
    let more = account(30).api;
    bench.change(|answers| std::mem::swap(answers, &mut more.0.lock().unwrap()));
    bench.poll().await;
    let lines = log.take();
    assert_eq!(count(&lines, "repository appeared"), 10);
    assert_eq!(count(&lines, "individually more=\"17 appeared\""), 1);
    assert_eq!(lines.len(), 11, "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_shows_until_it_is_over() {
    let api = account(1).api;
    let published = Arc::new(Mutex::new(Vec::new()));
    let (_sender, receiver) = watch::channel(Arc::new(settings(&api)));
    let log_of_holds = Arc::clone(&published);
    let publish = move |snapshot: Arc<Snapshot>, status: PollStatus| {
        let change = (
            snapshot.taken_at.since(START).as_secs(),
            status.held_until.map(|at| at.since(START).as_secs()),
        );
        let mut published = log_of_holds.lock().unwrap();
        if published.last().is_none_or(|(_, until)| *until != change.1) {
            published.push(change);
        }
    };
    let clock = Clock::following_tokio(START);
    let poller = Poller::new(
        receiver,
        None,
        None,
        clock,
        Arc::new(Instruments::new("/metrics")),
        Box::new(publish),
    );
    let hold = async {
        pass(4).await;
        // While nothing is tried: the next poll, a minute later, notices it.
        let mut answers = api.0.lock().unwrap();
        answers.held_until = Some(Instant::now() + Duration::from_secs(120));
        answers.takes = Duration::from_secs(60);
    };
    tokio::join!(poller.run(pass(9)), hold);
    let published = published.lock().unwrap().clone();
    assert_eq!(published[1].1, Some(360), "{published:?}");
    assert!((360..=365).contains(&published[2].0), "{published:?}");
    assert_eq!(
        (published[0].1, published[2].1, published.len()),
        (None, None, 3)
    );
}
