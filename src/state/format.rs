//! The format of the state file: bytes to [`SavedState`] and back.
//!
//! One JSON document:
//!
//! ```json
//! {"format":"translation-exporter state","version":2,"base_url":"https://api.example.com/",
//!  "last_success_at":1700000000000,"last_well_at":1700000000000,
//!  "repositories":[
//!   {"id":7,"name":"owner/repo","private":true,"created_at":1700000000000,"attempt":5,
//!    "failures":0,"read":{"at":1700000000000,"languages":[
//!     {"code":"de","name":"German","completion":50.5,"clock":1700000000000,
//!      "latest":{"completion":40.0,"at":1699900000000},
//!      "previous":{"completion":30.0,"at":1699300000000},
//!      "fall":{"from":80.0,"at":1700000000000}}]}}],
//!  "missed":[7],
//!  "departed":[{"id":7,"code":"fr","name":"French","completion":12.0,"clock":1700000000000,
//!    "left_at":1700000000000}]}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `base_url` | the API that the data come from |
//! | `last_success_at` | end of the last poll that read everything; absent without one |
//! | `last_well_at` | the same, apart from a few repositories |
//! | `private`, `created_at` | properties of the repository; null if the API does not say |
//! | `created_at`, `at`, `clock`, … | times, milliseconds since the Unix epoch |
//! | `attempt` | number of the last attempt, counted over all repositories; 0 without one |
//! | `failures` | number of failed attempts since the last success, as the ledger counts them |
//! | `failing_since` | time since which reads fail; absent after a success |
//! | `read` | the records at the last successful read, and its time; null without one |
//! | `code` | code of the language: sorted by its bytes, each once in a repository |
//! | `completion` | completion as the API reports it; absent if the API reports none |
//! | `clock` | time of the language's progress clock; absent without one |
//! | `clock_completion` | last known completion, if the API no longer reports one |
//! | `latest`, `previous` | earlier completions and their times; absent without a recent change |
//! | `fall` | completion before the fall, and time of the last drop; absent without a fall |
//! | `missed` | ids that the last complete listing lacked; the next one confirms their removal |
//! | `departed` | records of departed languages, sorted by id and code |
//! | `left_at` | time of the departure |
//!
//! # Versions
//!
//! Readers ignore unknown fields, so that a new field needs no new version. The version number
//! rises only if a reader of the previous version would misunderstand the file. Older files of
//! version 2 lack falls, `failing_since` and the times of polls. Version 1, of the release 0.1.0,
//! is read as well: it lacks `failures` too, and ends with a checksum.

use super::{SavedRepository, SavedState};
use crate::{
    domain::{
        Completion, KnownLanguages, Language, Repository, RepositoryId,
        record::{Fall, Known, Languages, Past, Reading, Record},
    },
    support::clock::Timestamp,
};
use serde::{Deserialize, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    sync::Arc,
};

/// The version that this program writes, and the latest that it reads.
pub const VERSION: u64 = 2;

const FORMAT: &str = "translation-exporter state";

/// The fields that every version of the file has.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

/// The whole file. Iterators write its repositories and raw text reads them, so that only one entry
/// at a time exists in two forms.
#[derive(Serialize, Deserialize)]
struct StateDocument<Repositories, Departed> {
    format: String,
    version: u64,
    base_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_success_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_well_at: Option<Timestamp>,
    repositories: Repositories,
    #[serde(default)]
    missed: BTreeSet<u64>,
    departed: Departed,
}

#[derive(Serialize, Deserialize)]
struct RepositoryEntry {
    id: u64,
    name: Arc<str>,
    private: Option<bool>,
    created_at: Option<Timestamp>,
    #[serde(default)]
    attempt: u64,
    #[serde(default)]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<Timestamp>,
    read: Option<ReadEntry>,
}

#[derive(Serialize, Deserialize)]
struct ReadEntry {
    at: Timestamp,
    languages: Vec<RecordEntry>,
}

