//! prometheus-client's own encoding of the same data: what is written by hand must be the same, byte for byte.
//!
//! The one exception: the library gives some numbers a digit too many; ours are as short as can be and read the same.

use super::*;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric, text::encode_registry},
    metrics::{MetricType, gauge::ConstGauge},
    registry::{Registry, Unit},
};
use proptest::{collection::vec, option, prelude::*};
use std::fmt;

type Labels = Vec<(&'static str, String)>;

#[derive(Debug)]
struct Oracle(Snapshot);

impl Oracle {
    fn repositories<'a, N: 'a>(
        &'a self,
        sample: impl Fn(&'a Shown) -> Option<(Labels, N)> + 'a,
    ) -> impl Iterator<Item = (Labels, N)> + 'a {
        self.0.repositories.iter().filter_map(move |shown| {
            let (labels, value) = sample(shown)?;
            Some(([vec![("repo", shown.repository.name.to_string())], labels].concat(), value))
        })
    }

    fn readings<'a, N: 'a>(
        &'a self,
        sample: impl Fn(&'a Reading) -> Option<(Labels, N)> + Copy + 'a,
    ) -> impl Iterator<Item = (Labels, N)> + 'a {
        self.0.repositories.iter().flat_map(move |shown| {
            let readings = shown.condition.languages().map_or(&[][..], |languages| &languages.readings);
            readings.iter().filter_map(move |reading| {
                let (labels, value) = sample(reading)?;
                let first =
                    vec![("repo", shown.repository.name.to_string()), ("language", reading.language.code.to_string())];
                Some(([first, labels].concat(), value))
            })
        })
    }
}

/// `name` without its unit.
fn encode<N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    unit: Option<&Unit>,
    samples: impl Iterator<Item = (Labels, N)>,
) -> fmt::Result {
    let mut samples = samples.peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let help = format!("{help}; read from the API every poll.interval, not at the scrape.");
    let mut family = encoder.encode_descriptor(name, &help, unit, MetricType::Gauge)?;
    for (labels, value) in samples {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl Collector for Oracle {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let seconds = Some(&Unit::Seconds);
        let ratio = (
            "translation_completion",
            "Reported completion of a language divided by api.completion_scale, not clamped",
        );
        let scale = self.0.completion_scale;
        encode(
            &mut encoder,
            ratio,
            Some(&Unit::Other("ratio".into())),
            self.readings(|reading| Some((Labels::new(), reading.completion()?.get() / scale))),
        )?;
        let progress = (
            "translation_last_progress_timestamp",
            "When completion was last seen to rise, or first seen, or seen to fall from complete, whichever was last",
        );
        encode(
            &mut encoder,
            progress,
            seconds,
            self.readings(|reading| Some((Labels::new(), reading.progress()?.at.as_seconds()))),
        )?;
        encode(
            &mut encoder,
            ("translation_language_info", "Name of a target language, empty if it has none; always 1"),
            None,
            self.readings(|reading| Some((vec![("name", reading.language.name.to_string())], 1_u64))),
        )?;
        encode(
            &mut encoder,
            (
                "translation_repository_info",
                "Id of a repository and whether it is private: true, false or unknown; always 1",
            ),
            None,
            self.repositories(|shown| {
                let id = shown.repository.id.to_string();
                Some((vec![("id", id), ("private", shown.repository.visibility.private_label().to_owned())], 1_u64))
            }),
        )?;
        encode(
            &mut encoder,
            ("translation_repository_created_timestamp", "When a repository was created"),
            seconds,
            self.repositories(|shown| Some((Labels::new(), shown.repository.created_at?.as_seconds()))),
        )?;
        encode(
            &mut encoder,
            ("translation_repository_languages", "Target languages configured for a repository"),
            None,
            self.repositories(|shown| Some((Labels::new(), shown.condition.languages()?.readings.len()))),
        )?;
        encode(
            &mut encoder,
            (
                "translation_repository_last_success_timestamp",
                "When the languages of a repository were last read in full",
            ),
            seconds,
            self.repositories(|shown| Some((Labels::new(), shown.condition.last_success()?.as_seconds()))),
        )
    }
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}/[a-z]{1,8}", "[\\\\\"\n a-zé\u{1F600}\u{0}-\u{1f}]{1,12}"]
}

fn any_reading() -> impl Strategy<Value = Reading> {
    let completion = prop_oneof![(0..=1000_i32).prop_map(|tenths| f64::from(tenths) / 10.0), -1e12..1e12];
    (label(), "[\\\\\"\n a-zé]{0,9}", option::of(completion), 0..2_000_000_000_000_i64)
        .prop_map(|(code, name, completion, progress_at)| reading(&code, &name, completion, progress_at))
}

fn any_shown() -> impl Strategy<Value = Shown> {
    let visibility = prop_oneof![Just(Visibility::Public), Just(Visibility::Private), Just(Visibility::Unknown)];
    let created_at = option::of(-1_000_000_000_000..2_000_000_000_000_i64);
    let condition = (0..4, vec(any_reading(), 0..6), 0..2_000_000_000_000_i64).prop_map(|(kind, readings, read_at)| {
        let known = languages(read_at, readings);
        match kind {
            0 => Condition::Pending(None),
            1 => Condition::Stale { read_at: at(read_at), failure: None },
            2 => Condition::Failing(known, failure()),
            _ => Condition::Fresh(known),
        }
    });
    (1..=RepositoryId::MAX, label(), visibility, created_at, condition).prop_map(
        |(id, name, visibility, created_at, condition)| {
            let mut shown = shown(id, &name, condition);
            let repository = Arc::make_mut(&mut shown.repository);
            (repository.visibility, repository.created_at) = (visibility, created_at.map(at));
            shown
        },
    )
}

proptest! {
    #[test]
    fn hand_and_library_write_the_same_bytes(
        repositories in vec(any_shown(), 0..12),
        completion_scale in prop_oneof![Just(100.0), Just(1.0), 1.0..1e6],
    ) {
        let snapshot = Snapshot { completion_scale, ..snapshot(repositories) };
        let published = published(snapshot.clone(), starting());
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Oracle(snapshot)));
        let mut expected = String::new();
        encode_registry(&mut expected, &registry).unwrap();
        let text = fixed_text(&published);
        let by_hand = &text[..text.len() - published.gauges.len()];
        prop_assert_eq!(by_hand.lines().count(), expected.lines().count());
        for (ours, theirs) in by_hand.split_inclusive('\n').zip(expected.split_inclusive('\n')) {
            prop_assert!(ours == theirs || differs_only_in_needless_digits(ours, theirs), "{} is not {}", ours, theirs);
        }
    }
}

fn differs_only_in_needless_digits(ours: &str, theirs: &str) -> bool {
    let parts = |line: &str| {
        let (series, value) = line.trim_end().rsplit_once(' ')?;
        Some((series.to_owned(), value.to_owned(), value.parse::<f64>().ok()?))
    };
    match (parts(ours), parts(theirs)) {
        (Some((ours, our_text, our_value)), Some((theirs, their_text, their_value))) => {
            ours == theirs && our_value.to_bits() == their_value.to_bits() && our_text.len() <= their_text.len()
        }
        _ => false,
    }
}
