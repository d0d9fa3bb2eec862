//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::sync::lock;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

/// The most languages that are kept: an API that invents languages cannot fill the memory.
const CAPACITY: usize = 100_000;

/// Returns the one copy of a language.
#[derive(Debug, Default)]
pub struct Interner(Mutex<HashSet<Arc<Language>>>);

impl Interner {
    /// `None` if it is a new one, and there is no room for more.
    #[must_use]
    pub fn language(&self, code: &str, name: &str) -> Option<Arc<Language>> {
        let mut known = lock(&self.0);
        let language = Language {
            code: code.into(),
            name: name.into(),
        };
        let has_room = known.len() < CAPACITY || known.contains(&language);
        has_room.then(|| intern(&mut known, language))
    }

    /// Forgets what is no longer used.
    pub fn forget_unused(&self) {
        lock(&self.0).retain(|language| Arc::strong_count(language) > 1);
    }

    /// How many languages are kept.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

/// The one copy of a language among those that are known.
pub(crate) fn intern(known: &mut HashSet<Arc<Language>>, language: Language) -> Arc<Language> {
    if let Some(language) = known.get(&language) {
        return Arc::clone(language);
    }
    let language = Arc::new(language);
    known.insert(Arc::clone(&language));
    language
}

#[cfg(test)]
mod tests {
    use super::*;

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
