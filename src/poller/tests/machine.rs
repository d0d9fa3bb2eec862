//! A search for sequences of events that break the poller: changes of the account, troubles of the
//! API, wrong clocks and restarts.
//!
//! [`world`] is the API, [`model`] a map of what it said, and [`invariants`] what must hold in each
//! publication. Sequences that once failed are tests of their own in [`regressions`].

mod invariants;
mod model;
mod regressions;
mod world;

use super::*;
use crate::domain::targets::tests::globs;
use crate::{
    api::Pace,
    domain::{
        Defect, Scale,
        filter::Filter,
        targets::{Targets, tests::entry},
    },
    testing,
};
use model::Filters;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
};
use tokio::{runtime::Runtime, sync::oneshot, task::JoinHandle};
use world::{Account, CODES, How, Seen, Who, World};

const INTERVAL: u64 = 300;
/// `api.requests_per_second`.
const RATE: f64 = 10.0;
/// The number of responses after which the pace is the configured one again: fourteen steps of a
/// quarter lead from the lowest to it.
const RESPONSES_OF_RECOVERY: usize = 15 * 20;
/// The repositories that a sequence begins with.
const REPOSITORIES: u64 = 25;

/// The repository that `targets` requires.
const REQUIRED: &str = "o/1";

type Id = usize;

/// An event. A repository is chosen by its place among those that there are.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Pass(u64),
    Completion(Id, usize, Option<u8>),
    DropLanguage(Id, usize),
    /// A completion near the limits of the scale, in millionths of it.
    Odd(Id, usize, i64),
    /// Each completion is this percentage of the scale.
    All(u8),
    /// Each completion is 1: the scale is suspect, unless it is that.
    Ones,
    /// An entry of a repository's languages cannot be read, or can be again.
    BadLanguage(Id, Option<Defect>),
    /// An entry of the listing cannot be read, or can be again.
    BadListing(Option<Defect>),
    Add(u8),
    Remove(Id),
    Rename(Id),
    Recreate(Id),
    /// Removes all but each third repository.
    RemoveMost,
    /// Creates all but each third repository again, each under its name.
    RecreateMost,
    /// The listing is not sorted, or is again.
    Unsorted(bool),
    /// Brings back everything that was removed.
    BringBack,
    Trouble(Who, How),
    Well,
    RotateKey,
    RevokeKey,
    SetClock(i64),
    /// A restart with these filters and this `api.completion_scale`.
    Restart(Filters, u8),
    Kill,
    DamageState,
}

