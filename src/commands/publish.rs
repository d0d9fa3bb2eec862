//! The way from the poller to the web side: encoding, diagnosing and publishing documents.

use crate::{
    api::Client,
    diagnosis::{self, ProblemLog},
    domain::document::Document,
    metrics::{exposition::Exposition, instruments::Instruments},
    poller::Poller,
    support::{blocking::off_the_runtime, clock::Clock},
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
    let document = Arc::clone(&documents.borrow_and_update());
    let mut exposition = Arc::new(Exposition::new(Arc::clone(&document)));
    let (instruments, mut log) = (Arc::clone(instruments), ProblemLog::default());
    let mut diagnose = move |document: Arc<Document>, exposition: &Arc<Exposition>| {
        // A scrape waits for the lock of the facts.
        let (facts, now) = (instruments.facts().clone(), clock.now());
        let mut findings = diagnosis::findings(&document, &facts, now);
        log.observe(&mut findings, &document, now);
        instruments.set_problems(diagnosis::problems(&findings));
        Arc::new(Current {
            document,
            exposition: Arc::clone(exposition),
            findings,
        })
    };
    let (publish, current) = watch::channel(diagnose(document, &exposition));
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
    tasks.spawn(async move {
        loop {
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
            publish.send_replace(diagnose(document, &exposition));
        }
    });
    Ok((current, alive))
}
