//! The format of the state file: bytes to [`Memory`] and back.
//!
//! One JSON document in UTF-8, one line per repository:
//!
//! ```json
//! {"format":"translation-exporter state","version":1,"base_url":"https://api.example.com/","last_full_poll_ns":900,
//! "repositories":[
//! {"id":7,"name":"owner/repo","private":true,"created_at":1700000000000,"attempt":5,"read":{"at":1700000000000,"languages":[
//!   {"code":"de","name":"German","completion":50.5,"clock":1700000000000}]}}
//! ],
//! "missed":[7],
//! "departed":[
//! {"id":7,"code":"fr","completion":12.0,"clock":1700000000000,"left_at":1700000000000}
//! ],
//! "crc32":"00000000"}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `base_url` | the API that everything was read from |
//! | `last_full_poll_ns` | nanoseconds that the last full poll took; absent before there was one |
//! | `id` | of the repository, a number of 1 to 2^63 - 1; repositories are in the order of their ids |
//! | `name` | of the repository or language; absent for a language without one |
//! | `private` | absent where the API does not say |
//! | `created_at`, `left_at`, `at` | times, milliseconds since the Unix epoch; `created_at` absent where not known |
//! | `attempt` | rises with each attempt to read a repository, so that the oldest comes first; absent before the first |
//! | `failures` | how many attempts in a row have failed since the last success; absent if none |
//! | `read` | when all languages of the repository were last read, and what they were; absent before the first time |
//! | `code` | of the language; languages are in the order of the bytes of their codes, each once in a repository |
//! | `completion` | as the API reports it, the shortest decimal that is the same 64-bit float; absent where not known |
//! | `clock` | the time of the language's progress clock; absent where it has none |
//! | `clock_completion` | the completion of the progress clock, where there is no `completion` any more |
//! | `missed` | ids of repositories that the last complete listing lacked and the next has to confirm are gone; absent if none |
//! | `departed` | the clocks of what left, in the order of id and code |
//! | `crc32` | of all bytes before the line break that precedes it, in lower-case hexadecimal |
//!
//! The file of every version begins with the bytes of [`OPENING`] and a number. The number rises if a program that knows
//! only the previous version would misunderstand the file; a program reads versions up to its own, and no later one. A
//! field that may be ignored can be added without a new number: unknown fields are ignored.

use super::{Memory, Remembered};
use crate::{
    model::{Completion, Interner, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Languages, Reading, Reported},
};
use flate2::{Crc, CrcWriter};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::BTreeSet,
    io::{self, BufWriter, IntoInnerError, Write},
    sync::Arc,
    time::Duration,
};

/// The version that this program writes.
const VERSION: u64 = 1;

/// How the file of every version begins, up to the number of its version.
pub(super) const OPENING: &str = r#"{"format":"translation-exporter state","version":"#;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    base_url: Cow<'a, str>,
    last_full_poll_ns: Option<u64>,
    // Raw, so that only one entry at a time exists in two forms: this saves 32 MiB with 300,000 languages.
    #[serde(borrow)]
    repositories: Vec<&'a RawValue>,
    #[serde(default)]
    missed: BTreeSet<u64>,
    #[serde(borrow)]
    departed: Vec<DepartedEntry<'a>>,
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
    #[serde(default, skip_serializing_if = "is_0")]
    attempt: u64,
    #[serde(default, skip_serializing_if = "is_0")]
    failures: u32,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    read: Option<ReadEntry<'a>>,
}

fn is_0<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
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

