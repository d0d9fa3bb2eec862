//! `once`: polls once and prints the result; the exit code says whether everything could be read.

use super::{RunError, load, open_state, poll_settings, print};
use crate::{
    api::Client,
    cli::Output,
    config::Options,
    diagnosis::{Finding, Judge, Symptom, Watch},
    domain::{History, snapshot::Step},
    metrics::{
        exposition::{Format, Published},
        instruments::Instruments,
    },
    poller::Poller,
    report::{self, Terminal},
    support::{clock::Clock, logging},
};
use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{io::Write as _, sync::Arc};
use tokio::sync::watch;

pub async fn once(
    options: &Options,
    output: Output,
    require_targets: bool,
) -> Result<(), RunError> {
    let config = load(options)?;
    let bar = progress_bar()?;
    logging::init(&config.log, Some(bar.clone()));
    let instruments = Arc::new(Instruments::of_one_poll());
    instruments.config_loaded(Ok(()), Clock::system().now());
    let client = Client::new(&config.api, Arc::clone(&instruments))?;
    let (file, memory) = open_state(&config, false, &instruments)?;
    // The sender can be dropped: nothing changes during a single poll.
    let (_, settings) = watch::channel(Arc::new(poll_settings(&config, client)));
    let mut poller = Poller::new(
        settings,
        memory,
        None,
        Clock::system(),
        Arc::clone(&instruments),
        Box::new(|_, _| {}),
    );
    let drawn = tokio::spawn(draw(bar, poller.progress.subscribe()));
    let began = Clock::system().now();
    instruments.remember(History::of_named(&poller.problems.borrow()));
    let outcome = poller.poll().await;
    let published = Published::new(Arc::new(poller.snapshot()), poller.status());
    let Published {
        snapshot, status, ..
    } = &published;
    let findings = Judge::new(began).judge(snapshot, status, &instruments, outcome.ended_at);
    let problems = instruments.facts().history.to_named();
    poller.problems.send_replace(problems);
    let saved = file.map_or(Ok(()), |file| file.write(&poller.memory()));
    drop(poller);
    drawn.await.context("the progress bar failed")??;

    print(|stdout| match output {
        Output::Text => published.print(Format::Text, &instruments, stdout),
        Output::Openmetrics => published.print(Format::OpenMetrics, &instruments, stdout),
        Output::Table => {
            let table = report::table(snapshot, &outcome, Terminal::of_stdout());
            stdout.write_all(table.as_bytes())
        }
        Output::Json => stdout.write_all(report::json(snapshot, &outcome).as_bytes()),
    })?;
    check_read(findings, outcome.is_success())?;
    saved.context("what was read is printed, and not saved")?;
    if require_targets {
        report::all_ready(snapshot)?;
    }
    Ok(())
}

/// Logs what is wrong, and fails if not everything was read: with the worst of it.
fn check_read(mut findings: Vec<Finding>, is_everything: bool) -> anyhow::Result<()> {
    // No poll follows that could be too late.
    findings.retain(|finding| finding.symptom != Symptom::PollsOverrun);
    let failed = !is_everything;
    let worst = (failed && !findings.is_empty()).then(|| findings.remove(0));
    Watch::default().observe(&findings);
    match worst {
        Some(worst) => bail!(worst.line()),
        None if failed => bail!("not every repository was read"),
        None => Ok(()),
    }
}

/// Draws nothing if stderr is not a terminal.
fn progress_bar() -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} listing repositories: {pos}")?;
    Ok(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style))
}

/// Shows the progress of the poll.
async fn draw(bar: ProgressBar, mut progress: watch::Receiver<Step>) -> anyhow::Result<()> {
    let reading = ProgressStyle::with_template("{bar:40} {pos}/{len} repositories, {eta} left")?;
    while progress.changed().await.is_ok() {
        match *progress.borrow_and_update() {
            Step::Listing { shown } => bar.set_position(shown as u64),
            Step::Reading { of, tried, .. } => {
                if bar.length().is_none() {
                    bar.set_style(reading.clone());
                    bar.reset_eta();
                }
                // Both in one step, so that listed repositories are never shown as done.
                bar.update(|state| {
                    state.set_len(of as u64);
                    state.set_pos(tried as u64);
                });
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}
