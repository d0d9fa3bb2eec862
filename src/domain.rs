//! The types of the field: repositories, languages, completions, and the kinds of failures with
//! their metric labels.
//!
//! [`crate::api`] parses responses into these types. Past it, an id is positive and fits 63 bits, a
//! completion is finite, and the name of a repository and the code of a language are not empty.
//! Filters, targets, thresholds and links are sections of the configuration. This module does no
//! I/O and knows no HTTP or metrics.

pub mod document;
pub mod filter;
pub mod history;
pub mod links;
pub mod polling;
pub mod record;
mod response;
mod settings;
pub mod targets;

pub use response::{Defects, LanguageList, Listing, Next, ReportedLanguage};
pub use settings::{Scale, Settings, Thresholds};

use crate::support::{clock::Timestamp, hint::Failure};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    num::{NonZeroU64, TryFromIntError},
    sync::Arc,
};

/// The id of a repository: a positive 64-bit signed integer (API specification 2.1, 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct RepositoryId(NonZeroU64);

impl TryFrom<u64> for RepositoryId {
    type Error = TryFromIntError;

    fn try_from(id: u64) -> Result<Self, Self::Error> {
        i64::try_from(id)?;
        id.try_into().map(Self)
    }
}

impl RepositoryId {
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for RepositoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A completion as the API reports it: finite, like any number in JSON, and in the API's unit,
/// which [`Scale`] makes a ratio.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Completion(f64);

impl Completion {
    pub const ZERO: Self = Self(0.0);

    /// Creates a completion, which may be negative or above the scale. Returns `None` if `value`
    /// is not finite.
    pub fn new(value: f64) -> Option<Self> {
        // `-0.0 + 0.0` is `0.0`: a negative zero would show as "-0".
        value.is_finite().then_some(Self(value + 0.0))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

/// Rounds a ratio, or a difference of ratios, to 12 decimals.
pub fn twelve_decimals(ratio: f64) -> f64 {
    const DECIMALS: f64 = 1e12;
    (ratio * DECIMALS).round() / DECIMALS + 0.0
}

/// A repository of the listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub id: RepositoryId,
    /// `owner/repo` as the API spells it; never empty.
    pub name: Arc<str>,
    /// `None` if the API does not report the visibility.
    pub private: Option<bool>,
    /// `None` if the API reports no readable time.
    pub created_at: Option<Timestamp>,
}

/// A language that repositories are translated into.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Language {
    /// Never empty.
    pub code: Arc<str>,
    /// Empty if the API reports no readable name.
    pub name: Box<str>,
}

/// The reason why a poll ended early, read nothing or could not list everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub reason: PollFailure,
    pub failure: Failure,
    /// The reason why a request failed, if one did.
    pub request: Option<Reason>,
}

/// Returns the words of a variant for people: its label, unless it has others.
macro_rules! words {
    ($label:literal) => {
        $label
    };
    ($label:literal $words:literal) => {
        $words
    };
}

/// Defines an enum whose variants have labels, and words for people where these differ.
macro_rules! labels {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $label:literal $(($words:literal))?),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the value of the metric label.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }

            /// Returns the words for people.
            pub fn words(self) -> &'static str {
                match self { $(Self::$variant => words!($label $($words)?)),+ }
            }
        }
    };
}

labels! {
    /// An operation of the API.
    Operation { ListRepositories = "list_repositories", ListLanguages = "list_languages" }
}

labels! {
    /// The reason why a request to the API failed.
    Reason {
        /// The response did not arrive in full within the timeout.
        Timeout = "timeout",
        /// The connection could not be made, or broke before a response arrived.
        Connect = "connect",
        /// The TLS handshake failed.
        Tls = "tls",
        /// Any status 3xx: the client follows no redirect.
        Redirect = "redirect",
        /// Status 401.
        Unauthorized = "unauthorized",
        /// Status 403.
        Forbidden = "forbidden",
        /// Status 404.
        NotFound = "not_found",
        /// Status 429.
        RateLimited = "rate_limited",
        /// Any other status 4xx, apart from 408, 409, 425 and 499.
        ClientError = "client_error",
        /// Status 5xx, and 408, 409, 425 and 499, which may not come again.
        ServerError = "server_error",
        /// The body exceeds 16 MiB, or the limit on repositories or languages.
        TooLarge = "too_large",
        /// The body was cut short.
        Truncated = "truncated",
        /// The body is JSON, but does not follow the specification.
        Decode = "decode",
        /// The body is no JSON, such as a page of HTML: something answers in place of the API.
        NotJson = "not_json",
        /// The cursor of the listing does not rise or cannot be read, so that the listing cannot
        /// continue.
        Cursor = "cursor",
    }
}

