//! The demo API, served over real HTTP.
