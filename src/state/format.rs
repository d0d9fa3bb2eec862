//! The format of the state file: one JSON document, which holds the types of the domain as serde
//! derives them. A change of their fields is a new [`VERSION`], unless the field is optional.
//!
//! Readers ignore unknown fields.

use super::SavedState;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::io::{self, BufWriter, Write};

pub const VERSION: u64 = 7;

/// The document. Every version of it has a number, by which the file of a newer program is
/// recognized.
#[derive(Serialize, Deserialize)]
struct StateDocument<S> {
    version: u64,
    /// The API that the data come from.
    #[serde(default)]
    base_url: String,
    state: S,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("it is damaged, or not a state file: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    OtherVersion(u64),
    #[error("it is the state of {0}, not of api.base_url")]
    OtherApi(String),
    #[error("it has {0} bytes, more than any state")]
    TooLarge(u64),
}

impl FormatError {
    /// Returns the remedy for a file that stays where it is, because another exporter may use it;
    /// `None` for one that can be set aside.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::OtherVersion(version) if *version > VERSION => Some(
                "run the newer version of the exporter, or move the file away, which restarts all \
                 progress clocks",
            ),
            Self::OtherApi(_) => Some(
                "set state.file to another file; if this is the same API by another name, correct \
                 the base_url at the beginning of the file",
            ),
            _ => None,
        }
    }
}

/// Writes `state` to `out` piece by piece, without holding the complete text.
pub fn encode(state: &SavedState, base_url: &str, out: impl Write) -> io::Result<()> {
    let document = StateDocument {
        version: VERSION,
        base_url: base_url.to_owned(),
        state,
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// Reads the state of the API at `base_url`, or of any.
pub fn decode(bytes: &[u8], base_url: Option<&str>) -> Result<SavedState, FormatError> {
    let any: StateDocument<Option<IgnoredAny>> = serde_json::from_slice(bytes)?;
    if any.version != VERSION {
        return Err(FormatError::OtherVersion(any.version));
    }
    if base_url.is_some_and(|base_url| any.base_url != base_url) {
        return Err(FormatError::OtherApi(any.base_url));
    }
    let document: StateDocument<SavedState> = serde_json::from_slice(bytes)?;
    Ok(document.state)
}
