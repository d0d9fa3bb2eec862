//! What a connection is doing: the requests under way on it, and whether their responses make progress.
//!
//! Bytes are no measure of that: a PING, or a window that opens by a byte, moves no response on. So progress is that hyper
//! takes another piece of a body, which it does once it is rid of the one before.

use crate::support::lock::lock;
use axum::{
    body::{Body, Bytes},
    http::{Method, Request},
    response::Response,
};
use futures_util::{TryStreamExt as _, stream};
use std::{
    collections::BTreeMap,
    iter,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a connection may have no request under way: a little longer than the commonest interval of scrapes, so that none meets a
/// connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(35);

/// How long a response may make no progress.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a request and its response may take in all.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);

/// What hyper takes of a body at once at most, in bytes: so much has to be sent within [`PROGRESS_TIMEOUT`], except the last of
/// a response, after which the connection counts as idle.
const PIECE: usize = 128 * 1024;

/// A connection, for those who decide about its end.
#[derive(Debug)]
pub struct Activity {
    pub peer: SocketAddr,
    /// Ends it at once.
    pub end: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When a request last began, made progress or ended; at first, when the connection was opened.
    last_activity: Instant,
    /// How many requests there have been, each of which is known by its number.
    requests: u64,
    /// The requests under way, each with its deadline.
    under_way: BTreeMap<u64, Instant>,
}

/// Why a connection has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// No request has been under way for [`IDLE_TIMEOUT`].
    Idle,
    /// A response makes no progress, or takes too long in all.
    Late,
}

impl State {
    /// When the connection has to end if nothing happens until then, and why.
    fn expiry(&self) -> (Instant, Expiry) {
        match self.under_way.values().min() {
            None => (self.last_activity + IDLE_TIMEOUT, Expiry::Idle),
            Some(deadline) => (*deadline, Expiry::Late),
        }
    }
}

impl Activity {
    pub fn new(peer: SocketAddr) -> Arc<Self> {
        let state = State {
            last_activity: Instant::now(),
            requests: 0,
            under_way: BTreeMap::new(),
        };
        Arc::new(Self {
            peer,
            end: CancellationToken::new(),
            state: Mutex::new(state),
        })
    }

    /// Whether a request is under way, and the last activity: of two connections, the lesser can be missed sooner.
    pub fn importance(&self) -> (bool, Instant) {
        let state = lock(&self.state);
        (!state.under_way.is_empty(), state.last_activity)
    }

    /// Ends when the connection has to. Nothing needs to wake it: what happens in the meantime puts that off, to
    /// [`PROGRESS_TIMEOUT`] from then at the earliest.
    pub async fn expired(&self) -> Expiry {
        loop {
            let (at, expiry) = lock(&self.state).expiry();
            let now = Instant::now();
            if at <= now {
                return expiry;
            }
            sleep_until(at.min(now + PROGRESS_TIMEOUT)).await;
        }
    }

    fn note<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock(&self.state);
        state.last_activity = Instant::now();
        change(&mut state)
    }
}

/// A request that is under way until this is dropped, which logs it.
#[derive(Debug)]
pub struct UnderWay {
    activity: Arc<Activity>,
    number: u64,
    began: Instant,
    method: Method,
    path: String,
    /// `None` until there is a response.
    status: Option<u16>,
    bytes: usize,
}

impl UnderWay {
    pub fn new<B>(activity: &Arc<Activity>, request: &Request<B>) -> Self {
        let began = Instant::now();
        let number = activity.note(|state| {
            state.requests += 1;
            let deadline = began + RESPONSE_TIMEOUT;
            state.under_way.insert(state.requests, deadline);
            state.requests
        });
        Self {
            activity: Arc::clone(activity),
            number,
            began,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            status: None,
            bytes: 0,
        }
    }

    /// Returns the response, which has to be sent in time and holds its share until then.
    pub fn answer<Share: Send + 'static>(mut self, response: Response, share: Share) -> Response {
        self.status = Some(response.status().as_u16());
        self.progressed();
        response.map(|body| {
            let pieces = body.into_data_stream().map_ok(in_pieces).try_flatten();
            Body::from_stream(pieces.inspect_ok(move |piece| {
                let _held = &share;
                self.bytes += piece.len();
                self.progressed();
            }))
        })
    }

    /// Puts the deadline off, to [`RESPONSE_TIMEOUT`] after the begin at most.
    fn progressed(&self) {
        let last = self.began + RESPONSE_TIMEOUT;
        self.activity.note(|state| {
            let deadline = last.min(state.last_activity + PROGRESS_TIMEOUT);
            state.under_way.insert(self.number, deadline)
        });
    }
}

fn in_pieces(mut data: Bytes) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> {
    stream::iter(iter::from_fn(move || {
        let size = data.len().min(PIECE);
        (size > 0).then(|| Ok(data.split_to(size)))
    }))
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.activity
            .note(|state| state.under_way.remove(&self.number));
        tracing::debug!(
            method = %self.method,
            path = self.path,
            status = self.status,
            bytes = self.bytes,
            duration = ?self.began.elapsed(),
            peer = %self.activity.peer,
            "request"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt as _;
    use tokio::time::sleep;

    fn request() -> Request<Body> {
        Request::new(Body::empty())
    }

    fn connection() -> Arc<Activity> {
        Activity::new(([127, 0, 0, 1], 1).into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_makes_progress_is_given_5_minutes_and_one_that_makes_none_30_seconds()
    {
        for (pause, end) in [(10, 300), (29, 300), (31, 30)] {
            let (activity, begin) = (connection(), Instant::now());
            let response = Response::new(Body::from(vec![0; 40 * PIECE]));
            let reading = async {
                sleep(Duration::from_secs(20)).await;
                let response = UnderWay::new(&activity, &request()).answer(response, ());
                let mut body = response.into_body().into_data_stream();
                while body.next().await.is_some() {
                    sleep(Duration::from_secs(pause)).await;
                }
            };
            tokio::select! {
                () = reading => panic!("it was finished"),
                expiry = activity.expired() => assert_eq!(expiry, Expiry::Late),
            }
            assert_eq!(
                begin.elapsed().as_secs(),
                20 + end,
                "a piece every {pause} seconds"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_idles_only_without_a_request_under_way_and_a_finished_response_does_not_end_it()
     {
        let (activity, begin) = (connection(), Instant::now());
        assert!(!activity.importance().0);
        let under_way = UnderWay::new(&activity, &request());
        assert!(activity.importance().0);
        // As one that waits for its password.
        sleep(Duration::from_secs(100)).await;
        let response = under_way.answer(Response::new(Body::from("short")), ());
        assert_eq!(response.into_body().into_data_stream().count().await, 1);
        assert_eq!(activity.expired().await, Expiry::Idle);
        assert_eq!(begin.elapsed().as_secs(), 135);
    }
}