labels! {
    /// A bad entry in an API response, or a bad field of an entry.
    Defect {
        NotAnObject = "not_an_object",
        Id = "id",
        /// An earlier entry of the same listing has the same id.
        DuplicateId = "duplicate_id",
        Name = "name",
        Code = "code",
        Completion = "completion",
        CreatedAt = "created_at",
        Private = "private",
        DuplicateName = "duplicate_name",
        DuplicateCode = "duplicate_code",
    }
}

labels! {
    /// The state of a repository's languages.
    State {
        /// This process has not read them yet. Data of an earlier process may be shown.
        Pending = "pending",
        /// The last poll, or the one under way, has read them.
        Fresh = "fresh",
        /// The last poll has not read them; the data of an earlier read are still shown.
        Failing = "failing",
        /// The data are too old to be shown; their problems stay for a day.
        Stale = "stale",
    }
}

labels! {
    /// A kind of problem of an unready translation, the mildest first.
    TranslationProblem {
        /// Neither progress nor ready for `thresholds.stalled_after`.
        Stalled = "stalled",
        /// A fall by `thresholds.regressed_by` or more.
        Regressed = "regressed",
        /// The date of the target is near, and the recent rate misses it.
        AtRisk = "at_risk" ("at risk"),
        /// The date of the target is past.
        Overdue = "overdue",
    }
}

labels! {
    /// The state of a translation with regard to its target and date. Each has exactly one.
    Standing {
        Ready = "ready",
        /// Expected to be ready by its date.
        Expected = "expected" ("in time"),
        AtRisk = "at_risk" ("at risk"),
        Overdue = "overdue",
        /// Known to be below its target, and none of the above.
        Behind = "behind",
        /// The completion is not known.
        Unknown = "unknown" ("not known"),
        /// A target of 0 expects no progress.
        Resting = "resting" ("paused"),
    }
}

labels! {
    /// A kind of change since an earlier day, the worst first. Its words follow a number.
    Change {
        /// Ready then, and not ready now.
        Unready = "unready" ("no longer ready"),
        /// Listed then, and not now.
        Left = "left",
        /// A fall by `thresholds.regressed_by` or more.
        Fell = "fell",
        /// The date of the target has passed.
        Overdue = "overdue" ("became overdue"),
        /// Not ready then, and ready now.
        Ready = "ready" ("became ready"),
    }
}

labels! {
    /// The reason why problems of a translation are unknown.
    NotJudged {
        /// The data are older than four days and than three intervals: only the date is judged.
        OldData = "old_data" ("the data are too old"),
        /// The completion is not known: at most the date can be judged.
        Unknown = "unknown" ("the completion is not known"),
        /// The pace is not known: no day of the record has ended unready.
        TooEarly = "too_early" ("the pace is not known yet"),
    }
}

impl TranslationProblem {
    /// Returns the mark of the kind beside a figure.
    pub fn mark(self) -> char {
        match self {
            Self::Stalled => '=',
            Self::Regressed => '\u{2193}',
            Self::AtRisk => '!',
            Self::Overdue => '\u{2717}',
        }
    }
}

impl Reason {
    /// Returns whether requests of an operation can fail for this reason.
    pub fn is_of(self, operation: Operation) -> bool {
        self != Self::Cursor || operation == Operation::ListRepositories
    }
}

impl Defect {
    /// Returns whether responses of an operation can have this defect.
    pub fn is_of(self, operation: Operation) -> bool {
        match self {
            Self::NotAnObject | Self::Name => true,
            Self::Code | Self::Completion | Self::DuplicateCode => {
                operation == Operation::ListLanguages
            }
            _ => operation == Operation::ListRepositories,
        }
    }

    /// Returns whether the defect hides a repository, a language or a completion. An entry that
    /// cannot be read may be anything, and the second one of a name or code may differ from the
    /// first.
    pub fn hides_data(self, operation: Operation) -> bool {
        match self {
            Self::Name => operation == Operation::ListRepositories,
            Self::CreatedAt | Self::Private => false,
            _ => true,
        }
    }
}

labels! {
    /// The reason why a poll did not read everything. A poll with several reasons counts under the
    /// first in this order.
    PollFailure {
        /// The key file cannot be read or contains no key.
        KeyFile = "key_file",
        /// The certificates to trust cannot be read.
        CaFile = "ca_file",
        /// The API refuses the key: 401, or 403 on the listing.
        Unauthorized = "unauthorized",
        /// The API asked for a hold (Retry-After) longer than a poll waits.
        Held = "held",
        /// An outage of the API: failures in a row ended the poll, or it read nothing.
        Unavailable = "unavailable",
        /// The listing did not reach its end.
        Listing = "listing",
        /// Some repositories could not be read.
        Repositories = "repositories",
    }
}