fn event() -> BoxedStrategy<Event> {
    let id = 0..40_usize;
    let status = prop_oneof![
        3 => Just(429_u16),
        3 => Just(503),
        1 => prop::sample::select(vec![403, 404, 408, 425, 500, 502, 504])
    ];
    let who = prop_oneof![
        2 => Just(Who::All),
        1 => Just(Who::Listing),
        1 => Just(Who::SecondPage),
        1 => Just(Who::Repositories),
        4 => (0..10_u8).prop_map(Who::Digit)
    ];
    let how = prop_oneof![
        4 => status.clone().prop_map(How::Status),
        1 => (status.clone(), prop::sample::select(vec![1_u16, 20, 290, 310, 3600]))
            .prop_map(|(status, seconds)| How::Hold(status, seconds)),
        2 => (status.clone(), 1..90_u8).prop_map(|(status, share)| How::Sometimes(status, share)),
        1 => (prop::sample::select(vec![429, 503]), 5..90_u8)
            .prop_map(|(status, count)| How::Limit(status, count)),
        1 => prop::sample::select(vec![How::Timeout, How::Connect, How::Truncated, How::Html]),
    ];
    let filters = (
        prop::option::of(0..10_u8),
        prop::option::of(prop::sample::select(CODES.to_vec())),
    );
    let filters = filters.prop_map(|(digit, language)| Filters { digit, language });
    let pass = prop_oneof![1..20_u64, Just(INTERVAL), 20..600_u64, 600..6000_u64];
    prop_oneof![
        8 => pass.prop_map(Event::Pass),
        4 => (id.clone(), 0..3_usize, prop::option::weighted(0.9, 0..99_u8))
            .prop_map(|(id, code, to)| Event::Completion(id, code, to)),
        1 => (id.clone(), 0..3_usize).prop_map(|(id, code)| Event::DropLanguage(id, code)),
        1 => (id.clone(), 0..3_usize, prop::sample::select(vec![-9_i64, -1, 1_000_000, 1_000_001, 1_000_009]))
            .prop_map(|(id, code, millionths)| Event::Odd(id, code, millionths)),
        2 => prop::sample::select(vec![0_u8, 50, 100, 100, 100]).prop_map(Event::All),
        1 => Just(Event::Ones),
        1 => (id.clone(), prop::option::of(prop::sample::select(vec![Defect::NotAnObject, Defect::Code])))
            .prop_map(|(id, defect)| Event::BadLanguage(id, defect)),
        1 => prop::option::of(prop::sample::select(vec![Defect::NotAnObject, Defect::Id, Defect::Name]))
            .prop_map(Event::BadListing),
        1 => (1..9_u8).prop_map(Event::Add),
        2 => id.clone().prop_map(Event::Remove),
        1 => id.clone().prop_map(Event::Rename),
        1 => id.prop_map(Event::Recreate),
        1 => Just(Event::RemoveMost),
        1 => Just(Event::RecreateMost),
        1 => any::<bool>().prop_map(Event::Unsorted),
        1 => Just(Event::BringBack),
        6 => (who, how).prop_map(|(who, how)| Event::Trouble(who, how)),
        3 => Just(Event::Well),
        1 => Just(Event::RotateKey),
        1 => Just(Event::RevokeKey),
        1 => (-600..600_i64).prop_map(Event::SetClock),
        2 => (filters, prop::sample::select(vec![50_u8, 100, 200]))
            .prop_map(|(filters, scale)| Event::Restart(filters, scale)),
        1 => Just(Event::Kill),
        1 => Just(Event::DamageState),
    ]
    .boxed()
}

/// A process that polls, and its world.
struct Exporter {
    runtime: Runtime,
    world: Arc<Mutex<World>>,
    removed: BTreeMap<u64, Account>,
    next_id: u64,
    /// The pace of the process.
    pace: Arc<Pace>,
    filters: Filters,
    scale: f64,
    begun: Instant,
    ahead_by: &'static AtomicI64,
    process: Option<Process>,
    last: LastPublication,
}

type LastPublication = Arc<Mutex<Option<Arc<Document>>>>;

