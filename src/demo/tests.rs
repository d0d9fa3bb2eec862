use super::*;
use crate::support::clock::Timestamp;
use std::{collections::BTreeSet, time::Duration};
use tower::ServiceExt;

const POLL: u64 = 5;

/// Returns the reported completion of every language.
fn completions(second: u64) -> Vec<Option<f64>> {
    let elapsed = Duration::from_secs(second);
    let mut completions = Vec::new();
    for repository in &WORLD.repositories {
        let languages = repository.languages_json(elapsed);
        let languages = languages.as_array().unwrap().iter();
        completions.extend(languages.map(|language| language["completion"].as_f64()));
    }
    completions
}

#[test]
fn two_dozen_repositories_have_rising_ids_beyond_a_double() {
    let ids: Vec<_> = WORLD
        .repositories
        .iter()
        .map(|repository| repository.id)
        .collect();
    assert_eq!(ids.len(), 24);
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(
        ids.iter().any(|id| *id > 1 << 53 && id % 2 == 1),
        "a double cannot hold an odd id above 2^53"
    );
    let mut spelled = WORLD
        .repositories
        .iter()
        .map(|repository| repository.json()["id"].clone());
    assert!(spelled.clone().any(|id| id.is_string()) && spelled.any(|id| id.is_u64()));
}

#[test]
fn completions_rise_stall_fall_and_reach_100() {
    let polls: Vec<_> = (0..240).map(|poll| completions(poll * POLL)).collect();
    assert!(polls.iter().all(|poll| {
        let unknown = poll.iter().filter(|completion| completion.is_none());
        unknown.count() == 1 && poll.contains(&Some(0.0))
    }));
    let count = polls[0].len();
    let courses = (0..count).map(|at| polls.iter().filter_map(move |poll| poll[at]).collect());
    let courses: Vec<Vec<f64>> = courses.collect();
    let how_many =
        |holds: fn(&[f64]) -> bool| courses.iter().filter(|course| holds(course)).count();
    assert!(
        courses
            .iter()
            .flatten()
            .all(|completion| (0.0..=100.0).contains(completion))
    );
    let rises = how_many(|course| course.windows(2).any(|pair| pair[1] > pair[0]));
    let falls = how_many(|course| course.windows(2).any(|pair| pair[1] < pair[0]));
    let complete = how_many(|course| course.iter().all(|now| *now >= 100.0));
    let stalled = how_many(|course| course.iter().all(|now| *now < 100.0 && *now <= course[0]));
    assert!(
        rises > 100 && falls > 100,
        "{rises} rise, {falls} fall back"
    );
    assert!(
        complete > 20 && stalled > 5,
        "{complete} complete, {stalled} stalled"
    );
    for pair in polls.windows(2) {
        assert_ne!(pair[0], pair[1], "something moves between any two polls");
    }
}

#[test]
fn one_repository_fails_for_12_seconds_of_5_minutes() {
    let out = |second| {
        let elapsed = Duration::from_secs(second);
        let out = WORLD.repositories.iter().filter(|one| one.is_out(elapsed));
        out.count()
    };
    assert_eq!((0..300).map(out).sum::<usize>(), 12);
    assert_eq!(
        (0..60).map(out).sum::<usize>(),
        0,
        "the first minute shows everything"
    );
}

#[test]
fn the_targets_have_a_missed_a_near_and_a_far_date() {
    let now = Timestamp::from_millis(1_795_000_000_000);
    assert_eq!(now.to_string(), "2026-11-18T11:06:40Z");
    let targets = targets(now);
    for line in [
        "{languages: [eo], ratio: 0}",
        "ratio: 0.9, due: 2026-11-15",
        "ratio: 0.95, due: 2026-11-27",
        "ratio: 0.8, due: 2026-12-28",
    ] {
        assert!(targets.contains(line), "{targets}");
    }
}

struct Caller(Router);

impl Caller {
    /// Repeats the request while the demo responds with a deliberate 429 or 500.
    async fn ask(&self, path: &str) -> (StatusCode, Value) {
        loop {
            let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
            let response = self.0.clone().oneshot(request).await.unwrap();
            let status = response.status();
            let body = axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .unwrap();
            if ![
                StatusCode::TOO_MANY_REQUESTS,
                StatusCode::INTERNAL_SERVER_ERROR,
            ]
            .contains(&status)
            {
                return (status, serde_json::from_slice(&body).unwrap_or_default());
            }
        }
    }
}

#[tokio::test]
async fn capped_pages_list_every_repository_and_end_with_an_empty_one() {
    let caller = Caller(router());
    let (mut path, mut pages, mut names) = (
        "/v1/repositories?limit=1000".to_owned(),
        Vec::new(),
        Vec::new(),
    );
    loop {
        let (status, page) = caller.ask(&path).await;
        assert_eq!(status, 200);
        let page = page.as_array().unwrap();
        pages.push(page.len());
        let Some(last) = page.last() else { break };
        names.extend(
            page.iter()
                .map(|repository| repository["name"].as_str().unwrap().to_owned()),
        );
        let id = last["id"]
            .as_str()
            .map_or_else(|| last["id"].to_string(), str::to_owned);
        path = format!("/v1/repositories?limit=1000&after={id}");
    }
    assert_eq!(pages, [10, 10, 4, 0]);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 24);
}

#[tokio::test]
async fn each_repository_lists_its_languages() {
    let caller = Caller(router());
    for repository in &WORLD.repositories {
        let path = format!("/v1/repositories/{}/languages", repository.id);
        let (status, languages) = caller.ask(&path).await;
        assert_eq!(status, 200);
        assert_eq!(languages.as_array().unwrap().len(), repository.languages);
    }
}

#[tokio::test]
async fn invalid_queries_and_unknown_ids_are_refused() {
    let caller = Caller(router());
    for (path, status) in [
        ("/v1/repositories?limit=-1", 400),
        ("/v1/repositories?limit=x", 400),
        ("/v1/repositories?after=1.5", 400),
        ("/v1/repositories?limit=1&limit=2", 400),
        ("/v1/repositories/2/languages", 404),
        ("/v1/repositories/x/languages", 400),
        ("/v2/repositories", 404),
    ] {
        assert_eq!(caller.ask(path).await.0, status, "{path}");
    }
}
