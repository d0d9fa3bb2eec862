//! A sorted map for keys that arrive again and again in the same order.

/// A map sorted by key, for keys that arrive in ascending runs, such as the languages of one
/// repository after another. Each lookup tries the entry after the last one before it searches, so
/// that most lookups make one comparison.
#[derive(Debug)]
pub(super) struct Tally<K, V> {
    entries: Vec<(K, V)>,
    next: usize,
}

impl<K: Ord, V: Default> Tally<K, V> {
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            next: 0,
        }
    }

    /// Returns the value of `key`, which is the default one if the key is new.
    pub fn entry(&mut self, key: K) -> &mut V {
        let is_next = self.entries.get(self.next).is_some_and(|(k, _)| *k == key);
        let index = if is_next {
            self.next
        } else {
            let found = self.entries.binary_search_by(|(k, _)| k.cmp(&key));
            found.unwrap_or_else(|index| {
                self.entries.insert(index, (key, V::default()));
                index
            })
        };
        self.next = (index + 1) % self.entries.len();
        &mut self.entries[index].1
    }

    /// Returns the entries in the order of their keys.
    pub fn into_sorted(self) -> Vec<(K, V)> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_any_order_are_counted_and_sorted() {
        let mut tally: Tally<&str, usize> = Tally::new();
        for key in ["de", "fr", "de", "fr", "it", "da", "de", "it", "it"] {
            *tally.entry(key) += 1;
        }
        let expected = [("da", 1), ("de", 3), ("fr", 2), ("it", 3)];
        assert_eq!(tally.into_sorted(), expected);
    }
}
