//! The languages that a release can ship, one code per line.

use super::{Report, cell};
use crate::domain::document::languages as totals;

/// Lists the codes that are ready in every repository that has them, unless they rest in it. A
/// repository that was not read or not listed may have any language, so that none is listed then.
pub fn languages(report: &Report) -> String {
    let document = &*report.document;
    if !document.is_complete() || document.unread() > 0 {
        return String::new();
    }
    let languages = totals(&document.rows).into_iter();
    let ready = languages.filter(|(_, totals)| totals.is_ready());
    ready.map(|(code, _)| cell(code) + "\n").collect()
}
