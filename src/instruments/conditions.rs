//! What is absent until it is known: how the configuration was last loaded, and until when the certificate is valid.

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
    configuration: Option<Configuration>,
    certificate_expires: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Configuration {
    /// Whether the last reload was refused, and the last change of the web configuration's files. Each stays so until
    /// one of its own succeeds.
    refused: bool,
    web_refused: bool,
    last_success: Option<Timestamp>,
}

impl Configuration {
    fn is_good(self) -> bool {
        !self.refused && !self.web_refused
    }
}

impl Conditions {
    /// The whole configuration was read, the web configuration file with it.
    pub fn config_loaded(&self, success: bool, at: Timestamp) {
        self.change_configuration(at, |configuration| {
            configuration.refused = !success;
            configuration.web_refused &= !success;
        });
    }

    /// The web configuration's files were read because they had changed.
    pub fn web_config_loaded(&self, success: bool, at: Timestamp) {
        self.change_configuration(at, |configuration| configuration.web_refused = !success);
    }

    fn change_configuration(&self, at: Timestamp, change: impl FnOnce(&mut Configuration)) {
        let mut known = lock(&self.0);
        let configuration = known.configuration.get_or_insert_default();
        change(configuration);
        if configuration.is_good() {
            configuration.last_success = Some(at);
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
        if let Some(configuration) = known.configuration {
            let name = "translation_exporter_config_last_reload_successful";
            let help = "1 if the last configuration that was read is in force, 0 if it was refused.";
            gauge(encoder, name, help, u64::from(configuration.is_good()))?;
            if let Some(at) = configuration.last_success {
                let name = "translation_exporter_config_last_reload_success_timestamp_seconds";
                gauge(encoder, name, "When the configuration in force was loaded.", at.as_seconds())?;
            }
        }
        if let Some(at) = known.certificate_expires {
            let name = "translation_exporter_tls_certificate_expiry_timestamp_seconds";
            gauge(encoder, name, "When the certificate that is served expires.", at.as_seconds())?;
        }
        Ok(())
    }
}
