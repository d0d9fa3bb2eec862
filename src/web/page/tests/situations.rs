//! The page in the situations that people see. It is written into the folder that PAGES names, for
//! pictures and for axe-core:
//!
//! `PAGES=folder cargo test --lib -- --ignored pages_of_situations`

use super::*;
use std::path::PathBuf;
use tempfile::TempDir;

const CODES: [&str; 12] = [
    "de", "fr", "es", "it", "ja", "ko", "nl", "pl", "pt-BR", "uk", "zh-Hans", "zh-Hant",
];
const NAMES: [&str; 12] = [
    "German",
    "French",
    "Spanish",
    "Italian",
    "Japanese",
    "Korean",
    "Dutch",
    "Polish",
    "Portuguese (Brazil)",
    "Ukrainian",
    "Chinese (Simplified)",
    "Chinese (Traditional)",
];
const REPOSITORIES: [&str; 10] = [
    "acme/webshop",
    "acme/app-android",
    "acme/app-ios",
    "acme/docs",
    "acme/handbook",
    "acme/payments",
    "acme/support-portal",
    "globex/firmware",
    "globex/console",
    "initech/reports",
];

fn noise(a: usize, b: usize) -> usize {
    (a * 7919 + b * 104_729 + 12_345) % 1000
}

fn language(code: &str, name: &str, completion: Option<f64>, days: i64) -> Record {
    testing::record_of(code, name, completion, days_ago(days))
}

/// Returns the language of a record with another completion and clock.
fn with(record: &Record, completion: Option<f64>, days: i64) -> Record {
    let language = &record.language;
    self::language(&language.code, &language.name, completion, days)
}

/// Repositories by languages, with completions from a fixed noise.
fn world(repositories: usize, languages: usize) -> Vec<Shown> {
    let name = |index: usize| match REPOSITORIES.get(index) {
        Some(name) => (*name).to_owned(),
        None => format!("team-{:02}/service-{index:04}", index % 37),
    };
    let mut all: Vec<_> = (0..repositories)
        .map(|repository| {
            let mut records: Vec<_> = (0..languages)
                .filter(|language| languages < 3 || !noise(repository, *language).is_multiple_of(9))
                .map(|index| {
                    let n = noise(repository, index);
                    let completion = if n.is_multiple_of(3) {
                        100.0
                    } else {
                        40.0 + f64::from(u32::try_from(n % 600).unwrap()) / 10.0
                    };
                    let code = CODES
                        .get(index)
                        .map_or(format!("x{index:03}-Latn"), |code| (*code).to_owned());
                    let name = NAMES
                        .get(index)
                        .map_or(format!("Language {index}"), |name| (*name).to_owned());
                    language(
                        &code,
                        &name,
                        Some(completion),
                        i64::try_from(n % 6 + 1).unwrap(),
                    )
                })
                .collect();
            records.sort_by(|one, other| one.language.code.cmp(&other.language.code));
            shown(
                u64::try_from(repository).unwrap() + 1,
                &name(repository),
                fresh(records),
            )
        })
        .collect();
    all.sort_by(|one, other| one.repository.name.cmp(&other.repository.name));
    all
}

fn change(shown: &mut Shown, change: impl Fn(&mut Record)) {
    let mut records = shown.records().to_vec();
    records.iter_mut().for_each(change);
    shown.condition = fresh(records);
}

fn stall(shown: &mut Shown, code: &str, completion: f64, days: i64) {
    change(shown, |one| {
        if &*one.language.code == code {
            *one = with(one, Some(completion), days);
        }
    });
}

fn due(days: i64) -> Arc<crate::domain::targets::TargetEntry> {
    entry(&[], &[], 0.95, &end_of_day(days))
}

/// Returns the end of the day so many days ahead.
fn end_of_day(days: i64) -> String {
    format!("{}T23:59:59Z", &days_ago(-days).to_string()[..10])
}

fn good() -> PollOutcome {
    PollOutcome {
        ended_at: Timestamp::from_millis(NOW.as_millis() - 130_000),
        read: 10,
        ..outcome()
    }
}

type Change = fn(&mut PollStatus);

fn ended(status: &mut PollStatus) {
    status.last = Some(good());
    status.last_success_at = Some(good().ended_at);
    status.next_poll_at = Some(days_ago(0).saturating_add(Duration::from_secs(170)));
}

/// Returns the time so many minutes ago.
fn minutes_ago(minutes: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - minutes * 60_000)
}

