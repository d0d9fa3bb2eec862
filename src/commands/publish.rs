//! The way from the poller to the web side: encoding, diagnosing and publishing documents.

use crate::{
    api::Client,
    diagnosis::{self, ProblemLog},
    domain::document::Document,
    metrics::{exposition::Exposition, instruments::Instruments},
    poller::Poller,
    support::{
        blocking::off_the_runtime,
        clock::{Clock, Timestamp},
    },
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

/// Starts the tasks that poll, encode, publish and diagnose; `stop` ends them. Returns the
/// publications and the poll loop's heartbeats.
pub fn start(
    poller: Poller<Client>,
    instruments: &Arc<Instruments>,
    clock: Clock,
    stop: CancellationToken,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<(watch::Receiver<Arc<Current>>, watch::Receiver<Instant>)> {
    let mut documents = poller.documents();
    let first = Arc::clone(&documents.borrow_and_update());
    let exposition = Arc::new(Exposition::new(Arc::clone(&first)));
    let mut log = ProblemLog::default();
    let first = diagnose(first, exposition, instruments, clock.now(), &mut log);
    let (publish, current) = watch::channel(first);
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
    tasks.spawn(publish_all(
        documents,
        Arc::clone(instruments),
        clock,
        log,
        publish,
    ));
    Ok((current, alive))
}

/// Encodes, diagnoses and publishes the newest document of the poller.
async fn publish_all(
    mut documents: watch::Receiver<Arc<Document>>,
    instruments: Arc<Instruments>,
    clock: Clock,
    mut log: ProblemLog,
    publish: watch::Sender<Arc<Current>>,
) {
    loop {
        let mut exposition = Arc::clone(&publish.borrow().exposition);
        // A problem can also begin or end between publications, such as an expired certificate.
        let changed = timeout(DIAGNOSE_EVERY, documents.changed()).await;
        let document = Arc::clone(&documents.borrow_and_update());
        match changed {
            Ok(Ok(())) => {
                let document = Arc::clone(&document);
                let encode = move || Arc::new(Exposition::new(document));
                exposition = off_the_runtime(encode).await;
            }
            Ok(Err(_)) => return,
            Err(_) => {}
        }
        publish.send_replace(diagnose(
            document,
            exposition,
            &instruments,
            clock.now(),
            &mut log,
        ));
    }
}

/// Diagnoses a publication: logs the problems that begin and end, and updates their gauges.
fn diagnose(
    document: Arc<Document>,
    exposition: Arc<Exposition>,
    instruments: &Instruments,
    now: Timestamp,
    log: &mut ProblemLog,
) -> Arc<Current> {
    // A scrape waits for the lock of the facts.
    let facts = instruments.facts().clone();
    let mut findings = diagnosis::findings(&document.whole(), &facts, now);
    log.observe(&mut findings, &document, now);
    instruments.set_problems(diagnosis::problems(&findings));
    Arc::new(Current {
        document,
        exposition,
        findings,
    })
}
