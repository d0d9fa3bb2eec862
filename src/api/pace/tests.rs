use super::*;

const LISTING: Option<RepositoryId> = None;

fn status(status: u16, hold: Option<u64>) -> RequestFailure {
    let status = reqwest::StatusCode::from_u16(status).unwrap();
    RequestFailure::status(status, hold.map(Duration::from_secs))
}

fn id(id: usize) -> Option<RepositoryId> {
    RepositoryId::new(u64::try_from(id).unwrap())
}

/// Sends a window of requests over `repositories`, and refuses the first `refused` of them.
/// Returns the rate after it.
async fn window(pace: &Pace, refused: usize, repositories: usize, refusal: u16) -> String {
    for number in 0..WINDOW {
        let failure = (number < refused).then(|| status(refusal, None));
        pace.permit().await;
        pace.answered(id(1 + number % repositories), failure.as_ref());
    }
    pace.state().rate.to_string()
}

async fn send(pace: &Pace) {
    pace.permit().await;
    pace.answered(LISTING, None);
}

#[tokio::test(start_paused = true)]
async fn requests_are_spaced_and_held() {
    let pace = Pace::new(Some(10.0));
    let start = Instant::now();
    for _ in 0..3 {
        send(&pace).await;
    }
    assert_eq!(start.elapsed().as_millis(), 200);
    pace.permit().await;
    pace.answered(LISTING, Some(&status(503, Some(10))));
    assert_eq!(start.elapsed().as_millis(), 300);
    send(&pace).await;
    assert_eq!(start.elapsed().as_millis(), 10_300);
    assert_eq!(pace.held_until(), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_hold_also_holds_requests_that_wait() {
    let pace = Pace::new(Some(10.0));
    let start = Instant::now();
    let held = status(429, Some(10));
    pace.permit().await;
    pace.answered(LISTING, Some(&held));
    let second = async {
        send(&pace).await;
        start.elapsed().as_millis()
    };
    let first = async {
        pace.permit().await;
        pace.answered(LISTING, Some(&held));
    };
    assert_eq!(tokio::join!(first, second).1, 20_000);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_hold_shortens_no_longer_one() {
    let (pace, start) = (Pace::new(None), Instant::now());
    for (repository, code, seconds, held) in [
        (id(1), 503, 3600, None),
        (LISTING, 503, 60, Some(60)),
        (id(1), 429, 20, Some(60)),
        (id(2), 429, 90, Some(90)),
    ] {
        pace.answered(repository, Some(&status(code, Some(seconds))));
        let held_until = pace.held_until().map(|until| (until - start).as_secs());
        assert_eq!(held_until, held, "{repository:?} {code} {seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_takes_no_permit() {
    let pace = Pace::new(Some(1.0));
    let start = Instant::now();
    send(&pace).await;
    let waiting = futures_util::future::join_all((0..100).map(|_| send(&pace)));
    let half = Duration::from_millis(500);
    assert!(tokio::time::timeout(half, waiting).await.is_err());
    send(&pace).await;
    assert_eq!(start.elapsed().as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn two_refusals_in_five_of_three_repositories_halve_the_rate() {
    for refusal in [429, 503] {
        let pace = Pace::new(Some(10.0));
        assert_eq!(window(&pace, 7, 3, refusal).await, "10");
        assert_eq!(window(&pace, 20, 2, refusal).await, "10");
        assert_eq!(window(&pace, 8, 3, refusal).await, "5");
        assert_eq!(window(&pace, 8, 3, refusal).await, "2.5");
    }
    let pace = Pace::new(Some(10.0));
    assert_eq!(window(&pace, 20, 20, 500).await, "10");
}

#[tokio::test(start_paused = true)]
async fn the_rate_grows_by_a_quarter_from_the_lowest() {
    let pace = Pace::new(Some(1.0));
    assert!(!pace.is_lowest());
    for rate in ["0.5", "0.5"] {
        assert_eq!(window(&pace, 8, 8, 429).await, rate);
        assert!(pace.is_lowest());
    }
    for rate in ["0.625", "0.78125", "0.9765625", "1"] {
        assert_eq!(window(&pace, 0, 1, 429).await, rate);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_a_second_stand_for_unlimited() {
    let pace = Pace::new(None);
    let start = Instant::now();
    assert_eq!(window(&pace, 8, 8, 429).await, "50");
    assert_eq!(start.elapsed(), Duration::ZERO);
    for rate in ["62.5", "78.125", "97.65625", "100"] {
        let start = Instant::now();
        assert_eq!(window(&pace, 0, 1, 429).await, rate);
        assert!(start.elapsed() > Duration::from_millis(200), "{rate}");
    }
    pace.permit().await;
    let start = Instant::now();
    send(&pace).await;
    send(&pace).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    let (pace, start) = (Pace::new(Some(200.0)), Instant::now());
    send(&pace).await;
    send(&pace).await;
    assert_eq!(start.elapsed().as_millis(), 5, "a configured rate holds");
}
