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
