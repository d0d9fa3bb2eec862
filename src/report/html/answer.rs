//! The answer to "may we ship?": a sentence and the severity of its news.

use super::page::Page;
use crate::{
    diagnosis::headline,
    domain::{Severity, TranslationProblem},
    report::ready,
    support::humanize::{grouped, repositories},
};

/// Answers for the chosen part of the document.
pub fn answer(page: &Page<'_>) -> (String, Option<Severity>) {
    let (document, chosen) = (page.document, page.chosen);
    let (totals, unread) = (&chosen.totals, chosen.unread());
    let overdue = totals.count(TranslationProblem::Overdue);
    let is_first = document.status.last.is_none();
    let mut known = vec![ready(totals)];
    if totals.with_resting() == 0 && unread > 0 {
        known.clear();
    }
    // The line of what is not judged says it where other news matters more.
    let unknown = if totals.behind() > 0 {
        0
    } else {
        totals.unknown
    };
    for (count, words) in [(overdue, "overdue"), (unknown, "without a completion")] {
        if count > 0 {
            known.push(format!("{} {words}", grouped(count)));
        }
    }
    if unread > 0 {
        known.push(format!("{} without data", repositories(unread)));
    }
    let sentence = known.join(", ");
    let with = |verdict| format!("{verdict}: {sentence}");
    let (news, sentence) = if document.rows.is_empty() {
        (Some(Severity::Info), headline(page.findings, chosen))
    } else if chosen.rows.is_empty() {
        let sentence = "No known repository and language matches";
        (Some(Severity::Info), sentence.to_owned())
    } else if document.is_scale_suspect {
        let sentence = "Unknown: api.completion_scale does not fit the completions";
        (Some(Severity::Warning), sentence.to_owned())
    } else if unread > 0 && (is_first || totals.counted == 0) {
        (Some(Severity::Info), with("Not known yet"))
    } else if overdue > 0 {
        (Some(Severity::Error), with("Not ready to ship"))
    } else if totals.behind() > 0 {
        (Some(Severity::Info), with("Not ready to ship"))
    } else if totals.unknown > 0 {
        (Some(Severity::Warning), with("Unknown"))
    } else if unread > 0 {
        (Some(Severity::Info), with("Not known yet"))
    } else if totals.counted == 0 {
        (Some(Severity::Info), with("Nothing to ship"))
    } else if page.is_outdated() {
        (Some(Severity::Info), with("Not known now"))
    } else {
        (None, with("Ready to ship"))
    };
    let has_problem = !totals.problems.is_empty() || totals.unknown > 0;
    let doubt = has_problem.then_some(Severity::Warning);
    let news = [news, doubt, page.worst()].into_iter().flatten().min();
    (sentence, news)
}
