//! From the poller to the web side: what was polled is encoded off the runtime, and published.

use super::{off_the_runtime, runtime_of_one_thread};
use crate::{
    api::Client,
    clock::Clock,
    exposition::Published,
    health,
    instruments::Instruments,
    poll::{Poller, Saver, Settings},
    snapshot::{PollStatus, Snapshot},
    state::Opened,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How often it is judged at least whether something is wrong.
const OBSERVE_EVERY: Duration = Duration::from_secs(5);

/// What the poller knows, on its way to be encoded.
type Polled = Option<(Arc<Snapshot>, PollStatus)>;

/// What the tasks of polling show to others.
pub(super) struct Polling {
    pub published: watch::Receiver<Arc<Published>>,
    /// When the task that polls last ran.
    pub alive: watch::Receiver<Instant>,
}

/// Starts to poll, and to save, encode, publish and log what is found. All of it ends after `stop`.
pub(super) async fn start(
    settings: watch::Receiver<Arc<Settings<Client>>>,
    state: Option<Opened>,
    clock: Clock,
    instruments: &Arc<Instruments>,
    stop: CancellationToken,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<Polling> {
    let (mut saver, mut memory) = (None, None);
    if let Some(opened) = state {
        let (new, saving) = Saver::new(opened.file, Arc::clone(instruments));
        tasks.spawn(saving);
        (saver, memory) = (Some(new), opened.memory);
    }
    let (newest, encoding) = watch::channel(None);
    let hand_over = move |snapshot, status| drop(newest.send_replace(Some((snapshot, status))));
    let instruments = Arc::clone(instruments);
    let poller = Poller::new(
        settings,
        memory,
        saver,
        clock,
        Arc::clone(&instruments),
        Some(hand_over),
    );
    let first = encoded(Arc::new(poller.snapshot()), poller.status().clone()).await;
    let (publish, published) = watch::channel(first);
    let alive = poller.alive();
    // A poll has one thread of its own: its tasks wake each other hundreds of times a second, which costs twice the CPU
    // across threads. And scrapes do not wait for it.
    let runtime = runtime_of_one_thread()?;
    tasks.spawn_blocking(move || {
        runtime.block_on(poller.run(stop.cancelled_owned()));
        // A thread that still waits for a resolver or a disk must not delay the exit.
        runtime.shutdown_background();
    });
    tasks.spawn(encode(encoding, publish));
    tasks.spawn(log_health(published.clone(), instruments, clock));
    Ok(Polling { published, alive })
}

/// Encodes the newest data that the poller hands over, and publishes them.
async fn encode(mut polled: watch::Receiver<Polled>, publish: watch::Sender<Arc<Published>>) {
    while polled.changed().await.is_ok() {
        let Some((snapshot, status)) = polled.borrow_and_update().clone() else {
            continue;
        };
        publish.send_replace(encoded(snapshot, status).await);
    }
}

async fn encoded(snapshot: Arc<Snapshot>, status: PollStatus) -> Arc<Published> {
    off_the_runtime(move || Arc::new(Published::new(snapshot, status))).await
}

/// Logs what begins to be wrong and what ends.
async fn log_health(
    mut published: watch::Receiver<Arc<Published>>,
    instruments: Arc<Instruments>,
    clock: Clock,
) {
    let mut watch = health::Watch::default();
    // What the exporter knows about itself also changes between publications.
    while !matches!(
        timeout(OBSERVE_EVERY, published.changed()).await,
        Ok(Err(_))
    ) {
        let newest = Arc::clone(&published.borrow_and_update());
        let now = clock.now();
        watch.observe(
            &health::findings(&newest.snapshot, &newest.status, &instruments.facts(), now),
            now,
        );
    }
}
