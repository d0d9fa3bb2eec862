//! The languages that a release can ship, one code per line.

use super::{Report, cell};
use crate::domain::document::{Translation, totals_by};

/// Lists the codes whose translations are all ready; resting ones do not count. The list is empty
/// while a repository or an entry is not read or not listed, because it may have any language.
pub fn languages(report: &Report<'_>) -> String {
    let mut doubts = report.view.doubts().into_iter();
    if doubts.any(|doubt| doubt.hides_translations()) {
        return String::new();
    }
    let languages = totals_by(&*report.view.rows, Translation::code).into_iter();
    let ready = languages.filter(|(_, totals)| totals.is_ready());
    ready.map(|(code, _)| cell(code) + "\n").collect()
}
