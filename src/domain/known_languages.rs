//! One copy of each language: thousands of repositories have the same few dozen.

use super::Language;
use std::{collections::HashSet, sync::Arc};

/// The maximum size of all languages in bytes, so that an API that invents languages cannot fill
/// the memory.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The languages that the repositories share.
#[derive(Debug, Default)]
pub struct KnownLanguages {
    languages: HashSet<Arc<Language>>,
    bytes: usize,
}

impl KnownLanguages {
    /// Returns the shared copy of a language, or `None` if it is new and there is no room for it.
    pub fn share(&mut self, language: &Arc<Language>) -> Option<Arc<Language>> {
        if let Some(known) = self.languages.get(language) {
            return Some(Arc::clone(known));
        }
        let bytes = self.bytes + size(language);
        (bytes <= MAX_BYTES).then(|| {
            self.bytes = bytes;
            self.languages.insert(Arc::clone(language));
            Arc::clone(language)
        })
    }

    /// Drops the languages that no repository has any more.
    pub fn forget_unused(&mut self) {
        self.languages
            .retain(|language| Arc::strong_count(language) > 1);
        self.bytes = self.languages.iter().map(|language| size(language)).sum();
    }
}

/// Returns the size of a language in bytes, with its place in the set.
fn size(language: &Language) -> usize {
    language.code.len() + language.name.len() + 100
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(code: &str, name: &str) -> Arc<Language> {
        Arc::new(Language {
            code: code.into(),
            name: name.into(),
        })
    }

    #[test]
    fn equal_languages_share_one_copy() {
        let mut known = KnownLanguages::default();
        let german = known.share(&language("de", "German")).unwrap();
        let again = known.share(&language("de", "German")).unwrap();
        assert!(Arc::ptr_eq(&german, &again));
        let other = known.share(&language("de", "Deutsch")).unwrap();
        assert_eq!((&*other.code, &*other.name), ("de", "Deutsch"));
    }

    #[test]
    fn languages_without_room_are_refused_until_others_are_forgotten() {
        let mut known = KnownLanguages::default();
        let name = "x".repeat(1000);
        let kept: Vec<_> = (0..100_000)
            .map_while(|number: usize| known.share(&language(&number.to_string(), &name)))
            .collect();
        assert_eq!(kept.len(), 15_193);
        assert!(known.share(&language("0", &name)).is_some(), "it is known");
        drop(kept);
        known.forget_unused();
        assert_eq!((known.languages.len(), known.bytes), (0, 0));
        assert!(known.share(&language("new", &name)).is_some());
    }
}
