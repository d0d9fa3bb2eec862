//! What protects the listeners now, and how it follows its files.
//!
//! The web configuration file and all that it names are looked at every second. A change that validates takes effect
//! from the next connection or request; one that does not is logged and counted, and what was in force stays. What must
//! never happen by a half-written file is that the metrics lie open: a change that takes away TLS, or all passwords, is
//! taken only by a reload or a restart.

use super::file::{self, Error, WebFile};
use crate::{clock::Clock, instruments::Instruments};
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// How often the files are looked at. A change is taken when two looks find it the same.
const LOOK: Duration = Duration::from_secs(1);

/// TLS, passwords, headers and rate limit: what `web.config_file` says. Clones are one and the same.
#[derive(Debug, Clone)]
pub struct Protection(watch::Sender<Arc<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    path: Option<PathBuf>,
    pub file: WebFile,
    fingerprint: Vec<Fingerprint>,
}

/// Which file, and what tells one version of it from another; `None` where it cannot be looked at.
type Fingerprint = (PathBuf, Option<(u64, u64, i64, i64)>);

impl Default for Protection {
    /// Nothing is protected.
    fn default() -> Self {
        Self(watch::Sender::new(Arc::default()))
    }
}

impl Protection {
    /// Reads and validates the web configuration file; without one nothing is protected.
    pub fn load(config_file: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = config_file else { return Ok(Self::default()) };
        let (result, fingerprint) = look_and_load(path);
        let state = State { path: Some(path.to_owned()), file: result?, fingerprint };
        Ok(Self(watch::Sender::new(Arc::new(state))))
    }

    /// Puts into force here what `other` was loaded with: the second half of a reload, which cannot fail.
    pub fn replace_by(&self, other: &Self) {
        self.put(Arc::clone(&other.0.borrow()));
    }

    /// What of the protection would be gone with `next` in force.
    #[must_use]
    pub fn taken_away_by(&self, next: &Self) -> Option<&'static str> {
        opened(&self.0.borrow().file, &next.0.borrow().file)
    }

    /// What is in force, for people, an item each; without any secret.
    #[must_use]
    pub fn description(&self) -> Vec<String> {
        self.0.borrow().file.description().to_vec()
    }

    /// Whether connections are TLS at this moment.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.0.borrow().file.tls.is_some()
    }

    pub(super) fn current(&self) -> Arc<State> {
        Arc::clone(&self.0.borrow())
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<State>> {
        self.0.subscribe()
    }

    fn put(&self, next: Arc<State>) {
        self.replace(next, |_| true);
    }

    /// Puts `next` into force if what is in force still `is` as expected; returns whether it was.
    fn replace(&self, next: Arc<State>, is: impl FnOnce(&Arc<State>) -> bool) -> bool {
        self.0.send_if_modified(|state| {
            if !is(state) {
                return false;
            }
            if let (Some(before), Some(after)) = (&state.file.limiter, &next.file.limiter)
                && after.is_like(before)
            {
                after.take_over(before);
            }
            *state = next;
            true
        })
    }

    /// Follows the files, for ever.
    pub(super) async fn follow(self, instruments: Arc<Instruments>, clock: Clock) {
        let mut current = self.current();
        // The version that has been judged, and one that has been seen once.
        let (mut judged, mut candidate) = (current.fingerprint.clone(), None);
        loop {
            sleep(LOOK).await;
            if !Arc::ptr_eq(&current, &self.current()) {
                current = self.current();
                (judged, candidate) = (current.fingerprint.clone(), None);
            }
            let Some(path) = current.path.clone() else { continue };
            let paths = judged.iter().map(|(path, _)| path.clone()).collect();
            let Some(found) = off_the_runtime(move || fingerprint(paths)).await else { continue };
            if found == judged {
                candidate = None;
            } else if candidate.as_ref() != Some(&found) {
                candidate = Some(found);
            } else if let Some((result, fingerprint)) = off_the_runtime(move || look_and_load(&path)).await {
                (judged, candidate) = (fingerprint.clone(), None);
                let outcome =
                    result.map_err(|error| error.to_string()).and_then(|file| closed_still(&current.file, file));
                if let Some(success) = self.judge(outcome, &current, fingerprint) {
                    instruments.web_config_loaded(success, clock.now());
                }
            }
        }
    }

    /// Whether the change was taken; `None` where a reload came meanwhile, which knows better.
    fn judge(
        &self,
        outcome: Result<WebFile, String>,
        before: &Arc<State>,
        fingerprint: Vec<Fingerprint>,
    ) -> Option<bool> {
        match outcome {
            Ok(file) => {
                let description = file.description().join("; ");
                let next = Arc::new(State { path: before.path.clone(), file, fingerprint });
                self.replace(next, |current| Arc::ptr_eq(before, current)).then(|| {
                    tracing::info!(in_force = description, "the web configuration has changed");
                    true
                })
            }
            Err(error) => {
                tracing::error!(error, "the web configuration has changed and is refused; what was in force stays");
                Some(false)
            }
        }
    }
}

/// Refuses a file that would open what was closed.
fn closed_still(before: &WebFile, after: WebFile) -> Result<WebFile, String> {
    match opened(before, &after) {
        None => Ok(after),
        Some(opened) => Err(format!("the change would take away {opened}; reload or restart if that is meant")),
    }
}

fn opened(before: &WebFile, after: &WebFile) -> Option<&'static str> {
    match () {
        () if before.tls.is_some() && after.tls.is_none() => Some("TLS"),
        () if before.users.is_some() && after.users.is_none() => Some("basic authentication"),
        () => None,
    }
}

/// `None` where the task broke, which is not worth more than another look.
async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Loads until what was read is what is there.
fn look_and_load(path: &Path) -> (Result<WebFile, Error>, Vec<Fingerprint>) {
    let (mut result, sources) = file::load(path);
    let mut before = fingerprint(sources);
    for _ in 0..3 {
        let (again, sources) = file::load(path);
        let after = fingerprint(sources);
        result = again;
        if after == before {
            break;
        }
        before = after;
    }
    (result, before)
}

fn fingerprint(paths: Vec<PathBuf>) -> Vec<Fingerprint> {
    let look = |path: PathBuf| {
        let seen = std::fs::metadata(&path).ok();
        let seen = seen.map(|file| (file.ino(), file.size(), file.mtime(), file.mtime_nsec()));
        (path, seen)
    };
    paths.into_iter().map(look).collect()
}