/// Writes `memory` to `out` piece by piece, without holding the complete text.
pub(super) fn encode(memory: &Memory, base_url: &str, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, CrcWriter::new(out));
    write!(
        out,
        "{OPENING}{VERSION},\"base_url\":{}",
        serde_json::Value::from(base_url)
    )?;
    if let Some(took) = memory.last_full_poll {
        write!(
            out,
            ",\"last_full_poll_ns\":{}",
            u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
        )?;
    }
    out.write_all(b",\n\"repositories\":[")?;
    write_lines(
        &mut out,
        memory.repositories.iter().map(RepositoryEntry::from),
    )?;
    out.write_all(b"],\n")?;
    if !memory.missed.is_empty() {
        out.write_all(b"\"missed\":")?;
        serde_json::to_writer(
            &mut out,
            &memory.missed.iter().map(|id| id.get()).collect::<Vec<_>>(),
        )?;
        out.write_all(b",\n")?;
    }
    out.write_all(b"\"departed\":[")?;
    let departed = memory
        .departed
        .iter()
        .map(|((id, code), (progress, left_at))| DepartedEntry {
            id: id.get(),
            code: Cow::Borrowed(code),
            completion: progress.completion.get(),
            clock: progress.at.as_millis(),
            left_at: left_at.as_millis(),
        });
    write_lines(&mut out, departed)?;
    out.write_all(b"],")?;
    let mut out = out.into_inner().map_err(IntoInnerError::into_error)?;
    let closing = closing(out.crc());
    out.write_all(closing.as_bytes())
}

fn write_lines(
    out: &mut impl Write,
    entries: impl Iterator<Item = impl Serialize>,
) -> io::Result<()> {
    let mut separator = "\n";
    for entry in entries {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(&mut *out, &entry)?;
        separator = ",\n";
    }
    out.write_all(b"\n")
}

/// The end of a file, where the bytes before it have this checksum.
fn closing(crc: &Crc) -> String {
    format!("\n\"crc32\":\"{:08x}\"}}\n", crc.sum())
}

impl<'a> From<&'a Remembered> for RepositoryEntry<'a> {
    fn from(
        Remembered {
            repository,
            last_attempt,
            failures,
            languages,
        }: &'a Remembered,
    ) -> Self {
        Self {
            id: repository.id.get(),
            name: Cow::Borrowed(&repository.name),
            private: repository.visibility.is_private(),
            created_at: repository.created_at.map(Timestamp::as_millis),
            attempt: *last_attempt,
            failures: *failures,
            read: languages.as_deref().map(|languages| ReadEntry {
                at: languages.read_at.as_millis(),
                languages: languages.readings.iter().map(LanguageEntry::from).collect(),
            }),
        }
    }
}

impl<'a> From<&'a Reading> for LanguageEntry<'a> {
    fn from(reading: &'a Reading) -> Self {
        let (completion, progress) = (reading.completion(), reading.progress());
        Self {
            code: Cow::Borrowed(&reading.language.code),
            name: Cow::Borrowed(&reading.language.name),
            completion: completion.map(Completion::get),
            clock: progress.map(|progress| progress.at.as_millis()),
            clock_completion: progress
                .filter(|_| completion.is_none())
                .map(|progress| progress.completion.get()),
        }
    }
}

/// Reads a state file of the API at `base_url`.
///
/// # Errors
///
/// Why, if the bytes are not a valid file of this version of the format, hold a value that could never have been read from
/// the API, or belong to another API.
pub(super) fn decode(bytes: &[u8], base_url: &str) -> Result<Memory, String> {
    check_frame(bytes)?;
    let document: Document<'_> =
        serde_json::from_slice(bytes).map_err(|error| format!("it is damaged: {error}"))?;
    if document.base_url != base_url {
        return Err(format!(
            "it is the state of {}, while api.base_url is {base_url}",
            document.base_url
        ));
    }
    let interner = Interner::default();
    let reader = Reader { known: &interner };
    reader
        .memory(document)
        .ok_or_else(|| "it is damaged: it holds an impossible value".to_owned())
}

