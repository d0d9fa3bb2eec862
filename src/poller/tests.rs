//! The poller against an API in memory, under a paused clock.

use super::*;
mod falls;
mod logging;
mod outcome;
mod pace;
mod properties;
mod staleness;
mod whatever_fails;
mod wrong_clock;

use crate::{
    api::{ApiError, Attempts, PollEnd, RequestFailure, Session},
    domain::{
        BadEntry, Completion, Defects, Language, LanguageList, Listing, Next, Page, PollFailure,
        Reason, Repository, RepositoryId, TargetLanguage,
        snapshot::{Condition, Pace},
    },
};
use std::sync::Mutex;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// What the API in memory answers, and what it was asked.
#[derive(Debug, Default)]
struct Answers {
    /// Pages of (id, name); after the last comes the empty page, unless `listing_breaks` says that it fails.
    pages: Vec<Vec<(u64, &'static str)>>,
    listing_breaks: bool,
    /// The Date of the pages of the listing.
    sent_at: Option<Timestamp>,
    /// How long a page of the listing takes.
    page_takes: Duration,
    /// Completions by repository; a repository that is not here cannot be read.
    completions: Vec<(u64, f64)>,
    asked: Vec<u64>,
    /// What is bad in the languages of a repository.
    bad: Vec<(u64, Vec<BadEntry>)>,
    /// Whether what fails does so as in an outage.
    is_unreachable: bool,
    /// The languages request of this number ends the poll, for that reason.
    stop_after: Option<(usize, PollFailure)>,
    /// A request for the languages of this repository ends the poll.
    stops: Option<u64>,
    /// The key cannot be read.
    has_no_key: bool,
    held_until: Option<Instant>,
    takes: Duration,
}

impl Answers {
    fn error(&self, what: &str) -> ApiError {
        let failure = RequestFailure {
            reason: Reason::ServerError,
            failure: Failure::new(what, "wait"),
        };
        if self.is_unreachable {
            ApiError::Unreachable {
                failure,
                requests: 1,
            }
        } else {
            ApiError::Failed(failure)
        }
    }
}

#[derive(Debug, Clone, Default)]
struct FakeApi(Arc<Mutex<Answers>>);

struct FakeSession {
    answers: Arc<Mutex<Answers>>,
    ended: Mutex<Option<PollEnd>>,
    calls: Mutex<usize>,
}

impl Api for FakeApi {
    type Session = FakeSession;

    async fn begin(&self) -> Result<FakeSession, PollEnd> {
        if self.0.lock().unwrap().has_no_key {
            return Err(PollEnd {
                reason: PollFailure::KeyFile,
                failure: Failure::new("the key file is empty", "fill it"),
            });
        }
        Ok(FakeSession {
            answers: Arc::clone(&self.0),
            ended: Mutex::default(),
            calls: Mutex::default(),
        })
    }

    fn held_until(&self) -> Option<Instant> {
        self.0
            .lock()
            .unwrap()
            .held_until
            .filter(|until| *until > Instant::now())
    }

    fn pace(&self) -> Option<Pace> {
        None
    }

