//! The domain metrics as text, written by hand into a buffer of the caller's.
//!
//! All of them are gauges, so that one text is right in OpenMetrics 1.0.0 and in text 0.0.4, where a UNIT line is a
//! comment. Writing can stop after any sample and go on later: a scrape that reads slowly holds one chunk, not the whole.

use super::number::{push_f64, push_integer, push_timestamp};
use crate::{
    model::{Language, Timestamp},
    snapshot::{Reading, Shown, Snapshot},
};
use std::{ops::Range, sync::Arc};

/// What is told once for all samples of a name.
struct Family {
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
}

macro_rules! read_at_polls {
    ($help:literal) => {
        concat!($help, "; read from the API every poll.interval, not at the scrape.")
    };
}

const COMPLETION_RATIO: Family = Family {
    name: "translation_completion_ratio",
    help: read_at_polls!("Reported completion of a language divided by api.completion_scale, not clamped"),
    unit: Some("ratio"),
};
const LAST_PROGRESS: Family = Family {
    name: "translation_last_progress_timestamp_seconds",
    help: read_at_polls!(
        "When completion was last seen to rise, or first seen, or seen to fall from complete, whichever was last"
    ),
    unit: Some("seconds"),
};
const LANGUAGE_INFO: Family = Family {
    name: "translation_language_info",
    help: read_at_polls!("Name of a target language, empty if it has none; always 1"),
    unit: None,
};
const REPOSITORY_INFO: Family = Family {
    name: "translation_repository_info",
    help: read_at_polls!("Id of a repository and whether it is private: true, false or unknown; always 1"),
    unit: None,
};
const CREATED: Family = Family {
    name: "translation_repository_created_timestamp_seconds",
    help: read_at_polls!("When a repository was created"),
    unit: Some("seconds"),
};
const LANGUAGES: Family = Family {
    name: "translation_repository_languages",
    help: read_at_polls!("Target languages configured for a repository"),
    unit: None,
};
const LAST_SUCCESS: Family = Family {
    name: "translation_repository_last_success_timestamp_seconds",
    help: read_at_polls!("When the languages of a repository were last read in full"),
    unit: Some("seconds"),
};

const STEPS: u8 = 7;

/// How far the writing has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    step: u8,
    /// Whether the family's HELP and TYPE are written; a family without samples has none.
    announced: bool,
    repository: usize,
    reading: usize,
}

impl Cursor {
    pub(super) fn is_done(self) -> bool {
        self.step == STEPS
    }

    fn next_family(&mut self) {
        *self = Self { step: self.step + 1, ..Self::default() };
    }
}

/// Appends samples of `snapshot` from `cursor` on, until `out` holds at least `limit` bytes or all is written.
pub(super) fn fill(snapshot: &Snapshot, cursor: &mut Cursor, out: &mut Vec<u8>, limit: usize) {
    let scale = snapshot.completion_scale;
    let mut clock = Repeated::default();
    let mut writer = Writer { repositories: &snapshot.repositories, cursor, out, limit };
    while !writer.is_full() {
        match writer.cursor.step {
            0 => writer.per_language(
                &COMPLETION_RATIO,
                |_, label| label.extend_from_slice(b"\"} "),
                Reading::completion,
                |out, completion| push_f64(out, completion.get() / scale),
            ),
            1 => writer.per_language(
                &LAST_PROGRESS,
                |_, label| label.extend_from_slice(b"\"} "),
                Reading::progress,
                |out, progress| clock.push(out, progress.at),
            ),
            2 => writer.per_language(
                &LANGUAGE_INFO,
                |language, label| {
                    label.extend_from_slice(b"\",name=\"");
                    push_escaped(label, &language.name);
                    label.extend_from_slice(b"\"} 1");
                },
                |_| Some(()),
                |_, ()| {},
            ),
            3 => writer.per_repository(
                &REPOSITORY_INFO,
                |shown| Some(&shown.repository),
                |out, repository| {
                    out.extend_from_slice(b"\",id=\"");
                    out.extend_from_slice(itoa::Buffer::new().format(repository.id.get()).as_bytes());
                    out.extend_from_slice(b"\",private=\"");
                    out.extend_from_slice(repository.visibility.private_label().as_bytes());
                    out.extend_from_slice(b"\"} 1");
                },
            ),
            4 => writer.per_repository(&CREATED, |shown| shown.repository.created_at, push_timestamp_value),
            5 => writer.per_repository(
                &LANGUAGES,
                |shown| shown.condition.languages(),
                |out, languages| {
                    out.extend_from_slice(b"\"} ");
                    push_integer(out, languages.readings.len());
                },
            ),
            6 => writer.per_repository(&LAST_SUCCESS, |shown| shown.condition.last_success(), push_timestamp_value),
            _ => return,
        }
    }
}

fn push_timestamp_value(out: &mut Vec<u8>, at: Timestamp) {
    out.extend_from_slice(b"\"} ");
    push_timestamp(out, at);
}

