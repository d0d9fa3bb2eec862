//! The completions that languages fell from, in published snapshots.

use super::*;
use crate::domain::snapshot::Shown;

impl Bench {
    /// Returns the id and the completion of each fall.
    fn fallen(&self) -> Vec<(u64, f64)> {
        let snapshot = self.poller.snapshot();
        let fallen = |shown: &Shown| {
            let fall = shown.records().first()?.fall(snapshot.taken_at)?;
            Some((shown.repository.id.get(), fall.completion.get()))
        };
        snapshot.repositories.iter().filter_map(fallen).collect()
    }

    /// Changes `api.completion_scale` from the next poll on.
    fn rescale(&mut self, scale: f64) {
        self.completion_scale = scale;
        let setup = Setup {
            completion_scale: scale,
            ..Setup::of(self.api.clone())
        };
        self.poller.settings = setup.build().settings;
    }

    async fn poll_with(&mut self, completions: &[(u64, f64)]) {
        self.change(|api| api.completions = completions.to_vec());
        self.poll().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_fall_lasts_through_renames_failures_absence_and_restarts() {
    let mut bench = Bench::new();
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), []);
    bench.poll_with(&[(1, 10.0), (2, 20.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [(2, 80.0)]);
    bench.restart(START);
    assert_eq!(bench.fallen(), [(2, 80.0)], "before the first poll");
    bench.poll_with(&[(1, 10.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [(2, 80.0)], "while its reads fail");
    bench.change(|api| api.pages = vec![vec![(1, "o/a"), (3, "o/c")]]);
    bench.poll().await;
    bench.change(|api| api.pages = vec![vec![(1, "o/a"), (2, "o/new"), (3, "o/c")]]);
    bench.poll_with(&[(1, 10.0), (2, 79.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [(2, 80.0)], "after it left and came back");
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [], "once it is reached again");
}

#[tokio::test(start_paused = true)]
async fn a_language_that_comes_back_with_less_has_fallen() {
    let mut bench = Bench::new();
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    bench.change(|api| api.pages = vec![vec![(1, "o/a"), (3, "o/c")]]);
    bench.poll().await;
    bench.change(|api| api.pages = vec![vec![(1, "o/a"), (2, "o/b"), (3, "o/c")]]);
    bench.poll_with(&[(1, 10.0), (2, 0.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [(2, 80.0)]);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_scale_and_back_ends_no_fall() {
    let mut bench = Bench::new();
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    bench.poll_with(&[(1, 10.0), (2, 20.0), (3, 30.0)]).await;
    for scale in [1.0, 100.0] {
        bench.rescale(scale);
        bench.poll().await;
        assert_eq!(bench.fallen(), [(2, 80.0)], "{scale}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_completion_shows_no_fall_until_it_is_known_again() {
    let mut bench = Bench::new();
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    bench.poll_with(&[(1, 10.0), (2, 20.0), (3, 30.0)]).await;
    bench
        .poll_with(&[(1, 10.0), (2, f64::NAN), (3, 30.0)])
        .await;
    assert_eq!(bench.fallen(), []);
    bench.restart(START);
    bench.poll_with(&[(1, 10.0), (2, 20.0), (3, 30.0)]).await;
    assert_eq!(bench.fallen(), [(2, 80.0)]);
}
