//! A pool of shared languages: thousands of repositories have the same few dozen.

use super::Language;
use crate::support::lock::lock;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

/// The maximum number of languages, so that an API that invents languages cannot fill the memory.
const CAPACITY: usize = 100_000;

/// The total size of codes and names, in bytes, at which the pool is full.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The bounded pool of the languages that the API has reported.
///
/// The mutex guards the set of languages; repositories are read concurrently.
#[derive(Debug, Default)]
pub struct Interner(Mutex<KnownLanguages>);

impl Interner {
    /// Returns the shared copy of a language, or `None` if the language is new and the pool is
    /// full.
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

    /// Drops the languages that no repository uses.
    pub fn forget_unused(&self) {
        let KnownLanguages { languages, bytes } = &mut *lock(&self.0);
        languages.retain(|language| Arc::strong_count(language) > 1);
        *bytes = languages.iter().map(|language| size(language)).sum();
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.0).languages.len()
    }
}

/// A set of shared languages without a bound.
#[derive(Debug, Default)]
pub struct KnownLanguages {
    languages: HashSet<Arc<Language>>,
    /// The total size of the codes and names.
    bytes: usize,
}

impl KnownLanguages {
    /// Returns the shared copy of a language.
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

/// Returns the size of the code and the name in bytes.
fn size(language: &Language) -> usize {
    language.code.len() + language.name.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_bounded_by_their_size() {
        let interner = Interner::default();
        let name = "x".repeat(1000);
        let language = |number: usize| interner.language(&number.to_string(), &name);
        let kept: Vec<_> = (0..CAPACITY).map_while(language).collect();
        assert_eq!(kept.len(), 16_705);
        assert!(interner.language("0", &name).is_some(), "it is known");
        drop(kept);
        interner.forget_unused();
        assert!(
            interner.language("new", &name).is_some(),
            "the pool is empty"
        );
    }

    #[test]
    fn equal_languages_share_one_copy() {
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
    fn unused_languages_are_forgotten() {
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
    fn a_full_pool_finds_known_languages_and_refuses_new_ones() {
        let interner = Interner::default();
        let kept: Vec<_> = (0..=CAPACITY)
            .map(|n| interner.language(&n.to_string(), ""))
            .collect();
        assert_eq!(kept.iter().flatten().count(), CAPACITY);
        assert!(interner.language("7", "").is_some(), "it is known");
    }
}
