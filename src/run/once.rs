//! `once`: polls once and prints the result; the exit code says whether everything could be read.

use super::{RunError, open_state, poll_settings, warn};
use crate::{
    api::Client,
    cli::Output,
    clock::Clock,
    config::{self, Config, Options},
    exposition::{self, Format},
    instruments::Instruments,
    poll::{PollProgress, Poller},
    report::{self, Look},
    snapshot::{PollOutcome, PollStatus, Snapshot},
    state::Opened,
    telemetry,
};
use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{io::Write as _, sync::Arc};
use tokio::sync::watch;

pub(super) async fn once(options: &Options, output: Output) -> Result<(), RunError> {
    let loaded = config::load(options, std::env::vars_os()).map_err(RunError::usage)?;
    let config = &loaded.config;
    let bar = progress_bar()?;
    telemetry::init(&config.log, Some(bar.clone()));
    warn(&loaded);
    let instruments = Arc::new(Instruments::of_one_poll());
    instruments.config_loaded(Ok(()), Clock::system().now());
    let (snapshot, status, outcome) = poll(config, &instruments, bar).await?;

    let mut stdout = std::io::stdout().lock();
    let mut expose = |format| exposition::print(&snapshot, &status, format, &instruments, &mut stdout);
    let printed = match output {
        Output::Text => expose(Format::Text),
        Output::Openmetrics => expose(Format::OpenMetrics),
        Output::Table => stdout.write_all(report::table(&snapshot, &outcome, Look::of_stdout()).as_bytes()),
        Output::Json => stdout.write_all(report::json(&snapshot, &outcome).as_bytes()),
    };
    match printed.and_then(|()| stdout.flush()) {
        // The reader has seen enough, such as `head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        printed => printed.context("cannot print the result")?,
    }
    judge(&outcome)
}

/// Polls once, from the state that was kept and to it.
async fn poll(
    config: &Config,
    instruments: &Arc<Instruments>,
    bar: ProgressBar,
) -> Result<(Snapshot, PollStatus, PollOutcome), RunError> {
    let clock = Clock::system();
    let client = Client::new(&config.api, Arc::clone(instruments)).map_err(RunError::usage)?;
    let state = open_state(config, false, clock, instruments).map_err(|error| match error {
        RunError::Usage(error) => RunError::Usage(anyhow!("{error:#}; `once --state.file=` does without the state")),
        error @ RunError::Running(_) => error,
    })?;
    // The sender can be dropped: nothing changes during a single poll.
    let (_, settings) = watch::channel(Arc::new(poll_settings(config, client)));
    let nobody = None::<fn(Arc<Snapshot>, PollStatus)>;
    let (mut file, memory) = state.map_or((None, None), |Opened { file, memory, .. }| (Some(file), memory));
    let mut poller = Poller::new(settings, memory, None, clock, Arc::clone(instruments), nobody);
    let drawn = tokio::spawn(draw(bar, poller.progress()));
    let outcome = poller.poll().await;
    let (snapshot, status) = (poller.snapshot(), poller.status().clone());
    if let Some(file) = &mut file {
        file.write(&poller.memory()).context("the poll is not saved")?;
    }
    drop(poller);
    drawn.await.context("the progress bar failed")??;
    Ok((snapshot, status, outcome))
}

fn judge(outcome: &PollOutcome) -> Result<(), RunError> {
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

/// Draws nothing if stderr is not a terminal.
fn progress_bar() -> anyhow::Result<ProgressBar> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{spinner} listing repositories: {pos}")?);
    Ok(bar)
}

/// Shows the progress of the poll.
async fn draw(bar: ProgressBar, mut progress: watch::Receiver<PollProgress>) -> anyhow::Result<()> {
    let reading = ProgressStyle::with_template("{bar:40} {pos}/{len} repositories read, {eta} left")?;
    while progress.changed().await.is_ok() {
        let now = *progress.borrow_and_update();
        if now.is_listed && bar.length().is_none() {
            bar.set_style(reading.clone());
            bar.reset_eta();
        }
        // Both in one step, so that listed repositories are never shown as read.
        bar.update(|state| {
            if now.is_listed {
                state.set_len(now.of as u64);
            }
            state.set_pos(if now.is_listed { now.done } else { now.of } as u64);
        });
    }
    bar.finish_and_clear();
    Ok(())
}
