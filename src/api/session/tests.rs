use super::*;
use crate::api::tests::client;

fn session() -> PollSession {
    let client = client();
    let connections = Connections::new(Connector::load(&client.config).unwrap()).unwrap();
    PollSession::new(client, SecretString::from("k3y"), connections)
}

fn stopped_by(operation: Operation, status: u16, hold: Option<u64>) -> Option<PollFailure> {
    let hold = hold.map(Duration::from_secs);
    let error = RequestError::status(StatusCode::from_u16(status).unwrap(), hold);
    match session().judge(operation, &error) {
        Err(ApiError::PollEnded(stop)) => Some(stop.reason),
        _ => None,
    }
}

#[test]
fn a_403_ends_the_poll_only_for_the_listing() {
    for (operation, stop) in [
        (Operation::ListRepositories, Some(PollFailure::Unauthorized)),
        (Operation::ListLanguages, None),
    ] {
        assert_eq!(stopped_by(operation, 403, None), stop);
        assert_eq!(stopped_by(operation, 404, None), None);
    }
}

#[test]
fn a_hold_of_more_than_five_minutes_ends_the_poll() {
    let stopped_by = |seconds| stopped_by(Operation::ListLanguages, 429, Some(seconds));
    assert_eq!(stopped_by(300), None);
    assert_eq!(stopped_by(301), Some(PollFailure::Held));
}

#[tokio::test(start_paused = true)]
async fn requests_that_waited_for_the_key_obey_rate_and_hold() {
    let session = session();
    let start = Instant::now();
    let left = Mutex::new(Vec::new());
    let request = async || {
        session.permit().await;
        lock(&left).push(start.elapsed().as_secs());
    };
    let read_again = async {
        let _key = session.key.write().await;
        sleep(Duration::from_secs(10)).await;
        session.client.pacer.hold(Duration::from_secs(60));
    };
    tokio::join!(read_again, request(), request(), request());
    assert_eq!(*lock(&left), [70, 71, 72]);
}

#[tokio::test(start_paused = true)]
async fn refusals_for_the_pace_are_not_counted_as_an_outage() {
    let status = |status| RequestError::status(StatusCode::from_u16(status).unwrap(), None);
    let html = || RequestError::decode(&DecodeError::Html);
    for (refusals, refusal, last, expected) in [
        (9, 429, html(), 1),
        // The first two 503s of a repository are about the pace, and an outage too.
        (2, 503, status(503), 3),
    ] {
        let session = session();
        session.succeeded();
        let send = |_, requests| {
            let is_refused = requests <= refusals;
            let error = if is_refused {
                status(refusal)
            } else {
                last.clone()
            };
            async { Err::<(), _>(error) }
        };
        let url = &session.client.repositories;
        let pursued = session.pursue(Operation::ListLanguages, Attempts::Several, url, send);
        let Err(ApiError::Unreachable { requests, .. }) = pursued.await else {
            panic!("{refusals} refusals with {refusal}")
        };
        assert_eq!(requests, expected, "{refusals} refusals with {refusal}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_not_waited_for_once_the_poll_has_ended() {
    let session = session();
    // Another request reads the key from a disk that hangs.
    let _reading = session.key.write().await;
    let reason = PollFailure::Unauthorized;
    let ended = session.budget.end_poll(reason, REFUSED, "wait");
    let key = SecretString::from("k3y");
    let waited = tokio::time::timeout(Duration::from_secs(1), session.has_newer_key(&key));
    assert_eq!(waited.await.expect("the poll has ended"), Err(ended));
}
