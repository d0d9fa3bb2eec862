//! Builders of test fixtures, so that a new field changes one file.

use crate::{
    domain::{
        Completion, Defect, Defects, Language, Reason, Repository, RepositoryId, Scale, Settings,
        State, Thresholds,
        document::{Departed, Document, Judge, Selection, Totals},
        filter::{Filter, LeftOut},
        links::Links,
        polling::{PollOutcome, PollStatus},
        record::{KeptRepository, Record},
        targets::{TargetEntry, Targets},
    },
    support::{
        clock::{DAY, Timestamp},
        hint::Failure,
        parsed::Parsed,
    },
};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use std::{cell::RefCell, fmt::Write as _, sync::Once};
use std::{fs, path::Path, sync::Arc, time::Duration};
use tracing::{Event, Level, Subscriber, field::Visit};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// Returns the configuration of a property test: the same cases in each run, or others with
/// `PROPTEST_RNG_SEED=2`.
pub fn cases(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        failure_persistence: None,
        cases,
        rng_seed: match config.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        ..config
    }
}

/// Compares a shipped file with the text that the definitions give, or writes it. `path` begins at
/// the root of the repository. `tests/generate.sh` runs the tests whose names contain `generated`.
#[track_caller]
pub fn assert_generated(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, text).unwrap();
    }
    let shipped = fs::read_to_string(&file).unwrap();
    assert!(shipped == text, "{path} is outdated: run tests/generate.sh");
}

/// 2023-11-14T22:13:20Z.
pub const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

impl RepositoryId {
    pub const MAX: u64 = i64::MAX.unsigned_abs();

    pub fn new(id: u64) -> Option<Self> {
        id.try_into().ok()
    }
}

/// Makes a repository: private if its id is even, of unknown visibility otherwise. Only id 1 has a
/// time of creation.
pub fn repository(id: u64, name: &str) -> Arc<Repository> {
    Arc::new(Repository {
        id: RepositoryId::new(id).unwrap(),
        name: name.into(),
        private: id.is_multiple_of(2).then_some(true),
        created_at: (id == 1).then_some(NOW),
    })
}

/// Makes the record of a language that was first seen at `at`.
pub fn record_of(code: &str, name: &str, completion: Option<f64>, at: Timestamp) -> Record {
    let mut record = Record::new(Arc::new(Language {
        code: code.into(),
        name: name.into(),
    }));
    observe(&mut record, completion, at);
    record
}

/// Takes in another completion of a language whose target is 1.
pub fn observe(record: &mut Record, completion: Option<f64>, at: Timestamp) {
    let completion = completion.and_then(Completion::new);
    record.observe(completion, Scale::PERCENT, &TargetEntry::default(), at);
}

/// Makes a record whose completion rose at [`NOW`]. The code in capitals is the language's name.
pub fn record(code: &str, completion: Option<f64>) -> Record {
    record_of(code, &code.to_uppercase(), completion, NOW)
}

/// Makes a repository whose languages were read at [`NOW`].
pub fn read(id: u64, name: &str, languages: &[(&str, Option<f64>)]) -> Shown {
    let records = languages
        .iter()
        .map(|(code, completion)| record(code, *completion))
        .collect();
    let languages = Languages {
        read_at: NOW,
        records,
    };
    in_condition(repository(id, name), Condition::Fresh(languages))
}

/// Makes the condition of a repository without languages whose data are too old.
pub fn stale(read_at: Timestamp, failure: Option<Failed>) -> Condition {
    let languages = Languages {
        read_at,
        records: Arc::default(),
    };
    Condition::Stale { languages, failure }
}

pub fn in_condition(repository: Arc<Repository>, condition: Condition) -> Shown {
    Shown {
        repository,
        condition,
        defects: Defects::default(),
    }
}

/// Makes a repository whose only read failed.
pub fn failed(id: u64, name: &str, what: &str, hint: &str) -> Shown {
    let failed = Failed::new(what, hint, NOW);
    in_condition(repository(id, name), Condition::Pending(Some(failed)))
}

/// The failure of the last read of a repository.
#[derive(Debug, Clone)]
pub struct Failed {
    pub failure: Failure,
    pub reason: Reason,
    pub since: Timestamp,
}

impl Failed {
    pub fn new(what: &str, hint: &str, since: Timestamp) -> Self {
        Self {
            failure: Failure::new(what, hint),
            reason: Reason::NotFound,
            since,
        }
    }
}

/// The records of one repository, read in full at one time.
#[derive(Debug, Clone)]
pub struct Languages {
    pub read_at: Timestamp,
    pub records: Arc<[Record]>,
}

/// The condition of a repository's languages.
#[derive(Debug, Clone)]
pub enum Condition {
    Pending(Option<Failed>),
    Restored(Languages),
    Fresh(Languages),
    Failing(Languages, Failed),
    Stale {
        languages: Languages,
        failure: Option<Failed>,
    },
}

/// A repository before its judgement.
#[derive(Debug, Clone)]
pub struct Shown {
    pub repository: Arc<Repository>,
    pub condition: Condition,
    pub defects: Defects,
}

