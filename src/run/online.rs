//! `check-config --online`: one request of each kind, and a description of the result.

use crate::{
    api::{Api as _, ApiError, Attempts, Client, Session as _},
    config::Config,
    health,
    model::{Failure, LanguageList, Repository, Stop, Timestamp},
    progress::Progress,
    select::select,
    snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot},
    words::{counted, grouped, repositories},
};
use anyhow::anyhow;
use std::{collections::BTreeMap, sync::Arc};

/// Requests the first page of the listing and one repository's languages, each once. Returns what it found, in lines.
pub(super) async fn check(config: &Config, client: &Client) -> anyhow::Result<Vec<String>> {
    let session = client
        .begin()
        .await
        .map_err(|Failure { what, hint, .. }| anyhow!("{what}; {hint}"))?;
    let page = session
        .list_repositories(None)
        .await
        .map_err(|error| failed("the listing", error))?;
    let listed: BTreeMap<_, _> = page
        .repositories
        .into_iter()
        .map(|one| (one.id, Arc::new(one)))
        .collect();
    let polled = select(&listed, &config.filter).polled;
    let (all, left) = (repositories(listed.len()), grouped(polled.len()));
    let mut lines = vec![
        format!("{} answers and accepts the key", config.api.base_url),
        format!("the first page of the listing has {all}, and the filters leave {left} of them"),
    ];
    if let Some(bad) = page.bad.described.first() {
        lines.push(format!("it has bad entries or fields, such as {bad}"));
    }
    let mut known = Snapshot {
        filtered: listed.len() - polled.len(),
        unnamed: page.nameless.len(),
        completion_scale: config.api.completion_scale,
        ..Snapshot::default()
    };
    let mut findings = Vec::new();
    if polled.is_empty() {
        findings.extend(health::nothing_selected(&known));
    }
    // Also if the filters leave nothing, to find out whether the key can read languages.
    if let Some(repository) = polled.values().next().or_else(|| listed.values().next()) {
        let mut list = session
            .list_languages(repository.id, Attempts::One)
            .await
            .map_err(|error| failed(&format!("repository {:?}", repository.name), error))?;
        let excluded = &config.filter.exclude_languages;
        list.languages
            .retain(|target| !excluded.is_match(&*target.language.code));
        known.repositories = vec![fresh(repository, list)];
        lines.push(describe(&repository.name, &known));
        findings.extend(health::scale(&known));
    }
    for finding in findings {
        lines.push(format!("going by these answers: {}", finding.line()));
    }
    Ok(lines)
}

fn failed(of: &str, error: ApiError) -> anyhow::Error {
    let (ApiError::Failed(failure)
    | ApiError::Trouble { failure, .. }
    | ApiError::Stopped(Stop { failure, .. })) = error;
    anyhow!("{of} cannot be read: {}; {}", failure.what, failure.hint)
}

/// The repository as just read; nobody asks when that was.
fn fresh(repository: &Arc<Repository>, list: LanguageList) -> Shown {
    let at = Timestamp::default();
    let mut readings = Vec::new();
    for target in list.languages {
        readings.push(Reading {
            language: target.language,
            reported: match target.completion {
                Some(completion) => Reported::Now(Progress { completion, at }),
                None => Reported::Never,
            },
        });
    }
    let languages = Languages {
        read_at: at,
        readings: readings.into(),
    };
    Shown::new(
        Arc::clone(repository),
        Condition::Fresh(Arc::new(languages)),
    )
}

fn describe(name: &str, known: &Snapshot) -> String {
    let languages = known.repositories[0].readings().len();
    if languages == 0 {
        return format!("repository {name:?} has no languages to show: add target languages to it");
    }
    let all = counted(languages, "language", "languages");
    let with = known.completions().count();
    let highest = match known.completions().reduce(f64::max) {
        Some(highest) => format!(", {highest} at most"),
        None => String::new(),
    };
    format!("repository {name:?} has {all}, {with} of them with a completion{highest}")
}
