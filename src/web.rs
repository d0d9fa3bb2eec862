//! The web side: router, listeners, status page.
