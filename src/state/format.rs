//! The format of the state file: one JSON document, with the [`SavedState`] as its types serialize.
//!
//! There is one version of the format. Readers ignore unknown fields, so that a new optional field
//! needs no new version.

use super::SavedState;
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};

pub const VERSION: u64 = 4;

/// The name of the format, by which a file of another program is recognized.
#[derive(Serialize, Deserialize)]
enum Format {
    #[serde(rename = "translation-exporter state")]
    State,
}

/// The fields that every version of the file has.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "format")]
    _format: Format,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct StateDocument<T> {
    format: Format,
    version: u64,
    /// The API that the data come from.
    base_url: String,
    state: T,
}

impl FormatError {
    /// Returns whether a newer version of the exporter wrote the file.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::OtherVersion(version) if *version > VERSION)
    }
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("it is damaged, or not a state file: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    OtherVersion(u64),
    #[error("it is the state of {0}")]
    OtherApi(String),
    #[error("it has {0} bytes, more than any state")]
    TooLarge(u64),
}

/// Writes `saved` to `out` piece by piece, without holding the complete text.
pub fn encode(saved: &SavedState, base_url: &str, out: impl Write) -> io::Result<()> {
    let document = StateDocument {
        format: Format::State,
        version: VERSION,
        base_url: base_url.to_owned(),
        state: saved,
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// Reads the state of the API at `base_url`.
pub fn decode(bytes: &[u8], base_url: &str) -> Result<SavedState, FormatError> {
    let Header { version, .. } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(FormatError::OtherVersion(version));
    }
    let document: StateDocument<SavedState> = serde_json::from_slice(bytes)?;
    if document.base_url != base_url {
        return Err(FormatError::OtherApi(document.base_url));
    }
    Ok(document.state)
}
