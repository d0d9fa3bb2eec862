use super::{world::Stumble, *};
use std::{collections::BTreeSet, time::Duration};
use tower::ServiceExt;

const SEEDS: std::ops::Range<u64> = 0..20;
const POLL: u64 = 5;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn completions(world: &World, second: u64) -> Vec<Option<f64>> {
    let languages = world
        .repositories()
        .iter()
        .flat_map(|repository| &repository.languages);
    languages
        .map(|language| language.completion(at(second)))
        .collect()
}

#[test]
fn shows_two_dozen_repositories_with_ids_that_rise_and_outgrow_a_double() {
    for seed in SEEDS {
        let world = World::new(seed);
        let ids: Vec<_> = world
            .repositories()
            .iter()
            .map(|repository| repository.id)
            .collect();
        assert_eq!(ids.len(), 24);
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().any(|id| *id < 1 << 53));
        assert!(
            ids.iter().any(|id| *id > 1 << 53 && id % 2 == 1),
            "an odd one cannot be a double"
        );
        assert!(ids.iter().all(|id| *id <= i64::MAX.unsigned_abs()));
        let spelled: Vec<_> = world
            .repositories()
            .iter()
            .map(|repository| repository.to_json()["id"].clone())
            .collect();
        assert!(spelled.iter().any(Value::is_string) && spelled.iter().any(Value::is_u64));
    }
}

#[test]
fn shows_some_thirty_languages_one_of_them_without_completion() {
    for seed in SEEDS {
        let world = World::new(seed);
        let languages = world
            .repositories()
            .iter()
            .flat_map(|repository| &repository.languages);
        assert!(
            (28..=32).contains(
                &languages
                    .map(|language| language.code)
                    .collect::<BTreeSet<_>>()
                    .len()
            )
        );
        for second in [0, 77, 100_000] {
            assert_eq!(
                completions(&world, second)
                    .iter()
                    .filter(|completion| completion.is_none())
                    .count(),
                1
            );
        }
    }
}

#[test]
fn something_moves_between_any_two_polls() {
    for seed in SEEDS {
        let world = World::new(seed);
        for poll in 0..200 {
            assert_ne!(
                completions(&world, poll * POLL),
                completions(&world, (poll + 1) * POLL)
            );
        }
    }
}

#[test]
fn progress_rises_stalls_falls_back_and_reaches_a_hundred() {
    for seed in SEEDS {
        let world = World::new(seed);
        let languages: Vec<_> = world
            .repositories()
            .iter()
            .flat_map(|repository| &repository.languages)
            .collect();
        let course = |language: &Language| {
            (0..240)
                .filter_map(|poll| language.completion(at(poll * POLL)))
                .collect()
        };
        let courses: Vec<Vec<f64>> = languages.iter().map(|language| course(language)).collect();
        assert!(
            courses
                .iter()
                .flatten()
                .all(|completion| (0.0..=100.0).contains(completion))
        );
        let having =
            |holds: fn(&[f64]) -> bool| courses.iter().filter(|course| holds(course)).count();
        assert!(
            having(|course| course.windows(2).any(|pair| pair[1] > pair[0])) > 100,
            "rises"
        );
        assert!(
            having(|course| course.windows(2).any(|pair| pair[1] < pair[0])) > 50,
            "falls back"
        );
        assert!(
            having(|course| course.contains(&100.0) && course[0] < 100.0) > 50,
            "reaches 100"
        );
        assert!(
            having(
                |course| course.iter().all(|completion| *completion >= 100.0) && !course.is_empty()
            ) > 5,
            "stays"
        );
        assert!(
            having(|course| course.iter().all(|now| *now < 100.0 && *now <= course[0])) > 5,
            "stalls"
        );
    }
}

#[test]
fn answers_the_same_for_the_same_seed_and_differently_for_another() {
    assert_eq!(
        completions(&World::new(7), 60),
        completions(&World::new(7), 60)
    );
    assert_ne!(
        completions(&World::new(7), 60),
        completions(&World::new(8), 60)
    );
}

#[test]
fn stumbles_now_and_then_and_loses_one_repository_for_a_while() {
    for seed in SEEDS {
        let world = World::new(seed);
        let stumbles: Vec<_> = (0..10_000)
            .filter_map(|request| world.stumble(request))
            .collect();
        assert!(
            (60..170).contains(&stumbles.len()),
            "{} of 10,000 requests",
            stumbles.len()
        );
        assert!(
            stumbles.contains(&Stumble::TooManyRequests)
                && stumbles.contains(&Stumble::InternalError)
        );
        let out = |second| {
            world
                .repositories()
                .iter()
                .filter(|repository| world.is_out(repository, at(second)))
                .count()
        };
        assert_eq!((0..300).map(out).sum::<usize>(), 12);
        assert_eq!(
            (0..60).map(out).sum::<usize>(),
            0,
            "the first minute shows everything"
        );
    }
}

struct Caller {
    router: Router,
    key: &'static str,
}

impl Caller {
    /// Asks until the answer is no stumble.
    async fn ask(&self, path: &str) -> (StatusCode, Value) {
        loop {
            let request =
                Request::get(path).header("authorization", format!("Bearer {}", self.key));
            let request = request.body(axum::body::Body::empty()).unwrap();
            let response = self.router.clone().oneshot(request).await.unwrap();
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
                return (status, serde_json::from_slice(&body).unwrap());
            }
        }
    }
}

fn caller(key: &'static str) -> Caller {
    Caller {
        router: World::new(1).router("right".into()),
        key,
    }
}

#[tokio::test]
async fn lists_every_repository_on_capped_pages_then_an_empty_one() {
    let caller = caller("right");
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
async fn lists_the_languages_of_each_repository() {
    let (caller, world) = (caller("right"), World::new(1));
    for repository in world.repositories() {
        let (status, languages) = caller
            .ask(&format!("/v1/repositories/{}/languages", repository.id))
            .await;
        assert_eq!(status, 200);
        assert_eq!(
            languages.as_array().unwrap().len(),
            repository.languages.len()
        );
    }
}

#[tokio::test]
async fn refuses_what_the_specification_does_not_allow() {
    for key in ["wrong", "", "right "] {
        assert_eq!(caller(key).ask("/v1/repositories").await.0, 401, "{key:?}");
    }
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=",
        "after=0",
        "after=9223372036854775808",
        "after=1.5",
        "limit=1&limit=2",
    ] {
        assert_eq!(
            caller("right")
                .ask(&format!("/v1/repositories?{query}"))
                .await
                .0,
            400,
            "{query}"
        );
    }
    for path in [
        "/",
        "/v1/repositories/2/languages",
        "/v1/repositories/x/languages",
        "/v2/repositories",
    ] {
        assert_eq!(caller("right").ask(path).await.0, 404, "{path}");
    }
}
