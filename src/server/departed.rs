//! Notices that a client has left while its response is being made.
//!
//! TCP cannot distinguish a client that has left from one that has closed its half and still reads.
//! The handlers decide: they skip expensive work after a [`ClientDeparture`], and answer everything
//! else.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A request extension that signals when the client has closed its half of the connection.
#[derive(Debug, Clone, Default)]
pub struct ClientDeparture(CancellationToken);

impl ClientDeparture {
    /// Returns a client that has closed its half.
    #[cfg(test)]
    pub fn left() -> Self {
        let departed = Self::default();
        departed.0.cancel();
        departed
    }

    /// Waits until the client has closed its half. Cancel safe.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }
}

/// A stream that signals its end to [`ClientDeparture`] and hides it from hyper, which would drop
/// the response under way.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    departed: ClientDeparture,
}

impl<S> Watched<S> {
    pub fn new(stream: S, departed: ClientDeparture) -> Self {
        Self { stream, departed }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.departed.0.is_cancelled() {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        let is_end = match &read {
            Ok(()) => buffer.filled().len() == before && buffer.remaining() > 0,
            // The client closed TCP without closing TLS.
            Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        };
        if is_end {
            // This wakes the connection's task, so returning `Pending` loses no wake-up.
            self.departed.0.cancel();
            return Poll::Pending;
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
