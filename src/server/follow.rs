//! Follows the web configuration file: it and everything that it names are read every second.
//!
//! The content on disk is compared with the active content. If they differ, the owner of the active
//! configuration is notified, reads the files again and decides. Reading them may fail by chance, so
//! the owner is notified again each minute for as long as they differ.

use crate::server::{
    active::Server,
    web_config::{Files, WebConfigFile},
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
    task::spawn_blocking,
    time::{Instant, sleep},
};

/// How often the files are read. A change is reported once two reads find the same.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How often the same content is reported that does not become active.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// Notifies `changed` of content that is not active. Never ends.
pub async fn follow(server: Server, changed: Arc<Notify>) {
    // The content that was seen last, and the content that was reported last and when.
    let mut seen = server.protection().file.files.clone();
    let mut reported: Option<(Files, Instant)> = None;
    loop {
        sleep(CHECK_EVERY).await;
        let active = server.protection();
        let active = &active.file.files;
        let Some(found) = read(active.clone(), seen.clone()).await else {
            continue;
        };
        let is_steady = found == seen;
        seen = found;
        if seen == *active
            && reported
                .as_ref()
                .is_some_and(|(content, _)| *content == seen)
        {
            reported = None;
        }
        let is_due = match &reported {
            // A change back to the active content ends what was wrong with the content between.
            Some((content, at)) => *content != seen || at.elapsed() >= REPORT_EVERY,
            None => seen != *active,
        };
        if is_steady && is_due {
            reported = (seen != *active).then(|| (seen.clone(), Instant::now()));
            changed.notify_one();
        }
    }
}

/// Reads the files that the content `seen` is of or, if they have changed, all that the web
/// configuration file names now. `None` if there is no such file.
async fn read(active: Files, seen: Files) -> Option<Files> {
    let path = active.web_config().map(Path::to_owned)?;
    let read = move || {
        if seen.web_config() == Some(&path) && seen.now() == seen {
            return seen;
        }
        let mut files = Files::default();
        // The owner of the active configuration says what is wrong with it.
        WebConfigFile::read(&path, &mut files).ok();
        files
    };
    // If it panicked, that is logged.
    spawn_blocking(read).await.ok()
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
    async fn content_that_does_not_become_active_is_reported_each_minute() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        let text = "rate_limit: {interval: 1s, burst: 2}\n";
        std::fs::write(fixture.file("web.yml"), text).unwrap();
        let within = async |limit| timeout(limit, changed.notified()).await.is_ok();
        assert!(within(CHECK_EVERY * 5).await);
        // Its owner could not read it by chance, and so nothing has become active.
        for _ in 0..3 {
            assert!(!within(Duration::from_secs(55)).await);
            assert!(within(CHECK_EVERY * 10).await);
        }
        fixture.reload();
        assert!(!within(REPORT_EVERY * 3).await, "it is active");
        follower.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_is_reported_and_one_to_a_pipe_too() {
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
        assert!(!reported().await, "the same content within a minute");
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
