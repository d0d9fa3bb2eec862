//! Logs when a finding begins and when it ends, each once.

use super::{Finding, Kind, Origin, Severity};
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
                if finding.kind.traits().origin != Origin::Event {
                    log_begin(finding);
                }
            }
        }
        // Only a poll that listed everything ends what polls find: until then it is hidden by another failure, or unknown.
        let polls_fail = findings.iter().any(|finding| finding.kind.stops_polls());
        self.open.retain(|&kind, &mut since| {
            let traits = kind.traits();
            let is_hidden = match traits.origin {
                Origin::Outage | Origin::Listing | Origin::Poll => {
                    polls_fail && traits.severity != Severity::Notice
                }
                Origin::Exporter | Origin::Event => false,
            };
            let lasts = is_hidden || findings.iter().any(|finding| finding.kind == kind);
            if let (false, Some(end)) = (lasts, traits.end) {
                tracing::info!(after = %Rough(now.since(since)), "{end}");
            }
            lasts
        });
    }
}

fn log_begin(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    match finding.kind.severity() {
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning => tracing::warn!(error, hint = &**hint, "{what}"),
        Severity::Notice => tracing::info!("{what}"),
    }
}
