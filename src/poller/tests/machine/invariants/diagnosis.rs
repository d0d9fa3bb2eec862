//! The claims of the diagnosis in each publication.

use super::*;
use crate::{
    diagnosis::{
        Finding,
        ProblemKind::{self, ApiKey, CompletionScale, DataStale, PollsFailing},
        findings, headline,
    },
    domain::{State, document::Row},
    metrics::facts::Facts,
};

/// The diagnosis of a publication, and the claims that do not hold.
struct Diagnosis {
    findings: Vec<Finding>,
    headline: String,
    wrong: Vec<&'static str>,
}

impl Diagnosis {
    fn expect(&mut self, claim: &'static str, holds: bool) {
        if !holds {
            self.wrong.push(claim);
        }
    }

    fn of(&self, kind: ProblemKind) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.kind == kind)
    }

    /// Returns the number of repositories that are said to fail, as in `3 of 40`.
    fn failing(&self) -> usize {
        let mut findings = self.findings.iter();
        let failing = findings.find(|finding| finding.what.contains("cannot be read: "));
        let count = failing.and_then(|finding| finding.what.split(' ').next());
        count.map_or(0, |count| count.parse().unwrap())
    }
}

impl World {
    pub(super) fn check_diagnosis(&self, document: &Document, found: &mut Vec<String>) {
        let (now, status, whole) = (document.taken_at, &document.status, document);
        let findings = findings(whole, &Facts::default(), now);
        let mut diagnosis = Diagnosis {
            headline: headline(&findings, whole).to_owned(),
            findings,
            wrong: Vec::new(),
        };
        self.check_data(document, &mut diagnosis);
        let stale = whole.count(|row| row.state == State::Stale);
        let is_said = diagnosis.of(DataStale).is_some();
        let is_due = stale > 0 && status.last.is_some();
        diagnosis.expect("stale data are named", is_said || !is_due);
        match &status.last {
            None => {
                let is_any_named = diagnosis.failing() > 0;
                diagnosis.expect("no repository has failed yet", !is_any_named);
            }
            Some(last) if status.next_poll_at.is_some() => {
                self.check_last_poll(last, &mut diagnosis);
            }
            Some(_) => {}
        }
        let Diagnosis {
            findings,
            headline,
            wrong,
        } = diagnosis;
        for claim in wrong {
            let lines: Vec<_> = findings.iter().map(Finding::line).collect();
            found.push(format!("not so: {claim}: {headline:?}, {lines:?}"));
        }
    }

    fn check_data(&self, document: &Document, diagnosis: &mut Diagnosis) {
        let mut since = diagnosis.findings.iter().map(|finding| finding.since);
        let is_past = since.all(|since| since <= Some(document.taken_at));
        diagnosis.expect("findings begin in the past", is_past);
        // Old data show the scale, too.
        let known = document.rows.iter().flat_map(|row| &*row.known);
        let known: Vec<_> = known.filter_map(|one| one.completion).collect();
        let is_above_0 = known.iter().any(|completion| completion.get() > 0.0);
        let is_suspect = is_above_0 && known.iter().all(|completion| completion.get() <= 1.0);
        let scale = document.settings.scale.finished;
        let shown = document.rows.iter().flat_map(Row::translations);
        let mut shown = shown.filter_map(|one| one.completion);
        let is_suspect = is_suspect || shown.any(|it| !is_within(it.get(), scale));
        let is_found = diagnosis.of(CompletionScale).is_some();
        // An excluded language shows the scale, too, and so does a poll under way.
        let is_clear = self.model.excluded.is_none() && document.status.running.is_none();
        diagnosis.expect("the scale is judged", !is_clear || is_found == is_suspect);
    }

    fn check_last_poll(&self, last: &PollOutcome, diagnosis: &mut Diagnosis) {
        let unread = self.model.polled.len() - self.poll.reads.len();
        let is_well = self.poll.is_listed && unread == 0;
        let kinds = [ApiKey, PollsFailing, DataStale];
        let is_told = kinds.iter().any(|kind| diagnosis.of(*kind).is_some());
        diagnosis.expect("the last poll failed", is_told != is_well);
        let is_all_well = diagnosis.headline.starts_with("The last poll read every");
        diagnosis.expect("all is well", !is_all_well || is_well);
        let is_refused = diagnosis.of(ApiKey).is_some();
        diagnosis.expect(
            "the key is refused",
            is_refused == self.poll.has_refused_key,
        );
        let expected = if last.is_outage() { 0 } else { unread };
        let is_counted = diagnosis.failing() == expected;
        diagnosis.expect("so many repositories fail", is_counted);
    }
}
