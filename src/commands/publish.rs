//! The way from the poller to the web side: encoding and publishing snapshots, and judging them.

use super::off_the_runtime;
use crate::{
    api::Client,
    diagnosis::{self, ProblemLog},
    domain::{document::Document, polling::PollStatus, snapshot::Snapshot},
    metrics::{exposition::Exposition, instruments::Instruments},
    poller::{Poller, Saver, Settings},
    state::{SavedState, StateFile},
    support::clock::Clock,
    web::Current,
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

/// The maximum time between two diagnoses, below the promised 15 seconds.
const DIAGNOSE_EVERY: Duration = Duration::from_secs(5);

/// Starts the tasks that poll, save, encode, publish and judge; `stop` ends them. Returns the
/// publications and the poll loop's heartbeats.
pub fn start(
    settings: Arc<Settings<Client>>,
    (file, state): (Option<StateFile>, Option<SavedState>),
    instruments: &Arc<Instruments>,
    stop: CancellationToken,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<(watch::Receiver<Arc<Current>>, watch::Receiver<Instant>)> {
    let saver = file.map(|file| {
        let (saver, saving) = Saver::new(file, Arc::clone(instruments));
        tasks.spawn(saving);
        saver
    });
    let (newest, encoding) = watch::channel(None);
    let hand_over = move |snapshot, status| drop(newest.send_replace(Some((snapshot, status))));
    let poller = Poller::new(
        settings,
        state,
        saver,
        Clock::system(),
        Arc::clone(instruments),
        Box::new(hand_over),
    );
    let first = encode(&poller.snapshot(), poller.status(), None);
    let mut log = ProblemLog::default();
    let (publish, current) = watch::channel(diagnose(first, instruments, &mut log));
    let (heartbeats, alive) = watch::channel(Instant::now());
    // Polls have a dedicated thread, so that scrapes do not wait for them. Their tasks wake each
    // other hundreds of times a second, which takes twice the CPU across threads.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime of polls")?;
    tasks.spawn_blocking(move || {
        runtime.block_on(poller.run(heartbeats, stop.cancelled_owned()));
        // A thread that waits for a resolver or a disk must not delay the exit.
        runtime.shutdown_background();
    });
    tasks.spawn(publish_all(encoding, Arc::clone(instruments), log, publish));
    Ok((current, alive))
}

/// Encodes, judges and publishes the newest snapshot of the poller.
async fn publish_all(
    mut polled: watch::Receiver<Option<(Arc<Snapshot>, PollStatus)>>,
    instruments: Arc<Instruments>,
    mut log: ProblemLog,
    publish: watch::Sender<Arc<Current>>,
) {
    loop {
        let Current {
            document,
            exposition,
            ..
        } = &*Arc::clone(&publish.borrow());
        let mut published = (Arc::clone(document), Arc::clone(exposition));
        // A problem can also begin or end between publications, such as an expired certificate.
        if let Ok(changed) = timeout(DIAGNOSE_EVERY, polled.changed()).await {
            let newest = polled.borrow_and_update().clone();
            let (Ok(()), Some((snapshot, status))) = (changed, newest) else {
                return;
            };
            let previous = Arc::clone(document);
            let encode = move || encode(&snapshot, status, Some(&previous));
            published = off_the_runtime(encode).await;
        }
        publish.send_replace(diagnose(published, &instruments, &mut log));
    }
}

/// Judges a snapshot and encodes the document. This is CPU work.
fn encode(
    snapshot: &Snapshot,
    status: PollStatus,
    previous: Option<&Document>,
) -> (Arc<Document>, Arc<Exposition>) {
    let document = Arc::new(Document::judge(snapshot, status, previous));
    let exposition = Exposition::new(Arc::clone(&document));
    (document, Arc::new(exposition))
}

/// Diagnoses a publication: logs the problems that begin and end, and updates their gauges.
fn diagnose(
    (document, exposition): (Arc<Document>, Arc<Exposition>),
    instruments: &Instruments,
    log: &mut ProblemLog,
) -> Arc<Current> {
    let now = Clock::system().now();
    let mut findings = diagnosis::findings(&document, &instruments.facts(), now);
    log.observe(&mut findings, now);
    instruments.judged(diagnosis::problems(&findings));
    Arc::new(Current {
        document,
        exposition,
        findings,
    })
}