    fn forget_pace(&self) {}
}

impl Session for FakeSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let page_takes = self.answers.lock().unwrap().page_takes;
        tokio::time::sleep(page_takes).await;
        let answers = self.answers.lock().unwrap();
        let after = after.map_or(0, RepositoryId::get);
        let page = answers
            .pages
            .iter()
            .find(|page| page.last().is_some_and(|(id, _)| *id > after));
        if page.is_none() && answers.listing_breaks {
            return Err(answers.error("the listing broke"));
        }
        let (mut listing, mut next) = (Listing::default(), Next::End);
        for (id, name) in page.into_iter().flatten() {
            let id = RepositoryId::new(*id).unwrap();
            next = Next::After(id);
            listing.add(Arc::new(Repository {
                id,
                name: (*name).into(),
                private: Some(false),
                created_at: None,
            }));
        }
        Ok(Page {
            listing,
            next,
            sent_at: answers.sent_at,
        })
    }

    async fn list_languages(
        &self,
        id: RepositoryId,
        _: Attempts,
    ) -> Result<LanguageList, ApiError> {
        if let Some(end) = self.ended.lock().unwrap().clone() {
            return Err(ApiError::PollEnded(end));
        }
        let takes = self.answers.lock().unwrap().takes;
        tokio::time::sleep(takes).await;
        let mut answers = self.answers.lock().unwrap();
        answers.asked.push(id.get());
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        let by_number = answers.stop_after.filter(|(number, _)| number == &*calls);
        let by_id = answers.stops.filter(|stops| *stops == id.get());
        let by_id = by_id.map(|_| PollFailure::Unauthorized);
        if let Some(reason) = by_number.map(|(_, reason)| reason).or(by_id) {
            let failure = Failure::new("enough", "wait");
            let end = PollEnd { reason, failure };
            *self.ended.lock().unwrap() = Some(end.clone());
            return Err(ApiError::PollEnded(end));
        }
        let completion = answers.completions.iter().find(|(of, _)| *of == id.get());
        let Some((_, completion)) = completion else {
            return Err(answers.error(&format!("repository {id} fails")));
        };
        let language = Arc::new(Language {
            code: "de".into(),
            name: "German".into(),
        });
        let target = TargetLanguage {
            language,
            completion: Completion::new(*completion),
        };
        let bad = answers.bad.iter().find(|(of, _)| *of == id.get());
        let bad = Defects {
            described: bad.map(|(_, bad)| bad.clone()).unwrap_or_default(),
            ..Defects::default()
        };
        Ok(LanguageList {
            languages: vec![target],
            bad,
            ..LanguageList::default()
        })
    }
}

fn discard(_: Arc<Snapshot>, _: PollStatus) {}

struct Bench {
    api: FakeApi,
    poller: Poller<FakeApi>,
    settings: watch::Sender<Arc<Settings<FakeApi>>>,
}

fn settings(api: &FakeApi) -> Settings<FakeApi> {
    Settings {
        api: api.clone(),
        concurrency: 1,
        max_repositories: 1000,
        interval: Duration::from_secs(300),
        stale_after: Duration::from_secs(3600),
        filter: Filter::default(),
        excluded_languages: LanguageFilter::default(),
        completion_scale: 100.0,
        targets: Arc::default(),
        links: Arc::default(),
        only: globset::GlobSet::empty(),
    }
}

fn bench() -> Bench {
    let api = FakeApi::default();
    api.0.lock().unwrap().pages = vec![vec![(1, "o/a"), (2, "o/b")], vec![(3, "o/c")]];
    api.0.lock().unwrap().completions = vec![(1, 10.0), (2, 20.0), (3, 30.0)];
    let (sender, receiver) = watch::channel(Arc::new(settings(&api)));
    let clock = Clock::following_tokio(START);
    let poller = Poller::new(
        receiver,
        None,
        None,
        clock,
        Arc::new(Instruments::new("/metrics")),
        Box::new(discard),
    );
    Bench {
        api,
        poller,
        settings: sender,
    }
}

/// A poller of that API, whose settings never change.
fn polling(
    api: &FakeApi,
    memory: Option<crate::state::Memory>,
    publish: impl Fn(Arc<Snapshot>, PollStatus) + Send + Sync + 'static,
) -> Poller<FakeApi> {
    Poller::new(
        watch::channel(Arc::new(settings(api))).1,
        memory,
        None,
        Clock::following_tokio(START),
        Arc::new(Instruments::new("/metrics")),
        Box::new(publish),
    )
}

impl Bench {
    fn change(&self, change: impl FnOnce(&mut Answers)) {
        change(&mut self.api.0.lock().unwrap());
    }

