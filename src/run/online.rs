//! `check-config --online`: one request of each kind, and a description of the result.

use super::RunError;
use crate::{
    api::{Api as _, ApiError, Attempts, Client, Session as _},
    clock::Clock,
    config::{ApiConfig, Config},
    health,
    instruments::Instruments,
    model::{Completion, Failure, Repository, Stop, TargetLanguage},
    progress::advance,
    select::select,
    snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot},
    words::{counted, grouped, repositories},
};
use anyhow::anyhow;
use std::{collections::BTreeMap, sync::Arc};

/// Requests the first page of the listing and one repository's languages, each once.
pub(super) async fn check(config: &Config) -> Result<String, RunError> {
    let api = ApiConfig {
        max_attempts: 1,
        ..config.api.clone()
    };
    let client =
        Client::new(&api, Arc::new(Instruments::of_one_poll())).map_err(RunError::usage)?;
    let session = client
        .begin()
        .await
        .map_err(|Failure { what, hint, .. }| anyhow!("{what}; {hint}"))?;
    let page = session
        .list_repositories(None)
        .await
        .map_err(|error| failed("the listing", error))?;
    let defects = page.bad.len();
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
    if defects > 0 {
        lines.push(format!("entries or fields of it with defects: {defects}"));
    }
    let (now, scale) = (Clock::system().now(), api.completion_scale);
    let shown = polled
        .values()
        .map(|one| Shown::new(Arc::clone(one), Condition::Pending(None)))
        .collect();
    let filtered = listed.len() - polled.len();
    let unnamed = page.nameless.len();
    let mut known = Snapshot {
        taken_at: now,
        repositories: shown,
        filtered,
        unnamed,
        unconfirmed: 0,
        completion_scale: scale,
        targets: Arc::default(),
    };
    let mut findings = Vec::from_iter(health::nothing_selected(&known));
    // Also if the filters leave nothing, to find out whether the key can read languages.
    if let Some(repository) = polled.values().next().or_else(|| listed.values().next()) {
        let list = session
            .list_languages(repository.id, Attempts::One)
            .await
            .map_err(|error| failed(&format!("repository {:?}", repository.name), error))?;
        lines.push(describe_languages(repository, &list.languages));
        let reported = |completion| Reported::Now(advance(None, completion, scale, now));
        let reading = |TargetLanguage {
                           language,
                           completion,
                       }| Reading {
            language,
            reported: completion.map_or(Reported::Never, reported),
        };
        let readings = list.languages.into_iter().map(reading).collect();
        let read = Condition::Fresh(Arc::new(Languages {
            read_at: now,
            readings,
        }));
        known.repositories = vec![Shown::new(Arc::clone(repository), read)];
        findings.extend(health::scale(&known));
    }
    lines.extend(
        findings
            .iter()
            .map(|finding| format!("going by these answers: {}", finding.line())),
    );
    Ok(format!("  {}\n", lines.join("\n  ")))
}

fn failed(of: &str, error: ApiError) -> anyhow::Error {
    let (ApiError::Failed(failure)
    | ApiError::Trouble { failure, .. }
    | ApiError::Stopped(Stop { failure, .. })) = error;
    anyhow!("{of} cannot be read: {}; {}", failure.what, failure.hint)
}

fn describe_languages(
    Repository { name, .. }: &Repository,
    languages: &[TargetLanguage],
) -> String {
    let completions = || {
        languages
            .iter()
            .filter_map(|target| target.completion)
            .map(Completion::get)
    };
    let (all, with) = (
        counted(languages.len(), "language", "languages"),
        completions().count(),
    );
    match completions().reduce(f64::max) {
        _ if languages.is_empty() => {
            format!("repository {name:?} has no languages: add target languages to it")
        }
        None => format!("repository {name:?} has {all}, none of them with a completion"),
        Some(highest) => format!(
            "repository {name:?} has {all}, {with} of them with a completion, {highest} at most"
        ),
    }
}
