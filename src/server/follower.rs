//! The follower of the web configuration file: a content that two reads in a row agree on becomes
//! active, so that a file that somebody is writing does not.

use crate::{
    server::{Event, Server, web_config::WebConfigFile},
    support::blocking::off_the_runtime,
};
use std::{mem, sync::Arc, time::Duration};
use tokio::time::sleep;

/// The interval at which the file is read, with the files that it names.
const CHECK_EVERY: Duration = Duration::from_secs(30);

/// Follows the file forever, if there is one, and activates a changed one from the next request on.
/// A content that is refused changes nothing. If it is taken back, the active file stays, with its
/// verified passwords and the rest of its burst.
pub async fn follow(server: Server) {
    let Some(path) = server.file().paths.first().cloned() else {
        return;
    };
    let mut seen = server.file().digest;
    let mut settled = seen;
    loop {
        sleep(CHECK_EVERY).await;
        let path = path.clone();
        let (digest, read) = off_the_runtime(move || WebConfigFile::read(&path, false)).await;
        let is_settled = mem::replace(&mut seen, digest) == digest;
        if !is_settled || mem::replace(&mut settled, digest) == digest {
            continue;
        }
        let active = server.file();
        let outcome = if active.digest == digest {
            Ok(active)
        } else {
            read.map(|file| {
                tracing::info!("the web configuration has changed");
                let file = Arc::new(file);
                server.active.send_replace(Arc::clone(&file));
                file
            })
        };
        (server.observe)(Event::FileChanged(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::{self, Authority, Fixture};

    /// Returns a web configuration file.
    fn limit(burst: u32) -> String {
        format!("rate_limit: {{interval: 1ms, burst: {burst}}}\n")
    }

    /// A server that follows its file, which sets a limit of 1000.
    fn followed() -> Fixture {
        let fixture = Fixture::with(&limit(1000));
        tokio::spawn(follow(fixture.server.clone()));
        fixture
    }

    /// Waits until a file that is written now has been read twice.
    async fn settle() {
        sleep(2 * CHECK_EVERY + Duration::from_secs(1)).await;
    }

    /// Returns the burst that is active.
    fn active(fixture: &Fixture) -> u32 {
        testing::burst(&fixture.server.file())
    }

    /// Returns the newest outcome of a change, and how many there were.
    fn outcome(fixture: &Fixture) -> (usize, Result<u32, String>) {
        let changes = fixture.changes.lock().unwrap();
        (changes.len(), changes.last().unwrap().clone())
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_counts_once_two_reads_agree_and_never_if_it_is_empty() {
        let fixture = followed();
        // No file is written at the moment of a read.
        sleep(Duration::from_secs(1)).await;
        for burst in [2000, 3000, 4000] {
            fixture.write("web.yml", &limit(burst));
            sleep(CHECK_EVERY).await;
            assert_eq!(active(&fixture), 1000, "{burst}");
        }
        sleep(CHECK_EVERY).await;
        assert_eq!(active(&fixture), 4000);
        fixture.write("web.yml", "");
        settle().await;
        let (_, refused) = outcome(&fixture);
        assert!(refused.unwrap_err().contains("the file is empty"));
        assert_eq!(active(&fixture), 4000);
        fixture.write("web.yml", &limit(4000));
        settle().await;
        assert_eq!(outcome(&fixture), (3, Ok(active(&fixture))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_file_changes_nothing_and_is_reported_once() {
        let fixture = followed();
        fixture.write("web.yml", "rate_limit: {bust: 1}\n");
        settle().await;
        settle().await;
        let (count, refused) = outcome(&fixture);
        let refused = refused.unwrap_err();
        assert_eq!(count, 1);
        assert!(refused.contains("there is no key bust"), "{refused}");
        assert_eq!(active(&fixture), 1000);
        let before = fixture.server.file();
        fixture.write("web.yml", &limit(1000));
        settle().await;
        assert_eq!(outcome(&fixture), (2, Ok(1000)));
        // Verified passwords and the rest of the burst are kept.
        assert!(Arc::ptr_eq(&before, &fixture.server.file()));
    }

    /// Writes a certificate and its key, and returns a file that names them.
    fn renew(fixture: &Fixture, authority: &Authority) -> &'static str {
        let (certificate, key) = testing::issue(authority, "localhost");
        fixture.write("server.pem", &certificate);
        fixture.write("server.key", &key);
        "tls_server_config: {cert_file: server.pem, key_file: server.key, \
         client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem}"
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_change_of_the_file_or_of_one_that_it_names_ends_connections() {
        let (fixture, authority) = (followed(), testing::authority());
        for change in ["file", "certificate", "authority", "nothing"] {
            let changes = fixture.server.active.subscribe();
            match change {
                "file" => {
                    fixture.write("ca.pem", &authority.pem());
                    fixture.write("web.yml", renew(&fixture, &authority));
                }
                "certificate" => drop(renew(&fixture, &authority)),
                "authority" => fixture.write("ca.pem", &testing::authority().pem()),
                _ => {}
            }
            settle().await;
            let is_drained = changes.has_changed().unwrap();
            assert_eq!(is_drained, change != "nothing", "{change}");
        }
    }
}
