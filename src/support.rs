//! Helpers that know nothing of translations: the clock, the log, text for people.

pub(crate) mod blocking;
pub mod clock;
pub(crate) mod escape;
pub(crate) mod files;
pub(crate) mod glob;
pub(crate) mod hint;
pub(crate) mod humanize;
pub(crate) mod keys;
pub(crate) mod lock;
pub(crate) mod logging;
pub(crate) mod parsed;
pub(crate) mod yaml;
