//! The format of the state file: bytes to [`Memory`] and back.
//!
//! One JSON document in UTF-8, a repository a line:
//!
//! ```json
//! {"format":"translation-exporter state","version":1,"base_url":"https://api.example.com/","last_full_poll_ns":900,
//! "repositories":[
//! {"id":7,"name":"owner/repo","private":true,"created_at":1700000000000,"read":{"at":1700000000000,"languages":[
//!   {"code":"de","name":"German","completion":50.5,"clock":1700000000000}]}}
//! ],
//! "departed":[
//! {"id":7,"code":"fr","completion":12.0,"clock":1700000000000,"left_at":1700000000000}
//! ],
//! "crc32":"00000000"}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `base_url` | the API that all of it was read from |
//! | `last_full_poll_ns` | nanoseconds that the last full poll took; absent before there was one |
//! | `id` | of the repository, a number of 1 to 2^63 - 1; repositories are in the order of their ids |
//! | `name` | of the repository or language; absent for a language without one |
//! | `private` | absent where the API does not say |
//! | `created_at`, `left_at`, `at` | times, milliseconds since the Unix epoch; `created_at` absent where not known |
//! | `read` | when all languages of the repository were last read, and what they were; absent before the first time |
//! | `code` | of the language; languages are in the order of the bytes of their codes, each once in a repository |
//! | `completion` | as the API reports it, the shortest decimal that is the same 64-bit float; absent where not known |
//! | `clock` | the time of the language's progress clock; absent where it has none |
//! | `clock_completion` | the completion of the progress clock, where there is no `completion` any more |
//! | `departed` | the clocks of what left, in the order of id and code |
//! | `crc32` | of all bytes before the line break that precedes it, in lower-case hexadecimal |
//!
//! The file of every version begins with the bytes of [`OPENING`] and a number. The number rises when a program that
//! knows only the version before would misunderstand the file; a program reads the versions up to its own, and no
//! later one. A field that may be ignored can come without a new number: unknown fields are passed over.

use super::{Departed, Memory, Remembered, check::check};
use crate::{
    model::{Completion, Interner, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Languages, Reading, Reported},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    io::{self, BufWriter, IntoInnerError, Write},
    sync::Arc,
    time::Duration,
};

/// The version that this program writes.
pub const VERSION: u64 = 1;

/// How the file of every version begins, up to the number of its version.
pub(super) const OPENING: &[u8] = br#"{"format":"translation-exporter state","version":"#;

/// What a state file tells.
#[derive(Debug)]
pub struct Decoded {
    /// Of the API that it was read from.
    pub base_url: Box<str>,
    pub memory: Memory,
}

/// Why bytes are no state file that this program can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("it is empty")]
    Empty,
    #[error("it does not begin as a state file of translation-exporter does")]
    Foreign,
    #[error("it has version {0} of the format, and this program reads up to version {VERSION}")]
    FutureVersion(u64),
    /// With what is wrong.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    base_url: Cow<'a, str>,
    last_full_poll_ns: Option<u64>,
    // Raw, so that only one entry at a time exists in two forms.
    #[serde(borrow)]
    repositories: Vec<&'a RawValue>,
    #[serde(borrow)]
    departed: Vec<&'a RawValue>,
}

#[derive(Serialize, Deserialize)]
struct RepositoryEntry<'a> {
    id: u64,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    read: Option<ReadEntry<'a>>,
}

#[derive(Serialize, Deserialize)]
struct ReadEntry<'a> {
    at: i64,
    #[serde(borrow)]
    languages: Vec<LanguageEntry<'a>>,
}

#[derive(Serialize, Deserialize)]
struct LanguageEntry<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_completion: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct DepartedEntry<'a> {
    id: u64,
    #[serde(borrow)]
    code: Cow<'a, str>,
    completion: f64,
    clock: i64,
    left_at: i64,
}

