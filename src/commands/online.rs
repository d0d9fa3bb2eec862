//! `check-config --online`: one request of each kind, and a report on the responses.

use crate::{
    api::{Api as _, CURSOR_HINT, Client, RequestFailure, Session as _},
    config::Config,
    diagnosis,
    domain::{Completion, Next, Stop, ZeroCount, snapshot::is_scale_suspect},
    support::{
        clock::Clock,
        humanize::{counted, grouped, repositories},
    },
};
use anyhow::anyhow;

/// Requests the first page of the listing and the languages of one repository, each once. Returns
/// the lines of the report.
pub async fn check(config: &Config, client: &Client) -> anyhow::Result<Vec<String>> {
    let session = client
        .begin(Clock::system().now())
        .await
        .map_err(|Stop { failure, .. }| anyhow!("{}; {}", failure.what, failure.hint))?;
    let page = session
        .list_repositories(None)
        .await
        .map_err(|failure| failed("the listing", &failure))?;
    if page.next == Next::Unreadable {
        return Err(anyhow!(
            "the listing cannot be continued: the last id of its first page cannot be read; \
             {CURSOR_HINT}"
        ));
    }
    let listed = page.listing.repositories;
    let (polled, _) = config.filter.apply(&listed);
    let (all, left) = (repositories(listed.len()), grouped(polled.len()));
    let mut lines = vec![
        format!("{} answers and accepts the key", config.api.base_url),
        format!("the first page of the listing has {all}, and the filters leave {left} of them"),
    ];
    let bad = &page.listing.bad;
    if !bad.0.is_empty() {
        lines.push(format!("it has bad entries or fields: {bad}"));
    }
    lines.extend(omitted("false", "private", page.listing.zeros));
    let mut findings = Vec::new();
    if polled.is_empty() {
        let unnamed = page.listing.nameless.len();
        findings.extend(diagnosis::nothing_selected(0, listed.len(), unnamed));
    }
    // Even if the filters leave nothing, this shows whether the key may read languages.
    if let Some(repository) = polled.values().next().or_else(|| listed.values().next()) {
        let read = session
            .list_languages(repository.id)
            .await
            .map_err(|failure| failed(&format!("repository {:?}", repository.name), &failure))?;
        lines.extend(omitted("0", "completion", read.zeros));
        let mut languages = read.languages;
        let excluded = &config.excluded_languages;
        languages.retain(|target| !excluded.is_match(&*target.language.code));
        let completions: Vec<_> = languages
            .iter()
            .filter_map(|target| target.completion)
            .map(Completion::get)
            .collect();
        lines.push(describe(&repository.name, languages.len(), &completions));
        let (scale, is_chosen) = (config.api.completion_scale, config.api.is_scale_chosen);
        let is_suspect = !is_chosen && is_scale_suspect(scale, completions.iter().copied());
        findings.extend(diagnosis::scale(scale, is_suspect, completions.into_iter()));
    }
    for finding in findings {
        lines.push(format!("judging by these responses: {}", finding.line()));
    }
    Ok(lines)
}

/// Reports a field whose absences suggest that the API omits zeros.
fn omitted(zero: &str, field: &str, zeros: ZeroCount) -> Option<String> {
    zeros.suggests_omission().then(|| {
        let absent = counted(zeros.absent, "entry has", "entries have");
        format!(
            "judging by these responses: {absent} no field {field}, and none is {zero}; if the API \
             leaves out fields whose value is 0 or false, as protobuf's JSON does, set \
             api.omits_zeros to true"
        )
    })
}

fn failed(of: &str, RequestFailure { what, hint, .. }: &RequestFailure) -> anyhow::Error {
    anyhow!("{of} cannot be read: {what}; {hint}")
}

fn describe(name: &str, languages: usize, completions: &[f64]) -> String {
    if languages == 0 {
        return format!("repository {name:?} has no languages to show: add target languages to it");
    }
    let all = counted(languages, "language", "languages");
    let with = completions.len();
    let highest = match completions.iter().copied().reduce(f64::max) {
        Some(highest) => format!(", {highest} at most"),
        None => String::new(),
    };
    format!("repository {name:?} has {all}, {with} of them with a completion{highest}")
}
