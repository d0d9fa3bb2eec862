//! The format of the state file: one JSON document, which holds the types of the domain as serde
//! derives them. A change of their fields is a new [`VERSION`], unless the field is optional.
//!
//! Readers ignore unknown fields.

use crate::domain::record::SavedState;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::io::{self, BufWriter, Write};

pub const VERSION: u64 = 8;

/// The beginning of a file of any version, which tells a damaged one from the file of others.
const START: &[u8] = b"{\"version\":";

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
    // The parser's error would quote the file.
    #[error("it is damaged at line {}, column {}", .0.line(), .0.column())]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    OtherVersion(u64),
    #[error("it is the state of {0}, not of api.base_url")]
    OtherApi(String),
    #[error("it is no state file")]
    Foreign,
}

impl FormatError {
    /// Returns true for a state that is damaged or outdated, and therefore lost.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::OtherVersion(..VERSION))
    }

    /// Returns the remedy for a file that stays where it is.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherVersion(_) => {
                "run the newer version of the exporter, or set state.file to another file"
            }
            Self::OtherApi(_) => {
                "set state.file to another file; if this is the same API by another name, correct \
                 the base_url at the beginning of the file"
            }
            _ => "set state.file to another file",
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

/// Reads the state of the API at `base_url`.
pub fn decode(bytes: &[u8], base_url: &str) -> Result<SavedState, FormatError> {
    // A disk that failed can leave nothing but NUL bytes.
    if !bytes.starts_with(START) && bytes.iter().any(|byte| *byte != 0) {
        return Err(FormatError::Foreign);
    }
    let any: StateDocument<Option<IgnoredAny>> = serde_json::from_slice(bytes)?;
    if any.version != VERSION {
        return Err(FormatError::OtherVersion(any.version));
    }
    if any.base_url != base_url {
        return Err(FormatError::OtherApi(any.base_url));
    }
    let document: StateDocument<SavedState> = serde_json::from_slice(bytes)?;
    Ok(document.state)
}
