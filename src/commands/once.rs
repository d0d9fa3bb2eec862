//! `once`: polls once and prints the result; the exit code says whether everything could be read.

use super::{RunError, load, open_state, output::output, poll_settings, print_on_stderr};
use crate::{
    api::Client,
    cli::Once,
    config::Options,
    diagnosis::{Finding, Judge, Symptom, Watch},
    domain::{History, excerpt::Excerpt, snapshot::Step, targets::Targets},
    metrics::{exposition::Published, instruments::Instruments},
    poller::{Poller, Settings},
    report,
    support::{clock::Clock, logging},
};
use anyhow::{Context as _, anyhow, bail};
use globset::Glob;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use tokio::sync::watch;

pub async fn once(options: &Options, arguments: Once) -> Result<(), RunError> {
    let config = load(options)?;
    let excerpt = Excerpt::new(&arguments.repositories, &arguments.languages)
        .map_err(|error| anyhow!("cannot use the globs of the command line: {error}"))?;
    let bar = progress_bar()?;
    logging::init(&config.log, Some(bar.clone()));
    let instruments = Arc::new(Instruments::of_one_poll());
    instruments.config_loaded(Ok(()), Clock::system().now());
    let client = Client::new(&config.api, Arc::clone(&instruments))?;
    let (file, memory) = open_state(&config, false, &instruments)?;
    // The sender can be dropped: nothing changes during a single poll.
    let (_, settings) = watch::channel(Arc::new(Settings {
        only: excerpt.repositories.clone(),
        ..poll_settings(&config, client)
    }));
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
    let whole = poller.snapshot();
    let mut snapshot = excerpt.of_snapshot(&whole);
    if let Some(ratio) = arguments.require {
        snapshot.targets = Arc::new(Targets::everything_at(ratio));
    }
    let published = Published::new(Arc::new(snapshot), poller.status());
    let Published {
        snapshot, status, ..
    } = &published;
    let findings = Judge::new(began).judge(&whole, status, &instruments, outcome.ended_at);
    let problems = instruments.facts().history.to_named();
    poller.problems.send_replace(problems);
    let saved = file.map_or(Ok(()), |file| file.write(&poller.memory()));
    drop(poller);
    drawn.await.context("the progress bar failed")??;

    let file = arguments.output_file.as_deref();
    output(arguments.output, file, &published, &instruments, &outcome)?;
    check_read(findings, outcome.is_success())?;
    saved.context("what was read is printed, and not saved")?;
    if is_narrowed(&arguments) && snapshot.repositories.is_empty() {
        return Err(anyhow!("{}", nothing_matches(&arguments)).into());
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
