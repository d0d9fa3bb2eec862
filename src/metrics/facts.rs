//! Facts about the exporter itself that may need attention. The diagnosis reads them.

use crate::support::{clock::Timestamp, hint::Failure};

/// The facts. A failure lasts until the same operation succeeds.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The start of the process; `None` for a single poll, which has no metrics of a process.
    pub started_at: Option<Timestamp>,
    /// The refusal of a changed web configuration file; the active one is older.
    pub web_config_refused: Option<Failure>,
    /// The failure of the last write of the state file.
    pub state_not_saved: Option<Failure>,
    /// The last response's time, if it differs from this machine's by more than an hour.
    pub clock_wrong: Option<Failure>,
    /// The reason why the state file was set aside at the start. It lasts until the next start.
    pub state_discarded: Option<Failure>,
    /// The expiry of the served certificate; `None` without one.
    pub certificate_expires_at: Option<Timestamp>,
}
