//! Each language kept once: thousands of repositories have the same few dozen.

use super::Language;
use crate::sync::lock;
use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard},
};

/// Gives the one copy of a language, or of its code. Shared by all who read languages.
#[derive(Debug, Default)]
pub struct Interner(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    languages: HashMap<Arc<str>, HashSet<ByName>>,
    /// The last language at each place of an answer: that of the next one is mostly the same.
    recent: Vec<Arc<Language>>,
}

/// A language among those that share its code.
#[derive(Debug, PartialEq, Eq)]
struct ByName(Arc<Language>);

impl Borrow<str> for ByName {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

/// An [`Interner`] that nobody else uses until this is dropped.
#[derive(Debug)]
pub struct Interning<'a>(MutexGuard<'a, Known>);

impl Interner {
    #[must_use]
    pub fn lock(&self) -> Interning<'_> {
        Interning(lock(&self.0))
    }

    /// Forgets what nothing uses any more, so that an API that invents languages cannot fill the memory.
    pub fn forget_unused(&self) {
        let Known { languages, recent } = &mut *self.lock().0;
        recent.clear();
        languages.retain(|_, of_code| {
            of_code.retain(|ByName(language)| Arc::strong_count(language) > 1);
            !of_code.is_empty()
        });
    }
}

impl Interning<'_> {
    /// The language at `place`, counted from 0, of an answer; the place makes it quick to find, and no difference else.
    pub fn language(&mut self, place: usize, code: &str, name: &str) -> Arc<Language> {
        let Known { languages, recent } = &mut *self.0;
        if let Some(known) = recent.get(place).filter(|known| *known.code == *code && *known.name == *name) {
            return Arc::clone(known);
        }
        let language = if let Some(ByName(known)) = languages.get(code).and_then(|of_code| of_code.get(name)) {
            Arc::clone(known)
        } else {
            let code = languages.get_key_value(code).map_or_else(|| code.into(), |(code, _)| Arc::clone(code));
            let language = Arc::new(Language { code: Arc::clone(&code), name: name.into() });
            languages.entry(code).or_default().insert(ByName(Arc::clone(&language)));
            language
        };
        if place == recent.len() {
            recent.push(Arc::clone(&language));
        } else if let Some(recent) = recent.get_mut(place) {
            recent.clone_from(&language);
        }
        language
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_language_is_one_wherever_it_stands() {
        let interner = Interner::default();
        let mut languages = interner.lock();
        let german = languages.language(0, "de", "German");
        for place in [0, 1, 7, 0] {
            assert!(Arc::ptr_eq(&german, &languages.language(place, "de", "German")));
            let other = languages.language(place, "de", "Deutsch");
            assert_eq!((&*other.code, &*other.name), ("de", "Deutsch"));
            assert!(Arc::ptr_eq(&german.code, &other.code));
        }
    }

    #[test]
    fn what_nothing_uses_is_forgotten() {
        let interner = Interner::default();
        let kept = interner.lock().language(0, "de", "German");
        let _ = interner.lock().language(1, "de", "Deutsch");
        let _ = interner.lock().language(2, "fr", "French");
        interner.forget_unused();
        assert!(Arc::ptr_eq(&kept, &interner.lock().language(0, "de", "German")));
        let known = interner.lock();
        assert_eq!((known.0.languages.len(), known.0.languages["de"].len()), (1, 1));
    }
}
