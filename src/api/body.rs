//! The body of a response, its Content-Encoding and its size limit.

use super::error::RequestFailure;
use crate::domain::Reason;
use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use std::io::{self, Write};

/// A partly received body. Chunks are decompressed on arrival, so that a body beyond the limit
/// never fills the memory.
#[derive(Debug)]
pub enum Body {
    Plain(Limited),
    /// One or several gzip members.
    Gzip(Box<MultiGzDecoder<Limited>>),
}

/// The decompressed bytes, up to a limit.
#[derive(Debug)]
pub struct Limited {
    bytes: Vec<u8>,
    limit: u64,
}

impl Body {
    /// Creates the empty body of a response with these headers, for at most `limit` decompressed
    /// bytes.
    pub fn new(headers: &HeaderMap, limit: u64) -> Result<Self, RequestFailure> {
        let bytes = Limited {
            bytes: Vec::new(),
            limit,
        };
        let encodings = headers.get_all(CONTENT_ENCODING).iter();
        let mut encodings = encodings
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"));
        let Some(name) = encodings.next() else {
            return Ok(Self::Plain(bytes));
        };
        let is_gzip = [b"gzip".as_slice(), b"x-gzip"]
            .iter()
            .any(|gzip| name.eq_ignore_ascii_case(gzip));
        match encodings.next() {
            None if is_gzip => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(bytes)))),
            second => {
                let names = [Some(name), second].into_iter().flatten();
                Err(unreadable(&names.map(known).collect::<Vec<_>>().join(", ")))
            }
        }
    }

    /// Adds the next chunk in its original encoding.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), RequestFailure> {
        let limit = self.limit();
        let written = match self {
            Self::Plain(bytes) => bytes.write_all(piece),
            Self::Gzip(gzip) => gzip.write_all(piece),
        };
        written.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => too_large(limit),
            _ => RequestFailure::new(
                Reason::Decode,
                "the body is not valid gzip, although Content-Encoding says gzip",
            ),
        })
    }

    fn decompressed(&self) -> &Limited {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Gzip(gzip) => gzip.get_ref(),
        }
    }

    fn limit(&self) -> u64 {
        self.decompressed().limit
    }

    /// Returns the number of decompressed bytes so far.
    pub fn len(&self) -> usize {
        self.decompressed().bytes.len()
    }

    /// Returns the complete body, decompressed.
    pub fn finish(self) -> Result<Vec<u8>, RequestFailure> {
        let limit = self.limit();
        match self {
            Self::Plain(bytes) => Ok(bytes.bytes),
            // The decoder writes its buffered rest, which can exceed the limit too.
            Self::Gzip(gzip) => match gzip.finish() {
                Ok(bytes) => Ok(bytes.bytes),
                Err(error) => Err(match error.kind() {
                    io::ErrorKind::FileTooLarge => too_large(limit),
                    _ => RequestFailure::new(Reason::Truncated, "the compressed body breaks off"),
                }),
            },
        }
    }
}

/// Returns the error of a body that is larger than `limit` bytes.
pub fn too_large(limit: u64) -> RequestFailure {
    let how = format!("the body is larger than {limit} bytes");
    RequestFailure::new(Reason::TooLarge, how)
}

/// Returns the error of a body in another encoding than Accept-Encoding allows.
fn unreadable(encoding: &str) -> RequestFailure {
    let how = format!("the body is encoded as {encoding}, which was not asked for");
    let mut error = RequestFailure::new(Reason::Decode, how);
    error.hint = "let the API, or the proxy before it, obey Accept-Encoding: gzip";
    error
}

/// Returns the name of a known encoding. Errors never quote other text of the API.
fn known(name: &[u8]) -> &'static str {
    ["br", "zstd", "deflate", "compress", "gzip", "x-gzip"]
        .into_iter()
        .find(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        .unwrap_or("something unknown")
}

impl Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + piece.len()) as u64 > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn receive(encoding: &str, pieces: &[&[u8]]) -> Result<String, RequestFailure> {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, encoding.parse().unwrap())]);
        let mut body = Body::new(&headers, 100)?;
        for piece in pieces {
            body.push(piece)?;
        }
        Ok(String::from_utf8(body.finish()?).unwrap())
    }

    #[test]
    fn gzip_is_read_under_both_names_and_with_several_members() {
        let (first, second) = (gzip("[1,"), gzip("2]"));
        let both = [first.clone(), second.clone()].concat();
        for encoding in ["gzip", "GZIP", "x-gzip", "identity, X-Gzip"] {
            assert_eq!(receive(encoding, &[&both]).unwrap(), "[1,2]");
            assert_eq!(receive(encoding, &[&first, &second]).unwrap(), "[1,2]");
        }
        let bytes: Vec<_> = both.chunks(1).collect();
        assert_eq!(receive("gzip", &bytes).unwrap(), "[1,2]");
        assert_eq!(receive("identity", &[b"[]"]).unwrap(), "[]");
    }

    #[test]
    fn an_unexpected_encoding_is_named() {
        for (encoding, name) in [
            ("br", "br"),
            ("ZSTD", "zstd"),
            ("deflate", "deflate"),
            ("gzip, br", "gzip, br"),
            ("<script>", "something unknown"),
        ] {
            let error = receive(encoding, &[]).unwrap_err();
            assert_eq!(error.reason, Reason::Decode);
            let expected = format!("the body is encoded as {name}, which was not asked for");
            assert_eq!(error.what, expected);
        }
    }

    #[test]
    fn a_large_truncated_or_corrupt_gzip_body_is_refused() {
        let reason = |pieces: &[&[u8]]| receive("gzip", pieces).unwrap_err().reason;
        assert_eq!(reason(&[&gzip(&" ".repeat(101))]), Reason::TooLarge);
        let whole = gzip("[1, 2]");
        assert_eq!(reason(&[&whole[..whole.len() - 9]]), Reason::Truncated);
        assert_eq!(
            reason(&[b"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"]),
            Reason::Decode
        );
    }
}
