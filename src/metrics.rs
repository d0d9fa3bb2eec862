//! Metrics: the exporter's own instruments, and the exposition that encodes them with a snapshot.

mod encode;
pub mod exposition;
pub mod instruments;
