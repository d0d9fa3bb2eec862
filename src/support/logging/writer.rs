//! A writer that hands lines to a thread, so that a stalled stderr blocks no other thread.
//!
//! A hung log driver, `less` or Ctrl-S can stall stderr, and writes then block. Meanwhile lines
//! wait in a queue; lines that find it full are dropped and counted.
//!
//! `tracing-appender` does not fit: it panics if the system has no thread left, and prints on
//! stdout if the queue is full at the end, which never ends if stdout stalls too (`2>&1 | less`).

use crate::support::clock::{Clock, Timestamp};
use std::{
    io,
    sync::{
        atomic::{AtomicI64, AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, Instant},
};

/// The capacity of the queue, in lines: about a megabyte.
const CAPACITY: usize = 4096;

/// The interval at which [`LineWriter::flush`] looks for room in a full queue.
const RETRY: Duration = Duration::from_millis(10);

/// A queue of lines with the thread that writes them.
#[derive(Debug)]
pub struct LineWriter {
    queue: SyncSender<Queued>,
    dropped: AtomicU64,
    /// The time of the last dropped line, in milliseconds since 1970; 0 while there is none.
    last_dropped_at: AtomicI64,
}

#[derive(Debug)]
enum Queued {
    Line(String),
    /// A marker. Its sender is dropped once all lines before it are written.
    Flush(SyncSender<()>),
}

impl LineWriter {
    /// Starts the thread, which calls `write` for each line.
    ///
    /// # Errors
    /// Returns an error if the system has no thread left.
    pub fn start(write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let (queue, entries) = mpsc::sync_channel(CAPACITY);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(&entries, write))?;
        Ok(Self {
            queue,
            dropped: AtomicU64::new(0),
            last_dropped_at: AtomicI64::new(0),
        })
    }

    /// Queues a line, or drops it if the queue is full.
    pub fn write(&self, line: String) {
        if self.queue.try_send(Queued::Line(line)).is_err() {
            let now = Clock::system().now().as_millis();
            self.last_dropped_at.store(now, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of dropped lines.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns the time at which a line was last dropped.
    pub fn last_dropped_at(&self) -> Option<Timestamp> {
        let at = self.last_dropped_at.load(Ordering::Relaxed);
        (at != 0).then(|| Timestamp::from_millis(at))
    }

    /// Waits until all queued lines are written, but no longer than `limit`.
    pub fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let (flushed, is_flushed) = mpsc::sync_channel(0);
        let mut entry = Queued::Flush(flushed);
        while let Err(TrySendError::Full(refused)) = self.queue.try_send(entry) {
            if Instant::now() >= deadline {
                return;
            }
            entry = refused;
            thread::sleep(RETRY);
        }
        // The call returns an error as soon as the sender is dropped.
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = is_flushed.recv_timeout(left);
    }
}

fn write_all(entries: &Receiver<Queued>, write: impl Fn(&str)) {
    for entry in entries {
        match entry {
            Queued::Line(line) => write(&line),
            Queued::Flush(flushed) => drop(flushed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_stalled_reader_blocks_no_writer_and_dropped_lines_are_counted() {
        let (resume, stalled) = mpsc::channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&written);
        let writer = LineWriter::start(move |line| {
            // Blocks until the sender is dropped.
            let _ = stalled.recv();
            seen.lock().unwrap().push(line.to_owned());
        })
        .unwrap();
        for n in 0..CAPACITY + 100 {
            writer.write(n.to_string());
        }
        // The thread may have taken one line out of the queue.
        let dropped = writer.dropped();
        assert!((99..=100).contains(&dropped), "{dropped}");
        writer.flush(Duration::from_millis(1));
        drop(resume);
        writer.flush(Duration::from_secs(60));
        let written = written.lock().unwrap();
        assert_eq!(written.len() as u64 + dropped, CAPACITY as u64 + 100);
        assert_eq!(written[..3], ["0", "1", "2"]);
    }
}
