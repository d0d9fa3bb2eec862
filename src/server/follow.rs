//! Follows the web configuration file: it and everything that it names are checked every second.
//!
//! A change is reported to the owner of the active configuration, who reads the file again and
//! decides.

use crate::server::{
    active::Server,
    web_config::{Files, WebConfigFile},
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{sync::Notify, task::spawn_blocking, time::sleep};

/// How often the files are checked. A change is reported once two checks find the same.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Notifies `changed` of each change. Never ends.
pub async fn follow(server: Server, changed: Arc<Notify>) {
    let mut protection = server.protection();
    // The content that has been reported or is active, and another that has been seen once.
    let (mut known, mut candidate) = (protection.file.files.clone(), None);
    loop {
        sleep(CHECK_EVERY).await;
        let active = server.protection();
        if !Arc::ptr_eq(&active, &protection) {
            protection = active;
            (known, candidate) = (protection.file.files.clone(), None);
        }
        match find_change(known.clone()).await {
            Some(found) if candidate.as_ref() == Some(&found) => {
                (known, candidate) = (found, None);
                changed.notify_one();
            }
            found => candidate = found,
        }
    }
}

/// Returns the content of the files, if it is not what is known.
async fn find_change(known: Files) -> Option<Files> {
    let path = known.web_config().map(Path::to_owned)?;
    let look = move || {
        if known.now() == known {
            return None;
        }
        let mut files = Files::default();
        // The owner of the active configuration says what is wrong with it.
        WebConfigFile::read(&path, &mut files).ok();
        Some(files)
    };
    // If it panicked, that is logged.
    spawn_blocking(look).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::testing::{Certificates, Fixture};
    use futures_util::FutureExt as _;
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
    async fn each_change_is_reported_once_and_one_to_a_pipe_too() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        let path = fixture.file("web.yml");
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let reported = async || timeout(CHECK_EVERY * 10, changed.notified()).await.is_ok();
        assert!(reported().await);
        assert!(!reported().await, "the same content");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "rate_limit: {interval: 1s, burst: 2}\n").unwrap();
        assert!(reported().await);
        follower.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_is_not_reported() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        // Between two checks, and once between any two.
        sleep(CHECK_EVERY / 2).await;
        for burst in 2..6 {
            let text = format!("rate_limit: {{interval: 1s, burst: {burst}}}\n");
            std::fs::write(fixture.file("web.yml"), text).unwrap();
            sleep(CHECK_EVERY).await;
            assert!(changed.notified().now_or_never().is_none(), "{burst}");
        }
        let reported = timeout(CHECK_EVERY * 10, changed.notified()).await;
        assert!(reported.is_ok());
        follower.abort();
    }
}
