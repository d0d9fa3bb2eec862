//! A body whose parts go out two at a time, so that a short part does not cost a system call of its own.

use bytes::{Buf as _, Bytes, buf::Chain};
use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Joins the parts of a body that are ready, two by two.
#[derive(Debug)]
pub(super) struct Joined<B: Body> {
    body: B,
    /// What came behind a part and could not be joined to it.
    held: Option<Result<Frame<Bytes>, B::Error>>,
    ended: bool,
}

impl<B: Body<Data = Bytes> + Unpin> Joined<B> {
    pub(super) fn new(body: B) -> Self {
        Self { body, held: None, ended: false }
    }
}

impl<B: Body<Data = Bytes, Error: Unpin> + Unpin> Body for Joined<B> {
    type Data = Chain<Bytes, Bytes>;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, B::Error>>> {
        let next = match self.held.take() {
            Some(held) => Some(held),
            None if self.ended => None,
            None => ready!(Pin::new(&mut self.body).poll_frame(context)),
        };
        let frame = match next {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => {
                self.ended = true;
                return Poll::Ready(None);
            }
        };
        let mut second = Bytes::new();
        if frame.is_data() && !self.ended {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(next))) => match next.into_data() {
                    Ok(data) => second = data,
                    Err(next) => self.held = Some(Ok(next)),
                },
                Poll::Ready(Some(Err(error))) => self.held = Some(Err(error)),
                Poll::Ready(None) => self.ended = true,
                // It has been noted who is to be woken.
                Poll::Pending => {}
            }
        }
        Poll::Ready(Some(Ok(frame.map_data(|data| data.chain(second)))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && (self.ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        if self.held.is_some() { SizeHint::default() } else { self.body.size_hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Buf;
    use futures_util::stream;
    use http_body_util::{BodyExt as _, StreamBody};

    fn parts(parts: &[&'static str]) -> impl Body<Data = Bytes, Error = &'static str> + Unpin {
        let frames: Vec<Result<_, &'static str>> = parts
            .iter()
            .map(
                |part| {
                    if *part == "broken" { Err(*part) } else { Ok(Frame::data(Bytes::from_static(part.as_bytes()))) }
                },
            )
            .collect();
        StreamBody::new(stream::iter(frames))
    }

    async fn joined(body: impl Body<Data = Bytes, Error = &'static str> + Unpin) -> Vec<Result<String, &'static str>> {
        let mut body = Joined::new(body);
        let mut all = Vec::new();
        while let Some(frame) = body.frame().await {
            all.push(frame.map(|frame| {
                let mut data = frame.into_data().unwrap();
                let data = data.copy_to_bytes(data.remaining());
                String::from_utf8(data.to_vec()).unwrap()
            }));
        }
        assert!(body.frame().await.is_none(), "an end is an end");
        all
    }

    #[tokio::test]
    async fn parts_go_out_two_at_a_time() {
        assert_eq!(joined(parts(&["a", "b", "c"])).await, [Ok("ab".to_owned()), Ok("c".to_owned())]);
        assert_eq!(joined(parts(&["a", "b"])).await, [Ok("ab".to_owned())]);
        assert_eq!(joined(parts(&[])).await, []);
    }

    #[tokio::test]
    async fn what_came_before_a_break_goes_out() {
        assert_eq!(joined(parts(&["a", "broken"])).await, [Ok("a".to_owned()), Err("broken")]);
    }
}
