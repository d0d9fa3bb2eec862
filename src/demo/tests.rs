use super::*;
use crate::{
    domain::{
        history::History,
        record::{KeptRepository, Record},
        targets::Targets,
    },
    support::clock::Timestamp,
    testing,
};
use axum::http::Request;
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};
use tower::ServiceExt;

const POLL: i64 = 5;

/// Returns the reported completion of every language.
fn completions(second: i64) -> Vec<Option<f64>> {
    let languages = WORLD.repositories.iter();
    let languages = languages.map(|repository| repository.languages_json(second));
    let all = languages.flat_map(|languages| languages.as_array().unwrap().clone());
    all.map(|language| language["completion"].as_f64())
        .collect()
}

#[test]
fn something_moves_between_any_two_polls_and_some_reach_100() {
    let polls: Vec<_> = (0..240).map(|poll| completions(poll * POLL)).collect();
    for (poll, next) in polls.iter().zip(&polls[1..]) {
        assert_ne!(poll, next);
        assert_eq!(poll.iter().filter(|one| one.is_none()).count(), 1);
        assert!(poll.contains(&Some(0.0)), "zeros are spelled out");
        let known = poll.iter().flatten();
        assert!(known.clone().all(|one| (0.0..=100.0).contains(one)));
        assert!(known.filter(|one| **one >= 100.0).count() > 50);
    }
}

/// Counts the translations without progress for a week, and those 20 points below their fall.
fn stalled_and_regressed(world: &[KeptRepository], now: Timestamp) -> (usize, usize) {
    let week = Duration::from_secs(7 * 24 * 3600);
    let histories = || {
        let records = world.iter().flat_map(|kept| kept.records.iter());
        records.filter_map(Record::current)
    };
    let idle = histories().filter_map(History::idle_since);
    let falls = histories().filter_map(|history| {
        let (from, _) = history.fall(now)?;
        Some(from.get() - history.completion.get())
    });
    let stalled = idle.filter(|since| now.since(*since) >= week).count();
    (stalled, falls.filter(|by| *by >= 20.0).count())
}

#[test]
fn the_world_stays_plausible_for_a_day() {
    let start = Timestamp::from_millis(1_795_000_000_000);
    let targets = Targets::default();
    let world = history(start, &targets);
    let mut world: Vec<_> = world.collect();
    for second in (0..24 * 3600).step_by(60) {
        let now = Timestamp::from_millis(start.as_millis() + second * 1000);
        for (repository, kept) in WORLD.repositories.iter().zip(&mut world) {
            let mut records = kept.records.to_vec();
            for language in repository.languages_json(second).as_array().unwrap() {
                let record = records
                    .iter_mut()
                    .find(|one| *one.language.code == *language["code"].as_str().unwrap());
                let completion = language["completion"].as_f64();
                testing::observe(record.unwrap(), completion, now);
            }
            kept.records = records.into();
        }
        if second % 3600 == 0 {
            assert_eq!(stalled_and_regressed(&world, now), (6, 4), "{second}");
        }
    }
}

#[test]
fn the_targets_have_a_missed_a_near_and_a_far_date() {
    let now = Timestamp::from_millis(1_795_000_000_000);
    assert_eq!(now.to_string(), "2026-11-18T11:06:40Z");
    let targets = targets(now);
    let targets = targets.0.iter();
    let targets = targets.map(|target| (target.ratio(), target.due.map(|due| due.to_string())));
    let end = |day: &str| Some(format!("{day}T23:59:59Z"));
    let expected = [
        (0.0, None),
        (0.8, end("2026-11-15")),
        (0.95, end("2026-11-27")),
        (0.8, end("2026-12-28")),
    ];
    assert_eq!(targets.collect::<Vec<_>>(), expected);
}

struct Caller(Router);

impl Caller {
    async fn ask(&self, path: &str) -> (StatusCode, Value) {
        let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = self.0.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        let json = serde_json::from_slice(&body.await.unwrap());
        (status, json.unwrap_or_default())
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
        let id = &last["id"];
        path = format!("/v1/repositories?limit=1000&after={id}");
    }
    assert_eq!(pages, [10, 10, 4, 0]);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 24);
}
