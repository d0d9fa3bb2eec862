//! The metrics of a publication, as a collector for prometheus-client: the domain metrics, then the
//! status of polling.
//!
//! All of them are gauges, so one text is valid both as OpenMetrics 1.0.0 and as text 0.0.4, where
//! a UNIT line is a comment.

use crate::{
    domain::document::{Document, Row, Translation},
    metrics::{
        definition::{self, MetricDefinition},
        encode::descriptor,
    },
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric as _},
    metrics::gauge::ConstGauge,
};
use std::{fmt, sync::Arc};

/// The collector of the gauges that change only with a publication. It orders samples by repository
/// name, then language code.
#[derive(Debug)]
pub struct Gauges(pub Arc<Document>);

impl Gauges {
    /// Returns each repository with its labels.
    fn repositories(&self) -> impl Iterator<Item = ([(&str, &str); 1], &Row)> {
        self.0.rows.iter().map(|row| ([("repo", row.name())], row))
    }

    /// Returns each shown translation with its labels.
    fn translations(&self) -> impl Iterator<Item = ([(&str, &str); 2], &Translation)> {
        self.0
            .translations()
            .map(|(row, one)| ([("repo", row.name()), ("language", one.code())], one))
    }

    fn encode_languages(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(
            encoder,
            &definition::COMPLETION_RATIO,
            self.translations(),
            |one| one.ratio,
        )?;
        let judged = self.translations().filter(|(_, one)| !one.rests());
        family(encoder, &definition::READY, judged, |one| {
            (!self.0.is_scale_suspect).then_some(u64::from(one.is_ready()))
        })?;
        family(
            encoder,
            &definition::LAST_PROGRESS,
            self.translations(),
            |one| Some(one.last_progress?.as_seconds()),
        )?;
        family(
            encoder,
            &definition::FALLEN_FROM_RATIO,
            self.translations(),
            |one| Some(one.fall.as_ref()?.from),
        )?;
        let known = self.repositories().flat_map(|([repo], row)| {
            let known = row.known().iter();
            known.map(move |one| ([repo, ("language", one.code())], one))
        });
        family(
            encoder,
            &definition::TRANSLATION_PROBLEM,
            known.flat_map(|([repo, language], one)| {
                let problems = one.problems();
                problems.map(move |(kind, at)| ([repo, language, ("kind", kind.label())], at))
            }),
            |at| Some(at.as_seconds()),
        )?;
        family(
            encoder,
            &definition::ESTIMATED_READY,
            self.translations(),
            |one| Some(one.estimated_ready?.as_seconds()),
        )?;
        family(
            encoder,
            &definition::TARGET_RATIO,
            self.translations(),
            |one| Some(one.entry.as_ref()?.target.ratio),
        )?;
        family(
            encoder,
            &definition::TARGET_DUE,
            self.translations(),
            |one| Some(one.target().due?.as_seconds()),
        )?;
        let names = self.0.language_names().into_iter();
        family(
            encoder,
            &definition::LANGUAGE_INFO,
            names.map(|(code, name)| ([("language", code), ("name", name)], 1_u64)),
            Some,
        )
    }

    fn encode_repositories(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(
            encoder,
            &definition::REPOSITORY_INFO,
            self.repositories().map(|([(_, repo)], row)| {
                let private = match row.repository.private {
                    Some(is_private) => is_private.to_string(),
                    None => "unknown".to_owned(),
                };
                let mut labels = vec![
                    ("repo", repo.to_owned()),
                    ("id", row.repository.id.to_string()),
                    ("private", private),
                ];
                labels.extend(self.0.repository_url(row).map(|url| ("url", url)));
                (labels, 1_u64)
            }),
            Some,
        )?;
        family(
            encoder,
            &definition::REPOSITORY_CREATED,
            self.repositories(),
            |row| Some(row.repository.created_at?.as_seconds()),
        )?;
        family(
            encoder,
            &definition::REPOSITORY_LANGUAGES,
            self.repositories(),
            Row::listed,
        )?;
        family(
            encoder,
            &definition::REPOSITORY_LAST_SUCCESS,
            self.repositories(),
            |row| Some(row.condition.last_success()?.as_seconds()),
        )
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_languages(&mut encoder)?;
        self.encode_repositories(&mut encoder)?;
        super::polling::encode(&self.0, &mut encoder)
    }
}

/// Encodes a gauge family with a sample for each item that has a value. A family without samples is
/// omitted.
fn family<T, L: EncodeLabelSet, N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &MetricDefinition,
    items: impl Iterator<Item = (L, T)>,
    value: impl Fn(T) -> Option<N>,
) -> fmt::Result {
    let samples = items.filter_map(|(labels, item)| Some((labels, value(item)?)));
    let mut samples = samples.peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let mut family = descriptor(encoder, metric)?;
    for (labels, value) in samples {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
