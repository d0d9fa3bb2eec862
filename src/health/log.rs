//! Logs when a finding begins and when it ends, each once.

use super::{Finding, Kind, Severity};
use crate::{model::Timestamp, words::Rough};
use std::collections::{BTreeMap, btree_map::Entry};

/// Remembers what is wrong, so that only changes are logged.
#[derive(Debug, Default)]
pub struct Watch {
    /// Since when.
    open: BTreeMap<Kind, Timestamp>,
}

impl Watch {
    /// Logs findings that are new, and those that have ended.
    pub fn observe(&mut self, findings: &[Finding], now: Timestamp) {
        for finding in findings {
            if let Entry::Vacant(entry) = self.open.entry(finding.kind) {
                entry.insert(finding.since.unwrap_or(now));
                if !finding.kind.is_logged_elsewhere() {
                    log_begin(finding);
                }
            }
        }
        let is_found = |kind| findings.iter().any(|finding| finding.kind == kind);
        // Only a poll that listed everything ends what polls find: until then it is hidden by another failure, or unknown.
        let polling_fails = findings.iter().any(|finding| finding.kind.stops_polls());
        self.open.retain(|&kind, &mut since| {
            let lasts = is_found(kind) || kind.is_found_by_polls() && polling_fails;
            let has_grown_worse =
                kind == Kind::CertificateExpiring && is_found(Kind::CertificateExpired);
            if let (false, false, Some(what)) = (lasts, has_grown_worse, kind.end()) {
                tracing::info!(after = %Rough(now.since(since)), "{what}");
            }
            lasts
        });
    }
}

fn log_begin(
    Finding {
        kind,
        what,
        detail,
        hint,
        ..
    }: &Finding,
) {
    let error = detail.as_deref();
    match kind.severity() {
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning => tracing::warn!(error, hint = &**hint, "{what}"),
        Severity::Notice => tracing::info!("{what}"),
    }
}

impl Kind {
    /// Whether it takes a poll to see that it is over.
    fn is_found_by_polls(self) -> bool {
        !matches!(
            self,
            Self::CertificateExpired
                | Self::CertificateExpiring
                | Self::StateNotSaved
                | Self::StateDiscarded
                | Self::ReloadRefused
                | Self::ClockCorrected
                | Self::Recovering
                | Self::DataFromBefore
                | Self::FirstPoll
        )
    }

    /// Whether it is an event that is logged each time, where it happens.
    fn is_logged_elsewhere(self) -> bool {
        matches!(self, Self::StateDiscarded | Self::ReloadRefused)
    }

    /// What the log says when it ends; `None` if other messages say enough.
    fn end(self) -> Option<&'static str> {
        Some(match self {
            Self::KeyRefused => "the API accepts the key again",
            Self::KeyFileUnreadable => "the key file can be read again",
            Self::Held => "requests are sent again: the wait that Retry-After asked for is over",
            Self::ApiUnavailable => "the API answers again",
            Self::ListingIncomplete => "all repositories can be listed again",
            Self::DataStale => "no data are stale any more",
            Self::CertificateExpired | Self::CertificateExpiring => {
                "the TLS certificate is no longer about to expire"
            }
            Self::RepositoriesFailing => "no repository fails any more",
            Self::NoRepositories => "the account has repositories now",
            Self::NothingSelected => "there are repositories to show again",
            Self::RemovalUnconfirmed => "no removal waits for confirmation any more",
            Self::ScaleSuspect => {
                "the completions no longer look as if api.completion_scale were wrong"
            }
            Self::CompletionsOutOfScale => "no completion is outside api.completion_scale any more",
            Self::StateNotSaved => "the state is saved again",
            Self::PollsOverrun => "polls fit into poll.interval again",
            Self::StateDiscarded
            | Self::ReloadRefused
            | Self::ClockCorrected
            | Self::Recovering
            | Self::DataFromBefore
            | Self::FirstPoll => return None,
        })
    }
}
