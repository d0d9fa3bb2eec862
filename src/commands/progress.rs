//! The progress bar of `once`, which reads the published documents.

use crate::domain::document::Document;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use tokio::{
    runtime::Handle,
    sync::watch,
    task::{JoinHandle, spawn_blocking},
};

/// Draws the poll under way, if stderr is a terminal, on a thread of its own: a stalled terminal
/// (Ctrl-S) blocks drawing. The returned task ends once the bar is cleared.
pub fn draw(mut documents: watch::Receiver<Arc<Document>>) -> anyhow::Result<JoinHandle<()>> {
    let style = "{wide_bar} {pos}/{len} repositories, {eta} left";
    let style = ProgressStyle::with_template(style).context("cannot draw the progress bar")?;
    let bar = ProgressBar::no_length().with_style(style);
    let drawing = async move {
        // Elsewhere than on a terminal each step would wake a thread for nothing.
        while !bar.is_hidden() && documents.changed().await.is_ok() {
            // A borrow would lock out the poller while a stalled terminal blocks drawing.
            let document = Arc::clone(&documents.borrow_and_update());
            let running = document.status.running.as_ref();
            // A bar of 0 would be full.
            if let Some(poll) = running.filter(|poll| poll.total > 0) {
                // One update for both draws the bar once.
                bar.update(|state| {
                    state.set_len(poll.total as u64);
                    state.set_pos((poll.read + poll.failed) as u64);
                });
            }
        }
        bar.finish_and_clear();
    };
    Ok(spawn_blocking(|| Handle::current().block_on(drawing)))
}
