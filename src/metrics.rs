//! Metrics: the exporter's own instruments, and the exposition that encodes them with a document.

mod at_scrape;
mod encode;
pub mod exposition;
pub mod facts;
pub mod instruments;
