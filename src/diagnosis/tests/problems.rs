//! Problems: findings that last long enough for an alert.

use super::{super::judge, *};
use crate::metrics::instruments::Instruments;

const MINUTE: Duration = Duration::from_secs(60);

/// An exporter and the judge of its findings.
struct Judged {
    known: Known,
    instruments: Instruments,
    judge: Judge,
    now: Timestamp,
}

impl Judged {
    fn new(known: Known) -> Self {
        Self {
            known,
            instruments: Instruments::new("/metrics"),
            judge: Judge::new(NOW),
            now: NOW,
        }
    }

    /// Restarts the process with the history of the state file.
    fn restart(&mut self) {
        let named = self.instruments.facts().history.to_named();
        self.instruments = Instruments::new("/metrics");
        self.instruments.remember(History::of_named(&named));
        self.judge = Judge::new(self.now);
        (self.known.status.last, self.known.status.last_success_at) = (None, None);
        self.known.status.activity = running(self.now, false, 0);
    }

    /// Moves the time by `minutes`, judges, and returns the reported problems.
    fn after(&mut self, minutes: u32) -> Vec<&'static str> {
        self.now = self.now.saturating_add(MINUTE * minutes);
        let Known {
            snapshot, status, ..
        } = &self.known;
        self.judge
            .judge(snapshot, status, &self.instruments, self.now);
        let problem = |line: &str| {
            let labels = line.strip_prefix("translation_exporter_problem{kind=\"")?;
            let (kind, rest) = labels.split_once('"')?;
            rest.ends_with(" 1")
                .then(|| ProblemKind::from_label(kind).unwrap().label())
        };
        let mut found: Vec<_> = self
            .instruments
            .encode()
            .lines()
            .filter_map(problem)
            .collect();
        found.sort_unstable();
        found
    }

    fn polled(&mut self, outcome: PollOutcome) {
        self.known.status.activity = Activity::Waiting(None);
        if outcome.is_success() {
            self.known.status.last_success_at = Some(self.now);
        }
        self.known.status.last = Some(outcome);
    }
}

#[test]
fn every_kind_is_exposed_with_its_severity() {
    let text = Instruments::of_one_poll().encode();
    let samples: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("translation_exporter_problem{"))
        .collect();
    assert_eq!(samples.len(), ProblemKind::ALL.len());
    for (kind, severity) in [("api_key", "warning"), ("clock_behind", "info")] {
        let sample =
            format!("translation_exporter_problem{{kind=\"{kind}\",severity=\"{severity}\"}} 0");
        assert!(samples.contains(&&*sample), "{samples:#?}");
    }
}

#[test]
fn every_symptom_but_a_failing_poll_is_a_problem_at_once() {
    for (symptom, known, _) in each_symptom() {
        let kind = symptom.traits().kind;
        let mut judged = Judged::new(Known::new());
        let facts = known.facts.clone();
        let findings = findings(&known.snapshot, &known.status, &facts, NOW);
        judged.known = known;
        let unread = judge::Unread {
            at: NOW,
            is_of_earlier_process: false,
        };
        let Known {
            snapshot, status, ..
        } = &judged.known;
        let problems = judge::problems(snapshot, status, &findings, unread, NOW);
        assert_eq!(
            problems.contains(&kind),
            kind != ProblemKind::PollsFailing,
            "{symptom:?}"
        );
    }
}

#[test]
fn an_outage_is_a_problem_until_a_poll_reads_everything() {
    let mut judged = Judged::new(Known::new());
    assert_eq!(judged.after(0), [""; 0]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(15), [""; 0]);
    assert_eq!(judged.after(1), ["polls_failing"]);
    judged.known.status.activity = running(judged.now, true, 1);
    assert_eq!(
        judged.after(1),
        ["polls_failing"],
        "the poll under way decides"
    );
    judged.polled(poll());
    assert_eq!(judged.after(0), [""; 0]);
}

