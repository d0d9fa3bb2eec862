//! `once`: polls once, saves the state and prints the result. The exit code reports failures and
//! targets that are not met.

use super::{
    RunError, Uses, api_host, load, off_the_runtime, open_state,
    output::{self, Results},
    poller_settings,
    stdio::print_on_stderr,
    stop::StopSignals,
};
use crate::{
    api::Client,
    cli::Once,
    config::{Config, Options},
    diagnosis::{self, Finding},
    domain::{
        ProblemKind,
        document::{Document, Row, Selection},
        polling::PollOutcome,
        targets::Targets,
    },
    metrics::{exposition::Exposition, instruments::Instruments},
    poller::{Poller, Saver},
    report::{Gate, Report, Since},
    support::{
        clock::Clock,
        logging::{self, LogSettings},
    },
};
use anyhow::{Context as _, anyhow, bail};
use globset::{Glob, GlobSet};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    runtime,
    sync::watch,
    task::{JoinHandle, spawn, spawn_blocking},
    time::{sleep, timeout},
};
use tracing::Level;

/// The time for saving and printing after a signal has ended the poll: a disk or a reader of stdout
/// may hang.
const SHUTDOWN: Duration = Duration::from_secs(3);

/// The time that a disk or a terminal may hold up the result.
const PATIENCE: Duration = Duration::from_secs(1);

pub async fn once(options: &Options, arguments: Once) -> Result<(), RunError> {
    let (config, _) = load(options, Uses::State)?;
    for output in &arguments.outputs {
        output::check(output, config.state_file.as_deref())?;
    }
    let selection = Selection::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let since = match arguments.since.clone() {
        Some(path) => {
            let selection = selection.clone();
            let read = move || Since::read(&path, &selection);
            Some(Arc::new(off_the_runtime(read).await?))
        }
        None => None,
    };
    let bar = progress_bar()?;
    // The result says what an info line would.
    let log = LogSettings {
        level: match config.log.level {
            Level::INFO => Level::WARN,
            level => level,
        },
        ..config.log.clone()
    };
    logging::init(&log, Some(bar.clone()));
    let instruments = Instruments::of_one_poll();
    instruments.config_loaded(Ok(()), Clock::system().moment());
    let (mut poller, saving) = new_poller(&config, &selection, &instruments)?;
    // A stalled terminal (Ctrl-S) blocks drawing, so that the bar has a separate thread.
    let (runtime, progress) = (runtime::Handle::current(), poller.progress());
    let drawn = spawn_blocking(move || runtime.block_on(draw(bar, progress)));
    let mut signals = StopSignals::listen()?;
    let result = poll(&mut poller, &instruments, &mut signals).await;
    let signal = result.signal;
    let report = report(
        &poller,
        result,
        &arguments,
        &selection,
        since,
        api_host(&config),
    );
    let results = Arc::new(Results {
        exposition: Exposition::new(Arc::clone(&report.document)),
        report,
        instruments,
    });
    drop(poller);
    let print = {
        let (results, outputs) = (Arc::clone(&results), arguments.outputs.clone());
        move || {
            // An output that cannot be written keeps no other back.
            let mut done = Ok(());
            for output in &outputs {
                done = done.and(results.output(output));
            }
            done
        }
    };
    tokio::select! {
        finished = finish(saving, drawn, print) => finished?,
        signal = give_up(signal, &mut signals) => {
            return Err(anyhow!("stopped by {signal} while saving or printing the result").into());
        }
    }
    verdict(&results, signal, &arguments, &selection)
}

/// Judges what the poll has read, and selects what the command line asks for.
fn report(
    poller: &Poller<Client>,
    result: PollResult,
    arguments: &Once,
    selection: &Selection,
    since: Option<Arc<Since>>,
    api: Arc<str>,
) -> Report {
    let mut snapshot = poller.snapshot();
    if let Some(ratio) = arguments.require {
        snapshot.targets = Arc::new(Targets::everything_at(ratio));
    }
    let mut status = poller.status();
    if let Some(poll) = status.running.take() {
        // A signal has ended it.
        status.last = Some(PollOutcome {
            ended_at: snapshot.taken_at,
            ..poll
        });
    }
    let all = Document::judge(&snapshot, status, None);
    let all_languages = Selection {
        languages: GlobSet::empty(),
        ..selection.clone()
    };
    let unmatched = unmatched(arguments, &all_languages.of(&all));
    let document = Arc::new(selection.of(&all));
    let is_whole = result.signal.is_none() && document.is_complete();
    Report {
        document,
        findings: result.findings,
        api,
        unmatched: unmatched.filter(|_| is_whole),
        since,
        max_size: arguments.max_size,
    }
}

/// Opens the state file and makes the poller. Also returns the task that saves.
fn new_poller(
    config: &Config,
    selection: &Selection,
    instruments: &Arc<Instruments>,
) -> Result<(Poller<Client>, JoinHandle<()>), RunError> {
    let client = Client::new(&config.api, Arc::clone(instruments))?;
    let (file, state) = open_state(config, false, instruments)?;
    let (saver, saving) = match file {
        Some(file) => {
            let (saver, saving) = Saver::new(file, Arc::clone(instruments));
            (Some(saver), spawn(saving))
        }
        None => (None, spawn(async {})),
    };
    // The sender can be dropped, because settings do not change during a single poll.
    let only = selection.repositories.clone();
    let (_, settings) = watch::channel(poller_settings(config, client, only));
    let poller = Poller::new(
        settings,
        state,
        saver,
        Clock::system(),
        Arc::clone(instruments),
        Box::new(|_, _| {}),
    );
    Ok((poller, saving))
}

