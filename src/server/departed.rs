//! Notices that a client has left while its response is being made.
//!
//! TCP does not tell a client that has left from one that has only closed its half and still reads.
//! So a handler decides: expensive work for a client that has [`Departed`] is not begun, and
//! everything else is answered.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// Whether the client has closed its half of the connection; an extension of each request.
#[derive(Debug, Clone, Default)]
pub struct Departed(CancellationToken);

impl Departed {
    /// Ends when the client has closed its half. Cancel safe.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }
}

/// A stream whose end is told to [`Departed`] and not to hyper, which would drop the response that
/// is being made.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    departed: Departed,
}

impl<S> Watched<S> {
    pub fn new(stream: S, departed: Departed) -> Self {
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
            // The end of TCP without that of TLS.
            Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        };
        if is_end {
            // The connection's task waits for this, so that nothing else has to wake it.
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