fn out(reason: PollFailure, what: &str, hint: &str, minutes: i64, status: &mut PollStatus) {
    ended(status);
    status.last_success_at = Some(minutes_ago(minutes + 5));
    let failure = Failure::new(what, hint, minutes_ago(minutes));
    status.last = Some(PollOutcome {
        listing_failure: Some(failure.clone()),
        stop: Some(Stop { reason, failure }),
        read: 0,
        unreached: 10,
        ..good()
    });
}

fn read_three(status: &mut PollStatus) {
    use crate::domain::polling::Running;
    status.state_is_kept = false;
    let since = Timestamp::from_millis(NOW.as_millis() - 8_000);
    status.running = Some(Running {
        since,
        silent_since: since,
        is_listed: true,
        of: Some(10),
        read: 3,
        ..Running::default()
    });
}

fn starting(status: &mut PollStatus) {
    use crate::domain::polling::Running;
    let since = Timestamp::from_millis(NOW.as_millis() - 2_000);
    status.running = Some(Running {
        since,
        silent_since: since,
        ..Running::default()
    });
    status.has_data = false;
}

fn out_for(minutes: i64, status: &mut PollStatus) {
    let url = "https://api.example.com/v1/repositories";
    let what = format!("GET {url}: Connection refused (os error 111)");
    let hint = "wait, or ask the API's operators";
    out(PollFailure::Unavailable, &what, hint, minutes, status);
}

fn out_for_10_minutes(status: &mut PollStatus) {
    out_for(10, status);
}

fn out_for_two_days(status: &mut PollStatus) {
    out_for(2 * 24 * 60, status);
}

fn out_at_the_start(status: &mut PollStatus) {
    out_for(3, status);
    read_nothing_yet(status);
}

fn refused_at_the_start(status: &mut PollStatus) {
    key_refused(status);
    read_nothing_yet(status);
}

fn read_nothing_yet(status: &mut PollStatus) {
    status.last_success_at = None;
    status.has_data = false;
    if let Some(last) = &mut status.last {
        last.unreached = 0;
    }
}

fn ended_empty(status: &mut PollStatus) {
    ended(status);
    if let Some(last) = &mut status.last {
        last.read = 0;
    }
}

/// A listing with an entry that lacks an optional field.
fn without_created_at(status: &mut PollStatus) {
    use crate::domain::{Defect, Operation};
    ended(status);
    status.defects = [(Operation::ListRepositories, Defect::CreatedAt)].into();
}

fn key_refused(status: &mut PollStatus) {
    out(
        PollFailure::Unauthorized,
        "GET https://api.example.com/v1/repositories: 401 Unauthorized",
        "check the key in api.key_file",
        120,
        status,
    );
}

/// Adds links to the places where repositories and languages are translated.
fn linked(mut snapshot: Snapshot) -> Snapshot {
    use crate::domain::links::{Links, Template};
    snapshot.links = Arc::new(Links {
        repository: Template::of_repository("https://translate.example.com/{owner}/{name}").ok(),
        language: Template::of_language("https://translate.example.com/{owner}/{name}/{language}")
            .ok(),
    });
    snapshot
}

/// Dates, stalled translations and links, as in the demo.
fn demo() -> Snapshot {
    let mut demo = world(10, 12);
    stall(&mut demo[3], "fr", 71.0, 29);
    stall(&mut demo[3], "ja", 55.0, 12);
    stall(&mut demo[6], "pl", 20.0, 40);
    let mut demo = linked(snapshot(demo));
    demo.targets = Arc::new(Targets(vec![
        entry(&["acme/docs"], &["de", "fr"], 0.95, &end_of_day(-12)),
        entry(&["acme/*"], &["de", "fr", "es"], 0.95, &end_of_day(9)),
        entry(&["globex/*"], &[], 0.9, &end_of_day(60)),
        entry(&[], &["uk"], 0.0, ""),
    ]));
    demo
}

/// Translations that all missed their date.
fn all_overdue() -> Snapshot {
    let mut overdue = snapshot(world(10, 4));
    for shown in &mut overdue.repositories {
        change(shown, |one| {
            if one
                .completion()
                .is_some_and(|completion| completion.get() >= 95.0)
            {
                *one = with(one, Some(88.0), 2);
            }
        });
    }
    overdue.targets = Arc::new(Targets(vec![due(-29)]));
    overdue
}

/// Translations without a completion.
fn nothing_known() -> Snapshot {
    let mut unknown = snapshot(world(8, 6));
    for shown in &mut unknown.repositories {
        change(shown, |one| *one = with(one, None, 0));
    }
    unknown
}

/// Repositories of which a first poll has read three.
fn first_poll() -> Snapshot {
    let mut first = snapshot(world(10, 8));
    for shown in first.repositories.iter_mut().skip(3) {
        shown.condition = Condition::Pending(None);
    }
    first
}

