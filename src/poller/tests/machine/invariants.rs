//! The invariants of each publication.

mod diagnosis;
mod readiness;

use super::{
    super::*,
    REQUIRED,
    model::{Key, Languages, Model, is_within},
    world::{CODES, World},
};
use crate::domain::{Completion, record::Record};
use std::collections::BTreeMap;

/// The age at which data become stale, and the time after which a publication shows it.
const STALE_AFTER: Duration = HOUR;
const SHOWN_WITHIN: Duration = Duration::from_secs(61);

/// Returns the languages of a repository with their completions.
pub fn completions<'a>(records: impl Iterator<Item = &'a Record>) -> Languages {
    let completion = |record: &Record| {
        let completion = record.reported.map(Completion::get);
        (code(&record.language.code), completion)
    };
    records.map(completion).collect()
}

fn code(shown: &str) -> &'static str {
    CODES.into_iter().find(|code| *code == shown).unwrap()
}

impl World {
    /// Checks a publication.
    pub fn check(&mut self, document: &Document) {
        let (mut found, status) = (Vec::new(), &document.status);
        if document.taken_at != self.now() {
            found.push(format!("{} is shown as the time", document.taken_at));
        }
        self.check_values(document, &mut found);
        if let (Some(next), Some(last)) = (status.next_poll_at, &status.last) {
            self.end_listing();
            self.check_repositories(document, &mut found);
            self.check_outcome(document, last, &mut found);
            self.check_clocks(document, &mut found);
            self.check_staleness(document, &mut found);
            self.check_next_poll(next, document, &mut found);
            self.check_readiness(document, &mut found);
        }
        self.check_diagnosis(document, &mut found);
        for what in found {
            self.violation(&what);
        }
    }

    /// Checks that the API said each shown value, and that no older one is shown than the last of
    /// this moment or the one before it.
    fn check_values(&self, document: &Document, found: &mut Vec<String>) {
        for shown in &document.rows {
            let id = shown.repository.id.get();
            if !shown.is_read() {
                continue;
            }
            let shown = shown.known.iter();
            let languages: Languages = shown
                .map(|one| (code(one.code()), one.completion.map(Completion::get)))
                .collect();
            let said = self.model.polled.get(&id).map_or(&[][..], |it| &it.said);
            let now = Instant::now();
            let may_lag = said.last().is_some_and(|said| said.at == now);
            let newest = said.iter().rev().take(1 + usize::from(may_lag));
            let mut newest = newest.map(|said| {
                let mut said = said.languages.clone();
                said.retain(|code, _| Some(*code) != self.model.excluded);
                said
            });
            if !newest.any(|said| said == languages) {
                found.push(format!(
                    "{id} shows {languages:?}, and the API said {said:?}"
                ));
            }
        }
    }

    fn check_repositories(&mut self, document: &Document, found: &mut Vec<String>) {
        let shown: BTreeMap<_, _> = document
            .rows
            .iter()
            .map(|shown| (shown.repository.id.get(), shown.repository.name.to_string()))
            .collect();
        let Model {
            polled, unclear, ..
        } = &mut self.model;
        for id in std::mem::take(unclear) {
            if !shown.contains_key(&id) {
                polled.remove(&id);
            }
        }
        let expected = polled.iter().map(|(id, known)| (*id, known.name.clone()));
        let expected: BTreeMap<_, _> = expected.collect();
        if shown != expected {
            found.push(format!("shown are {shown:?}, and expected {expected:?}"));
        }
    }

    fn check_outcome(&self, document: &Document, last: &PollOutcome, found: &mut Vec<String>) {
        let read = self.poll.reads.len();
        let of = self.model.polled.len();
        if last.read != read || last.total != of || last.failed + read > of {
            found.push(format!("{read} of {of} were read, and counted {last:?}"));
        }
        let is_success = self.poll.is_listed && read == of;
        if last.is_success() != is_success {
            found.push(format!("a success is {is_success}: {last:?}"));
        }
        let is_outage = read == 0 && of > 0 && self.poll.is_dead;
        if is_outage && !last.is_outage() || last.is_up() && (read == 0 && of > 0) {
            found.push(format!("the outage is not told: {last:?}"));
        }
        let mut known = document.rows.iter().flat_map(|row| &*row.known);
        if known.any(|one| one.completion.is_some()) && !document.status.has_data {
            found.push("there are data, and none are said to be".to_owned());
        }
        if last.is_listed != self.poll.is_listed {
            found.push(format!("the listing is misjudged: {last:?}"));
        }
        for shown in &document.rows {
            let label = shown.state.label();
            let is_read = self.poll.reads.contains_key(&shown.repository.id.get());
            if is_read && label == "failing" || last.is_success() && label == "pending" {
                found.push(format!("{} is {label}", shown.repository.id));
            }
        }
    }

    fn check_next_poll(&mut self, next: Timestamp, document: &Document, found: &mut Vec<String>) {
        let now = self.now();
        let ended = *self.poll.ended.get_or_insert_with(Instant::now);
        let held = document
            .status
            .held_until
            .map_or(Duration::ZERO, |at| at.since(now));
        let latest = document
            .settings
            .interval
            .saturating_sub(ended.elapsed())
            .max(held);
        let wait = next.since(now);
        if wait > latest || wait < held {
            found.push(format!("the next poll is in {wait:?}: {held:?} {latest:?}"));
        }
    }

    fn check_clocks(&self, document: &Document, found: &mut Vec<String>) {
        let now = self.now();
        for shown in &document.rows {
            for one in shown.translations() {
                let key: Key = (shown.repository.id.get(), code(one.code()));
                let expected = self.model.records.get(&key);
                if expected.is_some_and(|expected| !expected.is_certain) {
                    continue;
                }
                // An unknown completion keeps its clock and its fall, but shows neither.
                let reported = one.completion.map(Completion::get);
                let expected = expected.filter(|it| reported == it.completion());
                let progress = one.last_progress();
                if progress != expected.map(|expected| expected.progress_at.min(now)) {
                    found.push(format!("{key:?} has the clock {progress:?}: {expected:?}"));
                }
                let fallen_from = one.fall.as_ref().map(|fall| fall.ratio);
                let read_at = shown.read_at.unwrap_or(now).min(now);
                let from = expected.and_then(|expected| expected.fallen_from(read_at));
                let scale = document.settings.scale;
                let from = from.and_then(|from| scale.ratio(Completion::new(from)?));
                if fallen_from != from.filter(|_| !document.is_scale_suspect) {
                    found.push(format!("{key:?} fell from {fallen_from:?}: {expected:?}"));
                }
            }
        }
    }

    fn check_staleness(&self, document: &Document, found: &mut Vec<String>) {
        for shown in &document.rows {
            let id = shown.repository.id.get();
            let known = self.model.polled.get(&id);
            let Some(last) = known.and_then(|known| known.said.last()) else {
                continue;
            };
            let age = self.now().since(last.time);
            let is_stale = shown.state.label() == "stale";
            let is_read = self.poll.reads.contains_key(&id);
            if is_stale && age <= STALE_AFTER
                || !is_stale && !is_read && age > STALE_AFTER + SHOWN_WITHIN
            {
                found.push(format!("{id} is {}, {age:?} old", shown.state.label()));
            }
        }
    }
}
