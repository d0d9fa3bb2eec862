//! The format of the state file: bytes to [`Memory`] and back.
//!
//! One JSON document:
//!
//! ```json
//! {"format":"translation-exporter state","version":2,"base_url":"https://api.example.com/",
//!  "last_full_poll_ns":900,
//!  "repositories":[
//!   {"id":7,"name":"owner/repo","private":true,"created_at":1700000000000,"attempt":5,
//!    "failures":0,"read":{"at":1700000000000,"scale":100.0,"languages":[
//!     {"code":"de","name":"German","completion":50.5,"clock":1700000000000}]}}],
//!  "missed":[7],
//!  "departed":[{"id":7,"code":"fr","completion":12.0,"clock":1700000000000,
//!    "left_at":1700000000000}],
//!  "falls":[{"id":7,"code":"de","from":80.0,"at":1700000000000}],
//!  "problems":{"polls_failing":1700000000000}}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `base_url` | the API that the data come from |
//! | `last_full_poll_ns` | duration of the last poll that was not ended early; null without one |
//! | `private`, `created_at` | properties of the repository; null if the API does not say |
//! | `created_at`, `at`, `clock`, … | times, milliseconds since the Unix epoch |
//! | `attempt` | number of the last attempt, counted over all repositories; 0 without one |
//! | `failures` | number of failed attempts since the last success, as the ledger counts them |
//! | `failing_since` | time since which reads fail; absent after a success |
//! | `read` | the languages at the last successful read, and its time; null without one |
//! | `scale` | `api.completion_scale` at that time |
//! | `code` | code of the language: sorted by its bytes, each once in a repository |
//! | `completion` | completion as the API reports it; absent if the API reports none |
//! | `clock` | time of the language's progress clock; absent without one |
//! | `clock_completion` | completion at that time, if the API no longer reports one |
//! | `missed` | ids that the last complete listing lacked; the next one confirms their removal |
//! | `departed` | progress clocks of departed languages, sorted by id and code |
//! | `falls` | completion before each fall, and time of the fall, sorted by id and code |
//! | `problems` | start of each problem by `kind`, last sighting of each shape by its name |
//!
//! # Versions
//!
//! Readers ignore unknown fields, so that a new field needs no new version. The version number
//! rises only if a reader of the previous version would misunderstand the file. Early files of
//! version 2 lack `scale`, `falls`, `problems` and `failing_since`. Version 1, of the release
//! 0.1.0, is read as well: it lacks `failures` too, and ends with a checksum.

use super::{Memory, Remembered};
use crate::{
    domain::{
        Completion, KnownLanguages, Language, Repository, RepositoryId,
        falls::Fall,
        progress::Progress,
        snapshot::{Languages, Reading, Reported},
    },
    support::clock::Timestamp,
};
use serde::{Deserialize, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Write},
    sync::Arc,
    time::Duration,
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
struct StateDocument<Repositories, Departed, Falls> {
    format: String,
    version: u64,
    base_url: String,
    last_full_poll_ns: Option<u64>,
    repositories: Repositories,
    #[serde(default)]
    missed: BTreeSet<u64>,
    departed: Departed,
    #[serde(default)]
    falls: Falls,
    #[serde(default)]
    problems: BTreeMap<Box<str>, i64>,
}

#[derive(Serialize, Deserialize)]
struct RepositoryEntry {
    id: u64,
    name: Arc<str>,
    private: Option<bool>,
    created_at: Option<i64>,
    #[serde(default)]
    attempt: u64,
    #[serde(default)]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<i64>,
    read: Option<ReadEntry>,
}

#[derive(Serialize, Deserialize)]
struct ReadEntry {
    at: i64,
    #[serde(default = "default_scale")]
    scale: f64,
    languages: Vec<LanguageEntry>,
}

