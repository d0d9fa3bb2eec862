//! Texts: those that recur are kept once, and those of strangers are shown safely.

use crate::sync::lock;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
};

/// Texts that many repositories share, such as codes and names of languages, each kept once.
#[derive(Debug, Default)]
pub struct Interner(Mutex<HashSet<Arc<str>>>);

impl Interner {
    /// Until what this gives is dropped, nobody else gets any text.
    pub(crate) fn lock(&self) -> Interning<'_> {
        Interning(lock(&self.0))
    }

    /// Forgets the texts that nothing uses any more, so that an API that invents them cannot fill the memory.
    pub fn forget_unused(&self) {
        lock(&self.0).retain(|text| Arc::strong_count(text) > 1);
    }
}

/// An [`Interner`] while it is used.
pub(crate) struct Interning<'a>(MutexGuard<'a, HashSet<Arc<str>>>);

impl Interning<'_> {
    /// The one copy of `text`.
    pub(crate) fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.0.insert(Arc::clone(&text));
        text
    }
}

/// Whether a character has no shape of its own and yet changes how others are shown, so that a name that holds it could
/// be shown as another one. The joiners that many scripts and emoji need are none of these.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_nothing_uses_are_forgotten() {
        let interner = Interner::default();
        let kept = interner.lock().intern("de");
        let _ = interner.lock().intern("fr");
        interner.forget_unused();
        assert!(Arc::ptr_eq(&kept, &interner.lock().intern("de")));
        assert_eq!(lock(&interner.0).len(), 1);
    }
}
