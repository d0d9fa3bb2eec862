//! The format of the state file: one JSON document, whose types are its own. A change of the domain
//! thus changes no file by accident.
//!
//! Readers ignore unknown fields, so that a new optional field needs no new version.

use super::SavedState;
use crate::{
    domain::{
        self, Completion, Language, RepositoryId,
        record::{self, Peaks, Record, SavedRepository},
    },
    support::clock::Timestamp,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Write},
    sync::Arc,
};

pub const VERSION: u64 = 5;

/// The name of the format, by which a file of another program is recognized.
#[derive(Serialize, Deserialize)]
enum Format {
    #[serde(rename = "translation-exporter state")]
    State,
}

/// The fields that every version of the file has.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "format")]
    _format: Format,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct StateDocument {
    format: Format,
    version: u64,
    /// The API that the data come from.
    base_url: String,
    last_success_at: Option<Timestamp>,
    failing_since: Option<Timestamp>,
    repositories: Vec<Repository>,
    missed: BTreeSet<RepositoryId>,
    gone: BTreeMap<RepositoryId, Records>,
    unlisted: BTreeMap<RepositoryId, Arc<str>>,
}

#[derive(Serialize, Deserialize)]
struct Repository {
    id: RepositoryId,
    name: Arc<str>,
    private: Option<bool>,
    created_at: Option<Timestamp>,
    last_attempt: u64,
    failing_since: Option<Timestamp>,
    languages: Option<Languages>,
    departed: Records,
}

#[derive(Serialize, Deserialize)]
struct Languages {
    read_at: Timestamp,
    #[serde(deserialize_with = "sorted")]
    records: Records,
}

/// Records, each of which is converted on its own: all of them would take their memory twice.
struct Records(Arc<[Record]>);

#[derive(Serialize, Deserialize)]
struct Translation {
    code: Arc<str>,
    name: Box<str>,
    reported: Option<Completion>,
    /// The last known completion, and the progress clock.
    known: Option<(Completion, Timestamp)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<Past>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_at: Option<Timestamp>,
}

type Reading = (Completion, Timestamp);

#[derive(Serialize, Deserialize)]
struct Past {
    latest: Reading,
    previous: Option<Reading>,
    fall: Option<Reading>,
    /// The highest completions of three days, the last of which began at this time.
    peaks: (Timestamp, [Completion; 3]),
    finished_since: Option<Timestamp>,
}

impl From<SavedRepository> for Repository {
    fn from(saved: SavedRepository) -> Self {
        let repository = &saved.repository;
        Self {
            id: repository.id,
            name: Arc::clone(&repository.name),
            private: repository.private,
            created_at: repository.created_at,
            last_attempt: saved.last_attempt,
            failing_since: saved.failing_since,
            languages: saved.languages.map(|languages| Languages {
                read_at: languages.read_at,
                records: Records(Arc::clone(&languages.records)),
            }),
            departed: Records(saved.departed),
        }
    }
}

impl From<Repository> for SavedRepository {
    fn from(saved: Repository) -> Self {
        Self {
            repository: Arc::new(domain::Repository {
                id: saved.id,
                name: saved.name,
                private: saved.private,
                created_at: saved.created_at,
            }),
            last_attempt: saved.last_attempt,
            failing_since: saved.failing_since,
            languages: saved.languages.map(|languages| {
                Arc::new(record::Languages {
                    read_at: languages.read_at,
                    records: languages.records.0,
                })
            }),
            departed: saved.departed.0,
        }
    }
}

impl From<&Record> for Translation {
    fn from(record: &Record) -> Self {
        let reading = |record::Reading { completion, at }| (completion, at);
        let past = record.past.as_deref().map(|past| Past {
            latest: reading(past.latest),
            previous: past.previous.map(reading),
            fall: past.fall.map(reading),
            peaks: (past.peaks.today, past.peaks.highest),
            finished_since: past.finished_since,
        });
        Self {
            code: Arc::clone(&record.language.code),
            name: record.language.name.clone(),
            reported: record.reported,
            known: record.known.map(|it| (it.completion, it.progress_at)),
            past,
            left_at: record.left_at,
        }
    }
}

impl From<Translation> for Record {
    fn from(saved: Translation) -> Self {
        let reading = |(completion, at)| record::Reading { completion, at };
        let past = saved.past.map(|past| record::Past {
            latest: reading(past.latest),
            previous: past.previous.map(reading),
            fall: past.fall.map(reading),
            peaks: Peaks {
                today: past.peaks.0,
                highest: past.peaks.1,
            },
            finished_since: past.finished_since,
        });
        Self {
            language: Arc::new(Language {
                code: saved.code,
                name: saved.name,
            }),
            reported: saved.reported,
            known: saved.known.map(|(completion, progress_at)| record::Known {
                completion,
                progress_at,
            }),
            past: past.map(Box::new),
            left_at: saved.left_at,
        }
    }
}

impl Serialize for Records {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Translation::from))
    }
}

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Vec::<Translation>::deserialize(deserializer)?;
        Ok(Self(saved.into_iter().map(Record::from).collect()))
    }
}

fn sorted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Records, D::Error> {
    let records = Records::deserialize(deserializer)?;
    let is_sorted = (records.0).is_sorted_by(|one, next| one.language.code < next.language.code);
    let error = || D::Error::custom("the languages are not in order");
    is_sorted.then_some(records).ok_or_else(error)
}

impl FormatError {
    /// Returns whether a newer version of the exporter wrote the file.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::OtherVersion(version) if *version > VERSION)
    }
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("it is damaged, or not a state file: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    OtherVersion(u64),
    #[error("it is the state of {0}")]
    OtherApi(String),
    #[error("it has {0} bytes, more than any state")]
    TooLarge(u64),
}

/// Writes `saved` to `out` piece by piece, without holding the complete text.
pub fn encode(saved: &SavedState, base_url: &str, out: impl Write) -> io::Result<()> {
    let gone = saved.gone.iter();
    let gone = gone.map(|(id, records)| (*id, Records(Arc::clone(records))));
    let repositories = saved.repositories.iter().cloned();
    let document = StateDocument {
        format: Format::State,
        version: VERSION,
        base_url: base_url.to_owned(),
        last_success_at: saved.last_success_at,
        failing_since: saved.failing_since,
        repositories: repositories.map(Repository::from).collect(),
        missed: saved.missed.clone(),
        gone: gone.collect(),
        unlisted: saved.unlisted.clone(),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// Reads the state of the API at `base_url`.
pub fn decode(bytes: &[u8], base_url: &str) -> Result<SavedState, FormatError> {
    let Header { version, .. } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(FormatError::OtherVersion(version));
    }
    let document: StateDocument = serde_json::from_slice(bytes)?;
    if document.base_url != base_url {
        return Err(FormatError::OtherApi(document.base_url));
    }
    let repositories = document.repositories.into_iter();
    let gone = document.gone.into_iter();
    Ok(SavedState {
        last_success_at: document.last_success_at,
        failing_since: document.failing_since,
        repositories: repositories.map(SavedRepository::from).collect(),
        missed: document.missed,
        gone: gone.map(|(id, records)| (id, records.0)).collect(),
        unlisted: document.unlisted,
    })
}
