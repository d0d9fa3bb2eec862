//! `tls_server_config`, as the file spells it.

use serde::{Deserialize, de::IgnoredAny};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSection {
    pub cert: String,
    pub key: String,
    pub client_ca: String,
    pub cert_file: String,
    pub key_file: String,
    pub client_ca_file: String,
    pub client_auth_type: Policy,
    pub client_allowed_sans: Vec<String>,
    pub min_version: Option<Version>,
    pub max_version: Option<Version>,
    /// The three keys below have no effect: all suites and curves of rustls are secure.
    #[serde(rename = "cipher_suites")]
    pub _cipher_suites: IgnoredAny,
    #[serde(rename = "prefer_server_cipher_suites")]
    pub _prefer_server_cipher_suites: IgnoredAny,
    #[serde(rename = "curve_preferences")]
    pub _curve_preferences: IgnoredAny,
}

/// The policy for client certificates.
#[derive(Debug, Deserialize, Default, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    #[default]
    NoClientCert,
    RequestClientCert,
    #[serde(alias = "RequireClientCert")]
    RequireAnyClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

impl Policy {
    pub fn verifies(self) -> bool {
        matches!(
            self,
            Self::VerifyClientCertIfGiven | Self::RequireAndVerifyClientCert
        )
    }
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Version {
    Tls12,
    Tls13,
}
