//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::sync::lock;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

/// Returns the one copy of a language.
#[derive(Debug, Default)]
pub struct Interner(Mutex<HashSet<Arc<Language>>>);

impl Interner {
    #[must_use]
    pub fn language(&self, code: &str, name: &str) -> Arc<Language> {
        let language = Language { code: code.into(), name: name.into() };
        let mut known = lock(&self.0);
        if let Some(known) = known.get(&language) {
            return Arc::clone(known);
        }
        let language = Arc::new(language);
        known.insert(Arc::clone(&language));
        language
    }

    /// Forgets what is no longer used, so that an API that invents languages cannot fill the memory.
    pub fn forget_unused(&self) {
        lock(&self.0).retain(|language| Arc::strong_count(language) > 1);
    }

    /// How many languages are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_language_is_kept_once() {
        let interner = Interner::default();
        let german = interner.language("de", "German");
        assert!(Arc::ptr_eq(&german, &interner.language("de", "German")));
        let other = interner.language("de", "Deutsch");
        assert_eq!((&*other.code, &*other.name), ("de", "Deutsch"));
    }

    #[test]
    fn what_nothing_uses_is_forgotten() {
        let interner = Interner::default();
        let kept = interner.language("de", "German");
        let _ = interner.language("de", "Deutsch");
        let _ = interner.language("fr", "French");
        interner.forget_unused();
        assert_eq!(interner.len(), 1);
        assert!(Arc::ptr_eq(&kept, &interner.language("de", "German")));
    }
}