#[test]
fn a_restart_neither_ends_nor_restarts_an_outage() {
    let mut judged = Judged::new(Known::new());
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(16), ["polls_failing"]);
    judged.restart();
    assert_eq!(judged.after(1), ["polls_failing"]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(0), ["polls_failing"]);
    judged.polled(poll());
    assert_eq!(judged.after(0), [""; 0]);
    judged.restart();
    assert_eq!(judged.after(0), [""; 0], "the outage is over");
}

#[test]
fn restarts_do_not_hide_a_first_poll_that_never_ends() {
    let mut judged = Judged::new(Known::new());
    judged.restart();
    for _ in 0..5 {
        assert_eq!(judged.after(3), [""; 0]);
        judged.restart();
    }
    assert_eq!(judged.after(2), ["polls_failing"]);
}

#[test]
fn a_first_poll_is_a_problem_if_it_hangs_not_if_it_is_slow() {
    let mut judged = Judged::new(Known::new());
    judged.restart();
    for _ in 0..8 {
        judged.known.snapshot.repositories[0].condition =
            Condition::Fresh(read_at(judged.now, 50.0));
        assert_eq!(judged.after(20), [""; 0]);
    }
    assert_eq!(judged.after(11), ["polls_failing"]);
}

/// Judges 20 repositories, some of which always fail.
fn judged_of_20(failing: u64) -> Judged {
    Judged::new(Known::with(|known| {
        known.snapshot.repositories = (1..=20)
            .map(|id| {
                let languages = read_at(NOW, 50.0);
                let condition = if id <= failing {
                    Condition::Failing(languages, failed_by_itself(2))
                } else {
                    Condition::Fresh(languages)
                };
                repository(id, condition)
            })
            .collect();
    }))
}

#[test]
fn a_repository_that_always_fails_neither_begins_nor_hides_an_outage() {
    let mut judged = judged_of_20(1);
    let without_one = |judged: &Judged| PollOutcome {
        ended_at: judged.now,
        failed: 1,
        ..poll()
    };
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(60), [""; 0]);
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(0), [""; 0]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(5), [""; 0], "a short outage");
    assert_eq!(judged.after(11), ["polls_failing"]);
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(1), [""; 0]);
    judged.restart();
    assert_eq!(judged.after(20), [""; 0], "the first poll takes long");
}

#[test]
fn five_failing_repositories_of_20_make_polls_fail() {
    for (failing, is_problem) in [(1, false), (4, false), (5, true), (20, true)] {
        let mut judged = judged_of_20(failing);
        judged.polled(PollOutcome {
            failed: 1,
            ..poll()
        });
        let expected: &[_] = if is_problem { &["polls_failing"] } else { &[] };
        assert_eq!(judged.after(16), expected, "{failing} of 20");
    }
}

#[test]
fn a_refused_key_is_a_problem_of_its_own() {
    let mut judged = Judged::new(Known::new());
    judged.polled(refused(PollFailure::Unauthorized));
    assert_eq!(judged.after(60), ["api_key"]);
    judged.known.status.activity = running(judged.now, true, 1);
    assert_eq!(judged.after(1), [""; 0], "the key is accepted");
}

#[test]
fn a_hold_is_a_rate_limit_and_later_a_failing_poll() {
    let mut judged = Judged::new(Known::new());
    judged.polled(ended_early(PollFailure::Held));
    judged.known.status.held_until = Some(NOW.saturating_add(HOUR));
    assert_eq!(judged.after(1), ["rate_limited"]);
    assert_eq!(judged.after(15), ["polls_failing", "rate_limited"]);
}

