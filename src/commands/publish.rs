//! The way from the poller to the web side: encoding and publishing snapshots, and judging them.

use super::off_the_runtime;
use crate::{
    api::Client,
    diagnosis::{self, ProblemLog},
    domain::{document::Document, polling::PollStatus, snapshot::Snapshot},
    metrics::{exposition::Publication, instruments::Instruments},
    poller::{PollLoop, Poller, Saver, Settings},
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
    settings: watch::Receiver<Settings<Client>>,
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
    let (publish, current) = watch::channel(diagnose(Arc::new(first), instruments, &mut log));
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
        let mut publication = Arc::clone(&publish.borrow().publication);
        // A problem can also begin or end between publications, such as an expired certificate.
        match timeout(DIAGNOSE_EVERY, polled.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                publish.send_replace(diagnose(publication, &instruments, &mut log));
                continue;
            }
        }
        let newest = polled.borrow_and_update().clone();
        if let Some((snapshot, status)) = newest {
            let previous = publication;
            let encode = move || encode(&snapshot, status, Some(&previous.document));
            publication = Arc::new(off_the_runtime(encode).await);
        }
        publish.send_replace(diagnose(publication, &instruments, &mut log));
    }
}

/// Judges a snapshot and encodes the document. This is CPU work.
fn encode(snapshot: &Snapshot, status: PollStatus, previous: Option<&Document>) -> Publication {
    let document = Document::judge(snapshot, status, previous);
    Publication::new(Arc::new(document))
}

/// Diagnoses a publication: logs the problems that begin and end, and updates their gauges.
fn diagnose(
    publication: Arc<Publication>,
    instruments: &Instruments,
    log: &mut ProblemLog,
) -> Arc<Current> {
    let now = Clock::system().now();
    let mut findings = diagnosis::findings(&publication.document, &instruments.facts(), now);
    log.observe(&mut findings, now);
    instruments.judged(&diagnosis::problems(&findings));
    Arc::new(Current {
        publication,
        findings,
    })
}
