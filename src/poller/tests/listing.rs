//! The repositories that a listing adds, renames and removes.

use super::*;
use crate::domain::targets::tests::globs;
use crate::domain::{LanguageList, RepositoryId};

#[tokio::test(start_paused = true)]
async fn one_empty_listing_removes_nothing_and_a_second_does() {
    for is_restarted in [false, true] {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.change(|api| api.pages.clear());
        assert!(bench.poll().await.is_success());
        assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
        assert_eq!(bench.poller.document().unconfirmed, 3);
        if is_restarted {
            bench.restart(START);
        }
        bench.poll().await;
        assert_eq!(bench.shown(), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_lacks_just_half_removes_it_at_once() {
    let mut bench = Bench::of(4, |_| true);
    bench.poll().await;
    bench.change(|api| api.list(2, |_| true));
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:fresh");
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_listing_renames_and_removes_nothing_and_all_are_polled() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.requested();
    bench.change(|api| {
        // The first has the former name of the third.
        api.pages = vec![vec![(1, "o/c"), (2, "o/b"), (4, "o/d")]];
        api.listing_breaks = true;
    });
    let stop = bench.poll().await.stop.unwrap();
    assert_eq!(&*stop.failure.what, "the listing broke");
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh 4:pending");
    assert_eq!(bench.names(), ["o/a", "o/b", "o/c", "o/d"]);
    assert_eq!(bench.requested(), [4, 1, 2, 3]);
    bench.change(|api| api.listing_breaks = false);
    bench.poll().await;
    assert_eq!(bench.shown(), "2:fresh 1:fresh 4:pending");
    assert_eq!(bench.names(), ["o/b", "o/c", "o/d"]);
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_changes_between_its_pages_loses_no_lasting_repository() {
    const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    // Three of the repositories come or go; each page has three.
    let pages = |is_whole: bool| -> Vec<Vec<_>> {
        let all = (1_u64..).zip(NAMES);
        let listed: Vec<_> = all.filter(|(id, _)| is_whole || id % 3 != 2).collect();
        listed.chunks(3).map(<[_]>::to_vec).collect()
    };
    for (after, comes) in [(1, true), (1, false), (2, true), (2, false)] {
        let mut bench = Bench::of(9, |_| true);
        bench.change(|api| {
            (api.pages, api.page_takes) = (pages(!comes), Duration::from_secs(2));
        });
        let api = bench.api.clone();
        let change = async {
            sleep(Duration::from_secs(2 * after + 1)).await;
            api.responses().pages = pages(comes);
        };
        tokio::join!(bench.poll(), change);
        let shown = bench.shown();
        for id in [1, 3, 4, 6, 7, 9] {
            assert!(
                shown.contains(&format!("{id}:")),
                "{after}, {comes}: {shown}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_absence_of_less_than_thirty_days_keeps_the_clock() {
    for (days, is_kept) in [(29, true), (31, false)] {
        let mut bench = Bench::new();
        bench.poll().await;
        bench.change(|api| api.pages = vec![vec![(1, "o/a"), (2, "o/b")]]);
        bench.poll().await;
        for _ in 0..days {
            pass(24 * 60).await;
            bench.poll().await;
        }
        bench.change(|api| api.pages.push(vec![(3, "o/renamed")]));
        bench.poll().await;
        let document = bench.poller.document();
        let clock = document.rows[2].known[0].last_progress().unwrap();
        assert_eq!(clock == START, is_kept, "{days} days");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_thin_listing_of_new_repositories_removes_nothing() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| {
        api.pages = vec![vec![(4, "o/d"), (5, "o/e"), (6, "o/f")], vec![(7, "o/g")]];
        api.page_takes = Duration::from_secs(60);
    });
    bench.poll().await;
    let shown = bench.shown();
    assert!(shown.starts_with("1:fresh 2:fresh 3:fresh "), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn names_that_wander_during_a_slow_listing_cost_no_data() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| {
        // A new repository has the former name of a renamed one. Both appear long before the rest.
        api.pages = vec![
            vec![(1, "o/renamed"), (4, "o/a")],
            vec![(5, "o/d")],
            vec![(6, "o/b"), (7, "o/c")],
        ];
        api.page_takes = Duration::from_secs(60);
        api.completions.retain(|(id, _)| *id != 1);
    });
    bench.poll().await;
    assert!(bench.shown().contains("1:failing"), "{}", bench.shown());
}

#[tokio::test(start_paused = true)]
async fn the_first_entry_of_an_id_counts_on_any_page() {
    let mut bench = Bench::new();
    bench.change(|api| {
        api.pages = vec![
            vec![(1, "o/first"), (2, "o/b"), (1, "o/second"), (2, "o/b")],
            vec![(1, "o/third"), (3, "o/c")],
        ];
    });
    assert!(bench.poll().await.is_success());
    assert_eq!(bench.names(), ["o/b", "o/c", "o/first"]);
}

/// Names the unready translations that left within a day.
fn unready(bench: &Bench) -> Vec<String> {
    let document = bench.poller.document();
    let whole = &document;
    let unready = whole.departed().filter(|one| !one.was_met);
    unready.map(|one| one.repository.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_not_ready_and_left_is_known_for_a_day_and_across_restarts() {
    let mut bench = Bench::new();
    bench.change(|api| api.completions = vec![(1, 100.0), (2, 20.0), (3, 30.0)]);
    bench.poll().await;
    bench.change(|api| api.pages = vec![vec![(2, "o/b")]]);
    for _ in 0..2 {
        bench.poll().await;
    }
    assert_eq!(unready(&bench), ["o/c"], "o/a was ready");
    bench.change(|api| api.without_languages = true);
    bench.poll().await;
    assert_eq!(unready(&bench), ["o/b", "o/c"]);
    bench.restart(bench.poller.clock.now());
    assert_eq!(unready(&bench), ["o/b", "o/c"]);
    bench.change(|api| api.pages = vec![vec![(2, "o/b"), (3, "o/c")]]);
    bench.poll().await;
    assert_eq!(
        unready(&bench),
        ["o/b", "o/c"],
        "o/c is back, without a language"
    );
    pass(24 * 60).await;
    assert_eq!(unready(&bench).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn repositories_that_the_filters_leave_out_have_not_left() {
    let mut bench = Bench::new();
    bench.poll().await;
    let mut setup = Setup {
        saved: Some(bench.saved()),
        ..Setup::of(bench.api.clone())
    };
    setup.filter.exclude = globs(&["o/b"]);
    bench.poller = setup.build();
    bench.poll().await;
    assert_eq!(bench.names(), ["o/a", "o/c"]);
    assert_eq!(unready(&bench).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_recreated_repository_takes_its_name_while_other_removals_wait() {
    let mut bench = Bench::new();
    bench.change(|api| api.completions = [1, 2, 3, 4].map(|id| (id, 100.0)).into());
    bench.poll().await;
    assert_eq!(bench.readiness(), Readiness::Ready);
    bench.change(|api| api.pages = vec![vec![(4, "o/a")]]);
    bench.poll().await;
    let document = bench.poller.document();
    assert_eq!(bench.shown(), "4:fresh 2:fresh 3:fresh");
    assert_eq!((document.unconfirmed, document.filtered.len()), (2, 0));
    assert_eq!(bench.readiness(), Readiness::Unknown, "two may be gone");
    bench.poll().await;
    let document = bench.poller.document();
    assert_eq!(bench.shown(), "4:fresh");
    assert_eq!((document.unconfirmed, document.filtered.len()), (0, 0));
    assert_eq!(bench.readiness(), Readiness::Ready);
    let departed = document.departed.iter().map(|left| &*left.repository);
    assert_eq!(
        departed.collect::<Vec<_>>(),
        ["o/b", "o/c"],
        "o/a is listed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_restored_zero_shows_that_zeros_are_spelled_out() {
    for (restored, omitted) in [(0.0, 0), (10.0, 5)] {
        let mut bench = Bench::new();
        bench.change(|api| api.completions = vec![(1, restored), (2, 20.0), (3, 30.0)]);
        bench.poll().await;
        bench.restart(START);
        let list = LanguageList {
            absent: 5,
            ..LanguageList::default()
        };
        let id = RepositoryId::new(2).unwrap();
        let ledger = &mut bench.poller.ledger;
        ledger.succeeded(id, list, &crate::testing::settings(), START);
        assert_eq!(bench.poller.document().omitted_zeros, omitted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_is_not_sorted_by_id_removes_nothing() {
    for (pages, is_complete) in [
        (vec![vec![(1, "o/a"), (1, "o/a")], vec![(5, "o/e")]], true),
        (vec![vec![(2, "o/b"), (1, "o/a")], vec![(5, "o/e")]], false),
    ] {
        let mut bench = Bench::of(5, |_| true);
        bench.poll().await;
        bench.change(|api| api.pages = pages);
        let outcome = bench.poll().await;
        assert_eq!(outcome.is_listed, is_complete, "{outcome:?}");
        bench.change(|api| api.pages = vec![vec![(1, "o/a"), (2, "o/b"), (5, "o/e")]]);
        bench.poll().await;
        assert_eq!(bench.names().len(), 3, "a complete listing decides at once");
    }
}
