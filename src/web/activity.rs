//! What a connection is doing: the requests under way on it, and whether their responses make progress.
//!
//! Bytes are no measure of that: a PING, or a window that opens by a byte, moves no response on. So progress is that hyper
//! takes another piece of a body, which it does once it is rid of the one before.

use super::fair_share::FairShare;
use axum::{
    body::{Body, Bytes, HttpBody as _},
    http::{Method, Request, StatusCode},
    response::Response,
};
use futures_util::{TryStreamExt as _, stream};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long a connection may have no request under way.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a response may make no progress.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a response may take in all.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);

/// What hyper takes of a body at once, in bytes.
const PIECE: usize = 16 * 1024;

/// What a scrape holds while it is sent, in bytes: without gzip, a part of the text and what inflates the next.
const SCRAPE: usize = 160 * 1024;

/// A connection, for those who decide about its end.
#[derive(Debug)]
pub struct Activity {
    pub peer: SocketAddr,
    /// Ends it at once.
    pub end: CancellationToken,
    state: watch::Sender<State>,
}

#[derive(Debug)]
struct State {
    requests: usize,
    /// When a request last began, made progress or ended; at first, when the connection was opened.
    last_activity: Instant,
}

impl Activity {
    pub fn new(peer: SocketAddr) -> Arc<Self> {
        let state = State {
            requests: 0,
            last_activity: Instant::now(),
        };
        Arc::new(Self {
            peer,
            end: CancellationToken::new(),
            state: watch::Sender::new(state),
        })
    }

    /// Whether a request is under way, and the last activity: of two connections, the lesser can be missed sooner.
    pub fn importance(&self) -> (bool, Instant) {
        let state = self.state.borrow();
        (state.requests > 0, state.last_activity)
    }

    /// Ends once no request has been under way for [`IDLE_TIMEOUT`].
    pub async fn idle(&self) {
        let mut state = self.state.subscribe();
        loop {
            state.wait_for(|state| state.requests == 0).await.ok();
            if timeout(IDLE_TIMEOUT, state.changed()).await.is_err() {
                return;
            }
        }
    }

    fn note(&self, change: impl FnOnce(&mut usize)) {
        self.state.send_modify(|state| {
            change(&mut state.requests);
            state.last_activity = Instant::now();
        });
    }
}

/// A request that is under way until this is dropped, which logs it.
#[derive(Debug)]
pub struct UnderWay {
    activity: Arc<Activity>,
    began: Instant,
    method: Method,
    path: String,
    /// `None` until there is a response.
    status: Option<StatusCode>,
    bytes: usize,
}

impl UnderWay {
    pub fn new<B>(activity: &Arc<Activity>, request: &Request<B>) -> Self {
        activity.note(|requests| *requests += 1);
        Self {
            activity: Arc::clone(activity),
            began: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            status: None,
            bytes: 0,
        }
    }

    /// The response, which takes its share of the memory and has to be sent in time.
    pub fn answer(mut self, response: Response, memory: &Arc<FairShare>) -> Response {
        self.status = Some(response.status());
        let held = match response.body().size_hint().exact() {
            Some(length) => usize::try_from(length).unwrap_or(usize::MAX),
            None => SCRAPE,
        };
        let share = memory.take(&self.activity, held);
        let (progress, progressed) = watch::channel(());
        tokio::spawn(end_if_late(progressed, self.activity.end.clone()));
        response.map(|body| {
            let pieces = body.into_data_stream().map_ok(in_pieces).try_flatten();
            Body::from_stream(pieces.inspect_ok(move |piece| {
                let _held = &share;
                self.bytes += piece.len();
                self.activity.note(|_| {});
                progress.send_replace(());
            }))
        })
    }
}

/// Watches a response until it is finished.
async fn end_if_late(mut progress: watch::Receiver<()>, connection: CancellationToken) {
    let finished = timeout(RESPONSE_TIMEOUT, async {
        loop {
            match timeout(PROGRESS_TIMEOUT, progress.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_finished)) => return true,
                Err(_late) => return false,
            }
        }
    });
    if !finished.await.unwrap_or(false) {
        connection.cancel();
    }
}

/// Copies, so that a client that takes all of a body except its last piece does not keep the whole in memory.
fn in_pieces(data: Bytes) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> {
    let starts = (0..data.len()).step_by(PIECE);
    stream::iter(starts.map(move |start| {
        let end = data.len().min(start + PIECE);
        Ok(Bytes::copy_from_slice(&data[start..end]))
    }))
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.activity.note(|requests| *requests -= 1);
        tracing::debug!(
            method = %self.method,
            path = self.path,
            status = self.status.map(|status| status.as_u16()),
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
            let memory = FairShare::of(usize::MAX);
            let response = Response::new(Body::from(vec![0; 40 * PIECE]));
            let response = UnderWay::new(&activity, &request()).answer(response, &memory);
            let mut body = response.into_body().into_data_stream();
            let reading = async {
                while body.next().await.is_some() {
                    sleep(Duration::from_secs(pause)).await;
                }
            };
            tokio::select! {
                () = reading => panic!("it was finished"),
                () = activity.end.cancelled() => {}
            }
            assert_eq!(
                begin.elapsed().as_secs(),
                end,
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
        let memory = FairShare::of(usize::MAX);
        let response = under_way.answer(Response::new(Body::from("short")), &memory);
        assert_eq!(response.into_body().into_data_stream().count().await, 1);
        activity.idle().await;
        assert_eq!(begin.elapsed().as_secs(), 130);
        sleep(Duration::from_secs(400)).await;
        assert!(!activity.end.is_cancelled());
    }
}