#[test]
fn a_shape_is_a_problem_for_a_day_and_new_after_a_week_without_it() {
    let mut judged = Judged::new(Known::new());
    let see = |judged: &Judged| {
        judged
            .instruments
            .invalid_entry(Operation::ListLanguages, Defect::Completion);
        judged
            .instruments
            .invalid_entry(Operation::ListLanguages, Defect::DuplicateCode);
    };
    let day = 24 * 60;
    see(&judged);
    assert_eq!(judged.after(0), ["api_shape"]);
    judged.restart();
    judged.polled(poll());
    see(&judged);
    assert_eq!(
        judged.after(day - 1),
        ["api_shape"],
        "the day begins with the first sighting"
    );
    see(&judged);
    assert_eq!(judged.after(1), [""; 0]);
    see(&judged);
    assert_eq!(judged.after(6 * day), [""; 0], "the shape is known");
    see(&judged);
    assert_eq!(judged.after(8 * day), ["api_shape"]);
}

#[test]
fn a_discarded_state_is_a_problem_for_a_day_across_restarts() {
    let mut judged = Judged::new(Known::new());
    judged.instruments.state_discarded(failure());
    assert_eq!(judged.after(0), ["state_discarded"]);
    judged.restart();
    judged.polled(poll());
    assert_eq!(
        judged.after(21 * 60),
        ["state_discarded"],
        "the failure is two hours old"
    );
    assert_eq!(judged.after(60), [""; 0]);
}

#[test]
fn a_loss_of_repositories_ends_with_their_return_after_a_restart_too() {
    let of = |ids: u64| -> Vec<_> {
        let fresh = || Condition::Fresh(read_at(NOW, 50.0));
        (1..=ids).map(|id| repository(id, fresh())).collect()
    };
    let mut judged = Judged::new(Known::with(|known| known.snapshot.repositories = of(3)));
    judged.instruments.repositories_dropped(NOW, 10);
    assert_eq!(judged.after(1), ["repositories_dropped"]);
    judged.restart();
    assert_eq!(judged.after(1), ["repositories_dropped"]);
    judged.polled(poll());
    assert_eq!(judged.after(1), ["repositories_dropped"]);
    judged.known.snapshot.repositories = of(10);
    assert_eq!(judged.after(1), [""; 0]);
}

#[test]
fn a_repository_that_could_never_be_read_is_stale() {
    let mut judged = Judged::new(Known::with(|known| {
        let failure = failed_by_itself(1);
        known.snapshot.repositories[0].condition = Condition::Pending(Some(failure));
    }));
    judged.polled(PollOutcome {
        failed: 1,
        ..poll()
    });
    assert_eq!(judged.after(0), [""; 0]);
    assert_eq!(judged.after(1), ["data_stale"]);
}

/// The alert of each kind of problem. Kinds of severity info have none.
const ALERTS: [(ProblemKind, &str); 12] = [
    (ProblemKind::ApiKey, "TranslationApiKeyRejected"),
    (ProblemKind::PollsFailing, "TranslationPollFailing"),
    (ProblemKind::DataStale, "TranslationDataStale"),
    (ProblemKind::NoRepositories, "TranslationNoRepositories"),
    (
        ProblemKind::RepositoriesDropped,
        "TranslationNoRepositories",
    ),
    (ProblemKind::CompletionScale, "TranslationScaleSuspect"),
    (ProblemKind::OmittedZeros, "TranslationScaleSuspect"),
    (ProblemKind::ApiShape, "TranslationApiShapeChanged"),
    (ProblemKind::StateNotSaved, "TranslationStateNotSaved"),
    (ProblemKind::StateDiscarded, "TranslationStateDiscarded"),
    (ProblemKind::ReloadRefused, "TranslationConfigReloadFailed"),
    (ProblemKind::Certificate, "TranslationCertificateExpiring"),
];

#[test]
fn every_kind_of_severity_warning_has_a_shipped_alert() {
    let rules = include_str!("../../../deploy/prometheus/alerts.yaml");
    let shipped: Vec<_> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    for kind in ProblemKind::ALL {
        let alert = ALERTS
            .iter()
            .find(|(of, _)| of == kind)
            .map(|(_, alert)| alert);
        assert_eq!(
            alert.is_some(),
            kind.severity() == Severity::Warning,
            "{kind:?}"
        );
        assert!(
            alert.is_none_or(|alert| shipped.contains(alert)),
            "{kind:?}"
        );
    }
}
