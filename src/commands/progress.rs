//! The progress bar of `once`, which reads the published documents.

use crate::domain::document::Document;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, sync::watch, task::spawn_blocking, time::timeout};

/// The time that a stalled terminal may hold up the result.
const PATIENCE: Duration = Duration::from_secs(1);

/// Draws the poll under way, if stderr is a terminal, on a thread of its own: a stalled terminal
/// (Ctrl-S) blocks drawing. The returned future ends once the bar is cleared.
pub fn draw(documents: watch::Receiver<Arc<Document>>) -> anyhow::Result<impl Future<Output = ()>> {
    let style = "{wide_bar} {pos}/{len} repositories, {eta} left";
    let style = ProgressStyle::with_template(style).context("cannot draw the progress bar")?;
    let bar = ProgressBar::no_length().with_style(style);
    let drawn = spawn_blocking(move || Handle::current().block_on(draw_each(&bar, documents)));
    Ok(async { drop(timeout(PATIENCE, drawn).await) })
}

async fn draw_each(bar: &ProgressBar, mut documents: watch::Receiver<Arc<Document>>) {
    // Elsewhere than on a terminal each step would wake a thread for nothing.
    while !bar.is_hidden() && documents.changed().await.is_ok() {
        let document = Arc::clone(&documents.borrow_and_update());
        // A bar of 0 would be full.
        if let Some(poll) = document
            .status
            .running
            .as_ref()
            .filter(|poll| poll.total > 0)
        {
            // One update for both draws the bar once.
            bar.update(|state| {
                state.set_len(poll.total as u64);
                state.set_pos((poll.read + poll.failed) as u64);
            });
        }
    }
    bar.finish_and_clear();
}
