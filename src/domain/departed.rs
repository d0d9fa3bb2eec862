//! The records of departed languages. A language that returns continues with its old record.

use crate::{
    domain::{
        ReportedLanguage, RepositoryId,
        record::{Languages, Record},
    },
    support::clock::Timestamp,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for which the record of a departed language is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A language that left its repository, or whose repository left the account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DepartedLanguage {
    pub left_at: Timestamp,
    pub record: Record,
}

/// The departed languages by the id of their repository and their code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Departed(pub BTreeMap<RepositoryId, BTreeMap<Arc<str>, DepartedLanguage>>);

impl Departed {
    pub fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Keeps the record of a language that leaves, if it has a clock.
    pub fn keep(&mut self, id: RepositoryId, record: &Record, left_at: Timestamp) {
        if record.known.is_some() {
            let code = Arc::clone(&record.language.code);
            let record = record.clone();
            let departed = DepartedLanguage { left_at, record };
            self.0.entry(id).or_default().insert(code, departed);
        }
    }

    /// Takes the record of a language that comes back.
    fn take(&mut self, id: RepositoryId, code: &str) -> Option<Record> {
        let departed = self.0.get_mut(&id)?.remove(code)?;
        Some(departed.record)
    }

    pub fn forget_old(&mut self, now: Timestamp) {
        self.0.retain(|_, languages| {
            languages.retain(|_, departed| now.since(departed.left_at) < KEPT_FOR);
            !languages.is_empty()
        });
    }

    /// Returns the records of a repository after a response of `now`. Takes the records of
    /// languages that come back, and keeps the records of languages that leave.
    pub fn advance(
        &mut self,
        id: RepositoryId,
        before: Option<Arc<Languages>>,
        languages: Vec<ReportedLanguage>,
        scale: f64,
        now: Timestamp,
    ) -> Languages {
        let before = before.map_or_else(Arc::default, |before| Arc::clone(&before.records));
        let mut left = before.iter().peekable();
        let mut records = Vec::with_capacity(languages.len());
        for ReportedLanguage {
            language,
            completion,
        } in languages
        {
            while let Some(gone) = left.next_if(|one| one.language.code < language.code) {
                self.keep(id, gone, now);
            }
            let known = left.next_if(|one| one.language.code == language.code);
            let known = known.cloned().or_else(|| self.take(id, &language.code));
            let mut record = known.unwrap_or_else(|| Record::new(Arc::clone(&language)));
            // An unchanged language keeps its memory.
            if record.language != language {
                record.language = language;
            }
            record.observe(completion, scale, now);
            records.push(record);
        }
        for gone in left {
            self.keep(id, gone, now);
        }
        // Unchanged records stay shared with the published snapshots.
        let records = if *before == *records {
            before
        } else {
            records.into()
        };
        Languages {
            read_at: now,
            records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Completion, Language};

    const HOUR: Duration = Duration::from_secs(3600);
    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn target(code: &str, completion: f64) -> ReportedLanguage {
        ReportedLanguage {
            language: Arc::new(Language {
                code: code.into(),
                name: "".into(),
            }),
            completion: Completion::new(completion),
        }
    }

    #[test]
    fn a_language_that_comes_back_goes_on_where_it_left() {
        let id = RepositoryId::new(1).unwrap();
        let mut departed = Departed::default();
        let mut at = START;
        let mut languages = None;
        let mut codes = Vec::new();
        let both = || vec![target("de", 10.0), target("fr", 20.0)];
        for response in [both(), vec![target("de", 10.0)], Vec::new(), both()] {
            at = at.saturating_add(HOUR);
            let read = departed.advance(id, languages, response, 100.0, at);
            let gone = departed.0.values().flat_map(BTreeMap::keys);
            codes.push(gone.map(ToString::to_string).collect::<Vec<_>>());
            languages = Some(Arc::new(read));
        }
        assert_eq!(codes, [vec![], vec!["fr"], vec!["de", "fr"], vec![]]);
        for record in &*languages.unwrap().records {
            assert_eq!(record.last_progress(at), Some(START.saturating_add(HOUR)));
            assert_eq!(record.past, None);
        }
    }
}
