//! Tests of the exposition against literal text and gunzip. The parsers of others read odd names in
//! `tests/blackbox/test_exposition.py`.

mod compressed;
mod golden;
mod tables;

use super::*;
use crate::testing::{Condition, Failed, Languages, Shown, Snapshot};
use crate::{
    domain::{
        Defects, Repository, RepositoryId,
        polling::{PollOutcome, PollStatus},
        record::Record,
    },
    support::clock::Timestamp,
    testing,
};
use std::time::Duration;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn record(code: &str, name: &str, completion: Option<f64>, progress_at: i64) -> Record {
    testing::record_of(code, name, completion, at(progress_at))
}

fn languages(read_at: i64, records: Vec<Record>) -> Languages {
    Languages {
        read_at: at(read_at),
        records: records.into(),
    }
}

fn shown(id: u64, name: &str, condition: Condition) -> Shown {
    let repository = Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        private: Some(false),
        created_at: Some(at(1_700_000_000_000)),
    };
    Shown {
        repository: Arc::new(repository),
        condition,
        defects: Defects::default(),
    }
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot {
        taken_at: at(1_795_224_645_123),
        ..testing::snapshot(repositories)
    }
}

/// Makes a record like [`record`] that fell from 92.
fn fallen(code: &str, completion: f64, progress_at: i64, fell_at: i64) -> Record {
    let mut record = record(code, "German", Some(92.0), progress_at);
    testing::observe(&mut record, Some(completion), at(fell_at));
    record
}

/// Returns the status before the first poll has ended.
fn starting() -> PollStatus {
    PollStatus {
        has_data: false,
        state_is_kept: false,
        ..testing::status()
    }
}

/// Returns the status after a poll that listed everything and failed to read one repository.
fn polled() -> PollStatus {
    PollStatus {
        last: Some(PollOutcome {
            ended_at: at(1_795_224_645_123),
            duration: Duration::from_millis(1500),
            is_listed: true,
            total: 2,
            read: 1,
            failed: 1,
            ..PollOutcome::default()
        }),
        last_success_at: Some(at(1_795_224_345_000)),
        has_data: true,
        ..starting()
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "tests make the snapshot in place"
)]
fn publication(snapshot: Snapshot, status: PollStatus) -> Arc<Exposition> {
    let document = snapshot.judge(status, None);
    Arc::new(Exposition::new(Arc::new(document)))
}

/// Returns the body of an uncompressed scrape.
fn text(
    publication: &Exposition,
    format: ExpositionFormat,
    instruments: &Arc<Instruments>,
) -> String {
    String::from_utf8(
        publication
            .uncompressed(format, instruments)
            .1
            .collect::<Vec<_>>()
            .concat(),
    )
    .unwrap()
}

/// Returns the part of the text that the publication determines: all before the first instrument.
fn fixed(text: &str) -> &str {
    &text[..text
        .find("# HELP translation_exporter_build_info ")
        .unwrap()]
}

fn fixed_text(publication: &Exposition) -> String {
    fixed(&text(
        publication,
        ExpositionFormat::Text,
        &Instruments::new(Some("/metrics")),
    ))
    .to_owned()
}

/// Returns the samples whose names begin with `prefix`.
fn samples(text: &str, prefix: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with(prefix))
        .map(str::to_owned)
        .collect()
}

/// Returns a snapshot whose text fills many chunks.
fn large() -> Snapshot {
    let repositories = (1..=300).map(|id| {
        let records = (0..30).map(|n| {
            record(
                &format!("l{n:02}"),
                "Language",
                Some(f64::from(n)),
                1_795_000_000_000,
            )
        });
        shown(
            id,
            &format!("owner/repo-{id:04}"),
            Condition::Fresh(languages(1_795_224_645_000, records.collect())),
        )
    });
    snapshot(repositories.collect())
}