#[derive(Serialize, Deserialize)]
struct LanguageEntry {
    code: Arc<str>,
    #[serde(default)]
    name: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_completion: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct DepartedEntry {
    id: u64,
    code: Arc<str>,
    completion: f64,
    clock: i64,
    left_at: i64,
}

#[derive(Serialize, Deserialize)]
struct FallEntry {
    id: u64,
    code: Arc<str>,
    from: f64,
    at: i64,
}

/// Returns the scale of files without `scale`. Only falls depend on it, and such files have none.
fn default_scale() -> f64 {
    100.0
}

/// An iterator that serializes as an array, one item at a time.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// Writes `memory` to `out` piece by piece, without holding the complete text.
pub fn encode(memory: &Memory, base_url: &str, out: impl Write) -> io::Result<()> {
    let nanoseconds = |took: Duration| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let departed = memory.departed.iter();
    let document = StateDocument {
        format: FORMAT.to_owned(),
        version: VERSION,
        base_url: base_url.to_owned(),
        last_full_poll_ns: memory.last_full_poll.map(nanoseconds),
        repositories: Each(memory.repositories.iter().map(RepositoryEntry::from)),
        missed: memory.missed.iter().map(|id| id.get()).collect(),
        departed: Each(
            departed.map(|((id, code), (progress, left_at))| DepartedEntry {
                id: id.get(),
                code: Arc::clone(code),
                completion: progress.completion.get(),
                clock: progress.at.as_millis(),
                left_at: left_at.as_millis(),
            }),
        ),
        falls: Each(memory.falls.iter().map(|(id, code, fall)| FallEntry {
            id: id.get(),
            code: Arc::clone(code),
            from: fall.from.get(),
            at: fall.at.as_millis(),
        })),
        problems: memory
            .problems
            .iter()
            .map(|(kind, since)| (kind.clone(), since.as_millis()))
            .collect(),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

impl From<&Remembered> for RepositoryEntry {
    fn from(remembered: &Remembered) -> Self {
        let repository = &*remembered.repository;
        Self {
            id: repository.id.get(),
            name: Arc::clone(&repository.name),
            private: repository.private,
            created_at: repository.created_at.map(Timestamp::as_millis),
            attempt: remembered.last_attempt,
            failures: remembered.failures,
            failing_since: remembered.failing_since.map(Timestamp::as_millis),
            read: remembered.languages.as_deref().map(|languages| ReadEntry {
                at: languages.read_at.as_millis(),
                scale: languages.scale,
                languages: languages.readings.iter().map(LanguageEntry::from).collect(),
            }),
        }
    }
}

impl From<&Reading> for LanguageEntry {
    fn from(reading: &Reading) -> Self {
        let last = reading.progress();
        let completion = reading.completion();
        Self {
            code: Arc::clone(&reading.language.code),
            name: reading.language.name.clone(),
            completion: completion.map(Completion::get),
            clock: last.map(|last| last.at.as_millis()),
            clock_completion: match completion {
                Some(_) => None,
                None => last.map(|last| last.completion.get()),
            },
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
pub fn decode(bytes: &[u8], base_url: &str) -> Result<Memory, FormatError> {
    let Header { format, version } = serde_json::from_slice(bytes)?;
    if format != FORMAT {
        return Err(FormatError::OtherFormat);
    }
    if version > VERSION {
        return Err(FormatError::Newer(version));
    }
    let document: StateDocument<Vec<&RawValue>, Vec<DepartedEntry>, Vec<FallEntry>> =
        serde_json::from_slice(bytes)?;
    if document.base_url != base_url {
        return Err(FormatError::OtherApi(document.base_url));
    }
    let mut memory = Memory {
        last_full_poll: document.last_full_poll_ns.map(Duration::from_nanos),
        ..Memory::default()
    };
    let mut known = KnownLanguages::default();
    for entry in document.repositories {
        let entry: RepositoryEntry = serde_json::from_str(entry.get())?;
        memory.repositories.push(entry.remembered(&mut known)?);
    }
    for id in document.missed {
        memory.missed.insert(repository_id(id)?);
    }
    for entry in document.departed {
        let key = (repository_id(entry.id)?, entry.code);
        let clock = progress(entry.completion, entry.clock)?;
        memory
            .departed
            .insert(key, (clock, Timestamp::from_millis(entry.left_at)));
    }
    for entry in document.falls {
        let fall = Fall {
            from: completion(entry.from)?,
            at: Timestamp::from_millis(entry.at),
        };
        memory
            .falls
            .insert(repository_id(entry.id)?, entry.code, fall);
    }
    for (kind, since) in document.problems {
        let since = Timestamp::from_millis(since);
        memory.problems.insert(kind, since);
    }
    Ok(memory)
}

/// Returns the error for a value that the API can never have reported.
fn impossible(what: &str) -> serde_json::Error {
    serde_json::Error::custom(format_args!("impossible {what}"))
}

impl RepositoryEntry {
    fn remembered(self, known: &mut KnownLanguages) -> Result<Remembered, serde_json::Error> {
        let repository = Repository {
            id: repository_id(self.id)?,
            name: self.name,
            private: self.private,
            created_at: self.created_at.map(Timestamp::from_millis),
        };
        let languages = match self.read {
            Some(read) => Some(Arc::new(read.languages(known)?)),
            None => None,
        };
        Ok(Remembered {
            repository: Arc::new(repository),
            last_attempt: self.attempt,
            failures: self.failures,
            failing_since: self.failing_since.map(Timestamp::from_millis),
            languages,
        })
    }
}

impl ReadEntry {
    fn languages(self, known: &mut KnownLanguages) -> Result<Languages, serde_json::Error> {
        let mut readings = Vec::with_capacity(self.languages.len());
        for entry in self.languages {
            let reported = match (entry.clock, entry.completion, entry.clock_completion) {
                (None, None, None) => Reported::Never,
                (Some(at), Some(completion), None) => Reported::Now(progress(completion, at)?),
                (Some(at), None, Some(completion)) => Reported::Before(progress(completion, at)?),
                _ => return Err(impossible("clock")),
            };
            let language = known.intern(Language {
                code: entry.code,
                name: entry.name,
            });
            readings.push(Reading { language, reported });
        }
        if !readings.is_sorted_by(|one, next| one.language.code < next.language.code) {
            return Err(impossible("order of languages"));
        }
        Ok(Languages {
            read_at: Timestamp::from_millis(self.at),
            scale: self.scale,
            readings: readings.into(),
        })
    }
}

fn repository_id(id: u64) -> Result<RepositoryId, serde_json::Error> {
    RepositoryId::new(id).ok_or_else(|| impossible("id"))
}

fn completion(completion: f64) -> Result<Completion, serde_json::Error> {
    Completion::new(completion).ok_or_else(|| impossible("completion"))
}

fn progress(reported: f64, at: i64) -> Result<Progress, serde_json::Error> {
    Ok(Progress {
        completion: completion(reported)?,
        at: Timestamp::from_millis(at),
    })
}