/// Repositories that fail because the API does.
fn outage(mut outage: Snapshot) -> Snapshot {
    for shown in &mut outage.repositories {
        if let Condition::Fresh(languages) = &shown.condition {
            let what = format!(
                "GET /v1/repositories/{}/languages: 503 Service Unavailable",
                shown.repository.id
            );
            let failure = failure(&what, 0);
            shown.condition = Condition::Failing(Arc::clone(languages), failure);
        }
    }
    outage
}

/// Repositories whose data became too old to show during an outage of two days.
fn too_old() -> Snapshot {
    let mut stale = outage(demo());
    for shown in &mut stale.repositories {
        let Condition::Failing(languages, failure) = &shown.condition else {
            continue;
        };
        let languages = Languages {
            read_at: days_ago(2),
            ..(**languages).clone()
        };
        shown.condition = Condition::Stale {
            languages: Arc::new(languages),
            failure: Some(failure.clone()),
        };
    }
    stale
}

/// An account of which no poll has read anything.
fn unknown() -> Snapshot {
    snapshot(Vec::new())
}

/// Names and codes that are long, or written from right to left.
fn long_names() -> Snapshot {
    let mut long = world(6, 4);
    let code = format!("x-{}", "private".repeat(11));
    let name = |shown: &mut Shown, name: &str| {
        let repository = Repository {
            name: name.into(),
            ..(*shown.repository).clone()
        };
        shown.repository = Arc::new(repository);
    };
    name(&mut long[0], "שלום/עולם");
    name(&mut long[1], "مرحبا/العالم");
    name(&mut long[2], &format!("acme/{}", "a-long-name-".repeat(8)));
    for shown in &mut long {
        let mut records = shown.records().to_vec();
        records.push(language("ar", "العربية", Some(61.0), 1));
        records.push(language(&code, "Private", Some(58.0), 9));
        records.sort_by(|one, other| one.language.code.cmp(&other.language.code));
        shown.condition = fresh(records);
    }
    let mut long = snapshot(long);
    long.targets = Arc::new(Targets(vec![due(9)]));
    long
}

/// Three repositories with completions, and the others without.
fn partly_known() -> Snapshot {
    let mut known = all_ready();
    for shown in known.repositories.iter_mut().skip(3) {
        change(shown, |one| {
            if &*one.language.code != "de" {
                *one = with(one, None, 0);
            }
        });
    }
    known
}

/// Translations that are all complete.
fn all_ready() -> Snapshot {
    let mut ready = snapshot(world(10, 6));
    for shown in &mut ready.repositories {
        change(shown, |one| {
            *one = with(one, Some(100.0), 2);
        });
    }
    ready
}

/// Returns each situation: its name, the data, the requested URI, and a change to the polling
/// state.
fn situations() -> Vec<(&'static str, Snapshot, &'static str, Change)> {
    let mut long = snapshot(world(30, 12));
    long.targets = Arc::new(Targets(vec![due(20)]));
    vec![
        ("01-demo", demo(), "/", ended),
        ("02-all-overdue", all_overdue(), "/", ended),
        ("03-nothing-known", nothing_known(), "/", ended),
        ("04-first-poll", first_poll(), "/", read_three),
        ("05-outage", outage(demo()), "/", out_for_10_minutes),
        ("06-key-refused", all_ready(), "/", key_refused),
        ("07-200-languages", snapshot(world(1, 200)), "/", ended),
        (
            "08-5000-repositories",
            snapshot(world(5000, 30)),
            "/",
            ended,
        ),
        ("09-one-language", demo(), "/?language=DE", ended),
        ("10-search", demo(), "/?q=app", ended),
        ("10-stalled", demo(), "/?stalled=1", ended),
        ("11-no-languages", snapshot(world(4, 0)), "/", ended),
        ("12-long-print", long, "/", ended),
        ("13-all-ready", all_ready(), "/", ended),
        ("14-three-languages", snapshot(world(9, 3)), "/", ended),
        ("15-110-languages", snapshot(world(40, 110)), "/", ended),
        ("16-first-start", unknown(), "/", starting),
        (
            "17-key-refused-at-the-start",
            unknown(),
            "/",
            refused_at_the_start,
        ),
        ("18-api-down-at-the-start", unknown(), "/", out_at_the_start),
        ("19-outage-of-two-days", too_old(), "/", out_for_two_days),
        ("20-empty-account", unknown(), "/", ended_empty),
        ("21-some-unknown", partly_known(), "/", ended),
        ("22-300-repositories", snapshot(world(300, 40)), "/", ended),
        ("23-long-names", long_names(), "/", ended),
        ("24-language-of-nobody", demo(), "/?language=xx", ended),
        ("25-22-languages", snapshot(world(12, 22)), "/", ended),
        (
            "26-missing-created-at",
            all_ready(),
            "/",
            without_created_at,
        ),
    ]
}