/// The result of the poll.
struct PollResult {
    findings: Vec<Finding>,
    /// The signal that cut the poll short; `None` if the poll reached its end.
    signal: Option<&'static str>,
}

/// Polls until the end or a signal, judges the result and queues the state for saving.
async fn poll(
    poller: &mut Poller<Client>,
    instruments: &Instruments,
    signals: &mut StopSignals,
) -> PollResult {
    let signal = tokio::select! {
        biased;
        _ = poller.poll() => None,
        signal = signals.received() => Some(signal),
    };
    let mut findings = Vec::new();
    // An interrupted poll is no basis for a judgement.
    if signal.is_none() {
        let document = Document::judge(&poller.snapshot(), poller.status(), None);
        findings = diagnosis::findings(&document, &instruments.facts(), document.taken_at);
        instruments.judged(diagnosis::problems(&findings));
    }
    poller.save();
    PollResult { findings, signal }
}

/// Clears the progress bar, prints the result and waits until the state is saved. A disk that hangs
/// or a stalled terminal must not keep the result from a file or a pipe.
async fn finish(
    mut saving: JoinHandle<()>,
    drawn: JoinHandle<anyhow::Result<()>>,
    print: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    let saved = timeout(PATIENCE, &mut saving).await;
    if let Ok(drawn) = timeout(PATIENCE, drawn).await {
        drawn.context("the progress bar failed")??;
    }
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

/// Returns the failure of the command, if any, after the result was printed.
fn verdict(
    results: &Results,
    signal: Option<&'static str>,
    arguments: &Once,
    selection: &Selection,
) -> Result<(), RunError> {
    let document = &*results.report.document;
    if let Some(signal) = signal {
        let last = document.status.last.as_ref();
        let (read, all) = (last.map_or(0, |poll| poll.read), document.rows.len());
        let read = format!("{read} of {all} repositories were read; the result so far was printed");
        return Err(anyhow!("stopped by {signal} after {read}").into());
    }
    check_read(results.report.findings.clone(), document.is_complete())?;
    if let Some(failure) = results.instruments.facts().state_not_saved {
        let what = failure.what;
        return Err(anyhow!("the result was printed, but the state was not saved: {what}").into());
    }
    // A gate never passes because of a typo.
    if let Some(unmatched) = &results.report.unmatched {
        return Err(anyhow!("{unmatched}").into());
    }
    if arguments.require_targets || arguments.require.is_some() {
        let gate = Gate {
            document,
            selection,
            required: arguments.require,
        };
        print_on_stderr(&gate.verdict()?);
    }
    Ok(())
}

/// Returns a clause that names the globs of the command line without a match. `chosen` has all
/// languages of the chosen repositories.
fn unmatched(arguments: &Once, chosen: &Document) -> Option<String> {
    let rows = &chosen.rows;
    let names = rows.iter().map(Row::name).collect();
    let codes = chosen.translations().map(|(_, one)| one.code()).collect();
    let mut unmatched = Vec::new();
    if let Some(globs) = without_match(&arguments.repositories, &names) {
        unmatched.push(format!("no repository matches {globs}"));
    }
    // Without a repository, no glob on languages can match.
    if (unmatched.is_empty() || !rows.is_empty())
        && let Some(globs) = without_match(&arguments.languages, &codes)
    {
        unmatched.push(format!("no language matches --language {globs}"));
    }
    if unmatched.is_empty() {
        return None;
    }
    let unmatched = unmatched.join(", and ");
    Some(format!("{unmatched}; check the spelling and the filters"))
}

/// Returns the globs that match none of `texts`, or `None` if each matches one.
fn without_match(globs: &[Glob], texts: &BTreeSet<&str>) -> Option<String> {
    let without: Vec<_> = globs
        .iter()
        .filter(|glob| {
            let matcher = glob.compile_matcher();
            !texts.iter().any(|text| matcher.is_match(text))
        })
        .map(Glob::glob)
        .collect();
    (!without.is_empty()).then(|| without.join(", "))
}

/// Logs the findings. Fails with the worst one if the poll did not read everything.
fn check_read(mut findings: Vec<Finding>, is_success: bool) -> anyhow::Result<()> {
    // No poll follows, so that none can start late.
    findings.retain(|finding| finding.kind != ProblemKind::PollsOverrun);
    let worst = (!is_success && !findings.is_empty()).then(|| findings.remove(0));
    findings.iter().for_each(diagnosis::log);
    match worst {
        Some(worst) => bail!(worst.line()),
        None if is_success => Ok(()),
        None => bail!("not every repository was read"),
    }
}

/// Makes the progress bar, which stays invisible unless stderr is a terminal.
fn progress_bar() -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} listing repositories: {pos}")?;
    Ok(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style))
}

/// Draws the progress of the poll, on a terminal only: elsewhere each step would wake a thread for
/// nothing.
async fn draw(bar: ProgressBar, mut progress: watch::Receiver<PollOutcome>) -> anyhow::Result<()> {
    if bar.is_hidden() {
        return Ok(());
    }
    let reading = ProgressStyle::with_template("{wide_bar} {pos}/{len} repositories, {eta} left")?;
    while progress.changed().await.is_ok() {
        let PollOutcome {
            listed,
            of,
            read,
            failed,
            ..
        } = *progress.borrow_and_update();
        let Some(of) = of else {
            bar.set_position(listed as u64);
            continue;
        };
        if bar.length().is_none() {
            bar.set_style(reading.clone());
            bar.reset_eta();
        }
        // One update for both: the position still counts listed repositories, not read ones.
        bar.update(|state| {
            state.set_len(of as u64);
            state.set_pos((read + failed) as u64);
        });
    }
    bar.finish_and_clear();
    Ok(())
}
