//! What is absent until it is known: how the configuration was last loaded, and when the certificate expires.

use super::gauge;
use crate::{model::Timestamp, sync::lock};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// Clones share what they know.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions(Arc<Mutex<Known>>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Whether the last reload was refused, and the last change of the web configuration's files. Each stays so until
    /// one of its own succeeds; a reload reads these files too.
    refused: bool,
    web_refused: bool,
    /// When the configuration in force was loaded; the first one of all was, or the process has ended.
    loaded_at: Option<Timestamp>,
    certificate_expires: Option<Timestamp>,
}

impl Conditions {
    pub fn config_loaded(&self, success: bool, at: Timestamp) {
        let mut known = lock(&self.0);
        known.refused = !success;
        if success {
            known.web_refused = false;
            known.loaded_at = Some(at);
        }
    }

    pub fn web_config_loaded(&self, success: bool, at: Timestamp) {
        let mut known = lock(&self.0);
        known.web_refused = !success;
        if success && !known.refused {
            known.loaded_at = Some(at);
        }
    }

    pub fn certificate_expires(&self, at: Option<Timestamp>) {
        lock(&self.0).certificate_expires = at;
    }
}

impl Collector for Conditions {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let known = *lock(&self.0);
        if let Some(at) = known.loaded_at {
            let name = "translation_exporter_config_last_reload_successful";
            let help = "1 if the last configuration that was read is in force, 0 if it was refused.";
            gauge(encoder, name, help, u64::from(!known.refused && !known.web_refused))?;
            let name = "translation_exporter_config_last_reload_success_timestamp_seconds";
            gauge(encoder, name, "When the configuration in force was loaded.", at.as_seconds())?;
        }
        if let Some(at) = known.certificate_expires {
            let name = "translation_exporter_tls_certificate_expiry_timestamp_seconds";
            gauge(encoder, name, "When the certificate that is served expires.", at.as_seconds())?;
        }
        Ok(())
    }
}
