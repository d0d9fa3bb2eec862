//! The follower of the web configuration file. It reads the file, and every file that it names,
//! each second.
//!
//! If the content on disk differs from the active content, the follower notifies the owner of the
//! active configuration, which reads the files again and decides. Its read can fail by chance, so
//! the follower repeats the notification each minute until the contents agree.

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

/// The interval of the reads. A change is reported when two reads in a row find the same content.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The interval at which content that stays inactive is reported again.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// Notifies `changed` of content that is not active. Never returns.
pub async fn follow(server: Server, changed: Arc<Notify>) {
    let mut seen = server.protection().file.files.clone();
    // The last reported content and the time of the report.
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
        let is_active = seen == *active;
        // The owner has activated the reported content.
        reported = reported.filter(|(content, _)| !is_active || *content != seen);
        let is_due = match &reported {
            None => !is_active,
            // The content has changed since the report. Even if it is the active content again, the
            // owner has to read it: that ends the failure that the reported content caused.
            Some((content, _)) if *content != seen => true,
            Some((_, at)) => at.elapsed() >= REPORT_EVERY,
        };
        if is_steady && is_due {
            reported = (!is_active).then(|| (seen.clone(), Instant::now()));
            changed.notify_one();
        }
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
    use crate::web::testing::Fixture;
    use futures_util::FutureExt as _;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn content_that_stays_inactive_is_reported_each_minute() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let changed = Arc::new(Notify::new());
        let follower = tokio::spawn(follow(fixture.server.clone(), Arc::clone(&changed)));
        let text = "rate_limit: {interval: 1s, burst: 2}\n";
        std::fs::write(fixture.file("web.yml"), text).unwrap();
        let within = async |limit| timeout(limit, changed.notified()).await.is_ok();
        assert!(within(CHECK_EVERY * 5).await);
        // Nothing reloads: the owner could not read the file.
        for _ in 0..3 {
            assert!(!within(Duration::from_secs(55)).await);
            assert!(within(CHECK_EVERY * 10).await);
        }
        fixture.reload();
        assert!(!within(REPORT_EVERY * 3).await, "it is active");
        follower.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_is_reported_even_one_to_a_pipe() {
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
