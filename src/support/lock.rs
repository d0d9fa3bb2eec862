//! Locks that survive a panic.
//!
//! Each locked value of this crate is consistent at any instant: it is replaced in one step, or its
//! fields are independent. A thread that panics while it holds a lock therefore breaks no
//! invariant.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, and ignores poisoning.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