    async fn poll(&mut self) -> PollOutcome {
        self.poller.poll().await
    }

    /// id:condition of each repository shown.
    fn shown(&self) -> String {
        let snapshot = self.poller.snapshot();
        let shown = snapshot
            .repositories
            .iter()
            .map(|shown| format!("{}:{}", shown.repository.id, shown.condition.label()));
        shown.collect::<Vec<_>>().join(" ")
    }

    fn asked(&self) -> Vec<u64> {
        std::mem::take(&mut self.api.0.lock().unwrap().asked)
    }
}

async fn pass(minutes: u64) {
    tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_complete_listing_lacks_leaves() {
    let mut bench = bench();
    assert!(bench.poll().await.is_success());
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
    bench.change(|answers| answers.pages = vec![vec![(1, "o/a"), (3, "o/c")]]);
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 3:fresh");
}

#[tokio::test(start_paused = true)]
async fn one_empty_listing_removes_nothing_and_a_second_does() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.pages.clear());
    assert!(bench.poll().await.is_success());
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
    bench.poll().await;
    assert_eq!(bench.shown(), "");
}

#[tokio::test(start_paused = true)]
async fn only_what_both_of_two_thin_listings_lack_leaves() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.pages = vec![vec![(1, "o/a")]]);
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh");
    bench.change(|answers| answers.pages = vec![vec![(2, "o/b")]]);
    bench.poll().await;
    assert_eq!(bench.shown(), "1:fresh 2:fresh");
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_listing_removes_nothing_and_all_are_polled() {
    let mut bench = bench();
    bench.poll().await;
    bench.asked();
    bench.change(|answers| {
        answers.pages = vec![vec![(2, "o/b"), (4, "o/d")]];
        answers.listing_breaks = true;
    });
    let outcome = bench.poll().await;
    assert_eq!(
        outcome.listing.unwrap().failure.what,
        "the listing broke".into()
    );
    assert_eq!(bench.shown(), "1:fresh 2:fresh 3:fresh 4:pending");
    assert_eq!(bench.asked(), [4, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn incomplete_listings_that_show_others_each_time_add_no_more_than_there_may_be() {
    let mut bench = bench();
    bench.change(|answers| answers.listing_breaks = true);
    for poll in 0..4_u64 {
        bench.change(|answers| {
            let ids = poll * 400 + 1..=poll * 400 + 400;
            answers.pages = vec![ids.map(|id| (id, &*format!("o/{id}").leak())).collect()];
        });
        bench.poll().await;
    }
    assert_eq!(bench.poller.snapshot().repositories.len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn an_absence_of_less_than_thirty_days_keeps_the_clock() {
    for (days, kept) in [(29, true), (31, false)] {
        let mut bench = bench();
        bench.poll().await;
        bench.change(|answers| answers.pages = vec![vec![(1, "o/a"), (2, "o/b")]]);
        bench.poll().await;
        for _ in 0..days {
            pass(24 * 60).await;
            let now = bench.poller.clock.now();
            bench.change(|answers| answers.sent_at = Some(now));
            bench.poll().await;
        }
        bench.change(|answers| answers.pages.push(vec![(3, "o/renamed")]));
        bench.poll().await;
        let snapshot = bench.poller.snapshot();
        let languages = snapshot.repositories[2].condition.languages().unwrap();
        assert_eq!(
            languages.readings[0].progress().unwrap().at == START,
            kept,
            "{days} days"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_poll_did_not_reach_the_next_reads_first() {
    let mut bench = bench();
    bench.change(|answers| answers.stop_after = Some((2, PollFailure::Held)));
    let outcome = bench.poll().await;
    assert_eq!((outcome.read, outcome.unreached), (1, 2));
    bench.poll().await;
    assert_eq!(bench.asked(), [1, 2, 3, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_ran_over_is_followed_at_once_and_one_that_broke_by_a_whole_interval() {
    let stop = Some((2, PollFailure::Unavailable));
    for (stop_after, starts) in [(None, [0, 600, 1200]), (stop, [0, 700, 1400])] {
        let api = bench().api;
        api.0.lock().unwrap().takes = Duration::from_secs(200);
        api.0.lock().unwrap().stop_after = stop_after;
        let begun = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
        let log = Arc::clone(&begun);
        let publish = move |_, status: PollStatus| {
            if let Some(running) = status.running() {
                let since = running.since.since(START).as_secs();
                log.lock().unwrap().insert(since);
            }
        };
        polling(&api, None, publish).run(pass(35)).await;
        assert!(begun.lock().unwrap().iter().take(3).eq(&starts));
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_publishes_at_least_every_five_seconds() {
    let api = bench().api;
    api.0.lock().unwrap().takes = Duration::from_secs(40);
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    let publish = move |snapshot: Arc<Snapshot>, _| log.lock().unwrap().push(snapshot.taken_at);
    let mut poller = polling(&api, None, publish);
    poller.poll().await;
    let times = times.lock().unwrap();
    let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
    assert_eq!(longest, Some(Duration::from_secs(5)));
    assert!(times[0].since(START) < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_listing_publishes_how_far_it_is_at_least_every_five_seconds() {
    let api = bench().api;
    api.0.lock().unwrap().page_takes = Duration::from_secs(60);
    let published = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&published);
    let publish = move |snapshot: Arc<Snapshot>, status: PollStatus| {
        if let Some(Step::Listing { shown }) = status.running().map(|running| running.step) {
            let at = snapshot.taken_at.since(START);
            log.lock().unwrap().push((at, shown));
        }
    };
    let mut poller = polling(&api, None, publish);
    poller.poll().await;
    let published = published.lock().unwrap();
    let longest = published
        .windows(2)
        .map(|pair| pair[1].0.saturating_sub(pair[0].0))
        .max();
    assert_eq!(longest, Some(Duration::from_secs(5)));
    let first_with = |count| {
        let first = published.iter().find(|(_, shown)| *shown == count);
        first.unwrap().0.as_secs()
    };
    assert!((60..=65).contains(&first_with(2)), "{}", first_with(2));
    assert!((120..=125).contains(&first_with(3)), "{}", first_with(3));
}

#[tokio::test(start_paused = true)]
async fn a_slow_listing_of_others_is_a_thin_one_too() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| {
        answers.pages = vec![vec![(4, "o/d"), (5, "o/e"), (6, "o/f")], vec![(7, "o/g")]];
        answers.page_takes = Duration::from_secs(60);
    });
    bench.poll().await;
    assert!(
        bench.shown().starts_with("1:fresh 2:fresh 3:fresh "),
        "{}",
        bench.shown()
    );
}

#[tokio::test(start_paused = true)]
async fn names_that_wander_during_a_slow_listing_cost_no_data() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| {
        // The first is renamed, and a new one has its former name; both are seen long before the rest.
        answers.pages = vec![
            vec![(1, "o/renamed"), (4, "o/a")],
            vec![(5, "o/d")],
            vec![(6, "o/b"), (7, "o/c")],
        ];
        answers.page_takes = Duration::from_secs(60);
        answers.completions.retain(|(id, _)| *id != 1);
    });
    bench.poll().await;
    assert!(bench.shown().contains("1:failing"), "{}", bench.shown());
}

/// Polls that API for so many minutes, with a state file at `path`.
async fn poll_and_save(api: &FakeApi, path: &std::path::Path, minutes: u64) {
    use crate::state::StateFile;
    let opened = StateFile::open(path, "https://api.example.com/", START).unwrap();
    let (_sender, receiver) = watch::channel(Arc::new(settings(api)));
    let instruments = Arc::new(Instruments::new("/metrics"));
    let (saver, saving) = Saver::new(opened.file, Arc::clone(&instruments));
    let clock = Clock::following_tokio(START);
    let poller = Poller::new(
        receiver,
        None,
        Some(saver),
        clock,
        instruments,
        Box::new(discard),
    );
    tokio::join!(poller.run(pass(minutes)), saving);
}

#[tokio::test(start_paused = true)]
async fn what_changed_nothing_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let api = FakeApi::default();
    api.0.lock().unwrap().has_no_key = true;
    poll_and_save(&api, &path, 60).await;
    assert!(!path.exists());
}

/// A process that is killed early must get further than the one before it.
#[tokio::test(start_paused = true)]
async fn a_long_poll_is_saved_after_its_listing_and_soon_after_its_first_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let api = bench().api;
    api.0.lock().unwrap().takes = Duration::from_secs(20 * 60);
    let looking = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        std::fs::remove_file(&path).expect("saved after the listing");
        pass(19).await;
        assert!(!path.exists(), "nothing was read in the meantime");
        pass(1).await;
        assert!(path.exists(), "saved after the first read");
    };
    tokio::join!(poll_and_save(&api, &path, 22), looking);
}

#[tokio::test(start_paused = true)]
async fn how_long_a_poll_took_counts_after_a_restart_too() {
    let mut bench = bench();
    bench.change(|answers| answers.takes = Duration::from_secs(3600));
    bench.poll().await;
    let limit = bench.poller.staleness_limit();
    assert!(limit >= Duration::from_secs(2 * 3600), "{limit:?}");
    bench.restart(START);
    assert_eq!(bench.poller.staleness_limit(), limit);
}

/// What a process kept that read the three repositories at [`START`].
async fn kept() -> crate::state::Memory {
    let mut bench = bench();
    bench.poll().await;
    bench.poller.ledger.memory()
}

#[tokio::test(start_paused = true)]
async fn the_listing_after_a_restart_confirms_what_the_one_before_it_lacked() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.pages = vec![vec![(3, "o/c")]]);
    bench.poll().await;
    assert_eq!(bench.poller.snapshot().unconfirmed, 2);
    bench.restart(START);
    bench.poll().await;
    assert_eq!(bench.shown(), "3:fresh");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_the_oldest_attempt_comes_first_also_where_it_failed() {
    let mut bench = bench();
    bench.change(|answers| {
        answers.completions.retain(|(id, _)| *id == 3);
        answers.stop_after = Some((2, PollFailure::Unavailable));
    });
    bench.poll().await;
    bench.restart(START);
    bench.poll().await;
    assert_eq!(bench.asked(), [1, 2, 3, 2]);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_what_failed_before_it_is_failing_and_the_rest_pending() {
    let mut bench = bench();
    bench.poll().await;
    bench.change(|answers| answers.completions.retain(|(id, _)| *id != 2));
    bench.poll().await;
    bench.restart(START);
    assert_eq!(bench.shown(), "1:pending 2:failing 3:pending");
}

#[tokio::test(start_paused = true)]
async fn what_the_filters_leave_out_is_not_shown_after_a_restart_either() {
    let memory = kept().await;
    let api = FakeApi::default();
    let mut settings = settings(&api);
    settings.filter.exclude = globset::GlobSet::builder()
        .add(globset::Glob::new("o/b").unwrap())
        .build()
        .unwrap();
    let (_sender, receiver) = watch::channel(Arc::new(settings));
    let clock = Clock::following_tokio(START);
    let instruments = Arc::new(Instruments::new("/metrics"));
    let poller = Poller::new(
        receiver,
        Some(memory),
        None,
        clock,
        instruments,
        Box::new(discard),
    );
    let names = poller
        .snapshot()
        .repositories
        .iter()
        .map(|shown| shown.repository.id.get())
        .collect::<Vec<_>>();
    assert_eq!(names, [1, 3]);
    assert_eq!(poller.snapshot().filtered, 1);
}
