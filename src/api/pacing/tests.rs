use super::*;

#[tokio::test(start_paused = true)]
async fn requests_are_spaced_and_held() {
    let pacer = Pacer::new(Some(10.0));
    let start = Instant::now();
    for _ in 0..3 {
        pacer.permit().await;
    }
    assert_eq!(start.elapsed().as_millis(), 200);
    pacer.hold(Duration::from_secs(10));
    pacer.permit().await;
    assert_eq!(start.elapsed().as_millis(), 10_200);
    assert_eq!(pacer.held_until(), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_hold_also_holds_requests_that_wait() {
    let pacer = Pacer::new(Some(10.0));
    let start = Instant::now();
    pacer.hold(Duration::from_secs(10));
    let first = async {
        pacer.permit().await;
        pacer.hold(Duration::from_secs(10));
    };
    let second = async {
        pacer.permit().await;
        start.elapsed().as_millis()
    };
    assert_eq!(tokio::join!(first, second).1, 20_000);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_takes_no_permit() {
    let pacer = Pacer::new(Some(1.0));
    let start = Instant::now();
    pacer.permit().await;
    let waiting = futures_util::future::join_all((0..100).map(|_| pacer.permit()));
    assert!(
        tokio::time::timeout(Duration::from_millis(500), waiting)
            .await
            .is_err()
    );
    pacer.permit().await;
    assert_eq!(start.elapsed().as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_reload_changes_the_rate_of_waiting_requests() {
    let pacer = Pacer::new(Some(0.001));
    let start = Instant::now();
    pacer.permit().await;
    let reload = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        pacer.configure(Some(1.0));
    };
    let waiting = async {
        pacer.permit().await;
        start.elapsed().as_secs()
    };
    assert_eq!(tokio::join!(waiting, reload).0, 5);
    pacer.permit().await;
    let later = start.elapsed();
    assert!(
        (Duration::from_millis(5990)..=Duration::from_secs(6)).contains(&later),
        "{later:?}"
    );
}

fn rate(pacer: &Pacer) -> Option<f64> {
    pacer.pace().map(|pace| pace.requests_per_second)
}

#[tokio::test(start_paused = true)]
async fn the_rate_halves_once_for_all_requests_in_flight() {
    let pacer = Pacer::new(Some(10.0));
    let sent = [pacer.permit().await, pacer.permit().await];
    tokio::time::sleep(Duration::from_secs(1)).await;
    for sent_at in sent {
        assert_eq!(pacer.refused(sent_at, 429), Refusal::Slowed);
    }
    assert_eq!(rate(&pacer), Some(5.0));
    let next = pacer.permit().await;
    pacer.refused(next, 429);
    assert_eq!(rate(&pacer), Some(2.5));
}

#[tokio::test(start_paused = true)]
async fn ten_answers_raise_the_rate_by_a_step_up_to_the_configured_rate() {
    let pacer = Pacer::new(Some(1.0));
    let sent_at = pacer.permit().await;
    pacer.refused(sent_at, 503);
    for _ in 0..10 {
        pacer.answered();
    }
    let pace = pacer.pace().unwrap();
    assert_eq!(
        (pace.requests_per_second, pace.allowed, pace.status),
        (0.6, 0.5, 503)
    );
    for _ in 0..40 {
        pacer.answered();
    }
    assert_eq!(rate(&pacer), None);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_pace_is_the_configured_one() {
    let pacer = Pacer::new(Some(10.0));
    let sent_at = pacer.permit().await;
    pacer.refused(sent_at, 503);
    pacer.forget();
    assert_eq!(rate(&pacer), None);
    let start = pacer.permit().await;
    assert_eq!(pacer.permit().await - start, Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn ten_refusals_in_a_row_at_the_lowest_rate_are_hopeless() {
    let pacer = Pacer::new(None);
    let mut refusals = 0;
    loop {
        refusals += 1;
        let sent_at = pacer.permit().await;
        tokio::time::advance(Duration::from_millis(1)).await;
        if pacer.refused(sent_at, 429) == Refusal::Hopeless {
            break;
        }
    }
    // From 100 a second, ten halvings reach the lowest rate.
    assert_eq!((refusals, rate(&pacer)), (20, Some(0.1)));
    let start = pacer.permit().await;
    assert_eq!(pacer.permit().await - start, Duration::from_secs(10));
}