#[derive(Serialize, Deserialize)]
struct RecordEntry {
    code: Arc<str>,
    #[serde(default)]
    name: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<Completion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_completion: Option<Completion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<Reading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<Reading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fall: Option<Fall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct DepartedEntry {
    id: u64,
    #[serde(flatten)]
    record: RecordEntry,
}

/// An iterator that serializes as an array, one item at a time.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// Writes `saved` to `out` piece by piece, without holding the complete text.
pub fn encode(saved: &SavedState, base_url: &str, out: impl Write) -> io::Result<()> {
    let departed = saved.departed.iter();
    let document = StateDocument {
        format: FORMAT.to_owned(),
        version: VERSION,
        base_url: base_url.to_owned(),
        last_success_at: saved.last_success_at,
        last_well_at: saved.last_well_at,
        repositories: Each(saved.repositories.iter().map(RepositoryEntry::from)),
        missed: saved.missed.iter().map(|id| id.get()).collect(),
        departed: Each(departed.map(|((id, _), record)| DepartedEntry {
            id: id.get(),
            record: record.into(),
        })),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

impl From<&SavedRepository> for RepositoryEntry {
    fn from(saved_repository: &SavedRepository) -> Self {
        let repository = &*saved_repository.repository;
        Self {
            id: repository.id.get(),
            name: Arc::clone(&repository.name),
            private: repository.private,
            created_at: repository.created_at,
            attempt: saved_repository.last_attempt,
            failures: saved_repository.failures,
            failing_since: saved_repository.failing_since,
            read: saved_repository
                .languages
                .as_deref()
                .map(|languages| ReadEntry {
                    at: languages.read_at,
                    languages: languages.records.iter().map(RecordEntry::from).collect(),
                }),
        }
    }
}

impl From<&Record> for RecordEntry {
    fn from(record: &Record) -> Self {
        let completion = |is_reported| {
            let known = record
                .known
                .filter(|known| known.is_reported == is_reported)?;
            Some(known.completion)
        };
        let past = record.past.as_deref();
        Self {
            code: Arc::clone(&record.language.code),
            name: record.language.name.clone(),
            completion: completion(true),
            clock: record.known.map(|known| known.progress_at),
            clock_completion: completion(false),
            latest: past.and_then(|past| past.latest),
            previous: past.and_then(|past| past.previous),
            fall: past.and_then(|past| past.fall),
            left_at: record.left_at(),
        }
    }
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("it is damaged, or not a state file: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0} of the format, and this program reads up to version {VERSION}")]
    Newer(u64),
    #[error("it is the state of {0}")]
    OtherApi(String),
    #[error("it is a file of another program: its `format` is not {FORMAT:?}")]
    OtherFormat,
    #[error("it has {0} bytes, more than any state")]
    TooLarge(u64),
}

/// Reads the state of the API at `base_url`.
pub fn decode(bytes: &[u8], base_url: &str) -> Result<SavedState, FormatError> {
    let Header { format, version } = serde_json::from_slice(bytes)?;
    if format != FORMAT {
        return Err(FormatError::OtherFormat);
    }
    if version > VERSION {
        return Err(FormatError::Newer(version));
    }
    let document: StateDocument<Vec<&RawValue>, Vec<DepartedEntry>> =
        serde_json::from_slice(bytes)?;
    if document.base_url != base_url {
        return Err(FormatError::OtherApi(document.base_url));
    }
    let mut saved = SavedState {
        last_success_at: document.last_success_at,
        last_well_at: document.last_well_at,
        ..SavedState::default()
    };
    let mut known = KnownLanguages::default();
    for entry in document.repositories {
        let entry: RepositoryEntry = serde_json::from_str(entry.get())?;
        let saved_repository = entry.saved_repository(&mut known)?;
        saved.repositories.push(saved_repository);
    }
    for id in document.missed {
        saved.missed.insert(repository_id(id)?);
    }
    for DepartedEntry { id, record: entry } in document.departed {
        let id = repository_id(id)?;
        let key = (id, Arc::clone(&entry.code));
        let record = entry.record(&mut known)?;
        if record.known.is_none() || record.left_at().is_none() {
            return Err(impossible("departed language").into());
        }
        saved.departed.insert(key, record);
    }
    Ok(saved)
}

/// Returns the error for a value that the API can never have reported.
fn impossible(what: &str) -> serde_json::Error {
    serde_json::Error::custom(format_args!("impossible {what}"))
}

impl RepositoryEntry {
    fn saved_repository(
        self,
        known: &mut KnownLanguages,
    ) -> Result<SavedRepository, serde_json::Error> {
        let id = repository_id(self.id)?;
        let repository = Repository {
            id,
            name: self.name,
            private: self.private,
            created_at: self.created_at,
        };
        let languages = match self.read {
            Some(read) => Some(Arc::new(read.languages(known)?)),
            None => None,
        };
        Ok(SavedRepository {
            repository: Arc::new(repository),
            last_attempt: self.attempt,
            failures: self.failures,
            failing_since: self.failing_since,
            languages,
        })
    }
}

impl ReadEntry {
    fn languages(self, known: &mut KnownLanguages) -> Result<Languages, serde_json::Error> {
        let mut records = Vec::with_capacity(self.languages.len());
        for entry in self.languages {
            records.push(entry.record(known)?);
        }
        if !records.is_sorted_by(|one: &Record, next| one.language.code < next.language.code) {
            return Err(impossible("order of languages"));
        }
        Ok(Languages {
            read_at: self.at,
            records: records.into(),
        })
    }
}

impl RecordEntry {
    fn record(self, languages: &mut KnownLanguages) -> Result<Record, serde_json::Error> {
        let known = match (self.clock, self.completion, self.clock_completion) {
            (None, None, None) => None,
            (Some(at), Some(completion), None) => Some((at, completion, true)),
            (Some(at), None, Some(completion)) => Some((at, completion, false)),
            _ => return Err(impossible("clock")),
        };
        let past = Past {
            latest: self.latest,
            previous: self.previous,
            fall: self.fall,
            left_at: self.left_at,
        };
        let language = Arc::new(Language {
            code: self.code,
            name: self.name,
        });
        Ok(Record {
            language: languages.share(&language).unwrap_or(language),
            known: known.map(|(progress_at, completion, is_reported)| Known {
                completion,
                progress_at,
                is_reported,
            }),
            past: (past != Past::default()).then(|| Box::new(past)),
        })
    }
}

fn repository_id(id: u64) -> Result<RepositoryId, serde_json::Error> {
    RepositoryId::new(id).ok_or_else(|| impossible("id"))
}
