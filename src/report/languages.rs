//! The languages that a release can ship, one code per line.

use super::{Report, cell};
use crate::domain::document::languages as totals;

/// Lists the codes whose translations are all ready; resting ones do not count. The list is empty
/// while a repository is not read or not listed, because it may have any language.
pub fn languages(report: &Report) -> String {
    let document = &*report.document;
    if !document.is_complete() || document.unread() > 0 {
        return String::new();
    }
    let languages = totals(&document.rows).into_iter();
    let ready = languages.filter(|(_, totals)| totals.is_ready());
    ready.map(|(code, _)| cell(code) + "\n").collect()
}
