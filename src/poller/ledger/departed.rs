//! The records of departed languages. A language that returns continues with its old record.

use crate::{
    domain::{RepositoryId, record::Record},
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for which the record of a departed language is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of departed records that are kept in any case. The limit rises to the number of known
/// languages.
const MOST: usize = 100_000;

/// The records of departed languages by the id of their repository and their code.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Departed(pub BTreeMap<(RepositoryId, Arc<str>), Record>);

impl Departed {
    /// Keeps the record of a language that leaves at `now`, if it has a clock.
    pub fn keep(&mut self, id: RepositoryId, mut record: Record, now: Timestamp) {
        if record.known.is_some() {
            record.leave(now);
            let key = (id, Arc::clone(&record.language.code));
            self.0.insert(key, record);
        }
    }

    /// Takes the record of a language that comes back.
    pub fn take(&mut self, id: RepositoryId, code: &Arc<str>) -> Option<Record> {
        if self.0.is_empty() {
            return None;
        }
        let mut record = self.0.remove(&(id, Arc::clone(code)))?;
        record.come_back();
        Some(record)
    }

    /// Forgets the records that left long ago.
    pub fn forget_old(&mut self, now: Timestamp) {
        let is_recent = |left_at| now.since(left_at) < KEPT_FOR;
        self.0
            .retain(|_, record| record.left_at().is_some_and(is_recent));
    }

    /// Forgets the oldest records beyond the larger of `languages` and [`MOST`]. An API that
    /// invents ids or codes cannot fill the memory.
    pub fn forget_excess(&mut self, languages: usize) {
        let excess = self.0.len().saturating_sub(languages.max(MOST));
        if excess == 0 {
            return;
        }
        let all = self.0.iter();
        let mut oldest: Vec<_> = all
            .map(|(key, record)| (record.left_at(), key.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, key) in oldest.into_iter().take(excess) {
            self.0.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::advance, *};
    use crate::domain::{Completion, Language, ReportedLanguage};

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
            let read = advance(&mut departed, id, languages, response, 100.0, at);
            codes.push(
                departed
                    .0
                    .keys()
                    .map(|(_, code)| code.to_string())
                    .collect::<Vec<_>>(),
            );
            languages = Some(Arc::new(read));
        }
        assert_eq!(codes, [vec![], vec!["fr"], vec!["de", "fr"], vec![]]);
        for record in &*languages.unwrap().records {
            assert_eq!(record.last_progress(at), Some(START.saturating_add(HOUR)));
            assert_eq!(record.past, None);
        }
    }

    #[test]
    fn an_api_that_invents_languages_does_not_fill_the_memory() {
        let id = RepositoryId::new(1).unwrap();
        let mut departed = Departed::default();
        let (mut now, mut before) = (START, None);
        for poll in 0..6 {
            now = now.saturating_add(HOUR);
            let mut languages: Vec<_> = (0..30_000)
                .map(|n| target(&format!("{n}-of-{poll}"), 50.0))
                .collect();
            languages.sort_by(|a, b| a.language.code.cmp(&b.language.code));
            let read = advance(&mut departed, id, before, languages, 100.0, now);
            departed.forget_excess(read.records.len());
            before = Some(Arc::new(read));
        }
        assert_eq!(departed.0.len(), 100_000);
        let kept = |poll: &str| {
            let codes = departed.0.keys().map(|(_, code)| code);
            codes.filter(|code| code.ends_with(poll)).count()
        };
        let kept = ["-of-0", "-of-1", "-of-4"].map(kept);
        assert_eq!(kept, [0, 10_000, 30_000], "the oldest went first");
    }
}
