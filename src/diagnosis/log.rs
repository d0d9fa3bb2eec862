//! Logs when a finding begins and when it ends, each once.

use super::{Finding, Origin, Severity, Symptom};
use crate::support::humanize::Rough;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// The current symptoms with the time at which each was first seen, so that only changes are
/// logged.
#[derive(Debug, Default)]
pub struct Watch(BTreeMap<Symptom, Instant>);

impl Watch {
    /// Logs the beginning of new findings and the end of earlier ones.
    pub fn observe(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.0.entry(finding.symptom).or_insert_with(|| {
                log_begin(finding);
                Instant::now()
            });
        }
        // Only a poll that listed everything can end a symptom of polls. Until then another failure
        // may hide the symptom.
        let polls_fail = findings.iter().any(|finding| finding.symptom.stops_polls());
        self.0.retain(|&symptom, &mut since| {
            let traits = symptom.traits();
            let is_hidden =
                polls_fail && !matches!(traits.origin, Origin::Exporter | Origin::Event);
            let lasts = is_hidden || findings.iter().any(|finding| finding.symptom == symptom);
            if !lasts && let Some(end) = symptom.end() {
                tracing::info!(after = %Rough(since.elapsed()), "{end}");
            }
            lasts
        });
    }
}

fn log_begin(finding: &Finding) {
    let Finding { what, hint, .. } = finding;
    let error = finding.detail.as_deref();
    let traits = finding.symptom.traits();
    match traits.severity {
        _ if traits.origin == Origin::Event => {}
        _ if finding.symptom == Symptom::Undecided => tracing::info!("{what}"),
        Severity::Error => tracing::error!(error, hint = &**hint, "{what}"),
        Severity::Warning | Severity::Info => tracing::warn!(error, hint = &**hint, "{what}"),
    }
}
