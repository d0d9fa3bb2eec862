//! The poller against an API in memory, under a paused clock.

use super::*;
mod api;
mod clock;
mod failures;
mod listing;
mod logging;
mod machine;
mod outcome;
mod pace;
mod publication;
mod restart;
mod staleness;

use crate::{
    domain::{PollFailure, document::Readiness},
    support::clock::Timestamp,
};
use api::{EndOfPoll, FakeApi, Responses, Setup};
use tokio::time::sleep;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// A function that sees each publication.
pub type Publish = Box<dyn Fn(&Arc<Document>) + Send + Sync>;

const HOUR: Duration = Duration::from_secs(3600);

/// A poller of an API in memory.
struct Bench {
    api: FakeApi,
    poller: Poller<FakeApi>,
}

impl Bench {
    /// A poller of the repositories o/a, o/b and o/c.
    fn new() -> Self {
        let api = FakeApi::new();
        let poller = Setup::of(api.clone()).build();
        Self { api, poller }
    }

    /// A poller of `repositories` named o/001, o/002 and so on, of which some can be read.
    fn of(repositories: u64, can_be_read: impl Fn(&u64) -> bool) -> Self {
        let bench = Self::new();
        bench.change(|api| api.list(repositories, can_be_read));
        bench
    }

    fn change(&self, change: impl FnOnce(&mut Responses)) {
        change(&mut self.api.responses());
    }

    async fn poll(&mut self) -> PollOutcome {
        self.poller.poll(std::future::pending()).await
    }

    /// Returns the id and condition of each repository in the snapshot.
    fn shown(&self) -> String {
        let document = self.poller.document();
        let shown = document.rows.iter();
        let shown = shown.map(|shown| format!("{}:{}", shown.repository.id, shown.state.label()));
        shown.collect::<Vec<_>>().join(" ")
    }

    fn names(&self) -> Vec<String> {
        let document = self.poller.document();
        let names = document.rows.iter();
        let names = names.map(|shown| shown.repository.name.to_string());
        names.collect()
    }

    /// Returns the number of repositories in a condition.
    fn count(&self, label: &str) -> usize {
        let document = self.poller.document();
        document.count(|row| row.state.label() == label)
    }

    fn readiness(&self) -> Readiness {
        self.poller.document().readiness()
    }

    /// Returns the ids of the repositories that were requested since the last call.
    fn requested(&self) -> Vec<u64> {
        std::mem::take(&mut self.api.responses().requested)
    }

    /// Returns the content of the state file.
    fn saved(&self) -> SavedState {
        as_file(&self.poller.ledger.saved)
    }

    /// Starts the next process, with the state of this one.
    fn restart(&mut self, start: Timestamp) {
        let setup = Setup {
            saved: Some(self.saved()),
            start,
            ..Setup::of(self.api.clone())
        };
        self.poller = setup.build();
    }
}

/// Returns the part of a state that a file keeps.
fn as_file(state: &SavedState) -> SavedState {
    serde_json::from_slice(&serde_json::to_vec(state).unwrap()).unwrap()
}

async fn pass(minutes: u64) {
    sleep(Duration::from_secs(minutes * 60)).await;
}
