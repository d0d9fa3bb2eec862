//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::sync::lock;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// Returns the one copy of a language.
#[derive(Debug, Default)]
pub struct Interner(Mutex<BTreeMap<Arc<str>, ByName>>);

/// Languages with the same code. Kept by code and then by name, since a look-up by both would have to copy them.
type ByName = BTreeMap<Box<str>, Arc<Language>>;

impl Interner {
    #[must_use]
    pub fn language(&self, code: &str, name: &str) -> Arc<Language> {
        let mut known = lock(&self.0);
        if let Some(language) = known.get(code).and_then(|by_name| by_name.get(name)) {
            return Arc::clone(language);
        }
        let language = Arc::new(Language {
            code: code.into(),
            name: name.into(),
        });
        known
            .entry(Arc::clone(&language.code))
            .or_default()
            .insert(name.into(), Arc::clone(&language));
        language
    }

    /// Forgets what is no longer used, so that an API that invents languages cannot fill the memory.
    pub fn forget_unused(&self) {
        lock(&self.0).retain(|_, by_name| {
            by_name.retain(|_, language| Arc::strong_count(language) > 1);
            !by_name.is_empty()
        });
    }

    /// How many languages are kept.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).values().map(BTreeMap::len).sum()
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
        assert_eq!(interner.count(), 1);
        assert!(Arc::ptr_eq(&kept, &interner.language("de", "German")));
    }
}
