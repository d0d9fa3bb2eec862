//! Follows the web configuration file: it and everything that it names are checked every second.
//!
//! A valid change takes effect from the next connection or request; an invalid one is logged and counted, and what was in
//! force stays. A half-written file must never expose the metrics, so a change that weakens the protection takes effect
//! only at a reload or a restart.

use super::{app::App, state::Site, web_config::WebConfigFile};
use crate::model::Failure;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{task::spawn_blocking, time::sleep};

/// How often the files are checked. A change is accepted once two checks find the same.
const LOOK: Duration = Duration::from_secs(1);

/// Never ends.
pub(super) async fn follow(app: App) {
    let mut site = app.in_force().site;
    // The content that has been handled, and another that has been seen once.
    let (mut handled, mut candidate) = (site.file.files.clone(), None);
    loop {
        sleep(LOOK).await;
        let current = app.in_force().site;
        if !Arc::ptr_eq(&current, &site) {
            site = current;
            (handled, candidate) = (site.file.files.clone(), None);
        }
        let Some(path) = site.settings.config_file.clone() else {
            continue;
        };
        let before = handled.clone();
        let look = move || (before.now() != before).then(|| WebConfigFile::load_with_files(&path));
        match spawn_blocking(look).await {
            Ok(Some((loaded, found))) if candidate.as_ref() == Some(&found) => {
                (handled, candidate) = (found, None);
                take_up(&app, &site, loaded.map_err(|error| error.to_string()));
            }
            Ok(Some((_, found))) => candidate = Some(found),
            Ok(None) => candidate = None,
            // It panicked, which is logged.
            Err(_) => {}
        }
    }
}

/// Puts the file into force, unless it is invalid or weakens the protection.
fn take_up(app: &App, site: &Arc<Site>, loaded: Result<WebConfigFile, String>) {
    let sources = &site.shared.sources;
    let now = sources.clock.now();
    let taken = match loaded.and_then(|file| as_protective(site, file)) {
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
            tracing::error!(
                error,
                "the changed web configuration is refused; the previous one stays in force"
            );
            Err(Failure::new(
                now,
                error,
                "correct the file; it is read again when it changes",
            ))
        }
    };
    sources.instruments.web_config_loaded(taken, now);
}

fn as_protective(before: &Site, after: WebConfigFile) -> Result<WebConfigFile, String> {
    let weakened = before.file.weakened_by(&after).join(", ");
    if weakened.is_empty() {
        return Ok(after);
    }
    let path = before
        .settings
        .config_file
        .as_deref()
        .unwrap_or(Path::new(""))
        .display();
    Err(format!(
        "the web configuration file {path} removes or weakens {weakened}; reload or restart if that is intended"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Certificates, Fixture};
    use super::*;
    use tokio::time::timeout;

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
        let held_back =
            |before: &str, after: &str| load(before).weakened_by(&load(after)).join(", ");
        let tls = |more: &str| {
            format!("tls_server_config: {{cert_file: server.pem, key_file: server.key{more}}}\n")
        };
        let clients = |policy: &str| tls(&format!(", client_auth_type: {policy}"));
        let own = |policy: &str| {
            tls(&format!(
                ", client_auth_type: {policy}, client_ca_file: ca.pem"
            ))
        };
        let hash = bcrypt::hash("correct", 4).unwrap();
        let users = format!("basic_auth_users: {{alice: {hash}, bob: {hash}}}\n");
        let both = "RequireAndVerifyClientCert";
        let weakening = [
            (tls(""), String::new(), "tls_server_config"),
            (users.clone(), String::new(), "basic_auth_users"),
            (
                "rate_limit: {interval: 1s, burst: 1}".to_owned(),
                String::new(),
                "rate_limit",
            ),
            (
                own(both),
                tls(""),
                "tls_server_config.client_auth_type, tls_server_config.client_ca_file",
            ),
            (own(both), clients(both), "tls_server_config.client_ca_file"),
            (
                own(both),
                own("VerifyClientCertIfGiven"),
                "tls_server_config.client_auth_type",
            ),
            (
                own(both),
                own("RequireAnyClientCert"),
                "tls_server_config.client_auth_type",
            ),
            (
                own("VerifyClientCertIfGiven"),
                own("RequestClientCert"),
                "tls_server_config.client_auth_type",
            ),
            (
                clients("RequestClientCert"),
                tls(""),
                "tls_server_config.client_auth_type",
            ),
            (
                tls(&format!(
                    ", client_auth_type: {both}, client_ca_file: ca.pem, client_allowed_sans: [a]"
                )),
                own(both),
                "tls_server_config.client_allowed_sans",
            ),
            (
                tls(", min_version: TLS13"),
                tls(""),
                "tls_server_config.min_version",
            ),
            (format!("{users}{}", tls("")), tls(""), "basic_auth_users"),
        ];
        for (before, after, keys) in &weakening {
            assert_eq!(held_back(before, after), *keys, "{before}\n{after}");
            assert_eq!(held_back(after, before), "", "{after}\n{before}");
            assert_eq!(held_back(before, before), "", "{before}");
        }
        assert_eq!(
            held_back(&users, &format!("basic_auth_users: {{alice: {hash}}}\n")),
            "",
            "a revoked user"
        );
        assert_eq!(
            held_back(&tls(", min_version: TLS12"), &tls("")),
            "",
            "the default"
        );
        assert_eq!(
            held_back(&tls(", max_version: TLS13"), &tls(", max_version: TLS12")),
            ""
        );
    }
    #[tokio::test(start_paused = true)]
    async fn a_file_that_becomes_a_pipe_is_refused_and_followed_again_once_it_is_a_file() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let follower = tokio::spawn(follow(fixture.app.clone()));
        let refused = async |is_wanted: bool| {
            let facts = || {
                fixture
                    .app
                    .in_force()
                    .site
                    .shared
                    .sources
                    .instruments
                    .facts()
                    .web_reload_refused
            };
            while facts().is_some() != is_wanted {
                sleep(LOOK).await;
            }
            facts().map(|failure| failure.what)
        };
        let path = fixture.file("web.yml");
        std::fs::remove_file(&path).unwrap();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let what = timeout(LOOK * 10, refused(true)).await.unwrap().unwrap();
        assert!(
            what.contains("web.yml") && what.contains("not a regular file"),
            "{what}"
        );
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "rate_limit: {interval: 1s, burst: 2}\n").unwrap();
        timeout(LOOK * 10, refused(false)).await.unwrap();
        assert_eq!(
            fixture.app.in_force().site.file.rate_limit.unwrap().burst,
            2
        );
        follower.abort();
    }
}
