//! Logs when a finding begins and when it ends, each once.

use super::{Finding, Kind, Severity};
use crate::{model::Timestamp, words::Rough};
use std::collections::BTreeMap;

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
            if !self.open.contains_key(&finding.kind) {
                self.open.insert(finding.kind, finding.since.unwrap_or(now));
                log_begin(finding);
            }
        }
        // One failure of polling takes the place of another; only a poll that listed everything ends them.
        let polling_fails = findings.iter().any(|finding| finding.kind.stops_polls());
        let ended = |kind: &Kind| {
            let is_found = findings.iter().any(|finding| finding.kind == *kind);
            !is_found && !(kind.stops_polls() && polling_fails)
        };
        for (kind, since) in self.open.extract_if(.., |kind, _| ended(kind)) {
            if let Some(what) = kind.end() {
                tracing::info!(after = %Rough(now.since(since)), "{what}");
            }
        }
    }
}

fn log_begin(Finding { kind, what, detail, hint, .. }: &Finding) {
    let error = detail.as_deref();
    match kind.severity() {
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning => tracing::warn!(error, hint = &**hint, "{what}"),
        Severity::Notice => tracing::info!("{what}"),
    }
}

impl Kind {
    /// Whether it keeps polls from listing or asking.
    fn stops_polls(self) -> bool {
        self <= Self::ListingIncomplete
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
                "the certificate of the web side is valid for long again"
            }
            Self::RepositoriesFailing => "all repositories can be read again",
            Self::NoRepositories => "the account has repositories now",
            Self::NothingSelected => "the filters leave repositories now",
            Self::RemovalUnconfirmed => "the listing is confirmed: nothing waits to be removed any more",
            Self::ScaleSuspect => "the completions fit api.completion_scale now",
            Self::CompletionsOutOfScale => "all completions are within api.completion_scale again",
            Self::StateNotSaved => "the state is saved again",
            Self::ReloadRefused => "the configuration in force is the newest again",
            Self::PollsOverrun => "polls fit into poll.interval again",
            Self::StateDiscarded | Self::ClockCorrected | Self::DataFromBefore | Self::FirstPoll => return None,
        })
    }
}
