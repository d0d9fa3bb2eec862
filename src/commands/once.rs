//! `once`: polls once, saves the state and prints the result. The exit code reports failures and
//! targets that are not met.

use super::{
    RunError, api_host, load, open_state,
    output::{self, Results},
    poller,
    stop::StopSignals,
};
use crate::{
    api::Client,
    cli::Once,
    config::{CONFIG_FILE, Config, Options, Parsed},
    diagnosis::{self, Finding, ProblemKind},
    domain::{
        document::{Document, Selection, View},
        polling::PollOutcome,
        targets::Targets,
    },
    metrics::instruments::Instruments,
    report::{Report, a_week_ago, parse_since},
    support::{
        blocking::off_the_runtime,
        clock::{Clock, Timestamp},
        hint::SetupError,
        logging,
    },
};
use anyhow::{Context as _, anyhow, bail};
use futures_util::future::OptionFuture;
use indicatif::{ProgressBar, ProgressStyle};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::watch,
    task::{JoinHandle, spawn, spawn_blocking},
    time::{sleep, timeout},
};
use tracing::Level;

/// The time for saving and printing after a signal has ended the poll: a disk or a reader of
/// stdout may hang.
const SHUTDOWN: Duration = Duration::from_secs(3);

/// The time that a disk or a terminal may hold up the result.
const PATIENCE: Duration = Duration::from_secs(1);

pub async fn once(options: &Options, arguments: Once) -> Result<(), RunError> {
    let (config, _) = load(options, false)?;
    output::check(&arguments.outputs, &used(options, &config))?;
    let selection = Selection::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let since = since(&config, arguments.since.as_deref())?;
    let bar = progress_bar()?;
    start_logging(&config, bar.clone());
    let instruments = Instruments::new(None);
    let mut settings = config.settings.clone();
    if let Some(Parsed(ratio)) = arguments.require {
        settings.targets = Targets::everything_at(ratio);
    }
    let only = selection.repositories.clone();
    let client = Client::new(&config.api, Arc::clone(&instruments))?;
    let state = open_state(&config, false, &instruments)?;
    let (mut poller, saving) = poller(client, settings, only, state, &instruments);
    let saving = spawn(OptionFuture::from(saving));
    let drawn = start_drawing(bar, poller.progress());
    let mut signals = StopSignals::listen()?;
    let mut signal = None;
    let interrupt = async { signal = Some(signals.received().await) };
    poller.poll(interrupt).await;
    let document = poller.document();
    // This ends the progress.
    drop(poller);
    let chosen = document.select(&selection);
    // An interrupted poll is no basis for a diagnosis.
    let findings = match signal {
        Some(_) => Vec::new(),
        None => diagnose(&chosen, &instruments),
    };
    let results = Arc::new(Results {
        document: Arc::clone(&document),
        selection: selection.clone(),
        findings,
        api: api_host(&config),
        since,
        max_size: *arguments.max_size as usize,
        instruments,
    });
    let (printed, outputs) = (Arc::clone(&results), arguments.outputs.clone());
    let print = move || printed.print(&outputs);
    tokio::select! {
        finished = finish(saving, drawn, print) => finished?,
        signal = give_up(signal, &mut signals) => {
            return Err(anyhow!("stopped by {signal} while saving or printing the result").into());
        }
    }
    check(&results, signal)?;
    // A gate never passes because of a typo.
    if let Some(unmatched) = unmatched(&arguments, &chosen) {
        return Err(anyhow!(unmatched).into());
    }
    if arguments.require_targets || arguments.require.is_some() {
        judge(&results.report())?;
    }
    Ok(())
}

/// Returns the beginning of the day to compare with.
fn since(config: &Config, chosen: Option<&str>) -> Result<Timestamp, SetupError> {
    let now = Clock::system().now();
    let Some(chosen) = chosen else {
        return Ok(a_week_ago(now));
    };
    let bad = |why: &str, hint: &str| SetupError::new(format!("--since {chosen}: {why}"), hint);
    if config.state_file.is_none() {
        let hint = "set state.file, which keeps 14 days of each translation";
        return Err(bad("without state.file nothing is known of the past", hint));
    }
    parse_since(chosen, now).map_err(|hint| bad("is no day of the last 14", &hint))
}

/// Returns the files that the run reads or writes, apart from its outputs.
fn used<'a>(options: &'a Options, config: &'a Config) -> Vec<&'a Path> {
    let files = [
        options.get(CONFIG_FILE).map(Path::new),
        config.api.key_file.as_deref(),
        config.api.ca_file.as_deref(),
        config.state_file.as_deref(),
    ];
    files.into_iter().flatten().collect()
}

/// Returns the progress bar, which stays invisible unless stderr is a terminal.
fn progress_bar() -> anyhow::Result<ProgressBar> {
    let style = "{wide_bar} {pos}/{len} repositories, {eta} left";
    let style = ProgressStyle::with_template(style).context("cannot draw the progress bar")?;
    Ok(ProgressBar::no_length().with_style(style))
}