/// The timestamp that was written last: that of the next language is mostly the same, until translators are at work.
#[derive(Debug, Default)]
struct Repeated {
    at: Option<Timestamp>,
    text: Vec<u8>,
}

impl Repeated {
    fn push(&mut self, out: &mut Vec<u8>, at: Timestamp) {
        if self.at != Some(at) {
            self.at = Some(at);
            self.text.clear();
            push_timestamp(&mut self.text, at);
        }
        out.extend_from_slice(&self.text);
    }
}

struct Writer<'a> {
    repositories: &'a [Shown],
    cursor: &'a mut Cursor,
    out: &'a mut Vec<u8>,
    limit: usize,
}

impl<'a> Writer<'a> {
    fn is_full(&self) -> bool {
        self.out.len() >= self.limit
    }

    /// `label` writes what stands between the code of a language and the value; `pick` says what a reading has to tell,
    /// if anything, and `write` writes that.
    fn per_language<V>(
        &mut self,
        family: &Family,
        label: impl Fn(&Language, &mut Vec<u8>),
        pick: impl Fn(&Reading) -> Option<V>,
        mut write: impl FnMut(&mut Vec<u8>, V),
    ) {
        let mut prefix = Vec::with_capacity(256);
        // Repositories have much the same languages in the same order, in texts that they share.
        let mut labels = Labels::default();
        let repositories = self.repositories;
        while let Some(shown) = repositories.get(self.cursor.repository) {
            if self.is_full() {
                return;
            }
            let readings = shown.condition.languages().map_or(&[][..], |languages| &languages.readings);
            prefix.clear();
            push_first_label(&mut prefix, family, &shown.repository.name);
            prefix.extend_from_slice(b"\",language=\"");
            while let Some(reading) = readings.get(self.cursor.reading) {
                if self.is_full() {
                    return;
                }
                let place = self.cursor.reading;
                self.cursor.reading += 1;
                if let Some(value) = pick(reading) {
                    self.announce(family);
                    self.out.extend_from_slice(&prefix);
                    self.out.extend_from_slice(labels.of(place, &reading.language, &label));
                    write(self.out, value);
                    self.out.push(b'\n');
                }
            }
            self.cursor.repository += 1;
            self.cursor.reading = 0;
        }
        self.cursor.next_family();
    }

    /// As [`Self::per_language`], one sample at most for each repository.
    fn per_repository<V>(
        &mut self,
        family: &Family,
        pick: impl Fn(&'a Shown) -> Option<V>,
        write: impl Fn(&mut Vec<u8>, V),
    ) {
        let repositories = self.repositories;
        while let Some(shown) = repositories.get(self.cursor.repository) {
            if self.is_full() {
                return;
            }
            self.cursor.repository += 1;
            if let Some(value) = pick(shown) {
                self.announce(family);
                push_first_label(self.out, family, &shown.repository.name);
                write(self.out, value);
                self.out.push(b'\n');
            }
        }
        self.cursor.next_family();
    }

    fn announce(&mut self, family: &Family) {
        if !self.cursor.announced {
            self.cursor.announced = true;
            push_metadata(self.out, family.name, family.help, family.unit);
        }
    }
}

/// What was last written after the prefix for the language at each place of a repository.
#[derive(Default)]
struct Labels<'a> {
    known: Vec<Option<(&'a Arc<Language>, Range<usize>)>>,
    text: Vec<u8>,
}

impl<'a> Labels<'a> {
    fn of(&mut self, place: usize, language: &'a Arc<Language>, write: impl Fn(&Language, &mut Vec<u8>)) -> &[u8] {
        if self.known.len() <= place {
            self.known.resize(place + 1, None);
        }
        let range = match &self.known[place] {
            Some((known, range)) if Arc::ptr_eq(known, language) => range.clone(),
            _ => {
                let start = self.text.len();
                push_escaped(&mut self.text, &language.code);
                write(language, &mut self.text);
                self.known[place] = Some((language, start..self.text.len()));
                start..self.text.len()
            }
        };
        &self.text[range]
    }
}

fn push_first_label(out: &mut Vec<u8>, family: &Family, repository: &str) {
    out.extend_from_slice(family.name.as_bytes());
    out.extend_from_slice(b"{repo=\"");
    push_escaped(out, repository);
}

/// Appends HELP, TYPE and UNIT of a gauge. `help` needs no escape, and `unit`, if any, ends `name`.
pub(super) fn push_metadata(out: &mut Vec<u8>, name: &str, help: &str, unit: Option<&str>) {
    for part in ["# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for part in unit.map(|unit| ["# UNIT ", name, " ", unit, "\n"]).iter().flatten() {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Appends the value of a label, with its backslashes, quotes and line feeds escaped.
fn push_escaped(out: &mut Vec<u8>, value: &str) {
    let needs_escape = |byte: u8| matches!(byte, b'\\' | b'"' | b'\n');
    // Nearly no value does, which this finds out for many bytes at once, since it does not stop at the first.
    if !value.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        return out.extend_from_slice(value.as_bytes());
    }
    for byte in value.bytes() {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            byte if needs_escape(byte) => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
}
