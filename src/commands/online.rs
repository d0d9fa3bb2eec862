//! `check-config --online`: a request of each kind, and a report on the responses.

use crate::{
    api::{Api as _, CURSOR_HINT, Client, RequestFailure, Session as _},
    config::Config,
    diagnosis::{self, Finding},
    domain::{Completion, Defects, LanguageList, Next, Stop, ZeroCount},
    support::{
        clock::Clock,
        humanize::{counted, grouped, repositories},
    },
};
use anyhow::{anyhow, bail};

/// Requests the first page of the listing and the languages of one repository. Adds the report to
/// `lines`, as far as it comes if a request fails.
pub async fn check(
    config: &Config,
    client: &Client,
    lines: &mut Vec<String>,
) -> anyhow::Result<()> {
    let session = client
        .begin(Clock::system().now())
        .await
        .map_err(|Stop { failure, .. }| anyhow!("{}; {}", failure.what, failure.hint))?;
    let page = session
        .list_repositories(None)
        .await
        .map_err(|failure| failed("the listing", &failure))?;
    let listed = page.listing.repositories;
    let (polled, _) = config.settings.filter.apply(&listed);
    let (all, left) = (repositories(listed.len()), grouped(polled.len()));
    lines.extend([
        format!("{} answers and accepts the key", config.api.base_url()),
        format!("the first page of the listing has {all}, and the filters leave {left} of them"),
    ]);
    lines.extend(bad(&page.listing.bad));
    if page.next == Next::Unreadable {
        bail!(
            "the listing cannot be continued: the last id of its first page cannot be read; \
             {CURSOR_HINT}"
        );
    }
    if polled.is_empty() {
        let unnamed = page.listing.nameless.len();
        let finding =
            diagnosis::nothing_selected(0, listed.len(), unnamed, &config.settings.filter);
        lines.extend(finding.iter().map(judged));
        if listed.is_empty() && unnamed + page.listing.bad.unreadable() > 0 {
            bail!("no entry of the listing has a readable name");
        }
    }
    // Even if the filters leave nothing, this shows whether the key may read languages.
    let Some(repository) = polled.values().chain(listed.values()).next() else {
        return Ok(());
    };
    let read = session.list_languages(repository.id).await;
    let what = format!("repository {:?}", repository.name);
    let read = read.map_err(|failure| failed(&what, &failure))?;
    let has_completions = report(config, &what, read, lines);
    if !has_completions {
        bail!("no language of {what} has a readable completion");
    }
    Ok(())
}

/// Reports the languages of a repository. Returns whether it has completions, or no languages.
fn report(config: &Config, name: &str, read: LanguageList, lines: &mut Vec<String>) -> bool {
    let mut languages = read.languages;
    let excluded = &config.settings.excluded_languages;
    languages.retain(|target| !excluded.is_match(&*target.language.code));
    let completions: Vec<_> = languages
        .iter()
        .filter_map(|target| target.completion)
        .map(Completion::get)
        .collect();
    lines.push(describe(name, languages.len(), &completions, &read.bad));
    lines.extend(bad(&read.bad));
    lines.extend(omitted(read.zeros));
    let scale = config.settings.scale;
    let reported = languages.iter().filter_map(|target| target.completion);
    let is_suspect = scale.is_suspect(reported.clone());
    let outside = reported.filter(|completion| scale.ratio(*completion).is_none());
    let finding = diagnosis::scale(scale, is_suspect, outside.count());
    lines.extend(finding.iter().map(judged));
    languages.is_empty() || !completions.is_empty()
}

fn bad(bad: &Defects) -> Option<String> {
    (!bad.0.is_empty()).then(|| format!("it has bad entries or fields: {bad}"))
}

fn judged(finding: &Finding) -> String {
    format!("judging by these responses: {}", finding.line())
}

/// Reports completions whose absences suggest that the API omits zeros.
fn omitted(zeros: ZeroCount) -> Option<String> {
    zeros.suggests_omission().then(|| {
        let absent = counted(zeros.absent, "entry has", "entries have");
        format!(
            "judging by these responses: {absent} no field completion, and none is 0; if the API \
             leaves out fields whose value is 0 or false, as protobuf's JSON does, set \
             api.omits_zeros to true"
        )
    })
}

fn failed(of: &str, RequestFailure { what, hint, .. }: &RequestFailure) -> anyhow::Error {
    anyhow!("{of} cannot be read: {what}; {hint}")
}

fn describe(name: &str, languages: usize, completions: &[f64], bad: &Defects) -> String {
    if languages == 0 && bad.0.is_empty() {
        return format!("{name} has no languages to show: add target languages to it");
    }
    let all = counted(languages, "language", "languages");
    let with = completions.len();
    let highest = match completions.iter().copied().reduce(f64::max) {
        Some(highest) => format!(", {highest} at most"),
        None => String::new(),
    };
    format!("{name} has {all}, {with} of them with a completion{highest}")
}
