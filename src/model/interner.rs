//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::sync::lock;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// The most languages that are kept: an API that invents languages cannot fill the memory.
const CAPACITY: usize = 100_000;

/// The most bytes of their codes and names.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Returns the one copy of a language.
#[derive(Debug, Default)]
pub struct Interner(Mutex<KnownLanguages>);

impl Interner {
    /// `None` if it is a new one, and there is no room for more.
    pub fn language(&self, code: &str, name: &str) -> Option<Arc<Language>> {
        let mut known = lock(&self.0);
        if known.count < CAPACITY && known.bytes < MOST_BYTES {
            Some(known.intern(code, name))
        } else {
            known.find(code, name)
        }
    }

    /// Forgets what is no longer used.
    pub fn forget_unused(&self) {
        let known = &mut *lock(&self.0);
        (known.count, known.bytes) = (0, 0);
        known.languages.retain(|_, by_name| {
            by_name.retain(|_, language| Arc::strong_count(language) > 1);
            known.count += by_name.len();
            let bytes = by_name.values().map(|language| size(language));
            known.bytes += bytes.sum::<usize>();
            !by_name.is_empty()
        });
    }

    /// How many languages are kept.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.0).count
    }
}

/// Languages by code and then by name: a look-up by both at once would have to copy them.
#[derive(Debug, Default)]
pub struct KnownLanguages {
    languages: BTreeMap<Arc<str>, BTreeMap<Box<str>, Arc<Language>>>,
    count: usize,
    bytes: usize,
}

impl KnownLanguages {
    fn find(&self, code: &str, name: &str) -> Option<Arc<Language>> {
        self.languages.get(code)?.get(name).cloned()
    }

    /// The one copy of a language.
    pub fn intern(&mut self, code: &str, name: &str) -> Arc<Language> {
        if let Some(language) = self.find(code, name) {
            return language;
        }
        self.count += 1;
        let language = Arc::new(Language {
            code: code.into(),
            name: name.into(),
        });
        self.bytes += size(&language);
        let by_name = self.languages.entry(Arc::clone(&language.code));
        let by_name = by_name.or_default();
        by_name.insert(name.into(), Arc::clone(&language));
        language
    }
}

/// The bytes of its code and name.
fn size(language: &Language) -> usize {
    language.code.len() + language.name.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_bounded_by_their_bytes() {
        let interner = Interner::default();
        let name = "x".repeat(1000);
        let language = |number: usize| interner.language(&number.to_string(), &name);
        let kept: Vec<_> = (0..CAPACITY).map_while(language).collect();
        assert_eq!(kept.len(), 16_705);
        assert!(interner.language("0", &name).is_some(), "it is known");
    }

    #[test]
    fn one_language_is_kept_once() {
        let interner = Interner::default();
        let german = interner.language("de", "German").unwrap();
        assert!(Arc::ptr_eq(
            &german,
            &interner.language("de", "German").unwrap()
        ));
        let other = interner.language("de", "Deutsch").unwrap();
        assert_eq!((&*other.code, &*other.name), ("de", "Deutsch"));
    }

    #[test]
    fn what_nothing_uses_is_forgotten() {
        let interner = Interner::default();
        let kept = interner.language("de", "German").unwrap();
        let _ = interner.language("de", "Deutsch");
        let _ = interner.language("fr", "French");
        interner.forget_unused();
        assert_eq!(interner.count(), 1);
        assert!(Arc::ptr_eq(
            &kept,
            &interner.language("de", "German").unwrap()
        ));
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let interner = Interner::default();
        let kept: Vec<_> = (0..=CAPACITY)
            .map(|n| interner.language(&n.to_string(), ""))
            .collect();
        assert_eq!(kept.iter().flatten().count(), CAPACITY);
        assert!(interner.language("7", "").is_some(), "known ones are found");
    }
}
