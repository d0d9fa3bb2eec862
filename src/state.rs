//! The state file: what outlives a restart.

use crate::{
    model::{Repository, RepositoryId, Timestamp},
    progress::Progress,
    snapshot::Languages,
};
use std::{sync::Arc, time::Duration};

/// Everything that outlives a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// How long the last poll took that read everything it wanted.
    pub last_full_poll: Option<Duration>,
    /// What a listing has shown and the filters let through, in the order of the ids.
    pub repositories: Vec<Remembered>,
    /// The clocks of what left, in the order of id and code.
    pub departed: Vec<Departed>,
}

/// A repository, with its languages if they were ever read; also those that are too old to be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub repository: Arc<Repository>,
    pub languages: Option<Arc<Languages>>,
}

/// The clock of a language that left, or whose repository left.
#[derive(Debug, Clone, PartialEq)]
pub struct Departed {
    pub repository: RepositoryId,
    pub code: Arc<str>,
    pub progress: Progress,
    pub left_at: Timestamp,
}

#[derive(Debug)]
pub struct StateFile;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct WriteError;
impl StateFile {
    pub fn write(&mut self, memory: &Memory) -> Result<(), WriteError> {
        let _ = memory;
        Ok(())
    }
}
