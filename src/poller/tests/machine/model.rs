//! The model of the poller: a map of what the API said, and when.

use crate::support::clock::{DAY, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// A language of a repository.
pub type Key = (u64, &'static str);

/// The languages of one response by code.
pub type Languages = BTreeMap<&'static str, Option<f64>>;

/// A repository of the state: its name, and its languages with the time of the read.
pub type Kept = (String, Option<(Timestamp, Languages)>);

/// One response with the languages of a repository.
#[derive(Debug, Clone)]
pub struct Said {
    pub at: Instant,
    /// The time that the process had then.
    pub time: Timestamp,
    pub languages: Languages,
}

/// A repository that is polled.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub name: String,
    /// The newest response last.
    pub said: Vec<Said>,
}

/// The record of a language, which outlasts its departure.
#[derive(Debug, Clone)]
pub struct Record {
    /// The completions with the times at which they began.
    log: Vec<(Timestamp, f64)>,
    pub progress_at: Timestamp,
    /// `false` if a kill may have lost a part of it.
    pub is_certain: bool,
}

impl Record {
    pub fn completion(&self) -> Option<f64> {
        Some(self.log.last()?.1)
    }

    /// Returns the completion at the beginning of a day, or the first one.
    fn before(&self, date: Timestamp) -> f64 {
        let mut log = self.log.iter().rev();
        let known = log.find(|(at, _)| *at < date);
        known.unwrap_or(&self.log[0]).1
    }

    /// Returns the highest completion of the ends of the last seven days, if it is above the last.
    pub fn fallen_from(&self, read_at: Timestamp) -> Option<f64> {
        let today = read_at.day_start();
        let ends = (0..7).map(|ago| self.before(today.saturating_sub(DAY * ago)));
        ends.max_by(f64::total_cmp)
            .filter(|highest| Some(*highest) > self.completion())
    }

    fn observe(&mut self, completion: f64, now: Timestamp) {
        self.progress_at = self.progress_at.min(now);
        for (at, _) in &mut self.log {
            // The days of a clock that was set back over midnight are one day off.
            self.is_certain &= at.day_start() <= now.day_start();
            *at = now.min(*at);
        }
        let before = self.completion().unwrap_or_default();
        if before.total_cmp(&completion).is_eq() {
            return;
        }
        let ends = self.log.iter().skip(1).map(|(at, _)| *at);
        let mut seen = Vec::new();
        for ((_, value), end) in self.log.iter().zip(ends).rev() {
            let is_new = !seen.contains(value) && before.total_cmp(value).is_ne();
            if is_new && now.since(end) < DAY * 2 && seen.len() < 4 {
                seen.push(*value);
            }
        }
        if completion > before && !seen.contains(&completion) {
            self.progress_at = now;
        }
        self.log.push((now, completion));
    }
}

/// The settings of a poller that a restart changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filters {
    /// Leaves out the repositories whose id ends with this digit.
    pub digit: Option<u8>,
    pub language: Option<&'static str>,
}

impl Filters {
    pub fn accepts(self, name: &str) -> bool {
        self.digit
            .is_none_or(|digit| !name.ends_with(&digit.to_string()))
    }
}

/// Returns whether a completion lies between 0 and the scale, to a millionth of that.
pub fn is_within(completion: f64, scale: f64) -> bool {
    (-1e-6..=1.0 + 1e-6).contains(&(completion / scale))
}

#[derive(Debug, Default)]
pub struct Model {
    /// The repositories whose removal waits for a confirmation; `None` if a kill may have lost
    /// some.
    pub missed: Option<BTreeSet<u64>>,
    /// The repositories that a listing after a kill may or may not have removed.
    pub unclear: BTreeSet<u64>,
    pub polled: BTreeMap<u64, Known>,
    pub records: BTreeMap<Key, Record>,
    pub excluded: Option<&'static str>,
    /// The languages that a bad entry may be, each with the time since which.
    hidden: BTreeMap<Key, Timestamp>,
}

impl Model {
    pub fn new() -> Self {
        Self {
            missed: Some(BTreeSet::new()),
            ..Self::default()
        }
    }

    /// Notes the end of a complete listing.
    pub fn complete(&mut self, listing: BTreeMap<u64, String>, filters: Filters) {
        let ids = self.polled.keys();
        let missing: BTreeSet<_> = ids
            .filter(|id| !listing.contains_key(id))
            .copied()
            .collect();
        let confirmed = match &self.missed {
            _ if missing.len() * 2 <= self.polled.len() => missing.clone(),
            None => {
                self.unclear.clone_from(&missing);
                BTreeSet::new()
            }
            Some(missed) => missing.intersection(missed).copied().collect(),
        };
        let is_unclear = self.missed.is_none() && !missing.is_subset(&confirmed);
        let mut listed = self.names();
        // A listed id takes its name at once from one that the listing lacks.
        let names: BTreeSet<_> = listing.values().collect();
        listed.retain(|id, name| {
            let is_lost = confirmed.contains(id) || names.contains(name);
            !(missing.contains(id) && is_lost)
        });
        let waiting = missing.into_iter().filter(|id| listed.contains_key(id));
        self.missed = (!is_unclear).then(|| waiting.collect());
        listed.extend(listing);
        self.select(listed, filters);
    }

