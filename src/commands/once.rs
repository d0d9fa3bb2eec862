//! `once`: polls once and prints the result; the exit code says whether everything could be read.

use super::{
    RunError, load, off_the_runtime, open_state, output::output, poll_settings, start_logging,
    stdio::print_on_stderr, stop::StopSignals,
};
use crate::{
    api::Client,
    cli::Once,
    config::Options,
    diagnosis::{Finding, Judge, Symptom, Watch},
    domain::{
        History,
        excerpt::Excerpt,
        snapshot::{PollOutcome, Step},
        targets::Targets,
    },
    metrics::{exposition::Published, instruments::Instruments},
    poller::{Poller, Saver, Settings},
    report,
    support::clock::Clock,
};
use anyhow::{Context as _, anyhow, bail};
use globset::Glob;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{sync::Arc, time::Duration};
use tokio::{
    runtime,
    sync::watch,
    task::{JoinHandle, spawn, spawn_blocking},
    time::{sleep, timeout},
};

/// How long a disk, a reader of stdout and a terminal may take after a signal.
const SHUTDOWN: Duration = Duration::from_secs(3);

pub async fn once(options: &Options, arguments: Once) -> Result<(), RunError> {
    let config = load(options)?;
    let excerpt = Excerpt::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let bar = progress_bar()?;
    start_logging(&config.log, Some(bar.clone()))?;
    let instruments = Arc::new(Instruments::of_one_poll());
    instruments.config_loaded(Ok(()), Clock::system().now());
    let client = Client::new(&config.api, Arc::clone(&instruments))?;
    let (file, memory) = open_state(&config, false, &instruments)?;
    let (saver, saving) = match file {
        Some(file) => {
            let (saver, saving) = Saver::new(file, Arc::clone(&instruments));
            (Some(saver), Some(spawn(saving)))
        }
        None => (None, None),
    };
    // The sender can be dropped: nothing changes during a single poll.
    let (_, settings) = watch::channel(Arc::new(Settings {
        only: excerpt.repositories.clone(),
        ..poll_settings(&config, client)
    }));
    let mut poller = Poller::new(
        settings,
        memory,
        saver,
        Clock::system(),
        Arc::clone(&instruments),
        Box::new(|_, _| {}),
    );
    // On a thread of its own, which a terminal may stall (Ctrl-S).
    let (runtime, progress) = (runtime::Handle::current(), poller.progress.subscribe());
    let drawn = spawn_blocking(move || runtime.block_on(draw(bar, progress)));
    let mut signals = StopSignals::listen()?;
    let result = poll(&mut poller, &instruments, &mut signals).await;
    let mut snapshot = excerpt.of_snapshot(&poller.snapshot());
    if let Some(ratio) = arguments.require {
        snapshot.targets = Arc::new(Targets::everything_at(ratio));
    }
    let published = Arc::new(Published::new(Arc::new(snapshot), poller.status()));
    drop(poller);
    let print = {
        let (instruments, outcome) = (Arc::clone(&instruments), result.outcome.clone());
        let (published, file) = (Arc::clone(&published), arguments.output_file.clone());
        let (format, findings) = (arguments.output, result.findings.clone());
        move || {
            output(
                format,
                file.as_deref(),
                &published,
                &instruments,
                &outcome,
                &findings,
            )
        }
    };
    tokio::select! {
        finished = finish(saving, drawn, print) => finished?,
        signal = give_up(result.signal, &mut signals) => {
            return Err(anyhow!("stopped by {signal}; not everything was saved and printed").into());
        }
    }
    verdict(result, &arguments, &published, &instruments)
}

/// What came of the poll.
struct PollResult {
    outcome: PollOutcome,
    findings: Vec<Finding>,
    /// The signal that ended the poll early, if one did.
    signal: Option<&'static str>,
}

/// Polls until the end or a signal, and hands over what is to be saved.
async fn poll(
    poller: &mut Poller<Client>,
    instruments: &Instruments,
    signals: &mut StopSignals,
) -> PollResult {
    let began = Clock::system().now();
    instruments.remember(History::of_named(&poller.problems.borrow()));
    let (outcome, signal) = tokio::select! {
        biased;
        outcome = poller.poll() => (outcome, None),
        signal = signals.received() => (poller.interrupted(), Some(signal)),
    };
    let mut findings = Vec::new();
    // A poll that was interrupted decides nothing.
    if signal.is_none() {
        let (snapshot, status) = (poller.snapshot(), poller.status());
        findings = Judge::new(began).judge(&snapshot, &status, instruments, outcome.ended_at);
        let problems = instruments.facts().history.to_named();
        poller.problems.send_replace(problems);
    }
    poller.save();
    PollResult {
        outcome,
        findings,
        signal,
    }
}

/// Waits until the state is saved, clears the progress bar, and then prints.
async fn finish(
    saving: Option<JoinHandle<()>>,
    drawn: JoinHandle<anyhow::Result<()>>,
    print: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    if let Some(saving) = saving {
        saving.await.context("the state could not be written")?;
    }
    // A terminal that is stalled does not keep the result from a file or a pipe.
    if let Ok(drawn) = timeout(Duration::from_secs(1), drawn).await {
        drawn.context("the progress bar failed")??;
    }
    // Nobody may read stdout, and signals are answered meanwhile.
    off_the_runtime(print).await
}

/// Waits for a signal. After the first, `signal`, it waits only for a while.
async fn give_up(signal: Option<&'static str>, signals: &mut StopSignals) -> &'static str {
    match signal {
        Some(signal) => {
            sleep(SHUTDOWN).await;
            signal
        }
        None => signals.received().await,
    }
}

/// Decides whether the command succeeded, once everything is printed.
fn verdict(
    result: PollResult,
    arguments: &Once,
    published: &Published,
    instruments: &Instruments,
) -> Result<(), RunError> {
    let PollResult {
        outcome,
        findings,
        signal,
    } = result;
    let snapshot = &published.snapshot;
    if let Some(signal) = signal {
        let (read, all) = (outcome.read, snapshot.repositories.len());
        let read = format!("{read} of {all} repositories were read; what is known is printed");
        return Err(anyhow!("stopped by {signal} after {read}").into());
    }
    check_read(findings, outcome.is_success())?;
    if let Some(lasting) = instruments.facts().state_not_saved {
        let what = lasting.failure.what;
        return Err(anyhow!("what was read is printed, and not saved: {what}").into());
    }
    if is_narrowed(arguments) && snapshot.repositories.is_empty() {
        return Err(anyhow!("{}", nothing_matches(arguments)).into());
    }
    if arguments.require_targets || arguments.require.is_some() {
        print_on_stderr(&report::verdict(snapshot, arguments.require)?);
    }
    Ok(())
}

fn is_narrowed(arguments: &Once) -> bool {
    !arguments.repositories.is_empty() || !arguments.languages.is_empty()
}

fn nothing_matches(arguments: &Once) -> String {
    let named = |globs: &[Glob]| {
        let globs = globs.iter().map(Glob::glob);
        globs.collect::<Vec<_>>().join(", ")
    };
    let repositories = named(&arguments.repositories);
    let languages = named(&arguments.languages);
    match (repositories.is_empty(), languages.is_empty()) {
        (true, _) => format!("no language matches --language {languages}; check the code"),
        (_, true) => {
            format!("no repository matches {repositories}; check its name and the filters")
        }
        _ => format!(
            "no repository matches {repositories} with a language that matches --language \
             {languages}; check both"
        ),
    }
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
