//! Readiness is one value: every output says the same of random documents and selections, and it
//! is the one that a plain reading of the rules gives.

use super::*;
use crate::{
    domain::{document::Readiness, filter::LeftOut},
    support::glob::glob,
    testing::Failed,
};
use std::collections::BTreeSet;

const NAMES: [&str; 3] = ["a/a", "a/b", "b/a"];

/// The names that `targets` may require: one may be unlisted, and a filter leaves out the last.
const REQUIRED: [&str; 5] = ["a/a", "a/b", "b/a", "b/b", "left/out"];

/// A repository of a random document.
#[derive(Debug, Clone)]
struct Random {
    is_listed: bool,
    /// `Some(true)` if the last poll read it; `None` if no poll ever did.
    is_fresh: Option<bool>,
    is_unreadable: bool,
    is_doubled: bool,
    /// The completions of de and fr; -1 is an unknown one, and -2 no such language.
    languages: [f64; 2],
}

impl Random {
    fn languages(&self) -> Vec<(&'static str, Option<f64>)> {
        let codes = ["de", "fr"].into_iter().zip(self.languages);
        let codes = codes.filter(|(_, said)| *said > -2.0);
        let known = codes.map(|(code, said)| (code, Some(said).filter(|said| *said >= 0.0)));
        known.collect()
    }
}

