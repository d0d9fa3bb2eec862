//! `tls_server_config`, as the file spells it.

use super::yaml::or_default;
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSection {
    #[serde(deserialize_with = "or_default")]
    pub cert: String,
    #[serde(deserialize_with = "or_default")]
    pub key: String,
    #[serde(deserialize_with = "or_default")]
    pub client_ca: String,
    #[serde(deserialize_with = "or_default")]
    pub cert_file: String,
    #[serde(deserialize_with = "or_default")]
    pub key_file: String,
    #[serde(deserialize_with = "or_default")]
    pub client_ca_file: String,
    #[serde(deserialize_with = "or_default")]
    pub client_auth_type: Policy,
    #[serde(deserialize_with = "or_default")]
    pub client_allowed_sans: Vec<String>,
    pub min_version: Option<Version>,
    pub max_version: Option<Version>,
    #[serde(deserialize_with = "or_default")]
    pub cipher_suites: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub prefer_server_cipher_suites: bool,
    #[serde(deserialize_with = "or_default")]
    pub curve_preferences: Vec<String>,
}

/// The policy for client certificates.
#[derive(Debug, Deserialize, Default, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    #[default]
    #[serde(alias = "")]
    NoClientCert,
    RequestClientCert,
    #[serde(alias = "RequireClientCert")]
    RequireAnyClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

impl Policy {
    pub fn verifies(self) -> bool {
        let verifying = [
            Self::VerifyClientCertIfGiven,
            Self::RequireAndVerifyClientCert,
        ];
        verifying.contains(&self)
    }
}

#[derive(Deserialize, PartialEq, PartialOrd)]
#[serde(rename_all = "UPPERCASE")]
pub enum Version {
    Tls12,
    Tls13,
}
