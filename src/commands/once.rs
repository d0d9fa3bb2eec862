//! `once`: polls once, saves the state and prints the result. The exit code reports failures and
//! targets that are not met.

use super::{RunError, api_host, load, output::Results, poller, progress, stop::StopSignals};
use crate::{
    cli::Once,
    config::{Config, Options, Parsed},
    diagnosis::{self, Finding, ProblemKind},
    domain::{
        document::{Document, Row, Selection},
        targets::Targets,
    },
    metrics::instruments::Instruments,
    report::{Report, a_week_ago, parse_since},
    support::{
        blocking::off_the_runtime,
        clock::{Clock, Timestamp},
        hint::Failure,
        logging,
    },
};
use anyhow::{Context as _, anyhow, bail, ensure};
use std::{sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::Level;

/// The time that a stalled terminal may hold up the result.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time for printing and saving after a signal: a disk or a reader of stdout may hang.
const SHUTDOWN: Duration = Duration::from_secs(3);

pub async fn once(options: &Options, arguments: Once, clock: Clock) -> Result<(), RunError> {
    let (mut config, _) = load(options, Some(&arguments))?;
    let selection = Selection::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let since = since(&config, arguments.since.as_deref(), clock.now())?;
    if let Some(Parsed(ratio)) = arguments.require {
        config.settings.targets = Targets::everything_at(ratio);
    }
    // The result and its findings say the rest.
    let level = match *config.log.level {
        Level::INFO => Level::ERROR,
        level => level,
    };
    logging::init(level, *config.log.format);
    let instruments = Instruments::new(None);
    let mut signals = StopSignals::listen()?;
    let (only, mut saving) = (selection.repositories.clone(), JoinSet::new());
    let mut poller = poller(&config, only, None, &instruments, clock, &mut saving)?;
    let drawing = progress::draw(poller.documents())?;
    let mut signal = None;
    poller
        .poll(async { signal = Some(signals.received().await) })
        .await;
    let document = Arc::new(poller.document().select(&selection));
    // This ends the progress bar, and the saving once the state is written.
    drop(poller);
    let findings = match signal {
        // An interrupted poll is no basis for a diagnosis.
        Some(_) => Vec::new(),
        None => diagnose(&document, &instruments),
    };
    let results = Results {
        report: Report {
            document,
            findings,
            api: api_host(&config),
            since,
            max_size: *arguments.max_size as usize,
        },
        arguments,
        instruments,
    };
    let finished = async {
        let _ = timeout(PATIENCE, drawing).await;
        // stdout may have no reader; signals are still handled.
        let (printed, results) = off_the_runtime(move || (results.print(), results)).await;
        let saved = saving.join_next().await.transpose();
        saved.context("the state could not be written")?;
        printed?;
        verdict(&results, signal)
    };
    let stopped = async {
        let signal = match signal {
            Some(signal) => signal,
            None => signals.received().await,
        };
        sleep(SHUTDOWN).await;
        anyhow!("stopped by {signal} while saving or printing the result")
    };
    tokio::select! {
        finished = finished => finished,
        stopped = stopped => Err(stopped.into()),
    }
}

/// Returns the beginning of the day to compare with.
fn since(config: &Config, chosen: Option<&str>, now: Timestamp) -> Result<Timestamp, Failure> {
    let Some(chosen) = chosen else {
        return Ok(a_week_ago(now));
    };
    let bad = |why: &str, hint: &str| Failure::new(format!("--since {chosen}: {why}"), hint);
    if config.state_file.is_none() {
        let hint = "set state.file, which keeps 14 days of each translation";
        return Err(bad("without state.file nothing is known of the past", hint));
    }
    parse_since(chosen, now).map_err(|hint| bad("is no day of the last 14", &hint))
}

/// Returns the findings of the poll, and records them for the metrics.
fn diagnose(document: &Document, instruments: &Instruments) -> Vec<Finding> {
    let facts = instruments.facts().clone();
    let mut findings = diagnosis::findings(document, &facts, document.taken_at);
    // No poll follows, so that none can start late.
    findings.retain(|finding| finding.kind != ProblemKind::PollsOverrun);
    instruments.set_problems(diagnosis::problems(&findings));
    findings
}

/// Prints the findings and the verdict of the gate. Fails unless the result is whole and the gate
/// is met.
fn verdict(results: &Results, signal: Option<&str>) -> Result<(), RunError> {
    check(results, signal)?;
    let arguments = &results.arguments;
    if arguments.require_targets || arguments.require.is_some() {
        let gate = results.report.gate();
        match results.report.document.readiness().is_met() {
            Some(false) => return Err(RunError::NotReady(gate)),
            None => return Err(anyhow!("not known to be ready:\n{gate}").into()),
            Some(true) => logging::print(&gate),
        }
    }
    Ok(())
}

/// Prints the findings. Fails unless the poll read everything, the state was saved and each glob
/// matches: a gate never passes because of a typo.
fn check(results: &Results, signal: Option<&str>) -> anyhow::Result<()> {
    if let Some(signal) = signal {
        bail!("stopped by {signal} before every repository was read; the result was printed");
    }
    let (document, findings) = (&results.report.document, &results.report.findings);
    let mut lines = findings.iter().map(Finding::line);
    let failure = (!document.is_complete()).then(|| lines.next());
    lines.for_each(|line| logging::print(&line));
    if let Some(worst) = failure {
        bail!(worst.unwrap_or_else(|| "not every repository was read".to_owned()));
    }
    if let Some(failure) = &results.instruments.facts().state_not_saved {
        bail!("the result was printed, but the state was not saved: {failure}");
    }
    ensure!(
        document.totals.with_resting() > 0 || document.unreadable() == 0,
        "no language could be read: each entry is bad"
    );
    let Selection {
        repositories,
        languages,
        ..
    } = &document.selection;
    let codes = document
        .translations()
        .map(|(_, translation)| translation.code());
    let languages = languages
        .unused(codes)
        .map(|glob| format!("--language {glob}"));
    let unmatched: Vec<_> = repositories
        .unused(document.rows.iter().map(Row::name))
        .map(str::to_owned)
        .chain(languages)
        .collect();
    let unmatched = unmatched.join(", ");
    ensure!(
        unmatched.is_empty(),
        "nothing matches {unmatched}; check the spelling and the filters"
    );
    Ok(())
}
