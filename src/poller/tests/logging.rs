//! The log of the poller, line by line.

use super::*;
use crate::testing::Log;
use crate::{
    diagnosis::{ProblemLog, findings},
    domain::{Defect, Defects, document::Document},
};

fn bad(defects: &[Defect]) -> Defects {
    let mut bad = Defects::default();
    for (place, defect) in (1..).zip(defects) {
        bad.add(*defect, Some(place), "\"de\"");
    }
    bad
}

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[tokio::test(start_paused = true)]
async fn a_poll_like_the_one_before_logs_nothing() {
    let log = Log::collect();
    let mut bench = Bench::of(30, |_| true);
    bench.poll().await;
    assert_eq!(
        log.take(),
        [
            "repositories added count=30 first=\"o/001\"",
            "poll ended failed=0 left=0"
        ]
    );
    bench.poll().await;
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn bad_entries_are_logged_when_their_kinds_change() {
    let mut bench = Bench::of(1, |_| true);
    let log = Log::collect();
    let mut logged = async |defects: &[Defect]| {
        bench.change(|api| api.bad = vec![(1, bad(defects))]);
        bench.poll().await;
        let lines = log.take();
        let of_entries = lines
            .into_iter()
            .filter(|line| line.contains("bad entries"));
        of_entries.collect::<Vec<_>>()
    };
    let two = [Defect::Completion, Defect::Completion];
    assert_eq!(
        logged(&two).await,
        [
            "the response has bad entries or fields; the rest is used count=1 \
             first=\"o/001: completion: 2, the first in entry 1 (\\\"de\\\")\""
        ]
    );
    assert_eq!(logged(&two[..1]).await, [""; 0], "another count");
    assert_eq!(logged(&[Defect::Completion, Defect::Code]).await.len(), 1);
    assert_eq!(
        logged(&[]).await,
        ["the response no longer has bad entries count=1 first=\"o/001\""]
    );
}

#[tokio::test(start_paused = true)]
async fn a_poll_logs_one_line_of_each_kind() {
    let mut bench = Bench::of(40, |_| true);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|api| {
        let bad = bad(&[Defect::Completion]);
        api.bad = (1..=20).map(|id| (id, bad.clone())).collect();
        api.completions.truncate(20);
    });
    bench.poll().await;
    let lines = log.take();
    for begin in [
        "cannot read languages count=20 first=\"o/021: ",
        "the response has bad entries or fields; the rest is used count=20 ",
    ] {
        assert_eq!(count(&lines, begin), 1, "{begin}: {lines:#?}");
    }
    assert_eq!(lines.len(), 3, "{lines:#?}");
    bench.change(|api| {
        api.bad.clear();
        api.completions = (1..=40).map(|id| (id, 50.0)).collect();
    });
    bench.poll().await;
    let lines = log.take();
    for end in [
        "languages can be read again count=20 first=\"o/021\"",
        "the response no longer has bad entries count=20 first=\"o/001\"",
    ] {
        assert_eq!(count(&lines, end), 1, "{end}: {lines:#?}");
    }
    assert_eq!(lines.len(), 3, "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_two_hours_logs_three_lines_and_so_does_its_end() {
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
    assert_eq!(count(&begin, "cannot read languages"), 0);
    assert_eq!(count(&begin, "The API was unavailable"), 1, "{begin:#?}");
    assert_eq!(
        count(&begin, "stale and no longer shown"),
        1,
        "after an hour"
    );
    assert_eq!(begin.len(), 3, "{begin:#?}");
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
            "polls read the repositories again after=2 h",
            "no data are stale any more after=1 h"
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
    let mut findings = findings(&document.whole(), &facts, now);
    // A count has settled once it is seen twice.
    problems.observe(&mut findings, &document.whole(), now);
    problems.observe(&mut findings, &document.whole(), now);
}

#[tokio::test(start_paused = true)]
async fn no_line_says_that_a_problem_ended_while_an_outage_hides_it() {
    for (repositories, readable, begins, ends) in [
        (
            3,
            2,
            "1 of 3 repositories cannot be read",
            "polls read the repositories again",
        ),
        (
            0,
            0,
            "has no repositories",
            "there are repositories to show again",
        ),
    ] {
        let mut bench = Bench::of(repositories, |_| true);
        let mut problems = ProblemLog::default();
        let log = Log::collect();
        bench.change(|api| api.completions.truncate(readable));
        bench.poll().await;
        observe(&mut problems, &bench);
        bench.change(|api| {
            (api.listing_breaks, api.is_unreachable) = (true, true);
            api.completions.clear();
        });
        bench.poll().await;
        observe(&mut problems, &bench);
        let lines = log.take();
        assert_eq!(
            [begins, "The API was unavailable", ends].map(|words| count(&lines, words)),
            [1, 1, 0],
            "{lines:#?}"
        );
        bench.change(|api| {
            (api.listing_breaks, api.is_unreachable) = (false, false);
            api.list(4, |_| true);
        });
        bench.poll().await;
        observe(&mut problems, &bench);
        let lines = log.take();
        assert_eq!(
            [ends, "polls read the repositories again"].map(|words| count(&lines, words)),
            [1, 1],
            "{lines:#?}"
        );
    }
}

#[test]
fn a_certificate_that_expires_is_not_logged_as_valid() {
    let mut problems = ProblemLog::default();
    let log = Log::collect();
    let instruments = Instruments::new(Some("/metrics"));
    instruments.certificate_expires(Some(START.saturating_add(Duration::from_secs(3600))));
    let poller = Bench::new().poller;
    for (hours, is_valid) in [(0, false), (2, false), (3, true)] {
        let now = START.saturating_add(HOUR * hours);
        if is_valid {
            instruments.certificate_expires(None);
        }
        let facts = instruments.facts();
        let document = document(&poller);
        let mut findings = findings(&document.whole(), &facts, now);
        problems.observe(&mut findings, &document.whole(), now);
        assert_eq!(
            count(
                &log.take(),
                "no TLS certificate that is served expires within 14 days"
            ) > 0,
            is_valid,
            "after {hours} h"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_repository_is_logged_once_despite_an_outage() {
    let mut bench = Bench::of(3, |_| true);
    bench.poll().await;
    let log = Log::collect();
    bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
    for is_unreachable in [false, true, false] {
        let completions = bench.api.responses().completions.clone();
        bench.change(|api| {
            (api.is_unreachable, api.listing_breaks) = (is_unreachable, is_unreachable);
            if is_unreachable {
                api.completions.clear();
            }
        });
        bench.poll().await;
        bench.change(|api| api.completions = completions);
    }
    assert_eq!(count(&log.take(), "cannot read languages"), 1);
    bench.change(|api| api.completions.push((2, 50.0)));
    bench.poll().await;
    assert_eq!(count(&log.take(), "languages can be read again"), 1);
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
    assert_eq!(log.take(), [line]);
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
            "repositories removed count=1 first=\"o/003\"",
            "repositories renamed count=1 first=\"o/002 to o/new-name\"",
        ]
    );
}
