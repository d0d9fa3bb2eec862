//! A writer that hands lines to a thread, so that a stalled stderr blocks no other thread.
//!
//! A hung log driver, `less` or Ctrl-S can stall stderr, and writes then block. Meanwhile lines
//! wait in a queue; lines that find it full are dropped and counted.
//!
//! `tracing-appender` does not fit: it prints on stdout if the queue is full at the end, which
//! never ends if stdout stalls too (`2>&1 | less`).

use crate::support::{
    clock::{Clock, Timestamp},
    lock::lock,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// The capacity of the queue, in bytes.
const CAPACITY: usize = 1 << 20;

/// The interval at which [`LineWriter::flush`] looks whether all lines are written.
const RETRY: Duration = Duration::from_millis(1);

/// A queue of lines with the thread that writes them.
#[derive(Debug)]
pub struct LineWriter {
    queue: Sender<String>,
    /// The size of the queue, with the line that is being written.
    waiting: Arc<AtomicUsize>,
    /// The number of dropped lines, and the time of the last one.
    dropped: Mutex<Option<(u64, Timestamp)>>,
}

impl LineWriter {
    /// Starts the thread, which calls `write` for each line.
    pub fn start(write: impl Fn(&str) + Send + 'static) -> Self {
        let (queue, lines) = mpsc::channel::<String>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        thread::spawn(move || {
            for line in lines {
                write(&line);
                written.fetch_sub(line.len(), Ordering::Release);
            }
        });
        Self {
            queue,
            waiting,
            dropped: Mutex::default(),
        }
    }

    /// Queues a line, or drops it if the queue is full.
    pub fn write(&self, line: String) {
        let size = line.len();
        let waiting = self.waiting.fetch_add(size, Ordering::Relaxed) + size;
        if waiting > CAPACITY || self.queue.send(line).is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            let mut dropped = lock(&self.dropped);
            let before = dropped.map_or(0, |(lines, _)| lines);
            *dropped = Some((before + 1, Clock::system().now()));
        }
    }

    /// Returns the number of dropped lines, and the time of the last one.
    pub fn dropped(&self) -> Option<(u64, Timestamp)> {
        *lock(&self.dropped)
    }

    /// Waits until all queued lines are written, but no longer than `limit`.
    pub fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.waiting.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::sleep(RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_reader_blocks_no_writer_and_dropped_lines_are_counted() {
        let (resume, stalled) = mpsc::channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&written);
        let writer = LineWriter::start(move |line| {
            // Blocks until the sender is dropped.
            let _ = stalled.recv();
            seen.lock().unwrap().push(line.to_owned());
        });
        let line = "x".repeat(CAPACITY / 1000);
        for n in 0..1100 {
            writer.write(format!("{n} {line}"));
        }
        let (dropped, _) = writer.dropped().unwrap();
        assert!((100..110).contains(&dropped), "{dropped}");
        writer.flush(Duration::from_millis(1));
        drop(resume);
        writer.flush(Duration::from_secs(60));
        let written = written.lock().unwrap();
        assert_eq!(written.len() as u64 + dropped, 1100);
        for (n, line) in written.iter().enumerate() {
            assert!(line.starts_with(&format!("{n} x")), "{line}");
        }
    }
}
