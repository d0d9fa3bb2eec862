//! Locks that a panic elsewhere does not break.
//!
//! Whatever is locked in this crate is consistent at any instant: it is replaced in one step, or its values do not depend
//! on each other. So a thread that panicked while it held the lock leaves nothing half done.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
