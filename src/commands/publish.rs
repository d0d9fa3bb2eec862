//! The way from the poller to the web side: encoding and publishing snapshots, and judging them.

use super::off_the_runtime;
use crate::{
    api::Client,
    diagnosis::{Judge, Watch},
    domain::{
        History,
        snapshot::{PollStatus, Snapshot},
    },
    metrics::{exposition::Published, instruments::Instruments},
    poller::{PollLoop, Poller, Saver, Settings},
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

/// The maximum time between two judgements of the diagnosis, below the promised 15 seconds.
const JUDGE_EVERY: Duration = Duration::from_secs(5);

/// Starts the tasks that poll, save, encode, publish and judge; `stop` ends them. Returns the
/// publications and the poll loop's heartbeats.
pub fn start(
    settings: watch::Receiver<Settings<Client>>,
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
    let problems = poller.problems();
    instruments.remember(History::of_named(&problems.borrow()));
    let poll_loop = PollLoop::new(poller);
    let alive = poll_loop.alive();
    // Polls have a dedicated thread, so that scrapes do not wait for them. Their tasks wake each
    // other hundreds of times a second, which takes twice the CPU across threads.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime of polls")?;
    tasks.spawn_blocking(move || {
        runtime.block_on(poll_loop.run(stop.cancelled_owned()));
        // A thread that waits for a resolver or a disk must not delay the exit.
        runtime.shutdown_background();
    });
    tasks.spawn(encode(encoding, publish));
    tasks.spawn(judge(published.clone(), Arc::clone(instruments), problems));
    Ok((published, alive))
}

/// Encodes and publishes the newest snapshot of the poller.
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

/// Judges each publication: logs problems when they begin and end, updates their gauges, and passes
/// the history of the diagnosis on to the state file.
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
        // A problem can also begin or end between publications, such as an expired certificate.
        let changed = timeout(JUDGE_EVERY, published.changed()).await;
        if matches!(changed, Ok(Err(_))) {
            return;
        }
    }
}