/// Writes `memory` to `out` bit by bit, never holding the whole text.
pub(super) fn encode(memory: &Memory, base_url: &str, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, Summing { out, sum: crc32fast::Hasher::new() });
    out.write_all(OPENING)?;
    write!(out, "{VERSION},\"base_url\":")?;
    serde_json::to_writer(&mut out, base_url)?;
    if let Some(took) = memory.last_full_poll {
        write!(out, ",\"last_full_poll_ns\":{}", u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))?;
    }
    out.write_all(b",\n\"repositories\":[")?;
    write_lines(&mut out, memory.repositories.iter().map(RepositoryEntry::from))?;
    out.write_all(b"],\n\"departed\":[")?;
    write_lines(&mut out, memory.departed.iter().map(DepartedEntry::from))?;
    out.write_all(b"],")?;
    let Summing { mut out, sum } = out.into_inner().map_err(IntoInnerError::into_error)?;
    out.write_all(closing(sum.finalize()).as_bytes())?;
    out.flush()
}

fn write_lines(out: &mut impl Write, entries: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
    let mut separator: &[u8] = b"\n";
    for entry in entries {
        out.write_all(separator)?;
        serde_json::to_writer(&mut *out, &entry)?;
        separator = b",\n";
    }
    out.write_all(b"\n")
}

/// How a file ends whose bytes before it have this checksum.
fn closing(sum: u32) -> String {
    format!("\n\"crc32\":\"{sum:08x}\"}}\n")
}

/// Passes on what is written to it, and sums it up.
struct Summing<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads a state file.
///
/// # Errors
///
/// Where the bytes are not exactly what a program wrote that knew this version of the format, or hold a value that
/// could never have been read from the API.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    let Some(rest) = bytes.strip_prefix(OPENING) else {
        return Err(if OPENING.starts_with(bytes) { cut_short() } else { DecodeError::Foreign });
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == rest.len() {
        return Err(cut_short());
    }
    let version = str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
    match version {
        Some(VERSION) => {}
        Some(later @ VERSION..) => return Err(DecodeError::FutureVersion(later)),
        _ => return Err(DecodeError::Damaged("its version is no number of a version".to_owned())),
    }
    let body = bytes.len().checked_sub(closing(0).len()).ok_or_else(cut_short)?;
    let (body, end) = bytes.split_at(body);
    if !end.starts_with(b"\n\"crc32\":\"") {
        return Err(cut_short());
    }
    if end != closing(crc32fast::hash(body)).as_bytes() {
        return Err(DecodeError::Damaged("its checksum does not fit its content".to_owned()));
    }
    let decoded = read_document(bytes).map_err(DecodeError::Damaged)?;
    check(&decoded.memory).map_err(DecodeError::Damaged)?;
    Ok(decoded)
}

fn cut_short() -> DecodeError {
    DecodeError::Damaged("its end is missing".to_owned())
}

