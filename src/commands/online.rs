//! `check-config --online`: a poll of the first page of the listing and of one repository in it.

use super::{RunError, once};
use crate::{
    api::Client,
    config::Config,
    diagnosis::{Finding, ProblemKind},
    domain::document::Row,
    metrics::instruments::Instruments,
    poller::Poller,
    support::{clock::Clock, humanize::counted},
};
use globset::GlobSet;
use std::{future::pending, sync::Arc};

/// Polls the sample. Adds the result to `found`, and fails as `once` would.
pub async fn check(config: &Config, found: &mut Vec<String>) -> Result<(), RunError> {
    once::start_logging(config, None);
    let instruments = Instruments::new(None);
    let mut settings = config.settings.clone();
    (settings.max_attempts, settings.is_sample) = (1, true);
    let mut poller = Poller::new(
        Client::new(&config.api, Arc::clone(&instruments))?,
        Arc::new(settings),
        GlobSet::empty(),
        (None, None),
        Clock::system(),
        Arc::clone(&instruments),
    );
    poller.poll(pending()).await;
    let document = poller.document();
    let mut findings = once::diagnose(&document.whole(), &instruments);
    // Other repositories may have the languages that entries of `targets` name.
    findings.retain(|finding| finding.kind != ProblemKind::TargetUnused);
    if document.is_complete() {
        let base_url = config.api.base_url();
        found.push(format!("{base_url} answers and accepts the key"));
    }
    let read = document.rows.iter().filter(|row| row.is_read());
    found.extend(read.map(describe));
    let lines = findings.iter().map(Finding::line);
    found.extend(lines.map(|line| format!("judging by these responses: {line}")));
    Ok(once::check_read(&document, &findings)?)
}

fn describe(row: &Row) -> String {
    let (name, languages) = (row.name(), row.translations());
    let known = languages.iter().filter(|one| one.completion.is_some());
    let known = known.count();
    let languages = counted(languages.len(), "language", "languages");
    format!("repository {name:?} has {languages}, {known} of them with a completion")
}