    /// Notes the end of a listing that broke off.
    pub fn incomplete(&mut self, listing: BTreeMap<u64, String>, filters: Filters) {
        let mut listed = self.names();
        let names: BTreeSet<_> = listed.values().cloned().collect();
        for (id, name) in listing {
            if !names.contains(&name) {
                listed.entry(id).or_insert(name);
            }
        }
        self.select(listed, filters);
    }

    fn names(&self) -> BTreeMap<u64, String> {
        let polled = self.polled.iter();
        polled
            .map(|(id, known)| (*id, known.name.clone()))
            .collect()
    }

    /// Applies the filters, as a process does at its start.
    pub fn restart(&mut self, filters: Filters) {
        self.select(self.names(), filters);
    }

    /// Applies the filters. If two repositories have one name, the higher id is polled.
    fn select(&mut self, listed: BTreeMap<u64, String>, filters: Filters) {
        let highest: BTreeMap<_, _> = listed
            .into_iter()
            .filter(|(_, name)| filters.accepts(name))
            .map(|(id, name)| (name, id))
            .collect();
        let polled: BTreeMap<_, _> = highest.into_iter().map(|(name, id)| (id, name)).collect();
        self.polled.retain(|id, _| polled.contains_key(id));
        for (id, name) in polled {
            self.polled.entry(id).or_default().name = name;
        }
    }

    /// Notes the languages of a repository; `scale` is the completion that means finished.
    /// With a code that cannot be read, no language leaves within a day.
    pub fn said(
        &mut self,
        id: u64,
        (mut languages, has_hidden): (Languages, bool),
        scale: f64,
        time: Timestamp,
    ) {
        for (code, completion) in &languages {
            if let Some(completion) = *completion {
                self.completed((id, code), completion, scale, time);
            }
        }
        for code in languages.keys() {
            self.hidden.remove(&(id, code));
        }
        if let Some(known) = self.polled.get_mut(&id) {
            let before = known.said.last().map(|said| said.languages.keys());
            for code in before.into_iter().flatten().filter(|_| has_hidden) {
                if languages.contains_key(code) {
                    continue;
                }
                let since = *self.hidden.entry((id, code)).or_insert(time);
                if time.since(since) < DAY {
                    languages.insert(code, None);
                }
            }
            known.said.push(Said {
                at: Instant::now(),
                time,
                languages,
            });
        }
    }

    fn completed(&mut self, key: Key, completion: f64, scale: f64, now: Timestamp) {
        if !is_within(completion, scale) {
            return;
        }
        let record = self.records.entry(key).or_insert(Record {
            log: vec![(now, completion)],
            progress_at: now,
            is_certain: true,
        });
        record.observe(completion, now);
    }

    /// Forgets everything, as a process does whose state file is damaged.
    pub fn forget(&mut self) {
        *self = Self {
            excluded: self.excluded,
            ..Self::new()
        };
    }

    /// Follows a process that was killed: it may have lost what it did not save.
    pub fn lose(&mut self, kept: &BTreeMap<u64, Kept>) {
        self.missed = None;
        self.unclear.clear();
        self.records
            .values_mut()
            .for_each(|record| record.is_certain = false);
        let before = std::mem::take(&mut self.polled);
        for (id, (name, languages)) in kept {
            let mut known = before.get(id).cloned().unwrap_or_default();
            known.name.clone_from(name);
            match languages {
                None => known.said.clear(),
                Some((read_at, languages)) => {
                    let mut times = known.said.iter().map(|said| said.time);
                    let saved = times.rposition(|time| time == *read_at);
                    known.said.truncate(saved.map_or(0, |saved| saved + 1));
                    // It may have been saved before a restart excluded the repository.
                    let mut last = known.said.pop().unwrap_or_else(|| Said {
                        at: Instant::now(),
                        time: *read_at,
                        languages: Languages::new(),
                    });
                    last.languages.clone_from(languages);
                    known.said.push(last);
                    for (code, completion) in languages {
                        if let Some(record) = self.records.get_mut(&(*id, *code))
                            && let Some(completion) = completion
                        {
                            record.log.push((*read_at, *completion));
                        }
                    }
                }
            }
            self.polled.insert(*id, known);
        }
    }
}
