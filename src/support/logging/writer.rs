//! Writes lines from a thread of its own.
//!
//! Whoever reads stderr may stall: a hung log driver, `less`, Ctrl-S. A write then blocks for as long
//! as that lasts, so that only the writer's thread may do it. Lines wait in a queue meanwhile; those
//! for which the queue has no room are dropped and counted.
//!
//! The thread is our own rather than that of `tracing-appender`, which panics where there is no thread
//! to be had, and prints on stdout where the queue is full at the end.

use std::{
    io,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, Instant},
};

/// The capacity of the queue, in lines: about a megabyte.
const CAPACITY: usize = 4096;

/// How often [`LineWriter::flush`] looks for room in a full queue.
const RETRY: Duration = Duration::from_millis(10);

/// Hands lines over to the writer's thread, without waiting for it.
#[derive(Debug)]
pub struct LineWriter {
    queue: SyncSender<Entry>,
    dropped: AtomicU64,
}

#[derive(Debug)]
enum Entry {
    Line(String),
    /// Everything before it is written once the sender is dropped.
    Flush(SyncSender<()>),
}

impl LineWriter {
    /// Starts the thread, which calls `write` for each line.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let (queue, entries) = mpsc::sync_channel(CAPACITY);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(&entries, write))?;
        Ok(Self {
            queue,
            dropped: AtomicU64::new(0),
        })
    }

    /// Queues a line, or drops it if there is no room.
    pub fn write(&self, line: String) {
        if self.queue.try_send(Entry::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines that are queued are written, for `limit` at most.
    pub fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let (flushed, is_flushed) = mpsc::sync_channel(0);
        let mut entry = Entry::Flush(flushed);
        while let Err(TrySendError::Full(refused)) = self.queue.try_send(entry) {
            if Instant::now() >= deadline {
                return;
            }
            entry = refused;
            thread::sleep(RETRY);
        }
        // It fails as soon as the sender is dropped.
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = is_flushed.recv_timeout(left);
    }
}

fn write_all(entries: &Receiver<Entry>, write: impl Fn(&str)) {
    for entry in entries {
        match entry {
            Entry::Line(line) => write(&line),
            Entry::Flush(flushed) => drop(flushed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_reader_that_stalls_blocks_nobody_and_lines_without_room_are_counted() {
        let (resume, stalled) = mpsc::channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&written);
        let writer = LineWriter::start(move |line| {
            // It fails, and so blocks no longer, once the sender is dropped.
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
