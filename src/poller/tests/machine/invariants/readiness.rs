//! The promise of each publication: "ready" is said of known translations alone.

use super::*;
use crate::{
    domain::{
        Completion,
        document::{Document, Selection},
    },
    report::{Report, answer::answer, badge, languages},
    support::glob::glob,
};
use std::{collections::BTreeSet, sync::LazyLock};

/// The selections that are checked: everything, and parts of it.
static SELECTIONS: LazyLock<Vec<Selection>> = LazyLock::new(|| {
    let of = |repositories: &[&str], codes: &[&str]| {
        let [repositories, codes] = [repositories, codes].map(|globs| {
            let globs = globs.iter().map(|text| glob(text).unwrap());
            globs.collect::<Vec<_>>()
        });
        Selection::new(&repositories, &codes).unwrap()
    };
    let repositories = [&[][..], &["o/*3"], &[REQUIRED], &["o/?", "o/1*"]];
    let codes = [&[][..], &["de"], &["fr"], &["pt-*"], &["de", "xx"]];
    let all = repositories.iter();
    let all = all.flat_map(|repositories| codes.iter().map(|codes| of(repositories, codes)));
    all.collect()
});

impl World {
    /// Checks the verdicts, and the outputs that tell them, after a poll.
    pub(super) fn check_readiness(&self, document: &Document, found: &mut Vec<String>) {
        self.check_translations(document, found);
        // Three of them, others in each poll.
        let first = self.requests.len() * 7 + self.polls;
        let places = [0, first, first + 6, first * 3 + 11].into_iter();
        let selections = places.map(|place| &SELECTIONS[place % SELECTIONS.len()]);
        for selection in selections {
            let document = document.select(selection);
            let is_ready = self.is_ready(&document);
            let verdict_is_ready = document.readiness().is_met() == Some(true);
            if verdict_is_ready && is_ready == Some(false) {
                found.push(format!("{:?} is said to be ready", document.totals));
            }
            if !verdict_is_ready && is_ready == Some(true) {
                found.push(format!(
                    "in doubt without a reason: {:?}",
                    document.doubts()
                ));
            }
            let headline = answer(&document);
            if headline.starts_with("Ready") && !verdict_is_ready {
                found.push(format!("{headline:?}, though {:?}", document.readiness()));
            }
            let outputs = outputs(&document);
            if outputs
                .iter()
                .any(|(_, is_ready)| *is_ready != verdict_is_ready)
            {
                found.push(format!("ready is {verdict_is_ready}, but {outputs:?}"));
            }
        }
    }

    /// Checks that each ready translation is at its target, and each ratio known.
    fn check_translations(&self, document: &Document, found: &mut Vec<String>) {
        let scale = document.settings.scale.finished;
        let known: Vec<_> = document.rows.iter().flat_map(|row| &*row.known).collect();
        let reported = known.iter().filter_map(|one| one.completion);
        let reported: Vec<_> = reported.map(Completion::get).collect();
        let is_suspect = reported.iter().all(|completion| *completion <= 1.0)
            && reported.iter().any(|completion| *completion > 0.0)
            && self.model.excluded.is_none();
        for one in known {
            let completion = one.completion.map_or(f64::NAN, Completion::get);
            let is_known = is_within(completion, scale) && !is_suspect;
            let is_ready = is_known && completion >= scale - 1e-9;
            if one.ratio.is_some() && !is_known || one.is_ready() && !is_ready {
                found.push(format!("{completion} of {scale} is {:?}", one.readiness));
            }
        }
    }

    /// Returns whether the whole choice is ready, by the answers of the API in the last poll;
    /// `None` if a kill leaves that open, or nothing is chosen.
    fn is_ready(&self, document: &Document) -> Option<bool> {
        let scale = document.settings.scale.finished;
        let chosen = self.model.polled.iter();
        let mut chosen =
            chosen.filter(|(_, known)| document.selection.repositories.chooses(&known.name));
        let mut count = 0;
        let are_ready = chosen.all(|(id, known)| {
            let said = known.said.last().map(|said| &said.languages);
            let said = said.into_iter().flatten();
            let mut said = said.filter(|(code, _)| {
                document.selection.languages.chooses(code) && self.model.excluded != Some(**code)
            });
            let is_read = self.poll.reads.contains_key(id);
            let is_unreadable = self.bad_said.contains(id);
            is_read
                && !is_unreadable
                && said.all(|(_, completion)| {
                    count += 1;
                    completion.is_some_and(|it| it >= scale - 1e-9 && is_within(it, scale))
                })
        });
        let missed = self.model.missed.as_ref();
        let mut names = self.model.polled.values().map(|known| &*known.name);
        let is_required = document.selection.repositories.chooses(REQUIRED);
        let mut doubled = self.doubled.iter();
        let is_whole = self.poll.is_listed
            && !self.is_listing_bad
            && !doubled.any(|name| document.selection.repositories.chooses(name))
            && missed.is_none_or(BTreeSet::is_empty)
            && (!is_required || names.any(|name| name == REQUIRED));
        let is_open = self.model.unclear.is_empty() && count > 0 && missed.is_some();
        let is_ready = are_ready && is_whole;
        (!is_ready || is_open).then_some(is_ready)
    }
}

/// Returns whether each output says that the document is ready.
fn outputs(document: &Document) -> [(&'static str, bool); 2] {
    let behind = document.totals.unready() + document.totals.resting();
    let report = Report {
        document: Arc::new(document.clone()),
        findings: Vec::new(),
        api: "".into(),
        since: crate::testing::NOW,
        max_size: 0,
    };
    // An unready translation that left keeps the badge alone from being green.
    let has_left = report.document.departed().any(|one| !one.was_met);
    let is_ready = report.document.readiness().is_met() == Some(true);
    let badge = badge(&report).contains("brightgreen") || has_left && is_ready;
    let codes = report.document.language_names();
    let shipped = languages(&report);
    let all_shipped = shipped.lines().count() == codes.len() && behind == 0 && !codes.is_empty();
    [("badge", badge), ("languages", all_shipped)]
}
