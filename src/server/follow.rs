//! The follower of the web configuration file. It reads the file, and every file that it names, at
//! an interval.
//!
//! If two reads in a row find the same content, and it is not the active one, the follower notifies
//! the owner of the active configuration, which reads the files again and decides. Its read can
//! fail by chance, so the follower repeats the notification until the contents agree.

use crate::server::{
    active::Server,
    web_config::{Files, WebConfigFile},
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{sync::Notify, task::spawn_blocking, time::sleep};

/// The interval of the reads. A file that somebody is writing rarely looks the same twice.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Notifies `changed` of content that is not active. Never returns.
pub async fn follow(server: Server, changed: Arc<Notify>) {
    let mut seen = server.protection().file.files.clone();
    // The content reported last, until it is active.
    let mut reported: Option<Files> = None;
    loop {
        sleep(CHECK_EVERY).await;
        let active = server.protection();
        let active = &active.file.files;
        let Some(found) = read(active.clone(), seen.clone()).await else {
            continue;
        };
        if found == *active && reported.as_ref() == Some(&found) {
            reported = None;
        }
        // If the active content came back, the owner has to read it: that ends the failure that
        // the content before it may have caused.
        if found == seen && (found != *active || reported.is_some()) {
            reported = (found != *active).then(|| found.clone());
            changed.notify_one();
        }
        seen = found;
    }
}

/// Reads the files of `seen` again or, if they have changed, the files that the web configuration
/// file names now. Returns `None` without a web configuration file.
async fn read(active: Files, seen: Files) -> Option<Files> {
    let path = active.web_config().map(Path::to_owned)?;
    let read = move || {
        if seen.web_config() == Some(&path) && seen.now() == seen {
            return seen;
        }
        let mut files = Files::default();
        // The owner of the active configuration reports mistakes in the files.
        WebConfigFile::read(&path, &mut files).ok();
        files
    };
    // The panic hook logs a panic.
    spawn_blocking(read).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::Fixture;
    use futures_util::FutureExt as _;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn other_content_is_reported_until_it_is_active_or_gone() {
        let mut fixture = Fixture::new();
        let text = |burst| format!("rate_limit: {{interval: 1s, burst: {burst}}}\n");
        fixture.web_config(&text(1));
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        let path = fixture.file("web.yml");
        let reported = async || timeout(CHECK_EVERY * 4, changed.notified()).await.is_ok();
        assert!(!reported().await, "it is active");
        std::fs::write(&path, text(2)).unwrap();
        // Nothing reloads: the owner could not read the file.
        assert!(reported().await && reported().await && reported().await);
        fixture.reload();
        assert!(!reported().await, "it is active");
        // A pipe cannot be read, and the active content comes back in its place.
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(reported().await);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, text(2)).unwrap();
        assert!(reported().await, "the owner has to see that it is back");
        assert!(!reported().await);
        follower.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_is_not_reported() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        // Writes once between any two checks.
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
