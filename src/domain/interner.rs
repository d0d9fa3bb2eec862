//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::support::lock::lock;
use std::{
    collections::HashSet,
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
        let language = Language {
            code: code.into(),
            name: name.into(),
        };
        let mut known = lock(&self.0);
        if known.languages.len() < CAPACITY && known.bytes < MOST_BYTES {
            Some(known.intern(language))
        } else {
            known.languages.get(&language).cloned()
        }
    }

    /// Forgets what is no longer used.
    pub fn forget_unused(&self) {
        let KnownLanguages { languages, bytes } = &mut *lock(&self.0);
        languages.retain(|language| Arc::strong_count(language) > 1);
        *bytes = languages.iter().map(|language| size(language)).sum();
    }

    /// How many languages are kept.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.0).languages.len()
    }
}

/// Each language once.
#[derive(Debug, Default)]
pub struct KnownLanguages {
    languages: HashSet<Arc<Language>>,
    /// Of their codes and names.
    bytes: usize,
}

impl KnownLanguages {
    /// The one copy of a language.
    pub fn intern(&mut self, language: Language) -> Arc<Language> {
        if let Some(known) = self.languages.get(&language) {
            return Arc::clone(known);
        }
        self.bytes += size(&language);
        let language = Arc::new(language);
        self.languages.insert(Arc::clone(&language));
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
        drop(kept);
        interner.forget_unused();
        assert!(interner.language("new", &name).is_some(), "there is room");
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