/// The page's answer to "may we ship?" in each situation.
const ANSWERS: [&str; 27] = [
    "01-demo: Not ready to ship yet: 30 of 105 translations ready",
    "02-all-overdue: Not ready to ship: 40 of 40 translations are overdue",
    "03-nothing-known: Unknown: the API reports no completion",
    "04-first-poll: Not ready to ship yet: 6 of 18 translations ready, 7 repositories not read",
    "05-outage: Not ready to ship when last read: 30 of 105 translations ready",
    "06-key-refused: Not known now: when last read, 46 of 46 translations were ready",
    "07-200-languages: Not ready to ship yet: 46 of 177 translations ready",
    "08-5000-repositories: Not ready to ship yet: 33,300 of 133,200 translations ready",
    "09-one-language: Not ready to ship yet: 5 of 10 translations ready",
    "10-search: Not ready to ship yet: 30 of 105 translations ready",
    "10-stalled: Not ready to ship yet: 30 of 105 translations ready",
    "11-no-languages: Nothing to ship: no repository has a language to show",
    "12-long-print: Not ready to ship yet: 96 of 315 translations ready",
    "13-all-ready: Ready to ship: 46 of 46 translations ready",
    "14-three-languages: Not ready to ship yet: 13 of 27 translations ready",
    "15-110-languages: Not ready to ship yet: 972 of 3,901 translations ready",
    "16-first-start: Not known yet: nothing has been read so far",
    "17-key-refused-at-the-start: Unknown: the API refuses the key",
    "18-api-down-at-the-start: Unknown: the API is unavailable",
    "19-outage-of-two-days: Unknown: the last data are too old to show",
    "20-empty-account: Nothing to ship: the account has no repositories",
    "21-some-unknown: Unknown: 27 of 46 translations have no completion, 19 ready",
    "22-300-repositories: Not ready to ship yet: 2,760 of 10,623 translations ready",
    "23-long-names: Not ready to ship yet: 11 of 36 translations ready",
    "24-language-of-nobody: No repository has the language “xx”",
    "25-22-languages: Not ready to ship yet: 64 of 228 translations ready",
    "26-missing-created-at: Ready to ship: 46 of 46 translations ready",
];

/// The situations in which the page says that its figures are not up to date.
const OUT_OF_DATE: [&str; 5] = [
    "05-outage",
    "06-key-refused",
    "17-key-refused-at-the-start",
    "18-api-down-at-the-start",
    "19-outage-of-two-days",
];

#[tokio::test(start_paused = true)]
#[ignore = "slow: a page of 5000 repositories"]
async fn pages_of_situations() {
    let given = std::env::var_os("PAGES").map(PathBuf::from);
    let temporary = TempDir::new().unwrap();
    let folder = given.unwrap_or_else(|| temporary.path().to_owned());
    let (mut answers, mut out_of_date) = (Vec::new(), Vec::new());
    for (name, snapshot, uri, change) in situations() {
        let started_at = match name {
            "04-first-poll" | "16-first-start" => NOW,
            "17-key-refused-at-the-start" => minutes_ago(121),
            "18-api-down-at-the-start" => minutes_ago(3),
            "19-outage-of-two-days" => minutes_ago(60),
            _ => days_ago(30),
        };
        let mut fixture = Fixture::started_at(started_at);
        fixture.snapshot = snapshot;
        let read = fixture
            .snapshot
            .count(|condition| matches!(condition, Condition::Fresh(_)));
        fixture.publish(|status| {
            change(status);
            if let Some(last) = status.last.as_mut().filter(|last| last.stop.is_none()) {
                last.read = read;
            }
        });
        let page = body(fixture.ask(&format!("GET {uri}")).await).await;
        std::fs::write(folder.join(format!("{name}.html")), &page).unwrap();
        let (_, answer) = page.split_once("<h2 id=\"answer\">").unwrap();
        let (answer, rest) = answer.split_once("</h2>").unwrap();
        answers.push(format!("{name}: {answer}"));
        let (currency, _) = rest.split_once("</p>").unwrap();
        if currency.contains("ut of date: ") || currency.contains("No poll has") {
            out_of_date.push(name);
        }
    }
    assert_eq!(answers, ANSWERS);
    assert_eq!(out_of_date, OUT_OF_DATE);
}
