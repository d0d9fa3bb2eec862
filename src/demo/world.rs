//! The world behind the demo API: repositories, their languages, and how far each is at any time.
//!
//! A pure function of the seed and the time, so that tests that know both can predict the API's answers.

use super::catalogue::{self, LANGUAGES, REPOSITORIES};
use serde_json::{Value, json};
use std::time::Duration;

/// The largest integer up to which a double holds all exactly; ids above reveal clients that read them as doubles.
const LARGEST_SAFE_INTEGER: u64 = 1 << 53;

/// Repositories that change over time.
#[derive(Debug, Clone)]
pub struct World {
    seed: u64,
    repositories: Vec<Repository>,
}

/// A repository of the demo.
#[derive(Debug, Clone)]
pub struct Repository {
    pub id: u64,
    pub name: &'static str,
    pub created_at: &'static str,
    /// `None` if the API does not say.
    pub private: Option<bool>,
    pub languages: Vec<Language>,
    id_as_string: bool,
}

/// A target language of a repository of the demo.
#[derive(Debug, Clone)]
pub struct Language {
    pub code: &'static str,
    pub name: &'static str,
    /// How many words there are to translate.
    words: u64,
    work: Work,
}

/// How the work on a language proceeds.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// Done, with nothing new to do.
    Finished,
    /// Begun, but nobody works on it; this many words are done.
    Stalled(u64),
    /// Not measured: the API reports no completion.
    Unmeasured,
    /// New text comes once every `cycle`, then translators work until they finish or pause.
    Alive {
        dice: u64,
        cycle: Duration,
        offset: Duration,
        step: Duration,
        lowest: u64,
    },
}

/// How a request fails at random, whatever it requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stumble {
    TooManyRequests,
    InternalError,
}

impl World {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut id = 0;
        let mut repositories = Vec::with_capacity(REPOSITORIES.len());
        for (at, entry) in (0..).zip(&REPOSITORIES) {
            // The last third has the ids that a double cannot hold.
            let base = if at * 3 < 2 * count(REPOSITORIES.len()) {
                id
            } else {
                LARGEST_SAFE_INTEGER.max(id)
            };
            id = base + 1 + 2 * dice(seed, &[at, 0], 40_000);
            repositories.push(Repository::new(seed, at, id, entry));
        }
        if let Some(language) = repositories
            .iter_mut()
            .find_map(|repository| repository.languages.last_mut())
        {
            language.work = Work::Unmeasured;
        }
        Self { seed, repositories }
    }

    /// All repositories, in the order of their ids.
    #[must_use]
    pub fn repositories(&self) -> &[Repository] {
        &self.repositories
    }

    #[must_use]
    pub fn repository(&self, id: u64) -> Option<&Repository> {
        self.repositories
            .iter()
            .find(|repository| repository.id == id)
    }

    /// Whether the repository cannot be read at a time: one of them, for 12 seconds of every five minutes.
    #[must_use]
    pub fn is_out(&self, repository: &Repository, elapsed: Duration) -> bool {
        const ROUND: u64 = 300;
        let (round, second) = (elapsed.as_secs() / ROUND, elapsed.as_secs() % ROUND);
        let begin = 60 + dice(self.seed, &[round, 1], 180);
        let at = dice(self.seed, &[round, 2], count(self.repositories.len()));
        let out = usize::try_from(at)
            .ok()
            .and_then(|at| self.repositories.get(at));
        (begin..begin + 12).contains(&second) && out.is_some_and(|out| out.id == repository.id)
    }

    /// How the request with this number fails at random: about one in a hundred does.
    pub(super) fn stumble(&self, request: u64) -> Option<Stumble> {
        match dice(self.seed, &[request, 3], 1000) {
            0..3 => Some(Stumble::TooManyRequests),
            3..11 => Some(Stumble::InternalError),
            _ => None,
        }
    }
}