/// Checks that the bytes begin and end like a state file of this version, and that the checksum matches.
fn check_frame(bytes: &[u8]) -> Result<(), String> {
    let Some(rest) = bytes.strip_prefix(OPENING.as_bytes()) else {
        let is_cut = OPENING.as_bytes().starts_with(bytes);
        let foreign = "it does not begin as a state file of translation-exporter does";
        return Err(if is_cut {
            "it is damaged: it is empty, or its end is missing"
        } else {
            foreign
        }
        .to_owned());
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match str::from_utf8(&rest[..digits])
        .ok()
        .and_then(|digits| digits.parse().ok())
    {
        Some(VERSION) => {}
        Some(later @ VERSION..) => {
            return Err(format!(
                "it has version {later} of the format, and this program reads up to version {VERSION}"
            ));
        }
        _ => return Err("it is damaged: its version is not a number of a version".to_owned()),
    }
    let mut crc = Crc::new();
    let (body, end) = bytes.split_at(bytes.len().saturating_sub(closing(&crc).len()));
    crc.update(body);
    if end != closing(&crc).as_bytes() {
        return Err(
            "it is damaged: its end is missing, or its checksum does not fit its content"
                .to_owned(),
        );
    }
    Ok(())
}

/// Turns entries into the model; `None` if one holds an impossible value.
struct Reader<'a> {
    known: &'a Interner,
}

impl Reader<'_> {
    fn memory(&self, document: Document<'_>) -> Option<Memory> {
        let repositories = document.repositories.into_iter().map(|raw| {
            let entry = serde_json::from_str(raw.get()).ok()?;
            self.repository(entry)
        });
        let repositories = repositories.collect::<Option<_>>()?;
        let departed = document.departed.into_iter().map(
            |DepartedEntry {
                 id,
                 code,
                 completion,
                 clock,
                 left_at,
             }| {
                let key = (RepositoryId::new(id)?, filled(&code)?.into());
                Some((
                    key,
                    (
                        progress(completion, clock)?,
                        Timestamp::from_millis(left_at),
                    ),
                ))
            },
        );
        Some(Memory {
            last_full_poll: document.last_full_poll_ns.map(Duration::from_nanos),
            repositories,
            missed: document
                .missed
                .into_iter()
                .map(RepositoryId::new)
                .collect::<Option<_>>()?,
            departed: departed.collect::<Option<_>>()?,
        })
    }

    fn repository(&self, entry: RepositoryEntry<'_>) -> Option<Remembered> {
        let repository = Repository {
            id: RepositoryId::new(entry.id)?,
            name: filled(&entry.name)?.into(),
            visibility: Visibility::from_private(entry.private),
            created_at: entry.created_at.map(Timestamp::from_millis),
        };
        let languages = match entry.read {
            Some(read) => Some(self.languages(&read)?),
            None => None,
        };
        Some(Remembered {
            repository: Arc::new(repository),
            last_attempt: entry.attempt,
            failures: entry.failures,
            languages,
        })
    }

    fn languages(&self, read: &ReadEntry<'_>) -> Option<Arc<Languages>> {
        let readings = read.languages.iter().map(|entry| self.reading(entry));
        let readings: Arc<[Reading]> = readings.collect::<Option<_>>()?;
        let is_sorted = readings.is_sorted_by(|one, next| one.language.code < next.language.code);
        is_sorted.then(|| {
            Arc::new(Languages {
                read_at: Timestamp::from_millis(read.at),
                readings,
            })
        })
    }

    fn reading(&self, entry: &LanguageEntry<'_>) -> Option<Reading> {
        let reported = match (entry.clock, entry.completion, entry.clock_completion) {
            (None, None, None) => Reported::Never,
            (Some(at), Some(completion), None) => Reported::Now(progress(completion, at)?),
            (Some(at), None, Some(completion)) => Reported::Before(progress(completion, at)?),
            _ => return None,
        };
        Some(Reading {
            language: self.known.language(filled(&entry.code)?, &entry.name),
            reported,
        })
    }
}

fn progress(completion: f64, at: i64) -> Option<Progress> {
    Some(Progress {
        completion: Completion::new(completion)?,
        at: Timestamp::from_millis(at),
    })
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
