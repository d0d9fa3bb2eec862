//! Weakening: the keys by which another web configuration file would protect less than the active
//! one.

use super::yaml::TlsSection;

/// The strength of a file's protection by key: one bit for each kind of protection. The default
/// protects nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Strengths([(&'static str, u8); 7]);

impl Strengths {
    pub fn new(tls: Option<&TlsSection>, has_users: bool, has_rate_limit: bool) -> Self {
        let default = TlsSection::default();
        let keys = tls.unwrap_or(&default);
        let has_names = !keys.client_allowed_sans.is_empty();
        let policy = keys.client_auth_type.unwrap_or_default();
        let has_authorities = keys.client_ca.0.is_some() || keys.client_ca_file.0.is_some();
        let min_version = keys.min_version.as_ref().map(|min| min.value);
        Self([
            ("basic_auth_users", has_users.into()),
            ("rate_limit", has_rate_limit.into()),
            ("tls_server_config", tls.is_some().into()),
            ("tls_server_config.client_allowed_sans", has_names.into()),
            ("tls_server_config.client_auth_type", policy as u8),
            ("tls_server_config.client_ca_file", has_authorities.into()),
            (
                "tls_server_config.min_version",
                min_version.unwrap_or_default() as u8,
            ),
        ])
    }

    /// Returns the keys for which `next` lacks a bit.
    pub fn lost_in(self, next: Self) -> Vec<&'static str> {
        let both = self.0.into_iter().zip(next.0);
        both.filter(|((_, before), (_, after))| before & !after != 0)
            .map(|((key, _), _)| key)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::web_config::WebConfigFile;
    use crate::web::testing::Certificates;
    use tempfile::TempDir;

    /// Returns a folder with the certificates that the files below name.
    fn certificates() -> TempDir {
        let folder = TempDir::new().unwrap();
        let authority = Certificates::new();
        let issued = authority.issue(&["localhost"]);
        std::fs::write(folder.path().join("ca.pem"), &authority.pem).unwrap();
        std::fs::write(folder.path().join("server.pem"), issued.pem).unwrap();
        std::fs::write(folder.path().join("server.key"), issued.key).unwrap();
        folder
    }

    fn load(folder: &TempDir, text: &str) -> WebConfigFile {
        let path = folder.path().join("web.yml");
        std::fs::write(&path, text).unwrap();
        WebConfigFile::load(Some(&path)).unwrap()
    }

    fn weakened(folder: &TempDir, before: &str, after: &str) -> String {
        let (before, after) = (load(folder, before), load(folder, after));
        before.weakened_by(&after).join(", ")
    }

    /// Asserts that the change weakens `keys`, and that its reverse weakens none.
    #[track_caller]
    fn assert_weakens(folder: &TempDir, before: &str, after: &str, keys: &str) {
        assert_eq!(weakened(folder, before, after), keys, "{before}\n{after}");
        assert_eq!(weakened(folder, after, before), "", "{after}\n{before}");
        assert_eq!(weakened(folder, before, before), "", "{before}");
    }

    fn tls(more: &str) -> String {
        format!("tls_server_config: {{cert_file: server.pem, key_file: server.key{more}}}\n")
    }

    /// TLS with a policy for client certificates, verified against the system's authorities.
    fn clients(policy: &str) -> String {
        tls(&format!(", client_auth_type: {policy}"))
    }

    /// TLS with a policy for client certificates, verified against `client_ca_file`.
    fn own_clients(policy: &str) -> String {
        tls(&format!(
            ", client_auth_type: {policy}, client_ca_file: ca.pem"
        ))
    }

    fn users(names: &[&str]) -> String {
        let hash = bcrypt::hash("correct", 4).unwrap();
        let users: Vec<_> = names.iter().map(|name| format!("{name}: {hash}")).collect();
        format!("basic_auth_users: {{{}}}\n", users.join(", "))
    }

    #[test]
    fn a_removed_section_weakens_its_key() {
        let folder = certificates();
        let rate_limit = "rate_limit: {interval: 1s, burst: 1}\n";
        assert_weakens(&folder, &tls(""), "", "tls_server_config");
        assert_weakens(&folder, &users(&["alice"]), "", "basic_auth_users");
        assert_weakens(&folder, rate_limit, "", "rate_limit");
        let both = users(&["alice"]) + &tls("");
        assert_weakens(&folder, &both, &tls(""), "basic_auth_users");
    }

    #[test]
    fn a_weaker_policy_for_client_certificates_is_named_by_its_keys() {
        let folder = certificates();
        let policy = "tls_server_config.client_auth_type";
        let authorities = "tls_server_config.client_ca_file";
        let strict = "RequireAndVerifyClientCert";
        let if_given = "VerifyClientCertIfGiven";
        let both = format!("{policy}, {authorities}");
        assert_weakens(&folder, &own_clients(strict), &tls(""), &both);
        assert_weakens(&folder, &own_clients(strict), &clients(strict), authorities);
        for (before, after) in [
            (strict, if_given),
            (strict, "RequireAnyClientCert"),
            (if_given, "RequestClientCert"),
        ] {
            assert_weakens(&folder, &own_clients(before), &own_clients(after), policy);
        }
        assert_weakens(&folder, &clients("RequestClientCert"), &tls(""), policy);
    }

    #[test]
    fn a_weaker_restriction_of_names_or_versions_is_named_by_its_key() {
        let folder = certificates();
        let strict = "RequireAndVerifyClientCert";
        let named = tls(&format!(
            ", client_auth_type: {strict}, client_ca_file: ca.pem, client_allowed_sans: [a]"
        ));
        let key = "tls_server_config.client_allowed_sans";
        assert_weakens(&folder, &named, &own_clients(strict), key);
        let new_only = tls(", min_version: TLS13");
        assert_weakens(
            &folder,
            &new_only,
            &tls(""),
            "tls_server_config.min_version",
        );
    }

    #[test]
    fn a_revoked_user_and_a_spelled_out_default_weaken_nothing() {
        let folder = certificates();
        for (before, after) in [
            (users(&["alice", "bob"]), users(&["alice"])),
            (tls(", min_version: TLS12"), tls("")),
            (tls(", max_version: TLS13"), tls(", max_version: TLS12")),
        ] {
            assert_eq!(weakened(&folder, &before, &after), "", "{before}\n{after}");
        }
    }
}
