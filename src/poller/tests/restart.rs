//! Saves during a poll, and the restored state after a restart.

use super::*;
use crate::domain::targets::tests::globs;
use crate::state::StateFile;
use globset::Glob;
use std::path::Path;

/// Polls `api` for some minutes, with a state file at `path`.
async fn poll_and_save(api: &FakeApi, path: &Path, minutes: u64) {
    let (file, _) = StateFile::open(path, "https://api.example.com/", START).unwrap();
    let instruments = Instruments::new(Some("/metrics"));
    let (saver, saving) = Saver::new(file, instruments);
    let setup = Setup {
        saver: Some(saver),
        ..Setup::of(api.clone())
    };
    tokio::join!(setup.run(minutes, |_| None::<()>), saving);
}

#[tokio::test(start_paused = true)]
async fn polls_that_change_nothing_save_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let api = FakeApi::new();
    let looking = async {
        pass(10).await;
        assert!(path.exists(), "what was read is saved");
        api.responses().has_no_key = true;
        pass(10).await;
        std::fs::remove_file(&path).unwrap();
        pass(30).await;
        assert!(!path.exists(), "nothing more was learnt");
    };
    tokio::join!(poll_and_save(&api, &path, 60), looking);
}

/// A process that is killed early must get further than the one before it.
#[tokio::test(start_paused = true)]
async fn a_long_poll_saves_after_its_listing_and_after_its_first_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let api = FakeApi::new();
    api.responses().takes = Duration::from_secs(20 * 60);
    let looking = async {
        sleep(Duration::from_secs(2)).await;
        std::fs::remove_file(&path).expect("saved after the listing");
        pass(19).await;
        assert!(!path.exists(), "nothing was read in the meantime");
        pass(1).await;
        assert!(path.exists(), "saved after the first read");
    };
    tokio::join!(poll_and_save(&api, &path, 22), looking);
}

#[tokio::test(start_paused = true)]
async fn the_last_success_of_all_survives_a_restart_and_a_chosen_poll() {
    let mut bench = Bench::new();
    bench.poll().await;
    let setup = Setup {
        saved: Some(bench.saved()),
        only: Globs::new(&[Glob::new("o/b").unwrap()]).unwrap(),
        start: START.saturating_add(HOUR),
        ..Setup::of(bench.api.clone())
    };
    bench.poller = setup.build();
    assert_eq!(bench.poll().await.read, 1);
    assert_eq!(bench.saved().last_success_at, Some(START));
}

#[tokio::test(start_paused = true)]
async fn the_oldest_attempt_comes_first_after_a_restart_too() {
    for is_restarted in [false, true] {
        let mut bench = Bench::new();
        bench.change(|api| {
            api.completions.retain(|(id, _)| *id == 3);
            api.end = Some(EndOfPoll::Number(2, PollFailure::Held));
        });
        let outcome = bench.poll().await;
        let counts = (outcome.read, outcome.failed, outcome.left());
        assert_eq!(counts, (0, 2, 1));
        if is_restarted {
            bench.restart(START);
        }
        bench.poll().await;
        assert_eq!(bench.requested(), [1, 2, 3, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn restored_repositories_are_failing_or_pending() {
    let mut bench = Bench::new();
    bench.poll().await;
    bench.change(|api| api.completions.retain(|(id, _)| *id != 2));
    bench.poll().await;
    let failing_since = |bench: &Bench| bench.poller.document().rows[1].failing_since;
    let since = failing_since(&bench);
    pass(30).await;
    bench.poll().await;
    bench.restart(bench.poller.clock.now());
    assert_eq!(bench.shown(), "1:pending 2:failing 3:pending");
    bench.poll().await;
    assert_eq!(failing_since(&bench), since);
}

#[tokio::test(start_paused = true)]
async fn the_filters_apply_to_restored_repositories() {
    let mut bench = Bench::new();
    bench.poll().await;
    let mut setup = Setup {
        saved: Some(bench.saved()),
        ..Setup::of(bench.api.clone())
    };
    setup.filter.exclude = globs(&["o/b"]);
    bench.poller = setup.build();
    assert_eq!(bench.shown(), "1:pending 3:pending");
    assert_eq!(bench.poller.document().filtered.len(), 1);
}