/// Starts to log without info lines, because the result says the same.
fn start_logging(config: &Config, bar: ProgressBar) {
    let level = match *config.log.level {
        Level::INFO => Level::WARN,
        level => level,
    };
    logging::init(level, config.log.is_json(), Some(bar));
}

/// Returns the findings of the poll, and records them for the metrics.
fn diagnose(chosen: &View<'_>, instruments: &Instruments) -> Vec<Finding> {
    let now = chosen.document.taken_at;
    let facts = instruments.facts().clone();
    let mut findings = diagnosis::findings(chosen, &facts, now);
    // No poll follows, so that none can start late.
    findings.retain(|finding| finding.kind != ProblemKind::PollsOverrun);
    instruments.set_problems(diagnosis::problems(&findings));
    findings
}

/// Clears the progress bar, prints the result and waits until the state is saved. A disk that
/// hangs or a stalled terminal must not keep the result from a file or a pipe.
async fn finish(
    mut saving: JoinHandle<Option<()>>,
    drawn: JoinHandle<()>,
    print: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    let saved = timeout(PATIENCE, &mut saving).await;
    let _ = timeout(PATIENCE, drawn).await;
    // stdout may have no reader; signals are still handled.
    let printed = off_the_runtime(print).await;
    let saved = match saved {
        Ok(saved) => saved,
        Err(_) => saving.await,
    };
    saved.context("the state could not be written")?;
    printed
}

/// Waits for a signal, or for [`SHUTDOWN`] if a first signal has already ended the poll.
async fn give_up(signal: Option<&'static str>, signals: &mut StopSignals) -> &'static str {
    match signal {
        Some(signal) => {
            sleep(SHUTDOWN).await;
            signal
        }
        None => signals.received().await,
    }
}

/// Logs the findings. Fails if the poll did not read everything, or if the state was not saved.
fn check(results: &Results, signal: Option<&str>) -> anyhow::Result<()> {
    let Results {
        document, findings, ..
    } = results;
    if let Some(signal) = signal {
        bail!("stopped by {signal} before every repository was read; the result was printed");
    }
    let worst = usize::from(!document.is_complete()).min(findings.len());
    findings[worst..].iter().for_each(diagnosis::log);
    check_read(document, findings)?;
    if let Some(failure) = &results.instruments.facts().state_not_saved {
        let what = &failure.what;
        bail!("the result was printed, but the state was not saved: {what}");
    }
    Ok(())
}

/// Fails if the poll did not read everything.
fn check_read(document: &Document, findings: &[Finding]) -> anyhow::Result<()> {
    if !document.is_complete() {
        let worst = findings.first().map(Finding::line);
        bail!(worst.unwrap_or_else(|| "not every repository was read".to_owned()));
    }
    Ok(())
}

/// Prints the verdict of the gate. Fails unless everything is ready.
fn judge(report: &Report<'_>) -> Result<(), RunError> {
    let gate = report.gate();
    match report.view.readiness().is_met() {
        Some(false) => return Err(RunError::NotReady(gate)),
        None => return Err(anyhow!(gate).into()),
        Some(true) => logging::print(&gate),
    }
    Ok(())
}

/// Returns a clause that names the globs of the command line without a match.
fn unmatched(arguments: &Once, chosen: &View<'_>) -> Option<String> {
    let repositories = arguments.repositories.iter().filter(|glob| {
        let (glob, mut rows) = (glob.compile_matcher(), chosen.document.rows.iter());
        !rows.any(|row| glob.is_match(row.name()))
    });
    let languages = arguments.languages.iter().filter(|glob| {
        let (glob, mut translations) = (glob.compile_matcher(), chosen.translations());
        !translations.any(|(_, one)| glob.is_match(one.code()))
    });
    let repositories = repositories.map(ToString::to_string);
    let languages = languages.map(|glob| format!("--language {glob}"));
    let unmatched: Vec<_> = repositories.chain(languages).collect();
    (!unmatched.is_empty()).then(|| {
        let unmatched = unmatched.join(", ");
        format!("nothing matches {unmatched}; check the spelling and the filters")
    })
}

/// Starts a thread for the progress bar: a stalled terminal (Ctrl-S) blocks drawing.
fn start_drawing(bar: ProgressBar, progress: watch::Receiver<PollOutcome>) -> JoinHandle<()> {
    spawn_blocking(move || Handle::current().block_on(draw(bar, progress)))
}

/// Draws the progress of the poll, on a terminal only: elsewhere each step would wake a thread for
/// nothing.
async fn draw(bar: ProgressBar, mut progress: watch::Receiver<PollOutcome>) {
    while !bar.is_hidden() && progress.changed().await.is_ok() {
        let running = progress.borrow_and_update().clone();
        // A bar of 0 would be full.
        if running.total > 0 {
            // One update for both draws the bar once.
            bar.update(|state| {
                state.set_len(running.total as u64);
                state.set_pos((running.read + running.failed) as u64);
            });
        }
    }
    bar.finish_and_clear();
}
