//! The metrics of a publication, as a collector for prometheus-client: the domain metrics, then the
//! status of polling.
//!
//! All of them are gauges, so one text is valid both as OpenMetrics 1.0.0 and as text 0.0.4.

use crate::{
    domain::document::{Document, Row, Translation},
    metrics::encode::gauges,
};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};
use std::fmt;

/// Encodes the gauges that change only with a publication. Samples are ordered by repository name,
/// then language code.
impl Collector for Document {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        encode_translations(self, &mut encoder)?;
        encode_problems(self, &mut encoder)?;
        encode_names(self, &mut encoder)?;
        encode_repositories(self, &mut encoder)?;
        super::polling::encode(self, &mut encoder)
    }
}

/// A value of a translation, if it has one.
type Measure = fn(&Translation) -> Option<f64>;

fn encode_translations(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let shown = || {
        document.rows.iter().flat_map(|row| {
            let translations = row.translations().iter();
            translations
                .map(move |known| ([("repo", row.name()), ("language", known.code())], known))
        })
    };
    let measured: [(_, _, Measure); 6] = [
        (
            "translation_completion_ratio",
            "Reported completion of a language divided by api.completion_scale; absent where it is \
             not known",
            |known| known.ratio,
        ),
        (
            "translation_last_progress_timestamp_seconds",
            "Time at which completion last rose to one that was not seen in the two days before, or \
             was first seen",
            |known| Some(known.last_progress()?.as_seconds()),
        ),
        (
            "translation_fallen_from_ratio",
            "Highest completion ratio of the last 7 days, while it is above the present one; absent \
             for a target of 0",
            |known| Some(known.fall.as_ref()?.ratio),
        ),
        (
            "translation_estimated_ready_timestamp_seconds",
            "Time at which a language that is not ready will be, at its pace of the last 14 days; \
             absent if it does not move, has stalled or its pace is not known",
            |known| Some(known.estimated_ready?.as_seconds()),
        ),
        (
            "translation_target_ratio",
            "Completion ratio at which a language is ready, from its entry of targets; absent \
             without one",
            |known| Some(known.entry.as_ref()?.ratio()),
        ),
        (
            "translation_target_due_timestamp_seconds",
            "Time at which a language must be ready, from its entry of targets; absent without a \
             date",
            |known| Some((*known.target().due)?.as_seconds()),
        ),
    ];
    for (name, help, value) in measured {
        gauges(to, name, help, shown(), value)?;
    }
    gauges(
        to,
        "translation_ready",
        "1 if a language is at or above its target, 0 if it is below or its completion is unknown; \
         absent for a target of 0",
        shown().filter(|(_, known)| !known.rests()),
        |known| Some(u64::from(known.is_ready())),
    )
}

fn encode_problems(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let problems = document.rows.iter().flat_map(|row| {
        row.known.iter().flat_map(|known| {
            known.problems.iter().map(|(kind, at)| {
                let language = ("language", known.code());
                ([("repo", row.name()), language, ("kind", kind.label())], at)
            })
        })
    });
    gauges(
        to,
        "translation_problem_timestamp_seconds",
        "Time that belongs to a problem: the last progress or readiness (stalled), the last day on \
         which it fell (regressed) or the due date (overdue, at_risk); absent without the problem",
        problems,
        |at| Some(at.as_seconds()),
    )
}

fn encode_names(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let names = document.language_names().into_iter();
    gauges(
        to,
        "translation_language_info",
        "Name of a language in the first repository that has one, empty if none has; always 1",
        names.map(|(code, name)| ([("language", code), ("name", name)], 1_u64)),
        Some,
    )
}

fn encode_repositories(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = document.rows.iter();
    let rows = || rows.clone().map(|row| ([("repo", row.name())], row));
    gauges(
        to,
        "translation_repository_info",
        "Id of a repository, private (true, false or unknown) and, with links.repository, url; \
         always 1",
        document.rows.iter().map(|row| {
            let private = row.repository.private;
            let private = private.map_or_else(|| "unknown".to_owned(), |is| is.to_string());
            let mut labels = vec![
                ("repo", row.name().to_owned()),
                ("id", row.repository.id.to_string()),
                ("private", private),
            ];
            labels.extend(document.repository_url(row).map(|url| ("url", url)));
            (labels, 1_u64)
        }),
        Some,
    )?;
    gauges(
        to,
        "translation_repository_created_timestamp_seconds",
        "Time at which a repository was created",
        rows(),
        |row| Some(row.repository.created_at?.as_seconds()),
    )?;
    gauges(
        to,
        "translation_repository_languages",
        "Target languages configured for a repository",
        rows(),
        Row::listed,
    )?;
    gauges(
        to,
        "translation_repository_last_success_timestamp_seconds",
        "Time at which the languages of a repository were last read in full",
        rows(),
        |row| Some(row.read_at?.as_seconds()),
    )
}
