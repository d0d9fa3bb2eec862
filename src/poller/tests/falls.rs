//! The completions that languages fell from, in published snapshots.

use super::*;

impl Bench {
    /// Returns the id and the completion of each fall.
    fn fallen(&self) -> Vec<(u64, f64)> {
        let falls = self.poller.snapshot().falls;
        let falls = falls.iter();
        falls
            .map(|(id, _, fall)| (id.get(), fall.from.get()))
            .collect()
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
async fn a_change_of_the_scale_ends_all_falls_and_begins_none() {
    let mut bench = Bench::new();
    bench.poll_with(&[(1, 10.0), (2, 80.0), (3, 30.0)]).await;
    bench.poll_with(&[(1, 10.0), (2, 20.0), (3, 30.0)]).await;
    bench.restart(START);
    assert_eq!(bench.fallen(), [(2, 80.0)], "the scale is the same");
    // The API reports 0 to 1 from now on. Repository 3 cannot be read at first.
    bench.rescale(1.0);
    bench.poll_with(&[(1, 0.1), (2, 0.2)]).await;
    assert_eq!(bench.fallen(), []);
    bench.poll_with(&[(1, 0.1), (2, 0.1), (3, 0.3)]).await;
    assert_eq!(bench.fallen(), [(2, 0.2)]);
    bench.restart(START);
    bench.poll_with(&[(1, 0.1), (2, 0.1), (3, 0.2)]).await;
    assert_eq!(bench.fallen(), [(2, 0.2), (3, 0.3)]);
    bench.rescale(100.0);
    bench.restart(START);
    assert_eq!(bench.fallen(), [], "the scale changed with a restart");
    bench.poll_with(&[(1, 0.1), (2, 0.0), (3, 0.1)]).await;
    assert_eq!(bench.fallen(), []);
}
