//! The status page as HTML.

pub mod query;
pub(crate) mod table;
pub mod view;
