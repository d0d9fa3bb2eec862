//! Follows the web configuration file: it and everything that it names are checked every second.
//!
//! A valid change takes effect from the next connection or request; an invalid one is logged and counted, and what was in
//! force stays. A half-written file must never expose the metrics, so a change that weakens the protection takes effect
//! only at a reload or a restart.

use super::{app::App, state::Site, web_config::WebConfigFile};
use crate::model::Failure;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::time::sleep;

/// How often the files are checked. A change is accepted once two checks find the same.
const LOOK: Duration = Duration::from_secs(1);

/// Never ends.
pub(super) async fn follow(app: App) {
    let mut site = app.in_force().site;
    // The versions that have been handled, and those that have been seen once.
    let (mut judged, mut candidate) = (site.file.versions.clone(), None);
    loop {
        sleep(LOOK).await;
        let current = app.in_force().site;
        if !Arc::ptr_eq(&current, &site) {
            site = current;
            (judged, candidate) = (site.file.versions.clone(), None);
        }
        let Some(path) = site.file.path.clone() else { continue };
        let before = judged.clone();
        let Some(found) = off_the_runtime(move || before.now()).await else { continue };
        if found == judged {
            candidate = None;
        } else if candidate.as_ref() != Some(&found) {
            candidate = Some(found);
        } else if let Some((result, versions)) = off_the_runtime(move || WebConfigFile::load_with_versions(&path)).await
        {
            (judged, candidate) = (versions, None);
            take_up(&app, &site, result.map_err(|error| error.to_string()));
        }
    }
}

/// `None` if the work panicked: the next check tries again.
async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Puts the file into force, unless it is invalid or weakens the protection.
fn take_up(app: &App, site: &Arc<Site>, loaded: Result<WebConfigFile, String>) {
    let sources = &site.shared.sources;
    let now = sources.clock.now();
    let taken = match loaded.and_then(|file| as_protective(&site.file, file)) {
        Ok(file) => {
            let in_force = file.description().join("; ");
            // A reload in the meantime takes precedence.
            if !app.replace_file(site, file) {
                return;
            }
            tracing::info!(in_force, "the web configuration has changed");
            Ok(())
        }
        Err(error) => {
            tracing::error!(error, "the changed web configuration is refused; the previous one stays in force");
            Err(Failure::new(now, error, "correct the file; it is read again when it changes"))
        }
    };
    sources.instruments.web_config_loaded(taken, now);
}

fn as_protective(before: &WebConfigFile, after: WebConfigFile) -> Result<WebConfigFile, String> {
    let weakened = before.weakened_by(&after);
    if weakened.is_empty() {
        return Ok(after);
    }
    let path = before.path.as_deref().unwrap_or(Path::new("")).display();
    let weakened = weakened.join(", ");
    Err(format!(
        "the web configuration file {path} removes or weakens {weakened}; reload or restart if that is intended"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Certificates, Fixture};
    use super::as_protective;
    use crate::web::WebConfigFile;

    #[test]
    fn what_weakens_the_protection_is_held_back_and_named_by_its_key() {
        let fixture = Fixture::new();
        let authority = Certificates::new();
        let issued = authority.issue(&["localhost"]);
        std::fs::write(fixture.file("ca.pem"), &authority.pem).unwrap();
        std::fs::write(fixture.file("server.pem"), issued.pem).unwrap();
        std::fs::write(fixture.file("server.key"), issued.key).unwrap();
        let load = |text: &str| {
            let path = fixture.file("web.yml");
            std::fs::write(&path, text).unwrap();
            WebConfigFile::load(Some(&path)).unwrap()
        };
        let held_back = |before: &str, after: &str| {
            let error = as_protective(&load(before), load(after)).err()?;
            let (_, keys) = error.split_once(" removes or weakens ").unwrap();
            Some(keys.split_once("; reload or restart").unwrap().0.to_owned())
        };
        let tls = |more: &str| format!("tls_server_config: {{cert_file: server.pem, key_file: server.key{more}}}\n");
        let clients = |policy: &str| tls(&format!(", client_auth_type: {policy}"));
        let own = |policy: &str| tls(&format!(", client_auth_type: {policy}, client_ca_file: ca.pem"));
        let hash = bcrypt::hash("correct", 4).unwrap();
        let users = format!("basic_auth_users: {{alice: {hash}, bob: {hash}}}\n");
        let both = "RequireAndVerifyClientCert";
        let weakening = [
            (tls(""), String::new(), "tls_server_config"),
            (users.clone(), String::new(), "basic_auth_users"),
            ("rate_limit: {interval: 1s, burst: 1}".to_owned(), String::new(), "rate_limit"),
            (own(both), tls(""), "tls_server_config.client_auth_type, tls_server_config.client_ca_file"),
            (own(both), clients(both), "tls_server_config.client_ca_file"),
            (own(both), own("VerifyClientCertIfGiven"), "tls_server_config.client_auth_type"),
            (own(both), own("RequireAnyClientCert"), "tls_server_config.client_auth_type"),
            (own("VerifyClientCertIfGiven"), own("RequestClientCert"), "tls_server_config.client_auth_type"),
            (clients("RequestClientCert"), tls(""), "tls_server_config.client_auth_type"),
            (
                tls(&format!(", client_auth_type: {both}, client_ca_file: ca.pem, client_allowed_sans: [a]")),
                own(both),
                "tls_server_config.client_allowed_sans",
            ),
            (tls(", min_version: TLS13"), tls(""), "tls_server_config.min_version"),
            (format!("{users}{}", tls("")), tls(""), "basic_auth_users"),
        ];
        for (before, after, keys) in &weakening {
            assert_eq!(held_back(before, after).as_deref(), Some(*keys), "{before}\n{after}");
            assert_eq!(held_back(after, before), None, "{after}\n{before}");
            assert_eq!(held_back(before, before), None, "{before}");
        }
        assert_eq!(held_back(&users, &format!("basic_auth_users: {{alice: {hash}}}\n")), None, "a revoked user");
        assert_eq!(held_back(&tls(", min_version: TLS12"), &tls("")), None, "the default");
        assert_eq!(held_back(&tls(", max_version: TLS13"), &tls(", max_version: TLS12")), None);
    }
}