impl Shown {
    fn kept(&self) -> (KeptRepository, State) {
        let (state, languages, failed) = match self.condition.clone() {
            Condition::Pending(failure) => (State::Pending, None, failure),
            Condition::Restored(languages) => (State::Pending, Some(languages), None),
            Condition::Fresh(languages) => (State::Fresh, Some(languages), None),
            Condition::Failing(languages, failure) => {
                (State::Failing, Some(languages), Some(failure))
            }
            Condition::Stale { languages, failure } => (State::Stale, Some(languages), failure),
        };
        let mut kept = KeptRepository::new(Arc::clone(&self.repository));
        if let Some(Languages { read_at, records }) = languages {
            (kept.read_at, kept.records) = (Some(read_at), records);
        }
        if let Some(failed) = failed {
            (kept.failure, kept.reason) = (Some(failed.failure), Some(failed.reason));
            kept.failing_since = Some(failed.since);
        }
        kept.defects = self.defects.clone();
        (kept, state)
    }
}

/// An account before its judgement.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub taken_at: Timestamp,
    /// Sorted by name.
    pub repositories: Vec<Shown>,
    pub filtered: Vec<LeftOut>,
    pub unconfirmed: usize,
    pub defects: Defects,
    pub omitted_zeros: usize,
    pub departed: Vec<Departed>,
    pub settings: Settings,
}

impl Snapshot {
    /// Lists `count` repositories that filter.exclude leaves out.
    pub fn leave_out(&mut self, count: usize) {
        let left_out = LeftOut {
            repository: repository(1, "left/out"),
            by: Some("filter.exclude"),
        };
        self.filtered = vec![left_out; count];
    }

    /// Judges it as the ledger does.
    pub fn judge(&self, status: PollStatus, previous: Option<&Document>) -> Document {
        let kept: Vec<_> = self.repositories.iter().map(Shown::kept).collect();
        let records = kept.iter().flat_map(|(kept, _)| kept.listed());
        let completions = records.filter_map(|record| record.reported);
        let judge = Judge {
            settings: &self.settings,
            now: self.taken_at,
            is_scale_suspect: self.settings.scale.is_suspect(completions),
            previous,
        };
        let rows = kept.iter().map(|(kept, state)| judge.row(kept, *state));
        let rows: Vec<_> = rows.collect();
        Document {
            taken_at: self.taken_at,
            totals: Totals::of_rows(&rows),
            rows,
            selection: Selection::default(),
            as_of: None,
            filtered: self.filtered.clone(),
            unconfirmed: self.unconfirmed,
            defects: self.defects.clone(),
            omitted_zeros: self.omitted_zeros,
            departed: self.departed.clone(),
            excluded: ["en".into()].into(),
            is_scale_suspect: judge.is_scale_suspect,
            settings: Arc::new(self.settings.clone()),
            status,
        }
    }
}

impl Defects {
    /// Returns each defect as often as it was found.
    pub fn all(&self) -> Vec<Defect> {
        let all = self.0.iter();
        all.flat_map(|(defect, found)| std::iter::repeat_n(*defect, found.count))
            .collect()
    }
}

/// The defaults of the configuration.
impl Default for Thresholds {
    fn default() -> Self {
        Self {
            stalled_after: Parsed(DAY * 7),
            regressed_by: Parsed(0.2),
            at_risk_within: Parsed(DAY * 14),
        }
    }
}

/// The defaults of the configuration.
impl Default for Filter {
    fn default() -> Self {
        Self {
            include: Parsed::default(),
            exclude: Parsed::default(),
            exclude_languages: Parsed::default(),
            private: Parsed(true),
        }
    }
}

/// Makes the settings of an API that reports 0 to 100.
pub fn settings() -> Settings {
    Settings {
        interval: Duration::from_secs(300),
        stale_after: Duration::from_secs(3600),
        concurrency: 1,
        max_attempts: 1,
        filter: Filter::default(),
        scale: Scale {
            finished: 100.0,
            is_chosen: false,
        },
        targets: Targets::default(),
        thresholds: Thresholds::default(),
        links: Links::default(),
    }
}

/// Makes a snapshot of an API that reports 0 to 100, taken at [`NOW`].
pub fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot {
        taken_at: NOW,
        repositories,
        filtered: Vec::new(),
        unconfirmed: 0,
        defects: Defects::default(),
        omitted_zeros: 0,
        departed: Vec::new(),
        settings: settings(),
    }
}

/// Makes the status of an exporter with data and a state file that waits for its next poll.
pub fn status() -> PollStatus {
    PollStatus {
        has_data: true,
        state_is_kept: true,
        ..PollStatus::default()
    }
}

/// Makes the outcome of a poll that read two repositories and failed to read `failed`.
pub fn poll(failed: usize) -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        duration: Duration::from_millis(1500),
        is_listed: true,
        total: 2 + failed,
        read: 2,
        failed,
        ..PollOutcome::default()
    }
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the lines above debug level for the thread that logs them. All tests share one subscriber,
/// because subscribers that come and go on several threads can miss events.
struct Collector;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.0.insert_str(0, &format!("{value:?}")),
            "read" | "duration" | "hint" => {}
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::INFO {
            let mut line = Line(String::new());
            event.record(&mut line);
            LINES.with_borrow_mut(|lines| lines.push(line.0));
        }
    }
}

/// The lines that this thread logs.
pub struct Log;

impl Log {
    pub fn collect() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Collector))
                .unwrap();
        });
        LINES.take();
        Self
    }

    /// Returns the lines since the last call.
    #[expect(clippy::unused_self, reason = "without a log nothing is collected")]
    pub fn take(&self) -> Vec<String> {
        LINES.take()
    }
}