impl Repository {
    fn new(seed: u64, at: u64, id: u64, entry: &catalogue::Entry) -> Self {
        // Larger projects include the rarer languages; smaller ones have some of the common ones.
        let choice = (entry.languages + entry.languages / 2 + 1).min(LANGUAGES.len());
        let mut languages: Vec<_> = (0..).zip(&LANGUAGES[..choice]).collect();
        languages.sort_by_key(|(place, _)| dice(seed, &[at, *place, 4], u64::MAX));
        languages.truncate(entry.languages);
        languages.sort_unstable_by_key(|(place, _)| *place);
        let words = 180 + dice(seed, &[at, 5], 5200);
        Self {
            id,
            name: entry.name,
            created_at: entry.created_at,
            private: entry.private,
            languages: languages
                .into_iter()
                .map(|(place, (code, name))| Language {
                    code,
                    name,
                    words,
                    work: Work::new(seed, at, place, words),
                })
                .collect(),
            id_as_string: dice(seed, &[at, 6], 2) == 0,
        }
    }

    /// The repository as the API spells it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let id = if self.id_as_string {
            json!(self.id.to_string())
        } else {
            json!(self.id)
        };
        let mut repository = json!({ "id": id, "name": self.name, "created_at": self.created_at });
        if let Some(private) = self.private {
            repository["private"] = private.into();
        }
        repository
    }
}

impl Language {
    /// Translation progress in percent, `elapsed` after the start; two decimals.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "some ten thousand hundredths at most"
    )]
    pub fn completion(&self, elapsed: Duration) -> Option<f64> {
        let done = self.work.words_done(self.words, elapsed)?;
        Some((done * 10_000 / self.words) as f64 / 100.0)
    }

    /// The language as the API spells it, `elapsed` after the start.
    #[must_use]
    pub fn to_json(&self, elapsed: Duration) -> Value {
        let mut language = json!({ "code": self.code, "name": self.name });
        if let Some(completion) = self.completion(elapsed) {
            language["completion"] = completion.into();
        }
        language
    }
}

impl Work {
    fn new(seed: u64, at: u64, place: u64, words: u64) -> Self {
        let roll = |what, sides| dice(seed, &[at, place, what], sides);
        match roll(7, 100) {
            0..14 => Self::Finished,
            14..26 => Self::Stalled(words * (3 + roll(8, 94)) / 100),
            kind => {
                // Most languages keep up with new text; some are new and have all of it to do.
                let young = kind < 44;
                let cycle = if young {
                    900 + roll(9, 1500)
                } else {
                    120 + roll(9, 360)
                };
                Self::Alive {
                    dice: roll(10, u64::MAX),
                    cycle: Duration::from_secs(cycle),
                    offset: Duration::from_secs(roll(11, cycle)),
                    step: Duration::from_secs(2 + roll(12, 7)),
                    lowest: if young {
                        4 + roll(13, 40)
                    } else {
                        62 + roll(13, 25)
                    },
                }
            }
        }
    }

    fn words_done(self, words: u64, elapsed: Duration) -> Option<u64> {
        match self {
            Self::Finished => Some(words),
            Self::Stalled(done) => Some(done),
            Self::Unmeasured => None,
            Self::Alive {
                dice: seed,
                cycle,
                offset,
                step,
                lowest,
            } => {
                let lived = (elapsed + offset).as_secs();
                let (round, second) = (lived / cycle.as_secs(), lived % cycle.as_secs());
                let low = lowest + dice(seed, &[round, 0], 8);
                let high = if dice(seed, &[round, 1], 3) == 0 {
                    96 + dice(seed, &[round, 2], 4)
                } else {
                    100
                };
                // The work takes from half to all of the cycle; the remainder is a pause.
                let work = cycle.as_secs() * (50 + dice(seed, &[round, 3], 50)) / 100;
                let worked = (second - second % step.as_secs()).min(work);
                Some(words * (low * work + (high - low) * worked) / (100 * work))
            }
        }
    }
}

/// A number below `sides` that the seed and the purpose determine.
fn dice(seed: u64, purpose: &[u64], sides: u64) -> u64 {
    let mut state = fastrand::Rng::with_seed(seed).u64(..);
    for part in purpose {
        state = fastrand::Rng::with_seed(
            state.rotate_left(23) ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        )
        .u64(..);
    }
    fastrand::Rng::with_seed(state).u64(..sides)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
