//! The metrics of a publication, as a collector for prometheus-client: the domain metrics, then the
//! status of polling.
//!
//! All of them are gauges, so one text is valid both as OpenMetrics 1.0.0 and as text 0.0.4, where
//! a UNIT line is a comment.

use crate::{
    domain::{
        Completion,
        polling::PollStatus,
        readiness::{self, Row, Translation},
        record::Record,
        snapshot::{Shown, Snapshot},
        targets::Target,
    },
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
pub struct Gauges {
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
}

impl Gauges {
    /// Returns each repository with its labels.
    fn repositories(&self) -> impl Iterator<Item = ([(&str, &str); 1], &Shown)> {
        self.snapshot
            .repositories
            .iter()
            .map(|shown| ([("repo", &*shown.repository.name)], shown))
    }

    /// Returns each language with its labels.
    fn records(&self) -> impl Iterator<Item = ([(&str, &str); 2], &Record)> {
        self.repositories().flat_map(|([repo], shown)| {
            let records = shown.records().iter();
            records.map(move |record| ([repo, ("language", &*record.language.code)], record))
        })
    }

    /// Returns the labels and the target of each language with a target.
    fn targets(&self) -> impl Iterator<Item = ([(&str, &str); 2], Target)> {
        self.repositories().flat_map(|([repo], shown)| {
            let targets = self.snapshot.targets.of_repository(&shown.repository.name);
            shown.records().iter().filter_map(move |record| {
                let code = &*record.language.code;
                Some(([repo, ("language", code)], targets.of(code)?))
            })
        })
    }

    /// Returns the labels of each fallen language and the completion before its fall.
    fn falls(&self) -> impl Iterator<Item = ([(&str, &str); 2], Completion)> {
        self.repositories().flat_map(move |([repo], shown)| {
            let targets = self.snapshot.targets.of_repository(&shown.repository.name);
            shown.records().iter().filter_map(move |record| {
                let code = &*record.language.code;
                let fall = record.fall(self.snapshot.taken_at)?;
                let rests = targets.of(code).is_some_and(Target::rests);
                (!rests).then_some(([repo, ("language", code)], fall.from))
            })
        })
    }

    fn encode_languages(
        &self,
        rows: &[Row<'_>],
        encoder: &mut DescriptorEncoder<'_>,
    ) -> fmt::Result {
        let is_scale_suspect = self.snapshot.standards().is_scale_suspect;
        family(
            encoder,
            &definition::COMPLETION_RATIO,
            self.records(),
            |record| Some(record.completion()?.ratio(self.snapshot.completion_scale)),
        )?;
        family(
            encoder,
            &definition::READY,
            translations(rows).filter(|(_, one)| !one.target.rests()),
            |translation| (!is_scale_suspect).then(|| u64::from(translation.is_ready())),
        )?;
        family(
            encoder,
            &definition::LAST_PROGRESS,
            self.records(),
            |record| Some(record.last_progress(self.snapshot.taken_at)?.as_seconds()),
        )?;
        family(
            encoder,
            &definition::FALLEN_FROM_RATIO,
            self.falls(),
            |from| Some(from.ratio(self.snapshot.completion_scale)),
        )?;
        self.encode_judgements(rows, encoder)?;
        family(
            encoder,
            &definition::TARGET_RATIO,
            self.targets(),
            |target| Some(target.ratio),
        )?;
        family(encoder, &definition::TARGET_DUE, self.targets(), |target| {
            Some(target.due?.as_seconds())
        })?;
        family(
            encoder,
            &definition::LANGUAGE_INFO,
            self.snapshot
                .language_names()
                .into_iter()
                .map(|(code, name)| ([("language", code), ("name", name)], 1_u64)),
            Some,
        )
    }

    fn encode_judgements(
        &self,
        rows: &[Row<'_>],
        encoder: &mut DescriptorEncoder<'_>,
    ) -> fmt::Result {
        let known = readiness::known_rows(&self.snapshot);
        family(
            encoder,
            &definition::TRANSLATION_PROBLEM,
            translations(&known).flat_map(|([repo, language], translation)| {
                let problems = translation.judgement.problems();
                problems.map(move |(kind, at)| ([repo, language, ("kind", kind.label())], at))
            }),
            |at| Some(at.as_seconds()),
        )?;
        family(
            encoder,
            &definition::ESTIMATED_READY,
            translations(rows),
            |translation| Some(translation.judgement.estimated_ready?.as_seconds()),
        )
    }

    fn encode_repositories(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(
            encoder,
            &definition::REPOSITORY_INFO,
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
                let url = self.snapshot.links.repository_url(&shown.repository);
                labels.extend(url.map(|url| ("url", url)));
                (labels, 1_u64)
            }),
            Some,
        )?;
        family(
            encoder,
            &definition::REPOSITORY_CREATED,
            self.repositories(),
            |shown| Some(shown.repository.created_at?.as_seconds()),
        )?;
        family(
            encoder,
            &definition::REPOSITORY_LANGUAGES,
            self.repositories(),
            |shown| Some(shown.condition.languages()?.records.len()),
        )?;
        family(
            encoder,
            &definition::REPOSITORY_LAST_SUCCESS,
            self.repositories(),
            |shown| Some(shown.condition.last_success()?.as_seconds()),
        )
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let rows = readiness::rows(&self.snapshot, None);
        self.encode_languages(&rows, &mut encoder)?;
        self.encode_repositories(&mut encoder)?;
        super::polling::encode(&self.snapshot, &self.status, &mut encoder)
    }
}

/// Returns each row with the labels of its repository.
fn repositories<'a, 'b>(
    rows: &'b [Row<'a>],
) -> impl Iterator<Item = ([(&'static str, &'a str); 1], &'b Row<'a>)> {
    rows.iter()
        .map(|row| ([("repo", &*row.shown.repository.name)], row))
}

/// Returns each translation with its labels.
fn translations<'a>(
    rows: &[Row<'a>],
) -> impl Iterator<Item = ([(&'static str, &'a str); 2], Translation<'a>)> {
    repositories(rows).flat_map(|([repo], row)| {
        let translations = row.translations();
        translations.map(move |one| ([repo, ("language", one.code())], one))
    })
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
