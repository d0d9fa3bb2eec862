//! Problems: the findings that the metric shows.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// An exporter at a time.
struct Judged {
    known: Known,
    now: Timestamp,
}

impl Judged {
    fn new(known: Known) -> Self {
        Self { known, now: NOW }
    }

    /// Restarts the process with the state file.
    fn restart(&mut self) {
        self.known.status.last = None;
        self.known.status.running = Some(running(self.now, false, 0));
        for shown in &mut self.known.snapshot.repositories {
            if let Condition::Fresh(languages) | Condition::Failing(languages, _) = &shown.condition
            {
                shown.condition = Condition::Restored(languages.clone());
            }
        }
    }

    /// Moves the time by `minutes`, and returns the problems.
    fn after(&mut self, minutes: u32) -> Vec<&'static str> {
        self.now = self.now.saturating_add(MINUTE * minutes);
        self.problems()
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&self.known.document(), &self.known.facts, self.now)
    }

    fn problems(&self) -> Vec<&'static str> {
        let findings = self.findings();
        let found = problems(&findings).filter(|(_, is_found)| *is_found);
        found.map(|(problem, _)| problem.kind).collect()
    }

    fn polled(&mut self, outcome: PollOutcome) {
        self.known.status.running = None;
        let status = &mut self.known.status;
        if outcome.is_well() {
            status.last_success_at = Some(self.now);
        }
        status.last = Some(PollOutcome {
            ended_at: self.now,
            ..outcome
        });
    }
}

#[test]
fn each_kind_has_a_series_and_one_kind_has_one_of_each_severity() {
    let judged = Judged::new(Known::ended(ended_early(PollFailure::Unavailable)));
    let findings = judged.findings();
    let series: Vec<_> = super::problems(&findings).collect();
    assert_eq!(series.len(), ProblemKind::ALL.len() + 1);
    let found = series.iter().filter(|(_, is_found)| *is_found);
    let found = found.map(|(problem, _)| (problem.kind, problem.severity));
    assert_eq!(found.collect::<Vec<_>>(), [("polls_failing", "warning")]);
}

#[test]
fn an_outage_is_a_problem_until_a_poll_reads_everything() {
    let mut judged = Judged::new(Known::new());
    assert_eq!(judged.after(0), [""; 0]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(1), ["polls_failing"]);
    judged.known.status.running = Some(running(judged.now, true, 1));
    assert_eq!(
        judged.after(1),
        ["polls_failing"],
        "the poll under way decides"
    );
    judged.polled(poll());
    assert_eq!(judged.after(0), [""; 0]);
}

#[test]
fn a_restart_in_the_middle_of_an_outage_changes_neither_problem_nor_date() {
    let mut judged = Judged::new(Known::new());
    judged.polled(ended_early(PollFailure::Unavailable));
    let two_days = 2 * 24 * 60;
    assert_eq!(judged.after(two_days), ["polls_failing"]);
    judged.restart();
    assert_eq!(judged.after(0), [""; 0], "the first poll decides");
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(0), ["polls_failing"]);
    assert_eq!(judged.findings()[0].since, Some(NOW));
    judged.polled(poll());
    assert_eq!(judged.after(0), [""; 0]);
    judged.restart();
    assert_eq!(judged.after(1), [""; 0], "the outage is over");
}

#[test]
fn stale_data_wait_for_the_end_of_the_first_poll() {
    let mut judged = Judged::new(Known::new());
    judged.restart();
    judged.known.snapshot.repositories[0].condition = testing::stale(ago(5), None);
    assert_eq!(judged.after(5), [""; 0]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(1), ["polls_failing", "data_stale"]);
}

/// Judges 20 repositories, some of which always fail.
fn judged_of_20(failing: u64) -> Judged {
    Judged::new(Known::with(|known| {
        known.snapshot.repositories = (1..=20)
            .map(|id| {
                let languages = read_at(NOW, 50.0);
                let condition = if id <= failing {
                    Condition::Failing(languages, failed(2))
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
        total: 20,
        read: 19,
        failed: 1,
        ..poll()
    };
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(60), [""; 0]);
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(0), [""; 0]);
    judged.polled(ended_early(PollFailure::Unavailable));
    assert_eq!(judged.after(1), ["polls_failing"]);
    judged.polled(without_one(&judged));
    assert_eq!(judged.after(1), [""; 0]);
    judged.restart();
    assert_eq!(judged.after(1), [""; 0], "the first poll decides");
}

#[test]
fn five_failing_repositories_of_20_make_polls_fail() {
    for (failing, is_problem) in [(1, false), (4, false), (5, true), (20, true)] {
        let mut judged = judged_of_20(failing);
        judged.polled(PollOutcome {
            total: 20,
            read: usize::try_from(20 - failing).unwrap(),
            failed: usize::try_from(failing).unwrap(),
            ..poll()
        });
        let expected: &[_] = if is_problem { &["polls_failing"] } else { &[] };
        assert_eq!(judged.after(16), expected, "{failing} of 20");
    }
}

#[test]
fn a_discarded_state_is_a_problem_for_a_day() {
    let mut judged = Judged::new(Known::new());
    judged.known.facts.state_discarded = Some(failure());
    judged.known.facts.started_at = Some(NOW);
    assert_eq!(judged.after(23 * 60), ["state_discarded"]);
    assert_eq!(judged.after(60), [""; 0]);
}

#[test]
fn a_repository_that_could_never_be_read_is_stale() {
    let mut judged = Judged::new(Known::with(|known| {
        let failure = failed(1);
        known.snapshot.repositories[0].condition = Condition::Pending(Some(failure));
    }));
    judged.polled(PollOutcome {
        failed: 1,
        ..poll()
    });
    assert_eq!(judged.after(0), [""; 0]);
    assert_eq!(judged.after(1), ["data_stale"]);
}