fn read_document(bytes: &[u8]) -> Result<Decoded, String> {
    let document: Document<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let interner = Interner::default();
    let repositories =
        read_entries("repository", &document.repositories, |entry: RepositoryEntry<'_>| entry.remembered(&interner))?;
    let departed = read_entries("departed", &document.departed, DepartedEntry::departed)?;
    let memory =
        Memory { last_full_poll: document.last_full_poll_ns.map(Duration::from_nanos), repositories, departed };
    Ok(Decoded { base_url: document.base_url.into(), memory })
}

fn read_entries<'a, E: Deserialize<'a>, T>(
    what: &str,
    entries: &[&'a RawValue],
    mut read: impl FnMut(E) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let read = |raw: &&'a RawValue| read(serde_json::from_str(raw.get()).map_err(|error| error.to_string())?);
    let numbered = |(n, read): (usize, Result<T, String>)| read.map_err(|error| format!("{what} entry {n}: {error}"));
    (1..).zip(entries.iter().map(read)).map(numbered).collect()
}

fn id(id: u64) -> Result<RepositoryId, String> {
    RepositoryId::new(id).ok_or_else(|| format!("{id} is no id of a repository"))
}

fn completion(value: f64) -> Result<Completion, String> {
    Completion::new(value).ok_or_else(|| format!("{value} is no completion"))
}

impl RepositoryEntry<'_> {
    fn remembered(self, known: &Interner) -> Result<Remembered, String> {
        let repository = Repository {
            id: id(self.id)?,
            name: self.name.into(),
            visibility: match self.private {
                Some(true) => Visibility::Private,
                Some(false) => Visibility::Public,
                None => Visibility::Unknown,
            },
            created_at: self.created_at.map(Timestamp::from_millis),
        };
        let languages = self.read.map(|read| {
            let readings = read.languages.iter().map(|language| language.reading(known));
            let languages =
                Languages { read_at: Timestamp::from_millis(read.at), readings: readings.collect::<Result<_, _>>()? };
            Ok::<_, String>(Arc::new(languages))
        });
        Ok(Remembered { repository: Arc::new(repository), languages: languages.transpose()? })
    }
}

impl<'a> From<&'a Remembered> for RepositoryEntry<'a> {
    fn from(Remembered { repository, languages }: &'a Remembered) -> Self {
        Self {
            id: repository.id.get(),
            name: Cow::Borrowed(&repository.name),
            private: match repository.visibility {
                Visibility::Private => Some(true),
                Visibility::Public => Some(false),
                Visibility::Unknown => None,
            },
            created_at: repository.created_at.map(Timestamp::as_millis),
            read: languages.as_deref().map(|languages| ReadEntry {
                at: languages.read_at.as_millis(),
                languages: languages.readings.iter().map(LanguageEntry::from).collect(),
            }),
        }
    }
}

impl LanguageEntry<'_> {
    fn reading(&self, known: &Interner) -> Result<Reading, String> {
        let progress =
            |value, at| Ok::<_, String>(Progress { completion: completion(value)?, at: Timestamp::from_millis(at) });
        let reported = match (self.clock, self.completion, self.clock_completion) {
            (None, None, None) => Reported::Never,
            (Some(at), Some(value), None) => Reported::Now(progress(value, at)?),
            (Some(at), None, Some(value)) => Reported::Before(progress(value, at)?),
            _ => return Err(format!("the clock of language {:?} does not fit its completion", self.code)),
        };
        Ok(Reading { language: known.language(&self.code, &self.name), reported })
    }
}

impl<'a> From<&'a Reading> for LanguageEntry<'a> {
    fn from(reading: &'a Reading) -> Self {
        let of = |progress: Progress| Some(progress.completion.get());
        let (completion, clock_completion) = match reading.reported {
            Reported::Never => (None, None),
            Reported::Before(progress) => (None, of(progress)),
            Reported::Now(progress) => (of(progress), None),
        };
        Self {
            code: Cow::Borrowed(&reading.language.code),
            name: Cow::Borrowed(&reading.language.name),
            completion,
            clock: reading.progress().map(|progress| progress.at.as_millis()),
            clock_completion,
        }
    }
}

impl DepartedEntry<'_> {
    fn departed(self) -> Result<Departed, String> {
        Ok(Departed {
            repository: id(self.id)?,
            code: self.code.into(),
            progress: Progress { completion: completion(self.completion)?, at: Timestamp::from_millis(self.clock) },
            left_at: Timestamp::from_millis(self.left_at),
        })
    }
}

impl<'a> From<&'a Departed> for DepartedEntry<'a> {
    fn from(departed: &'a Departed) -> Self {
        Self {
            id: departed.repository.get(),
            code: Cow::Borrowed(&departed.code),
            completion: departed.progress.completion.get(),
            clock: departed.progress.at.as_millis(),
            left_at: departed.left_at.as_millis(),
        }
    }
}