struct Process {
    state: watch::Receiver<Arc<SavedState>>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Exporter {
    fn new() -> Self {
        // The jitter of backoffs is the same in each run, too.
        fastrand::seed(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let entered = runtime.enter();
        let begun = Instant::now();
        let world = Arc::new(Mutex::new(World::new()));
        let ahead_by: &AtomicI64 = Box::leak(Box::default());
        drop(entered);
        let mut exporter = Self {
            runtime,
            world,
            removed: BTreeMap::new(),
            next_id: 1,
            pace: Arc::new(Pace::new(Some(RATE))),
            filters: Filters::default(),
            scale: 100.0,
            begun,
            ahead_by,
            process: None,
            last: Arc::default(),
        };
        (0..REPOSITORIES).for_each(|_| exporter.add());
        exporter.start(SavedState::default());
        exporter
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    fn add(&mut self) {
        let id = self.next_id;
        self.next_id += 1;
        let completion = f64::from(u8::try_from(id * 37 % 99).unwrap());
        let languages = [("de", Some(completion)), ("fr", None)];
        let account = Account {
            name: format!("o/{id}"),
            languages: languages.into(),
            bad: None,
        };
        self.world().account.insert(id, account);
    }

    fn settings(&self) -> Settings {
        let Filters { digit, language } = self.filters;
        Settings {
            interval: Duration::from_secs(INTERVAL),
            concurrency: 8,
            max_attempts: 4,
            filter: Filter {
                exclude: globs(digit.map(|digit| format!("o/*{digit}")).as_slice()),
                exclude_languages: globs(language.as_slice()),
                ..Filter::default()
            },
            scale: Scale {
                finished: self.scale,
                is_chosen: false,
            },
            targets: Targets(vec![entry(&[REQUIRED], &[], 1.0, "")]),
            ..testing::settings()
        }
    }

    fn start(&mut self, before: SavedState) {
        let _entered = self.runtime.enter();
        self.pace = Arc::new(Pace::new(Some(RATE)));
        let seen = Seen {
            world: Arc::clone(&self.world),
            pace: Arc::clone(&self.pace),
            filters: self.filters,
            scale: self.scale,
        };
        let (saver, state) = Saver::in_memory(before.clone());
        let (world, last) = (Arc::clone(&self.world), Arc::clone(&self.last));
        let mut poller = Poller::new(
            seen,
            Arc::new(self.settings()),
            Globs::default(),
            (Some(before), Some(saver)),
            Clock::ahead_by(self.begun, START, self.ahead_by),
            Instruments::new(Some("/metrics")),
        );
        poller.seen = Box::new(move |document| {
            world.lock().unwrap().check(document);
            *last.lock().unwrap() = Some(Arc::clone(document));
        });
        self.world().start(self.filters);
        let (stop, stopped) = oneshot::channel();
        let alive = watch::Sender::new(Instant::now());
        let polling = poller.run(alive, async {
            let _ = stopped.await;
        });
        let task = self.runtime.spawn(polling);
        self.process = Some(Process { state, stop, task });
    }

    /// Ends the process, by a signal or at once, and returns what it before.
    fn end(&mut self, is_killed: bool) -> SavedState {
        let process = self.process.take().unwrap();
        if is_killed {
            process.task.abort();
        } else {
            process.stop.send(()).unwrap();
        }
        let ended = self.runtime.block_on(process.task);
        assert_eq!(ended.is_err(), is_killed);
        self.world().end_listing();
        as_file(&process.state.borrow())
    }

    fn pass(&self, seconds: u64) {
        self.runtime
            .block_on(async { sleep(Duration::from_secs(seconds)).await });
    }

    fn apply(&mut self, event: &Event) {
        let world = Arc::clone(&self.world);
        let mut world = world.lock().unwrap();
        match *event {
            Event::Completion(place, code, to) => world.change(place, |account| {
                account.languages.insert(CODES[code], to.map(f64::from));
            }),
            Event::DropLanguage(place, code) => world.change(place, |account| {
                account.languages.remove(CODES[code]);
            }),
            Event::Odd(place, code, millionths) => {
                #[expect(clippy::cast_precision_loss, reason = "a small number")]
                let completion = self.scale * millionths as f64 / 1e6;
                world.change(place, |account| {
                    account.languages.insert(CODES[code], Some(completion));
                });
            }
            Event::All(percent) => world.say(self.scale * f64::from(percent) / 100.0),
            Event::Ones => world.say(1.0),
            Event::BadLanguage(place, defect) => world.change(place, |account| {
                account.bad = defect;
            }),
            Event::BadListing(defect) => world.bad_entry = defect,
            Event::Remove(place) => {
                let id = world.chosen(place);
                let removed = id.and_then(|id| world.account.remove_entry(&id));
                self.removed.extend(removed);
            }
            Event::Rename(place) => world.change(place, |account| account.name += "0"),
            Event::Recreate(place) => {
                if let Some(id) = world.chosen(place) {
                    let account = world.account.remove(&id).unwrap();
                    world.account.insert(self.next_id, account);
                    self.next_id += 1;
                }
            }
            Event::RemoveMost => {
                let ids: Vec<_> = world.account.keys().copied().collect();
                for id in ids.into_iter().filter(|id| id % 3 > 0) {
                    self.removed.extend(world.account.remove_entry(&id));
                }
            }
            Event::Unsorted(is_unsorted) => world.is_unsorted = is_unsorted,
            Event::BringBack => world.account.append(&mut self.removed),
            Event::Trouble(who, how) => world.troubles.push((who, how)),
            Event::Well => {
                world.troubles.clear();
                world.is_unsorted = false;
                world.is_revoked = false;
            }
            Event::RotateKey => world.key += 1,
            Event::RevokeKey => world.is_revoked = true,
            _ => {
                drop(world);
                self.apply_to_process(event);
            }
        }
    }

    fn apply_to_process(&mut self, event: &Event) {
        match *event {
            Event::Pass(seconds) => self.pass(seconds),
            Event::Add(count) => (0..count).for_each(|_| self.add()),
            Event::RecreateMost => {
                let world = Arc::clone(&self.world);
                let mut world = world.lock().unwrap();
                let ids: Vec<_> = world.account.keys().copied().collect();
                for id in ids.into_iter().filter(|id| id % 3 > 0) {
                    let account = world.account.remove(&id).unwrap();
                    world.account.insert(self.next_id, account);
                    self.next_id += 1;
                }
            }
            Event::SetClock(minutes) => {
                self.ahead_by.store(minutes * 60_000, Ordering::Relaxed);
                self.world().ahead_by = minutes;
            }
            Event::Restart(filters, scale) => {
                (self.filters, self.scale) = (filters, f64::from(scale));
                let saved = self.end(false);
                self.world().model.excluded = filters.language;
                self.start(saved);
            }
            Event::Kill => {
                let saved = self.end(true);
                let kept = saved.repositories.iter().map(|(id, kept)| {
                    let name = kept.repository.name.to_string();
                    let languages = || invariants::completions(kept.listed());
                    let languages = kept.read_at.map(|read_at| (read_at, languages()));
                    (id.get(), (name, languages))
                });
                self.world().model.lose(&kept.collect());
                self.start(saved);
            }
            Event::DamageState => {
                self.end(true);
                self.world().model.forget();
                self.start(SavedState::default());
            }
            _ => unreachable!("an event of the world"),
        }
    }

    fn assert_no_violation(&self) {
        let world = self.world();
        let first: Vec<_> = world.violations.iter().take(3).collect();
        assert!(first.is_empty(), "{first:#?}");
    }

    fn last(&self) -> Arc<Document> {
        self.last.lock().unwrap().clone().unwrap()
    }

    /// Passes the time until the next poll has ended, and returns its outcome.
    fn next_poll(&self) -> PollOutcome {
        let before = self.world().polls;
        for _ in 0..24 * 3600 {
            self.pass(1);
            let status = self.last().status.clone();
            let has_begun = self.world().polls > before;
            if has_begun && status.next_poll_at > Some(self.world().now()) {
                return status.last.unwrap();
            }
        }
        panic!("no poll ends within a day: {:?}", self.last().status);
    }

    /// Checks that everything is as at the start soon after the world is well again.
    fn recover(mut self) {
        for event in [Event::Well, Event::SetClock(0)] {
            self.apply(&event);
        }
        // A poll may be under way that had its troubles.
        self.next_poll();
        let repositories = self.world().account.len();
        let responses = self.world().requests.len();
        for _ in 0..3 {
            self.next_poll();
        }
        let document = self.last();
        let status = document.status.clone();
        let fresh = document.count(|row| row.state.label() == "fresh");
        assert_eq!(fresh, document.rows.len(), "{status:?}");
        assert!(status.last.unwrap().is_success());
        while self.world().requests.len() < responses + RESPONSES_OF_RECOVERY {
            self.next_poll();
        }
        let last = self.next_poll();
        // Ten requests a second, of which each takes less than a tenth.
        let requests = repositories + repositories.div_ceil(10) + 1;
        let expected = Duration::from_millis(100 * requests as u64 + 1000);
        assert!(
            last.duration <= expected,
            "{:?} > {expected:?}",
            last.duration
        );
        self.assert_no_violation();
    }
}

/// Applies the events, and checks the invariants after each.
fn run(events: &[Event]) {
    let mut exporter = Exporter::new();
    for event in events {
        exporter.apply(event);
        exporter.assert_no_violation();
    }
    exporter.recover();
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..testing::cases(256) })]

    #[test]
    fn no_sequence_of_events_breaks_the_poller(events in prop::collection::vec(event(), 1..16)) {
        run(&events);
    }
}
