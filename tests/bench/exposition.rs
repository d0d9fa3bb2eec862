//! The cost of decoding, publishing and scraping one thousand to one hundred thousand series:
//!
//!     cargo bench --bench exposition

use globset::GlobSet;
use serde_json::{Value, json};
use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};
use translation_exporter::{
    api::wire::{decode_languages, decode_page},
    domain::{
        Completion, Defects, Language, Repository, RepositoryId, Scale, Settings, State,
        Thresholds, ZeroCount,
        document::{Document, Judge},
        filter::Filter,
        links::Links,
        polling::PollStatus,
        record::{Languages, Record},
        targets::Targets,
    },
    metrics::{
        exposition::{Exposition, Format},
        instruments::Instruments,
    },
    support::clock::Timestamp,
};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const LANGUAGES: usize = 30;
/// Two series for each language, and four for the repository: info, created, languages, last
/// success.
const SERIES_OF_REPOSITORY: usize = 2 * LANGUAGES + 4;

/// The repositories with their languages.
type Account = Vec<(Arc<Repository>, Languages)>;

/// Makes an account of about `series` series, with at least one repository.
fn account(series: usize) -> Account {
    let mut random = fastrand::Rng::with_seed(7);
    let language = |n| Language {
        code: format!("l{n:02}").into(),
        name: format!("Language {n}").into(),
    };
    let languages: Vec<Arc<Language>> = (0..LANGUAGES).map(|n| Arc::new(language(n))).collect();
    let repositories = (1..=series.div_ceil(SERIES_OF_REPOSITORY)).map(|n| {
        let records: Vec<Record> = languages
            .iter()
            .map(|language| {
                let completion =
                    Completion::new(f64::from(random.u32(0..=1000)) / 10.0).expect("finite");
                let at = Timestamp::from_millis(1_795_000_000_000 + random.i64(0..1_000_000_000));
                let mut record = Record::new(Arc::clone(language));
                record.observe(Some(completion), Scale::PERCENT, at);
                record
            })
            .collect();
        let id = n as u64;
        let repository = Repository {
            id: RepositoryId::new(id).expect("above 0"),
            name: format!("organisation/project-{n:05}").into(),
            private: Some(false),
            created_at: Some(Timestamp::from_millis(
                1_600_000_000_000 + random.i64(0..100_000_000) * 1000,
            )),
        };
        let languages = Languages {
            read_at: Timestamp::from_millis(1_795_224_600_000 + random.i64(0..300_000)),
            records: records.into(),
        };
        (Arc::new(repository), languages)
    });
    repositories.collect()
}

fn settings() -> Arc<Settings> {
    Arc::new(Settings {
        requests_per_second: None,
        interval: Duration::from_secs(300),
        stale_after: Duration::from_secs(3600),
        concurrency: 8,
        max_attempts: 4,
        max_repositories: 200_000,
        filter: Filter::default(),
        excluded_languages: GlobSet::empty(),
        scale: Scale {
            finished: 100.0,
            is_chosen: false,
        },
        targets: Targets::default(),
        thresholds: Thresholds::default(),
        links: Links::default(),
    })
}

fn judge(account: &Account, settings: &Arc<Settings>) -> Document {
    let records = account
        .iter()
        .flat_map(|(_, languages)| &*languages.records);
    let completions = records.filter_map(Record::completion);
    let taken_at = Timestamp::from_millis(1_795_224_645_123);
    let judge = Judge::new(settings, taken_at, completions, None);
    let rows = account.iter().map(|(repository, languages)| {
        let trouble = (None, Defects::default());
        judge.row(repository, State::Fresh, Some(languages), true, trouble)
    });
    Document {
        taken_at,
        rows: rows.collect(),
        filtered: 0,
        unnamed: 0,
        unconfirmed: 0,
        defects: Defects::default(),
        zeros: ZeroCount::default(),
        departed: Vec::new(),
        is_scale_suspect: false,
        settings: Arc::clone(settings),
        status: PollStatus {
            has_data: true,
            ..PollStatus::default()
        },
    }
}

/// Prints the median time of `work`, in total and for each element.
fn measure<T>(name: &str, elements: usize, mut work: impl FnMut() -> T) {
    // Repeats short work until a run takes 50 ms, which a clock measures well.
    let begin = Instant::now();
    let mut repetitions = 0;
    while begin.elapsed() < Duration::from_millis(50) {
        black_box(work());
        repetitions += 1;
    }
    let mut times = [Duration::ZERO; 21];
    for time in &mut times {
        let begin = Instant::now();
        for _ in 0..repetitions {
            black_box(work());
        }
        *time = begin.elapsed() / repetitions;
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    let each = median.as_nanos() / elements as u128;
    println!("{name:30} {median:>12.2?} {each:>6} ns each");
}

fn publish(account: &Account, settings: &Arc<Settings>) -> Exposition {
    Exposition::new(Arc::new(judge(account, settings)))
}

fn exposition() {
    let instruments = Instruments::new(Some("/metrics"));
    for size in SIZES {
        let (account, settings) = (account(size), settings());
        let publication = publish(&account, &settings);
        let elements = account.len() * SERIES_OF_REPOSITORY;
        measure(&format!("publish/{size}"), elements, || {
            publish(&account, &settings)
        });
        measure(&format!("scrape, uncompressed/{size}"), elements, || {
            publication
                .uncompressed(Format::Text, &instruments)
                .1
                .map(|part| part.len())
                .sum::<usize>()
        });
        measure(&format!("scrape, gzip/{size}"), elements, || {
            publication.gzip(Format::Text, &instruments)
        });
    }
}

fn decode() {
    let language = |n| {
        let (code, name) = (format!("l{n:02}"), format!("Language {n}"));
        json!({"code": code, "name": name, "completion": 12.5})
    };
    let languages = (0..LANGUAGES).map(language).collect::<Value>().to_string();
    measure("decode/languages", LANGUAGES, || {
        decode_languages(black_box(languages.as_bytes()), false).expect("an array")
    });
    let repository = |id: u64| {
        let (id, name) = (id.to_string(), format!("organisation/project-{id}"));
        json!({"id": id, "name": name, "private": false, "created_at": "2024-05-17T09:30:00Z"})
    };
    let page = (1..=1000).map(repository).collect::<Value>().to_string();
    measure("decode/repositories", 1000, || {
        decode_page(black_box(page.as_bytes()), false).expect("an array")
    });
}

fn main() {
    exposition();
    decode();
}
