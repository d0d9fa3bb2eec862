//! From the poller to the web side: what was polled is encoded off the runtime, and published.

use super::off_the_runtime;
use crate::{
    api::Client,
    diagnosis::{Judge, Watch},
    domain::{
        History,
        snapshot::{PollStatus, Snapshot},
    },
    metrics::{exposition::Published, instruments::Instruments},
    poller::{Poller, Saver, Settings},
    state::{Memory, Problems, StateFile},
    support::clock::Clock,
};
use anyhow::Context as _;
use std::{sync::Arc, time::Duration};
use tokio::{
    runtime::Builder,
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// The exporter judges at least this often whether something is wrong.
const JUDGE_EVERY: Duration = Duration::from_secs(5);

/// Starts to poll, and to save, encode, publish and log what is found. All of it ends after `stop`. Returns what is
/// published, and when the task that polls last ran.
pub fn start(
    settings: watch::Receiver<Arc<Settings<Client>>>,
    (file, memory): (Option<StateFile>, Option<Memory>),
    instruments: &Arc<Instruments>,
    stop: CancellationToken,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<(watch::Receiver<Arc<Published>>, watch::Receiver<Instant>)> {
    let saver = file.map(|file| {
        let (saver, saving) = Saver::new(file, Arc::clone(instruments));
        tasks.spawn(saving);
        saver
    });
    let (newest, encoding) = watch::channel(None);
    let hand_over = move |snapshot, status| drop(newest.send_replace(Some((snapshot, status))));
    let poller = Poller::new(
        settings,
        memory,
        saver,
        Clock::system(),
        Arc::clone(instruments),
        Box::new(hand_over),
    );
    let first = Published::new(Arc::new(poller.snapshot()), poller.status());
    let (publish, published) = watch::channel(Arc::new(first));
    let alive = poller.alive.subscribe();
    let problems = poller.problems.clone();
    instruments.remember(History::of_named(&problems.borrow()));
    // A poll has one thread of its own: its tasks wake each other hundreds of times a second, which costs twice the CPU
    // across threads. And scrapes do not wait for it.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime of polls")?;
    tasks.spawn_blocking(move || {
        runtime.block_on(poller.run(stop.cancelled_owned()));
        // A thread that still waits for a resolver or a disk must not delay the exit.
        runtime.shutdown_background();
    });
    tasks.spawn(encode(encoding, publish));
    tasks.spawn(judge(published.clone(), Arc::clone(instruments), problems));
    Ok((published, alive))
}

/// Encodes the newest data that the poller hands over, and publishes them.
async fn encode(
    mut polled: watch::Receiver<Option<(Arc<Snapshot>, PollStatus)>>,
    publish: watch::Sender<Arc<Published>>,
) {
    while polled.changed().await.is_ok() {
        let newest = polled.borrow_and_update().clone();
        if let Some((snapshot, status)) = newest {
            let encoded = off_the_runtime(|| Published::new(snapshot, status)).await;
            publish.send_replace(Arc::new(encoded));
        }
    }
}

/// Judges what was published: logs what begins to be wrong and what ends, keeps the gauges of problems, and hands over
/// what the state file is to remember of them.
async fn judge(
    mut published: watch::Receiver<Arc<Published>>,
    instruments: Arc<Instruments>,
    problems: watch::Sender<Problems>,
) {
    let mut judge = Judge::new(Clock::system().now());
    let mut log = Watch::default();
    loop {
        let newest = Arc::clone(&published.borrow_and_update());
        let now = Clock::system().now();
        log.observe(&judge.judge(&newest.snapshot, &newest.status, &instruments, now));
        problems.send_replace(instruments.facts().history.to_named());
        // What the exporter knows about itself also changes between publications.
        let changed = timeout(JUDGE_EVERY, published.changed()).await;
        if matches!(changed, Ok(Err(_))) {
            return;
        }
    }
}
