//! The log of the poller, line by line.

use super::*;
use crate::testing::Log;
use crate::{
    diagnosis::{ProblemLog, findings},
    domain::document::Document,
};

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_two_hours_logs_two_lines_besides_its_polls() {
    let mut bench = Bench::of(500, |_| true);
    let mut problems = ProblemLog::default();
    let mut observe = |bench: &Bench| observe(&mut problems, bench);
    bench.poll().await;
    observe(&bench);
    let log = Log::collect();
    for _ in 0..24 {
        bench.change(|api| {
            api.completions.clear();
            api.is_unreachable = true;
        });
        bench.poll().await;
        observe(&bench);
        pass(5).await;
        observe(&bench);
    }
    let begin = log.take();
    assert_eq!(count(&begin, "The API was unavailable"), 1, "{begin:#?}");
    assert_eq!(
        count(&begin, "no longer in the metrics"),
        1,
        "after an hour"
    );
    assert_eq!(begin.len(), 24 + 2, "{begin:#?}");
    bench.change(|api| {
        api.completions = (1..=500).map(|id| (id, 50.0)).collect();
        api.is_unreachable = false;
    });
    bench.poll().await;
    observe(&bench);
    assert_eq!(
        log.take(),
        [
            "poll ended failed=0 left=0",
            "a problem has ended problem=\"polls_failing\" lasted=2 h",
            "a problem has ended problem=\"data_stale\" lasted=1 h"
        ]
    );
}

fn document(poller: &Poller<FakeApi>) -> Arc<Document> {
    poller.document()
}

/// Judges and logs as the daemon does.
fn observe(problems: &mut ProblemLog, bench: &Bench) {
    let (poller, now) = (&bench.poller, bench.poller.clock.now());
    let facts = poller.instruments.facts();
    let document = document(poller);
    let mut findings = findings(&document, &facts, now);
    problems.observe(&mut findings, &document, now);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_repository_is_logged_once_also_around_an_outage() {
    let mut bench = Bench::of(3, |_| true);
    let mut problems = ProblemLog::default();
    bench.poll().await;
    let log = Log::collect();
    bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
    for is_unreachable in [false, false, true, false] {
        let completions = bench.api.responses().completions.clone();
        bench.change(|api| {
            (api.is_unreachable, api.listing_breaks) = (is_unreachable, is_unreachable);
            if is_unreachable {
                api.completions.clear();
            }
        });
        bench.poll().await;
        observe(&mut problems, &bench);
        bench.change(|api| api.completions = completions);
    }
    let line = "1 of 3 repositories cannot be read: o/002";
    assert_eq!(count(&log.take(), line), 1);
    bench.change(|api| api.completions.push((2, 50.0)));
    bench.poll().await;
    observe(&mut problems, &bench);
    assert_eq!(count(&log.take(), "a problem has ended"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_all_completions_is_logged_once() {
    let mut bench = Bench::of(3, |_| true);
    bench.poll().await;
    let log = Log::collect();
    // New text makes completions fall, which is not logged.
    for completion in [40.0, 0.0, 0.0, 35.0] {
        bench.change(|api| api.completions = (1..=3).map(|id| (id, completion)).collect());
        pass(5).await;
        bench.poll().await;
    }
    bench.change(|api| api.without_languages = true);
    bench.poll().await;
    let line = "all completions of the repository fell to 0 count=3 first=\"o/001\"";
    let lines = log.take();
    assert_eq!(count(&lines, line), 1, "{lines:#?}");
    assert_eq!(count(&lines, "all completions"), 1, "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_listing_logs_what_it_changed() {
    let mut bench = Bench::of(3, |_| true);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|api| {
        api.pages = vec![vec![
            (1, "o/001"),
            (2, "o/new-name"),
            (4, "o/004"),
            (5, "o/005"),
        ]];
        api.completions.extend([(4, 50.0), (5, 50.0)]);
    });
    bench.poll().await;
    assert_eq!(
        log.take(),
        [
            "repositories added count=2 first=\"o/004\"",
            "repositories removed names=\"o/003\"",
            "poll ended failed=0 left=0",
        ]
    );
}
