//! `check-config --online`: one request of each kind, and a description of the result.

use super::RunError;
use crate::{
    api::{Api as _, ApiError, Client, Session as _},
    config::{ApiConfig, Config},
    health,
    instruments::Instruments,
    model::{Failure, Repository, Target},
    select::select,
};
use anyhow::anyhow;
use std::{collections::BTreeMap, sync::Arc};

/// Requests the first page of the listing and one repository's languages, each once.
pub(super) async fn check(config: &Config) -> Result<String, RunError> {
    let api = ApiConfig { max_attempts: 1, ..config.api.clone() };
    let client = Client::new(&api, Arc::new(Instruments::of_one_poll())).map_err(RunError::usage)?;
    let session = client.begin().await.map_err(|Failure { what, hint, .. }| anyhow!("{what}; {hint}"))?;
    let page = session.list_repositories(None).await.map_err(|error| failed("the listing", error))?;
    let mut lines = vec![format!("{} answers and accepts the key", config.api.base_url)];
    let defects = page.bad.len();
    let listed: BTreeMap<_, _> = page.repositories.into_iter().map(|one| (one.id, Arc::new(one))).collect();
    let polled = select(&listed, &config.filter).polled;
    lines.push(describe_page(listed.len(), polled.values().map(|repository| &*repository.name)));
    if defects > 0 {
        lines.push(format!("entries or fields of it with defects: {defects}"));
    }
    // Also if the filters leave nothing, to find out whether the key can read languages.
    if let Some(repository) = polled.values().next().or_else(|| listed.values().next()) {
        let list = session.list_languages(repository.id).await.map_err(|error| failed(&repository.name, error))?;
        lines.push(describe_languages(repository, &list.languages));
        lines.push(describe_scale(&list.languages, config.api.completion_scale));
    }
    Ok(format!("  {}\n", lines.join("\n  ")))
}

fn failed(of: &str, error: ApiError) -> anyhow::Error {
    match error {
        ApiError::Failed(failure) | ApiError::Unavailable(failure) => {
            anyhow!("{of} cannot be read: {}; {}", failure.what, failure.hint)
        }
        ApiError::NotAsked => anyhow!("{of} was not requested, because the API refused an earlier request"),
    }
}

/// What the first page of the listing has, and what the filters leave of it.
fn describe_page<'a>(listed: usize, mut polled: impl ExactSizeIterator<Item = &'a str>) -> String {
    let repositories = if listed == 1 { "1 repository" } else { &format!("{listed} repositories") };
    match (polled.len(), polled.next()) {
        _ if listed == 0 => health::no_repositories().line(),
        (_, None) => format!(
            "the first page of the listing has {repositories}, and the filters leave none of them: see filter.*"
        ),
        (count, Some(_)) if count == listed => format!("the first page of the listing has {repositories}"),
        (count, Some(first)) => {
            format!(
                "the filters leave {count} of the {repositories} on the first page of the listing; the first: {first:?}"
            )
        }
    }
}

fn describe_languages(repository: &Repository, languages: &[Target]) -> String {
    let with = languages.iter().filter(|target| target.completion.is_some()).count();
    let counted = match languages.len() {
        0 => return format!("repository {:?} has no languages: add target languages to it", repository.name),
        1 => "1 language".to_owned(),
        count => format!("{count} languages"),
    };
    format!("repository {:?} has {counted}, {with} of them with a completion", repository.name)
}

/// The scale that the completions seem to have, and the configured one.
fn describe_scale(languages: &[Target], scale: f64) -> String {
    let reported = languages.iter().filter_map(|target| target.completion).map(crate::model::Completion::get);
    let Some(highest) = reported.reduce(f64::max).filter(|highest| *highest > 0.0) else {
        return format!("no completion above 0 to judge the scale by; api.completion_scale is {scale}");
    };
    if highest > scale {
        format!(
            "its highest completion is {highest}, above api.completion_scale, {scale}: set that to the completion that means finished"
        )
    } else if highest <= 1.0 && scale > 1.0 {
        format!(
            "its highest completion is {highest}: if 1 means finished, set api.completion_scale, now {scale}, to 1; if {scale} \
             does, all is well"
        )
    } else {
        format!("its highest completion is {highest}, which fits api.completion_scale, {scale}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Completion, Language};

    fn described(completions: &[f64], scale: f64) -> String {
        let language = |completion: &f64| Target {
            language: Arc::new(Language { code: "de".into(), name: "German".into() }),
            completion: Completion::new(*completion),
        };
        describe_scale(&completions.iter().map(language).collect::<Vec<_>>(), scale)
    }

    #[test]
    fn what_the_filters_leave_of_the_first_page_is_said() {
        let described = |listed, polled: &[&str]| describe_page(listed, polled.iter().copied());
        assert_eq!(described(2, &["a/a", "a/b"]), "the first page of the listing has 2 repositories");
        let some = described(1000, &["a/a", "a/b", "a/c"]);
        assert_eq!(
            some,
            "the filters leave 3 of the 1000 repositories on the first page of the listing; the first: \"a/a\""
        );
        assert!(described(1000, &[]).contains("leave none of them: see filter.*"));
        assert!(described(1, &[]).contains("has 1 repository, and the filters leave none"));
        assert!(described(0, &[]).contains("no repositories"));
    }

    #[test]
    fn the_scale_is_judged_by_the_highest_completion() {
        assert_eq!(
            described(&[3.0, 87.5], 100.0),
            "its highest completion is 87.5, which fits api.completion_scale, 100"
        );
        assert_eq!(
            described(&[0.2, 1.0], 100.0),
            "its highest completion is 1: if 1 means finished, set api.completion_scale, now 100, to 1; if 100 does, all is well"
        );
        assert_eq!(
            described(&[87.5], 1.0),
            "its highest completion is 87.5, above api.completion_scale, 1: set that to the completion that means finished"
        );
        assert_eq!(
            described(&[0.0], 100.0),
            "no completion above 0 to judge the scale by; api.completion_scale is 100"
        );
    }
}
