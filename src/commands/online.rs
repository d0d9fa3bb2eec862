//! `check-config --online`: a poll of the first page of the listing and of one repository in it.

use super::{RunError, once};
use crate::{
    api::{Api, Client, Pace, RequestFailure, Session},
    config::Config,
    diagnosis::{Finding, ProblemKind},
    domain::{LanguageList, Next, Page, RepositoryId, Stop, document::Row, filter::Filter},
    metrics::instruments::Instruments,
    poller::Poller,
    support::{
        clock::{Clock, Timestamp},
        humanize::counted,
    },
};
use globset::GlobSet;
use std::{future::pending, sync::Arc};

/// The API, or a session of it, as if the listing had one page, and one repository to poll.
struct Sample<T> {
    api: T,
    filter: Filter,
}

impl Api for Sample<Client> {
    type Session = Sample<<Client as Api>::Session>;

    async fn begin(&self, now: Timestamp) -> Result<Self::Session, Stop> {
        let (api, filter) = (self.api.begin(now).await?, self.filter.clone());
        Ok(Sample { api, filter })
    }

    fn pace(&self) -> &Pace {
        self.api.pace()
    }
}

impl<T: Session> Session for Sample<T> {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, RequestFailure> {
        let mut page = self.api.list_repositories(after).await?;
        if let Next::After(_) = page.next {
            page.next = Next::End;
        }
        let repositories = &mut page.listing.repositories;
        let (polled, _) = self.filter.apply(repositories);
        for other in polled.keys().skip(1) {
            repositories.remove(other);
        }
        Ok(page)
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        self.api.list_languages(id).await
    }
}

/// Polls the sample. Adds the result to `found`, and fails as `once` would.
pub async fn check(config: &Config, found: &mut Vec<String>) -> Result<(), RunError> {
    once::start_logging(config, None);
    let instruments = Instruments::new(None);
    let mut settings = config.settings.clone();
    settings.max_attempts = 1;
    let sample = Sample {
        api: Client::new(&config.api, Arc::clone(&instruments))?,
        filter: settings.filter.clone(),
    };
    let mut poller = Poller::new(
        sample,
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
    found.extend(document.rows.iter().map(describe));
    found.extend(findings.iter().map(Finding::line));
    Ok(once::check_read(&document, &findings)?)
}

fn describe(row: &Row) -> String {
    let (name, languages) = (row.name(), row.translations());
    let known = languages.iter().filter(|one| one.completion.is_some());
    let known = known.count();
    let languages = counted(languages.len(), "language", "languages");
    format!("repository {name:?} has {languages}, {known} of them with a completion")
}
