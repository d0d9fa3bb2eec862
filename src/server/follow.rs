//! The follower of the web configuration file. It reads the file, and every file that it names, at
//! an interval.
//!
//! Content that two reads in a row agree on, and that differs from the active one, goes to the
//! owner of the active configuration, once. While a reload stands refused, the active content does
//! too: a mistake that only the reload has seen may be gone.

use crate::server::{
    active::Server,
    web_config::{Files, WebConfigError, WebConfigFile},
};
use std::{path::Path, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::sleep,
};

/// The interval of the reads. A file that somebody is writing rarely looks the same twice.
const CHECK_EVERY: Duration = Duration::from_secs(30);

/// Sends each changed web configuration file, or its mistake, to `changed`. Never returns.
pub async fn follow(
    server: Server,
    is_refused: watch::Receiver<bool>,
    changed: mpsc::Sender<Result<WebConfigFile, WebConfigError>>,
) {
    let mut seen = Files::default();
    // The content that was sent last, if it is not active. Anything else is a change then.
    let mut sent: Option<Files> = None;
    loop {
        sleep(CHECK_EVERY).await;
        let active = server.protection();
        let Some(path) = active.file.files.web_config().map(Path::to_owned) else {
            continue;
        };
        let read = spawn_blocking(move || {
            let mut files = Files::default();
            let read = WebConfigFile::read(&path, &mut files);
            (files, read)
        });
        // The panic hook logs a panic.
        let Ok((found, read)) = read.await else {
            continue;
        };
        let is_refused = *is_refused.borrow();
        if !is_refused {
            sent.take_if(|sent| *sent == active.file.files);
        }
        let is_new = match &sent {
            Some(sent) => found != *sent,
            None => is_refused || found != active.file.files,
        };
        if found == seen && is_new {
            let read = read.and_then(|file| file.instead_of(&active.file));
            sent = (is_refused || read.is_err()).then(|| found.clone());
            // A failed send means that the owner is gone.
            changed.send(read).await.ok();
        }
        seen = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::Fixture;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn changed_content_is_sent_once_after_two_equal_reads() {
        let mut fixture = Fixture::new();
        let text = |burst| format!("rate_limit: {{interval: 1s, burst: {burst}}}\n");
        fixture.web_config(&text(1));
        let path = fixture.file("web.yml");
        let (changed, mut received) = mpsc::channel(1);
        let (refusal, is_refused) = watch::channel(false);
        let follower = tokio::spawn(follow(fixture.server.clone(), is_refused, changed));
        let mut sent = async || {
            timeout(CHECK_EVERY * 4, received.recv())
                .await
                .ok()
                .flatten()
        };
        assert!(sent().await.is_none(), "it is active");
        std::fs::write(&path, text(2)).unwrap();
        assert!(sent().await.unwrap().is_ok());
        fixture.reload();
        assert!(sent().await.is_none(), "it is active");
        for mistake in ["rate_limit: {", ""] {
            std::fs::write(&path, mistake).unwrap();
            assert!(sent().await.unwrap().is_err(), "{mistake:?}");
            assert!(sent().await.is_none(), "a mistake is sent once");
        }
        std::fs::write(&path, text(2)).unwrap();
        assert!(sent().await.unwrap().is_ok(), "the active content is back");
        assert!(sent().await.is_none());
        refusal.send_replace(true);
        assert!(sent().await.unwrap().is_ok(), "a reload is refused");
        assert!(sent().await.is_none(), "the active content is sent once");
        refusal.send_replace(false);
        assert!(sent().await.is_none());
        refusal.send_replace(true);
        assert!(sent().await.unwrap().is_ok(), "another reload is refused");
        follower.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_is_not_sent() {
        let mut fixture = Fixture::new();
        fixture.web_config("rate_limit: {interval: 1s, burst: 1}\n");
        let (changed, mut received) = mpsc::channel(1);
        let (_refusal, is_refused) = watch::channel(false);
        let follower = tokio::spawn(follow(fixture.server.clone(), is_refused, changed));
        // Writes once between any two checks.
        sleep(CHECK_EVERY / 2).await;
        for burst in 2..6 {
            let text = format!("rate_limit: {{interval: 1s, burst: {burst}}}\n");
            std::fs::write(fixture.file("web.yml"), text).unwrap();
            sleep(CHECK_EVERY).await;
            assert!(received.try_recv().is_err(), "{burst}");
        }
        assert!(timeout(CHECK_EVERY * 10, received.recv()).await.is_ok());
        follower.abort();
    }
}
