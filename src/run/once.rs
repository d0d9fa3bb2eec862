//! `once`: poll once, print the result, and say by the exit code whether everything could be read.

use super::{Loader, RunError, poll_settings};
use crate::{
    api::Client,
    cli::Output,
    clock::Clock,
    config::Loaded,
    exposition::{self, Format},
    instruments::Instruments,
    poll::{PollProgress, Poller},
    report::{self, Look},
    snapshot::{PollStatus, Snapshot},
    telemetry,
};
use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{IsTerminal as _, Write as _},
    sync::Arc,
};
use tokio::sync::watch;

pub(super) async fn once(loader: &Loader, output: Output) -> Result<(), RunError> {
    let Loaded { config, warnings, .. } = loader.load().map_err(RunError::usage)?;
    telemetry::init(&config.log);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let instruments = Arc::new(Instruments::of_one_poll());
    let client = Client::new(&config.api, Arc::clone(&instruments)).map_err(RunError::usage)?;
    instruments.config_loaded(true, Clock::system().now());
    // The sender may go: nothing changes while a single poll runs.
    let (_, settings) = watch::channel(Arc::new(poll_settings(&config, client)));
    let nobody = None::<fn(Arc<Snapshot>, PollStatus)>;
    let mut poller = Poller::new(settings, None, None, Clock::system(), Arc::clone(&instruments), nobody);
    let bar = tokio::spawn(draw(poller.progress()));
    let outcome = poller.poll().await;
    let (snapshot, status) = (poller.snapshot(), poller.status().clone());
    drop(poller);
    bar.await.context("the progress bar failed")?;

    let mut stdout = std::io::stdout().lock();
    let mut expose = |format| exposition::print(&snapshot, &status, format, &instruments, &mut stdout);
    let printed = match output {
        Output::Text => expose(Format::Text),
        Output::Openmetrics => expose(Format::OpenMetrics),
        Output::Table => stdout.write_all(report::table(&snapshot, &outcome, Look::of_stdout()).as_bytes()),
        Output::Json => stdout.write_all(report::json(&snapshot, &outcome).as_bytes()),
    };
    match printed.and_then(|()| stdout.flush()) {
        // Who reads has seen enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        printed => printed.context("cannot print the result")?,
    }

    if outcome.is_success() {
        return Ok(());
    }
    let failure = outcome.listing.as_ref().or(outcome.ended_early.as_ref());
    let why = failure.map_or_else(String::new, |failure| format!(": {}; {}", failure.what, failure.hint));
    let unread = outcome.failed + outcome.unreached;
    let all = outcome.read + unread;
    Err(RunError::Running(match (outcome.listing.is_some(), unread) {
        (true, 0) => anyhow!("the repositories could not all be listed{why}"),
        (true, unread) => {
            anyhow!("the repositories could not all be listed, and {unread} of {all} could not be read{why}")
        }
        (false, unread) => anyhow!("{unread} of {all} repositories could not be read{why}; what was read is printed"),
    }))
}

/// Shows on a terminal how far the poll has come.
async fn draw(mut progress: watch::Receiver<PollProgress>) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let listing = ProgressStyle::with_template("{spinner} listing repositories: {pos}");
    let reading = ProgressStyle::with_template("{bar:40} {pos}/{len} repositories read, {eta} left");
    let (Ok(listing), Ok(reading)) = (listing, reading) else { return };
    bar.set_style(listing);
    telemetry::share_terminal_with(&bar);
    let mut is_listed = false;
    while progress.changed().await.is_ok() {
        let now = *progress.borrow_and_update();
        if now.is_listed {
            if !is_listed {
                bar.set_style(reading.clone());
                is_listed = true;
            }
            bar.set_length(now.of as u64);
            bar.set_position(now.done as u64);
        } else {
            bar.set_position(now.of as u64);
        }
    }
    bar.finish_and_clear();
}
