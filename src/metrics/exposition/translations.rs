//! The domain metrics: the translations of a snapshot, as a collector for prometheus-client.
//!
//! All of them are gauges, so one text is valid both as OpenMetrics 1.0.0 and as text 0.0.4, where
//! a UNIT line is a comment.

use crate::{
    domain::{
        Completion, Repository,
        snapshot::{Reading, Shown, Snapshot},
        targets::Target,
    },
    metrics::instruments::stem_and_unit,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric as _},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::{fmt, sync::Arc};

/// The collector of the domain metrics. It orders samples by repository name, then language code.
#[derive(Debug)]
pub struct Translations(pub Arc<Snapshot>);

impl Translations {
    /// Returns each repository with its labels.
    fn repositories(&self) -> impl Iterator<Item = ([(&str, &str); 1], &Shown)> {
        self.0
            .repositories
            .iter()
            .map(|shown| ([("repo", &*shown.repository.name)], shown))
    }

    /// Returns each language with its labels.
    fn readings(&self) -> impl Iterator<Item = ([(&str, &str); 2], &Reading)> {
        self.repositories().flat_map(|([repo], shown)| {
            let readings = shown.readings().iter();
            readings.map(move |reading| ([repo, ("language", &*reading.language.code)], reading))
        })
    }

    /// Returns the labels and the target of each language with a target.
    fn targets(&self) -> impl Iterator<Item = ([(&str, &str); 2], Target)> {
        self.repositories().flat_map(|([repo], shown)| {
            let targets = self.0.targets.of_repository(&shown.repository.name);
            shown.readings().iter().filter_map(move |reading| {
                let code = &*reading.language.code;
                Some(([repo, ("language", code)], targets.of(code)?))
            })
        })
    }

    /// Returns the labels of each fallen language and the completion before its fall.
    fn falls(&self) -> impl Iterator<Item = ([(&str, &str); 2], Completion)> {
        let snapshot = &*self.0;
        self.repositories().flat_map(move |([repo], shown)| {
            let Repository { id, name, .. } = &*shown.repository;
            let falls = snapshot.falls.of_repository(*id);
            let targets = snapshot.targets.of_repository(name);
            shown.readings().iter().filter_map(move |reading| {
                let code = &*reading.language.code;
                let fall = falls?.get(code)?;
                let rests = targets.of(code).is_some_and(Target::rests);
                let is_shown = fall.is_shown(snapshot.taken_at) && !rests;
                is_shown.then_some(([repo, ("language", code)], fall.from))
            })
        })
    }

    fn encode_languages(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(
            encoder,
            "translation_completion_ratio",
            "Reported completion of a language divided by api.completion_scale, not clamped",
            self.readings(),
            |reading| Some(reading.completion()?.ratio(self.0.completion_scale)),
        )?;
        family(
            encoder,
            "translation_last_progress_timestamp_seconds",
            "When completion last rose, was first seen, or fell from complete, whichever came last",
            self.readings(),
            |reading| Some(reading.progress()?.at.as_seconds()),
        )?;
        family(
            encoder,
            "translation_fallen_from_ratio",
            "Completion ratio before a fall, the highest of several; absent once it is reached \
             again, or 7 days after the last fall",
            self.falls(),
            |from| Some(from.ratio(self.0.completion_scale)),
        )?;
        family(
            encoder,
            "translation_target_ratio",
            "Completion ratio at which a language is ready, from its entry of targets",
            self.targets(),
            |target| Some(target.ratio),
        )?;
        family(
            encoder,
            "translation_target_due_timestamp_seconds",
            "When a language must be ready, from its entry of targets",
            self.targets(),
            |target| Some(target.due?.as_seconds()),
        )?;
        family(
            encoder,
            "translation_language_info",
            "Most frequent name of a language, empty if it has none; always 1",
            self.0
                .language_names()
                .into_iter()
                .map(|(code, name)| ([("language", code), ("name", name)], 1_u64)),
            Some,
        )
    }

    fn encode_repositories(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(
            encoder,
            "translation_repository_info",
            "Id of a repository, private (true, false or unknown) and, with links.repository, url; \
             always 1",
            self.repositories().map(|([(_, repo)], shown)| {
                let private = match shown.repository.private {
                    Some(is_private) => is_private.to_string(),
                    None => "unknown".to_owned(),
                };
                let mut labels = vec![
                    ("repo", repo.to_owned()),
                    ("id", shown.repository.id.to_string()),
                    ("private", private),
                ];
                let url = self.0.links.repository_url(&shown.repository);
                labels.extend(url.map(|url| ("url", url)));
                (labels, 1_u64)
            }),
            Some,
        )?;
        family(
            encoder,
            "translation_repository_created_timestamp_seconds",
            "When a repository was created",
            self.repositories(),
            |shown| Some(shown.repository.created_at?.as_seconds()),
        )?;
        family(
            encoder,
            "translation_repository_languages",
            "Target languages configured for a repository",
            self.repositories(),
            |shown| Some(shown.condition.languages()?.readings.len()),
        )?;
        family(
            encoder,
            "translation_repository_last_success_timestamp_seconds",
            "When the languages of a repository were last read in full",
            self.repositories(),
            |shown| Some(shown.condition.last_success()?.as_seconds()),
        )
    }
}

impl Collector for Translations {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_languages(&mut encoder)?;
        self.encode_repositories(&mut encoder)
    }
}

/// Encodes a gauge family with a sample for each item that has a value. A family without samples is
/// omitted.
fn family<T, L: EncodeLabelSet, N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    items: impl Iterator<Item = (L, T)>,
    value: impl Fn(T) -> Option<N>,
) -> fmt::Result {
    let samples = items.filter_map(|(labels, item)| Some((labels, value(item)?)));
    let mut samples = samples.peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let (stem, unit) = stem_and_unit(name);
    let help = format!("{help}; read from the API every poll.interval, not at the scrape.");
    let mut family = encoder.encode_descriptor(stem, &help, unit.as_ref(), MetricType::Gauge)?;
    for (labels, value) in samples {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