fn repositories() -> impl Strategy<Value = [Random; 3]> {
    let often = prop::bool::weighted(0.9);
    let state = prop_oneof![8 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    let completion = prop_oneof![
        8 => Just(100.0),
        3 => prop::sample::select(vec![-2.0, -2.0, -1.0, 0.5, 50.0]),
    ];
    let languages = [completion.clone(), completion];
    let random = (often, state, often, often, languages);
    let random =
        random.prop_map(
            |(is_listed, is_fresh, is_readable, is_single, languages)| Random {
                is_listed,
                is_fresh,
                is_unreadable: !is_readable,
                is_doubled: !is_single,
                languages,
            },
        );
    [random.clone(), random.clone(), random]
}

/// The target of a literal pair, the ratio of all `fr`, and the circumstances of the listing.
fn rest() -> impl Strategy<Value = (Option<(usize, usize)>, f64, [bool; 3])> {
    let often = prop::bool::weighted(0.9);
    (
        prop::option::weighted(0.3, (0..5_usize, 0..2_usize)),
        prop::sample::select(vec![0.0, 0.4, 1.0, 1.0]),
        [often, often, often],
    )
}

/// Returns the codes of a repository with their completions, if it is listed and was ever read;
/// the required code among them.
fn known(
    index: usize,
    random: &Random,
    required: Option<(usize, usize)>,
) -> Vec<(&str, Option<f64>)> {
    let mut known = random.languages();
    if let Some((_, code)) = required.filter(|(place, _)| *place == index) {
        let code = ["de", "it"][code];
        if known.iter().all(|(other, _)| *other != code) {
            known.push((code, None));
        }
    }
    known.retain(|_| random.is_listed && random.is_fresh.is_some());
    known
}

proptest! {
    #![proptest_config(crate::testing::cases(2000))]

    #[test]
    fn every_output_says_the_same_of_readiness(
        random in repositories(),
        (required, ratio_of_fr, [is_complete, is_confirmed, is_parsed]) in rest(),
        (owner, code) in (
            prop::sample::select(vec!["", "a/*", "b/*", "a/b"]),
            prop::sample::select(vec!["", "de", "fr", "it"]),
        ),
    ) {
        // The document.
        let mut shown = Vec::new();
        for (index, one) in random.iter().enumerate().filter(|(_, one)| one.is_listed) {
            let mut repository = read(index as u64 + 1, NAMES[index], &one.languages());
            let failure = Failed::new("no", "wait", NOW);
            repository.condition = match (one.is_fresh, repository.condition) {
                (None, _) => Condition::Pending(Some(failure)),
                (Some(false), Condition::Fresh(languages)) => Condition::Failing(languages, failure),
                (_, fresh) => fresh,
            };
            if one.is_unreadable {
                repository.defects.add(Defect::Code, Some(1), "");
            }
            shown.push(repository);
        }
        let mut snapshot = snapshot(shown);
        snapshot.leave_out(1);
        let doubled = random.iter().enumerate().filter(|(_, one)| one.is_doubled && one.is_listed);
        snapshot.filtered.extend(doubled.map(|(index, _)| LeftOut {
            repository: repository(9, NAMES[index]),
            by: None,
        }));
        snapshot.unconfirmed = usize::from(!is_confirmed);
        if !is_parsed {
            snapshot.defects.add(Defect::Id, Some(1), "");
        }
        let pair = required.map(|(place, code)| {
            entry(&[REQUIRED[place]], &[["de", "it"][code]], 1.0, "")
        });
        let of_fr = entry(&[], &["fr"], ratio_of_fr, "");
        snapshot.settings.targets = Targets(pair.into_iter().chain([of_fr]).collect());
        let poll = PollOutcome { is_listed: is_complete, ..poll(0) };
        let document = report(&snapshot, &poll).document;
        // The selection.
        let globs = |text: &str| {
            let globs = (!text.is_empty()).then(|| glob(text).unwrap());
            globs.into_iter().collect::<Vec<_>>()
        };
        let selection = Selection::new(&globs(owner), &globs(code)).unwrap();
        let report = Report {
            document: Arc::new(document.select(&selection)),
            findings: Vec::new(),
            api: "".into(),
            since: crate::testing::NOW,
            max_size: 0,
        };
        // The rules.
        let is_chosen = |name: &str| selection.repositories.chooses(name);
        let all: Vec<_> = random.iter().enumerate().collect();
        let everything = all.iter().flat_map(|(index, one)| known(*index, one, None));
        let everything: Vec<_> = everything.filter_map(|(_, said)| said).collect();
        let is_suspect = !everything.is_empty() && everything.iter().all(|said| *said <= 1.0);
        let chosen: Vec<_> = all.into_iter().filter(|(index, _)| is_chosen(NAMES[*index])).collect();
        let translations = chosen.iter().flat_map(|(index, one)| known(*index, one, required));
        let translations: Vec<_> = translations
            .filter(|(of, _)| selection.languages.chooses(of))
            .filter(|(of, _)| *of != "fr" || ratio_of_fr > 0.0)
            .collect();
        let target = |of: &str| if of == "fr" { ratio_of_fr * 100.0 } else { 100.0 };
        let is_behind = |(of, said): &(&str, Option<f64>)| {
            said.is_some_and(|said| !is_suspect && said < target(of))
        };
        let rests = chosen.iter().any(|(index, one)| {
            let mut codes = known(*index, one, None).into_iter();
            ratio_of_fr <= 0.0 && selection.languages.chooses("fr") && codes.any(|(of, _)| of == "fr")
        });
        let is_unlisted = required.is_some_and(|(place, _)| {
            let is_listed = random.get(place).is_some_and(|one| one.is_listed);
            !is_listed && is_chosen(REQUIRED[place])
        });
        let is_unknown = is_unlisted
            || !(is_complete && is_confirmed && is_parsed)
            || chosen.iter().any(|(_, one)| {
                let is_whole = one.is_fresh == Some(true) && !one.is_unreadable && !one.is_doubled;
                one.is_listed && !is_whole
            })
            || translations.iter().any(|(_, said)| said.is_none() || is_suspect);
        let expected = match () {
            () if translations.iter().any(is_behind) => Readiness::Behind,
            () if is_unknown => Readiness::Unknown,
            () if !translations.is_empty() => Readiness::Ready,
            () if rests => Readiness::Resting,
            () => Readiness::Unknown,
        };
        // The outputs.
        let is_ready = expected == Readiness::Ready;
        let verdict = match expected {
            Readiness::Behind => "Not ready to ship: ",
            Readiness::Unknown => "Not known: ",
            Readiness::Resting => "Nothing to ship: ",
            Readiness::Ready => "Ready to ship: ",
        };
        let nothing = "No known repository and language matches";
        let sentence = answer(&report.document);
        let is_said = sentence.starts_with(verdict)
            || expected == Readiness::Unknown && sentence == nothing;
        prop_assert!(is_said, "{expected:?}: {sentence}");
        let gate = report.gate();
        prop_assert_eq!(gate.lines().last(), Some(&*sentence));
        prop_assert_eq!(report.document.readiness(), expected, "{}", sentence);
        let json: String = json(Arc::clone(&document), selection.clone(), crate::testing::NOW).collect();
        let json: Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&json["readiness"], &serde_json::json!(expected));
        prop_assert_eq!(badge(&report).contains("brightgreen"), is_ready);
        let codes: BTreeSet<_> = translations.iter().map(|(of, _)| *of).collect();
        let shipped = languages(&report);
        let is_all = !codes.is_empty() && shipped.lines().eq(codes);
        prop_assert_eq!(is_all, is_ready, "{}: {}", sentence, shipped);
    }
}
