//! The languages that a release can ship, one code per line.

use super::{Report, cell};
use crate::domain::document::{Doubt, Tone, Translation};

/// Lists the codes whose translations are all ready; resting ones do not count. The list is empty
/// while a repository or an entry is not read or not listed, because it may have any language.
pub fn languages(report: &Report) -> String {
    let mut doubts = report.document.doubts().into_iter();
    let is_of_known = |doubt| matches!(doubt, Doubt::Missing | Doubt::Scale | Doubt::Unknown);
    if !doubts.all(|(doubt, _)| is_of_known(doubt)) {
        return String::new();
    }
    let languages = report.document.totals_by(Translation::code).into_iter();
    let ready = languages.filter(|(_, totals)| totals.tone() == Tone::Ready);
    ready.map(|(code, _)| cell(code) + "\n").collect()
}
