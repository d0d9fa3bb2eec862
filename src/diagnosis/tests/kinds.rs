//! Cases for each kind of problem, in which that kind is the worst finding.

use super::*;
use crate::domain::document::Departed;

/// A kind, a situation in which it is the worst finding, and words of its text.
pub type Case = (ProblemKind, Known, &'static [&'static str]);

/// Returns all cases.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
pub fn each_kind() -> Vec<Case> {
    vec![
        (
            ProblemKind::ApiKey,
            Known::ended(refused(PollFailure::Unauthorized)),
            &[
                "The API refused the key: GET https://api.test/v1/repositories: it failed; \
                 do something",
            ],
        ),
        (
            ProblemKind::ApiKey,
            Known::ended(refused(PollFailure::KeyFile)),
            &["from its file", "no requests were sent"],
        ),
        (
            ProblemKind::PollsFailing,
            Known::ended(ended_early(PollFailure::Unavailable)),
            &["The API was unavailable to the last poll"],
        ),
        (
            ProblemKind::PollsFailing,
            Known::ended(PollOutcome {
                stop: Some(stop(PollFailure::Listing)),
                is_listed: false,
                ..poll()
            }),
            &["could not be read completely"],
        ),
        (
            ProblemKind::DataStale,
            Known::with(|known| {
                known.snapshot.repositories[0].condition = testing::stale(ago(5), None);
            }),
            &["1 repository", "stale", "no longer in the metrics"],
        ),
        (
            ProblemKind::Certificate,
            Known::with(|known| known.facts.certificate_expires_at = Some(NOW)),
            &["certificate", "expired"],
        ),
        (
            ProblemKind::PollsFailing,
            Known::with(|known| {
                known.status.last = Some(ended_early(PollFailure::Held));
            }),
            &["by Retry-After"],
        ),
        (
            ProblemKind::PollsFailing,
            Known::with(|known| {
                known.snapshot.repositories[0].condition =
                    Condition::Failing(read_at(ago(3), 50.0), failed(2));
            }),
            &["1 of 2 repositories cannot be read"],
        ),
        (
            ProblemKind::NoRepositories,
            Known::with(|known| known.snapshot.repositories.clear()),
            &[
                "The account of this key has no repositories; connect repositories to it, or use \
                 the key of another account",
            ],
        ),
        (
            ProblemKind::NoRepositories,
            Known::with(|known| {
                known.snapshot.repositories.clear();
                known.snapshot.leave_out(1234);
            }),
            &[
                "filters leave out every repository, 1,234 in all",
                "change filter.include, filter.exclude or filter.private",
            ],
        ),
        (
            ProblemKind::CompletionScale,
            Known::with(|known| {
                let shown = [0.4, 1.0].map(|completion| Condition::Fresh(read_at(NOW, completion)));
                known.snapshot.repositories = (1..)
                    .zip(shown)
                    .map(|(id, shown)| repository(id, shown))
                    .collect();
            }),
            &["No completion is above 1", "100"],
        ),
        (
            ProblemKind::CompletionScale,
            Known::with(|known| {
                known.snapshot.repositories[0].condition = Condition::Fresh(read_at(NOW, 150.0));
            }),
            &["1 translation", "above api.completion_scale, 100"],
        ),
        (
            ProblemKind::OmittedZeros,
            Known::with(|known| known.snapshot.omitted_zeros = 5),
            &[
                "leave out zeros",
                "completion is missing from 5 translations, and none reports 0",
            ],
        ),
        (
            ProblemKind::ApiShape,
            Known::with(|known| {
                let defects = &mut known.snapshot.repositories[0].defects;
                defects.add(Defect::Completion, Some(1), "");
                defects.add(Defect::DuplicateCode, None, "");
            }),
            &["completions may be missing: o/1: bad completion in 1 entry, first in entry 1"],
        ),
        (
            ProblemKind::ClockWrong,
            Known::with(|known| known.facts.clock_wrong = Some(failure())),
            &["This machine's clock and the API's differ by more than an hour"],
        ),
        (
            ProblemKind::StateNotSaved,
            Known::with(|known| known.facts.state_not_saved = Some(failure())),
            &["cannot be saved", "restart"],
        ),
        (
            ProblemKind::StateDiscarded,
            Known::with(|known| known.facts.state_discarded = Some(failure())),
            &["all progress clocks restarted"],
        ),
        (
            ProblemKind::WebConfigRefused,
            Known::with(|known| known.facts.web_config_refused = Some(failure())),
            &["refused", "previous one"],
        ),
        (
            ProblemKind::Certificate,
            Known::with(|known| {
                known.facts.certificate_expires_at = Some(NOW.saturating_add(HOUR * 24 * 14));
            }),
            &["expires"],
        ),
        (
            ProblemKind::LanguagesGone,
            Known::with(|known| {
                let gone = [("o/1", "de"), ("o/1", "sv"), ("o/2", "fr"), ("o/2", "sv")];
                let with_repository = [("o/gone", "de")];
                let gone = [&gone[..], &with_repository].concat().into_iter().map(
                    |(repository, language)| Departed {
                        repository: repository.into(),
                        language: language.into(),
                        left_at: NOW,
                        was_met: true,
                    },
                );
                known.snapshot.departed = gone.collect();
            }),
            &[
                "4 languages left within a day",
                "de of o/1, sv of o/1, fr of o/2, sv of o/2",
            ],
        ),
        (
            ProblemKind::PollsOverrun,
            Known::ended(PollOutcome {
                duration: Duration::from_micros(301_020_400),
                ..poll()
            }),
            &["The last poll took 5m 1s, longer than poll.interval (5m); raise"],
        ),
        (
            ProblemKind::TargetUnused,
            Known::with(|known| {
                let entries = vec![
                    entry(&[], &["no-such"], 0.5, ""),
                    entry(&[], &[], 0.5, ""),
                    entry(&[], &["de"], 0.9, ""),
                ];
                known.snapshot.settings.targets = Targets(entries);
            }),
            &["2 entries of targets apply to no language: no-such; de; correct its"],
        ),
        (
            ProblemKind::FilterUnused,
            Known::with(|known| {
                known.snapshot.leave_out(1);
                let filter = &mut known.snapshot.settings.filter;
                filter.exclude = globs(&["O/*", "left/*"]);
                filter.exclude_languages = globs(&["e?", "pseudo"]);
            }),
            &["match nothing with O/*, pseudo; correct the glob"],
        ),
        (
            ProblemKind::RemovalUnconfirmed,
            Known::with(|known| known.snapshot.unconfirmed = 2),
            &["lacks 2", "their data stay"],
        ),
    ]
}
