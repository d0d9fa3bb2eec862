//! `once`: polls once, saves the state and prints the result. The exit code reports failures and
//! targets that are not met.

use super::{
    RunError, api_host, load, open_state,
    output::{self, Results},
    poller, progress,
    stop::StopSignals,
};
use crate::{
    api::Client,
    cli::Once,
    config::{Config, Options, Parsed},
    diagnosis::{self, Finding, ProblemKind},
    domain::{
        document::{Document, Selection, View},
        targets::Targets,
    },
    metrics::instruments::Instruments,
    poller::Poller,
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
use globset::GlobSet;
use std::{sync::Arc, time::Duration};
use tokio::{task::spawn, time::sleep};
use tracing::Level;

/// The time for printing and saving after a signal: a disk or a reader of stdout may hang.
const SHUTDOWN: Duration = Duration::from_secs(3);

pub async fn once(options: &Options, arguments: Once, clock: Clock) -> Result<(), RunError> {
    let (config, _, mut used) = load(options, false)?;
    output::check(&arguments.outputs, &mut used)?;
    let selection = Selection::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let since = since(&config, arguments.since.as_deref(), clock.now())?;
    start_logging(&config);
    let instruments = Instruments::new(None);
    let mut signals = StopSignals::listen()?;
    let only = selection.repositories.clone();
    let (mut poller, saving) = start(&config, &arguments, only, &instruments, clock)?;
    let saving = spawn(OptionFuture::from(saving));
    let drawing = progress::draw(poller.documents())?;
    let mut signal = None;
    poller
        .poll(async { signal = Some(signals.received().await) })
        .await;
    let document = poller.document();
    // This ends the progress bar, and the saving once the state is written.
    drop(poller);
    let findings = match signal {
        // An interrupted poll is no basis for a diagnosis.
        Some(_) => Vec::new(),
        None => diagnose(&document.select(&selection), &instruments),
    };
    let results = Arc::new(Results {
        document,
        selection,
        findings,
        api: api_host(&config),
        since,
        max_size: *arguments.max_size as usize,
        instruments,
    });
    let (printed, outputs) = (Arc::clone(&results), arguments.outputs.clone());
    let finished = async {
        drawing.await;
        // stdout may have no reader; signals are still handled.
        let printed = off_the_runtime(move || printed.print(&outputs)).await;
        saving.await.context("the state could not be written")?;
        printed
    };
    let stopped = async {
        let signal = match signal {
            Some(signal) => signal,
            None => signals.received().await,
        };
        sleep(SHUTDOWN).await;
        signal
    };
    tokio::select! {
        finished = finished => finished?,
        signal = stopped => {
            return Err(anyhow!("stopped by {signal} while saving or printing the result").into());
        }
    }
    verdict(&arguments, &results, signal)
}

/// Makes the poller of the chosen repositories, and the task that saves its state.
fn start(
    config: &Config,
    arguments: &Once,
    only: GlobSet,
    instruments: &Arc<Instruments>,
    clock: Clock,
) -> Result<(Poller<Client>, Option<impl Future<Output = ()> + use<>>), SetupError> {
    let mut settings = config.settings.clone();
    if let Some(Parsed(ratio)) = arguments.require {
        settings.targets = Targets::everything_at(ratio);
    }
    let client = Client::new(&config.api, Arc::clone(instruments), clock)?;
    let state = open_state(config, false, instruments, clock.now())?;
    Ok(poller(client, settings, only, state, instruments, clock))
}

/// Fails unless the poll read everything, each glob matches and the gate is met.
fn verdict(arguments: &Once, results: &Results, signal: Option<&str>) -> Result<(), RunError> {
    check(results, signal)?;
    let report = results.report();
    // A gate never passes because of a typo.
    if let Some(unmatched) = unmatched(arguments, &report.view) {
        return Err(anyhow!(unmatched).into());
    }
    if arguments.require_targets || arguments.require.is_some() {
        judge(&report)?;
    }
    Ok(())
}

/// Returns the beginning of the day to compare with.
fn since(config: &Config, chosen: Option<&str>, now: Timestamp) -> Result<Timestamp, SetupError> {
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

/// Starts to log errors only, because the result and its findings say the rest.
fn start_logging(config: &Config) {
    let level = match *config.log.level {
        Level::INFO => Level::ERROR,
        level => level,
    };
    logging::init(level, config.log.is_json());
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

/// Prints the findings. Fails if the poll did not read everything, or if the state was not saved.
fn check(results: &Results, signal: Option<&str>) -> anyhow::Result<()> {
    let Results {
        document, findings, ..
    } = results;
    if let Some(signal) = signal {
        bail!("stopped by {signal} before every repository was read; the result was printed");
    }
    let worst = usize::from(!document.is_complete()).min(findings.len());
    for finding in &findings[worst..] {
        logging::print(&finding.line());
    }
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
        None => return Err(anyhow!("not known to be ready:\n{gate}").into()),
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
