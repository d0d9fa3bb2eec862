//! `once`: polls once and prints the result; the exit code says whether everything could be read.

use super::{RunError, environment, open_state, poll_settings, print, warn};
use crate::{
    api::Client,
    cli::Output,
    clock::Clock,
    config::{self, Config, Options},
    exposition::{self, Format},
    health::{self, Finding, Kind},
    instruments::Instruments,
    poll::Poller,
    report::{self, Terminal},
    snapshot::{PollOutcome, PollStatus, Snapshot, Step},
    state::{Opened, StateError},
    telemetry,
};
use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{io::Write as _, sync::Arc};
use tokio::sync::watch;

pub(super) async fn once(
    options: &Options,
    output: Output,
    require_targets: bool,
) -> Result<(), RunError> {
    let config = config::load(options, &environment()).map_err(RunError::usage)?;
    let bar = progress_bar()?;
    telemetry::init(&config.log, Some(bar.clone()));
    warn(&config);
    let instruments = Arc::new(Instruments::of_one_poll());
    instruments.config_loaded(Ok(()), Clock::system().now());
    let polled = poll(&config, &instruments, bar).await?;
    let Polled {
        snapshot,
        status,
        outcome,
        ..
    } = &polled;

    print(|stdout| {
        let format = match output {
            Output::Text => Format::Text,
            Output::Openmetrics => Format::OpenMetrics,
            Output::Table => {
                let table = report::table(snapshot, outcome, Terminal::of_stdout());
                return stdout.write_all(table.as_bytes());
            }
            Output::Json => return stdout.write_all(report::json(snapshot, outcome).as_bytes()),
        };
        exposition::print(snapshot, status, format, &instruments, stdout)
    })?;
    judge(&polled, &instruments)?;
    polled
        .saved
        .as_ref()
        .map_err(|error| anyhow!("what was read is printed, and not saved: {error}"))?;
    if require_targets {
        judge_targets(snapshot)?;
    }
    Ok(())
}

/// What one poll found, and whether it could be saved.
struct Polled {
    snapshot: Snapshot,
    status: PollStatus,
    outcome: PollOutcome,
    saved: Result<(), StateError>,
}

/// Polls once, from the state that was kept and to it.
async fn poll(
    config: &Config,
    instruments: &Arc<Instruments>,
    bar: ProgressBar,
) -> Result<Polled, RunError> {
    let clock = Clock::system();
    let client = Client::new(&config.api, Arc::clone(instruments)).map_err(RunError::usage)?;
    let state = open_state(config, false, clock, instruments).map_err(|error| match error {
        RunError::Usage(error) => RunError::Usage(anyhow!(
            "{error:#}; `once --state.file=` does without the state"
        )),
        other => other,
    })?;
    // The sender can be dropped: nothing changes during a single poll.
    let (_, settings) = watch::channel(Arc::new(poll_settings(config, client)));
    let nobody = None::<fn(Arc<Snapshot>, PollStatus)>;
    let (mut file, memory) = state.map_or((None, None), |Opened { file, memory, .. }| {
        (Some(file), memory)
    });
    let mut poller = Poller::new(
        settings,
        memory,
        None,
        clock,
        Arc::clone(instruments),
        nobody,
    );
    let drawn = tokio::spawn(draw(bar, poller.progress()));
    let outcome = poller.poll().await;
    let (snapshot, status) = (poller.snapshot(), poller.status().clone());
    let saved = file
        .as_mut()
        .map_or(Ok(()), |file| file.write(&poller.memory()));
    drop(poller);
    drawn.await.context("the progress bar failed")??;
    Ok(Polled {
        snapshot,
        status,
        outcome,
        saved,
    })
}

/// Says what was not read, if anything was not, and which targets are of no use.
fn judge(polled: &Polled, instruments: &Instruments) -> Result<(), RunError> {
    let findings = health::findings(
        &polled.snapshot,
        &polled.status,
        &instruments.facts(),
        polled.outcome.ended_at,
    );
    for finding in &findings {
        if finding.kind == Kind::TargetUnused {
            tracing::warn!(hint = &*finding.hint, "{}", finding.what);
        }
    }
    if polled.outcome.is_success() {
        return Ok(());
    }
    let worst = findings
        .first()
        .map_or_else(|| "not every repository was read".to_owned(), Finding::line);
    Err(RunError::Running(anyhow!(worst)))
}

/// Says which languages are not ready, if any are not.
fn judge_targets(snapshot: &Snapshot) -> Result<(), RunError> {
    match report::not_ready(snapshot) {
        Ok(None) => Ok(()),
        Ok(Some(list)) => Err(RunError::NotReady(list)),
        Err(report::NoLanguages) => Err(anyhow!(report::NoLanguages).into()),
    }
}

/// Draws nothing if stderr is not a terminal.
fn progress_bar() -> anyhow::Result<ProgressBar> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(
        "{spinner} listing repositories: {pos}",
    )?);
    Ok(bar)
}

/// Shows the progress of the poll.
async fn draw(bar: ProgressBar, mut progress: watch::Receiver<Step>) -> anyhow::Result<()> {
    let reading =
        ProgressStyle::with_template("{bar:40} {pos}/{len} repositories read, {eta} left")?;
    while progress.changed().await.is_ok() {
        match *progress.borrow_and_update() {
            Step::Listing { shown } => bar.set_position(shown as u64),
            Step::Reading { of, requested, .. } => {
                if bar.length().is_none() {
                    bar.set_style(reading.clone());
                    bar.reset_eta();
                }
                // Both in one step, so that listed repositories are never shown as read.
                bar.update(|state| {
                    state.set_len(of as u64);
                    state.set_pos(requested as u64);
                });
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}
