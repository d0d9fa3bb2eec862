//! What the API's answers mean, and the kinds of what can go wrong, with their labels.
//!
//! Bytes become these types in [`crate::api`]: from then on, an id is positive and fits 63 bits, a completion is finite, a
//! name is not empty.

pub(crate) mod excerpt;
pub mod falls;
pub mod filter;
mod history;
mod interner;
pub mod links;
pub mod progress;
pub(crate) mod readiness;
mod response;
pub mod snapshot;
pub mod targets;

pub use history::{History, Shape};
pub use interner::Interner;
pub(crate) use interner::KnownLanguages;
pub use response::{
    BadEntry, Defects, LanguageList, Listing, Next, Page, TargetLanguage, ZeroCount, Zeros,
};

use crate::support::clock::Timestamp;
use std::{fmt, num::NonZeroU64, sync::Arc};

/// The id of a repository: a positive 64-bit signed integer (API specification 2.1, 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryId(NonZeroU64);

impl RepositoryId {
    /// The largest id: 2^63 - 1.
    pub const MAX: u64 = i64::MAX.unsigned_abs();

    /// `None` if `id` is 0 or above [`Self::MAX`].
    pub fn new(id: u64) -> Option<Self> {
        NonZeroU64::new(id)
            .filter(|id| id.get() <= Self::MAX)
            .map(Self)
    }

    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for RepositoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A completion as the API reports it, in the API's own unit (see `api.completion_scale`). Finite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Completion(f64);

impl Completion {
    pub const ZERO: Self = Self(0.0);

    /// `None` if `value` is not finite. Negative values and values above the scale are kept as they are.
    pub fn new(value: f64) -> Option<Self> {
        // Adding 0 turns a negative zero into a positive one.
        value.is_finite().then_some(Self(value + 0.0))
    }

    pub fn get(self) -> f64 {
        self.0
    }

    /// This divided by the completion that means finished, not clamped, rounded to 12 decimals: binary numbers cannot spell
    /// most decimal ones, and 92.3 / 100 must not stay below a target of 0.923.
    pub fn ratio(self, scale: f64) -> f64 {
        twelve_decimals(self.0 / scale)
    }
}

/// A ratio, rounded to 12 decimals.
pub fn twelve_decimals(ratio: f64) -> f64 {
    const DECIMALS: f64 = 1e12;
    // What is larger may have no decimals to round.
    if ratio.abs() < 1000.0 {
        (ratio * DECIMALS).round() / DECIMALS + 0.0
    } else {
        ratio
    }
}

/// A repository of the listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub id: RepositoryId,
    /// owner/repo as the API spells it; never empty.
    pub name: Arc<str>,
    /// `None` if the API does not say.
    pub private: Option<bool>,
    /// `None` if the API gave none that can be read.
    pub created_at: Option<Timestamp>,
}

/// A language that repositories are translated into.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Language {
    /// Never empty.
    pub code: Arc<str>,
    /// Empty if the API gave none that can be read.
    pub name: Box<str>,
}

/// Something that went wrong, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was attempted, on what, and how it failed. Never holds the key.
    pub what: Arc<str>,
    /// What to do about it.
    pub hint: Arc<str>,
}

impl Failure {
    pub fn new(what: impl Into<Arc<str>>, hint: impl Into<Arc<str>>) -> Self {
        let (what, hint) = (what.into(), hint.into());
        Self { what, hint }
    }

    /// Dates the failure: it lasts since `since`.
    pub fn since(self, since: Timestamp) -> Lasting {
        let failure = self;
        Lasting { failure, since }
    }

    /// Dates the failure: it lasts as long as the failure `before` it, or else since `now`.
    pub fn lasting(self, before: Option<&Lasting>, now: Timestamp) -> Lasting {
        // A clock that was set back in the meantime must not date it into the future.
        self.since(before.map_or(now, |before| before.since.min(now)))
    }
}

/// A failure, and the time since which there was no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting {
    pub failure: Failure,
    pub since: Timestamp,
}

/// Why the last read of a repository's languages failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFailure {
    pub lasting: Lasting,
    /// The kind of the failure; `None` if no request of this process says so.
    pub reason: Option<Reason>,
    pub fault: Fault,
}

/// The side that a failed read is to be blamed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The API answers; only this repository cannot be read.
    Repository,
    /// The API as a whole, or the way to it, failed.
    Api,
}

/// The reason for which a poll ended before it had requested everything, or could read nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub reason: PollFailure,
    pub lasting: Lasting,
}

macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $label:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The value of the metric label.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }

            /// The variant with this label.
            pub fn from_label(label: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.label() == label)
            }
        }
    };
}

labels! {
    /// The two operations of the API.
    Operation { ListRepositories = "list_repositories", ListLanguages = "list_languages" }
}

labels! {
    /// Why a request to the API failed.
    Reason {
        /// No answer, or not all of it, within the timeout.
        Timeout = "timeout",
        /// No connection, or it broke before an answer arrived.
        Connect = "connect",
        /// The TLS handshake failed.
        Tls = "tls",
        /// Any 3xx: no redirect is ever followed.
        Redirect = "redirect",
        /// 401.
        Unauthorized = "unauthorized",
        /// 403.
        Forbidden = "forbidden",
        /// 404.
        NotFound = "not_found",
        /// 429.
        RateLimited = "rate_limited",
        /// Any other 4xx.
        ClientError = "client_error",
        /// Any 5xx.
        ServerError = "server_error",
        /// The body is larger than `api.max_response_size`, or holds more repositories or languages than are kept.
        TooLarge = "too_large",
        /// The body was cut short.
        Truncated = "truncated",
        /// The body is complete, but not what the specification says.
        Decode = "decode",
        /// The listing cannot continue: its cursor does not rise, or cannot be read.
        Cursor = "cursor",
    }
}

labels! {
    /// What is wrong with one entry of an answer, or with one field of it.
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

impl Reason {
    /// Whether a request of this operation can fail for it.
    pub fn can_end(self, operation: Operation) -> bool {
        self != Self::Cursor || operation == Operation::ListRepositories
    }
}

impl Defect {
    /// Whether the answers of this operation can have it.
    pub fn is_of(self, operation: Operation) -> bool {
        match self {
            Self::NotAnObject | Self::Name => true,
            Self::Id
            | Self::DuplicateId
            | Self::CreatedAt
            | Self::Private
            | Self::DuplicateName => operation == Operation::ListRepositories,
            Self::Code | Self::Completion | Self::DuplicateCode => {
                operation == Operation::ListLanguages
            }
        }
    }
}

labels! {
    /// Why a poll did not read everything; a poll that failed for several reasons counts under the first of these.
    PollFailure {
        /// The key file cannot be read, or holds no key.
        KeyFile = "key_file",
        /// The API refuses the key: 401, or 403 on the listing.
        Unauthorized = "unauthorized",
        /// A Retry-After that is longer than a poll waits.
        Held = "held",
        /// The API fails as a whole: many requests in a row failed as in an outage, or nothing was read and the listing, or every
        /// repository that was asked for, failed as in an outage.
        Unavailable = "unavailable",
        /// The listing did not reach its end.
        Listing = "listing",
        /// The languages of some repositories could not be read.
        Repositories = "repositories",
    }
}

labels! {
    /// The kinds of problems that `translation_exporter_problem` reports, the worst first.
    ProblemKind {
        /// The API refuses the key, or its file cannot be read.
        ApiKey = "api_key",
        /// No poll has read everything for longer than may be.
        PollsFailing = "polls_failing",
        /// Data of repositories are no longer shown, or were never read.
        DataStale = "data_stale",
        /// There is no repository to show.
        NoRepositories = "no_repositories",
        /// More than half of the repositories left the listing.
        RepositoriesDropped = "repositories_dropped",
        CompletionScale = "completion_scale",
        /// The API seems to leave out fields that hold 0 or false.
        OmittedZeros = "omitted_zeros",
        /// Bad entries of a kind that is new.
        ApiShape = "api_shape",
        StateNotSaved = "state_not_saved",
        StateDiscarded = "state_discarded",
        ReloadRefused = "reload_refused",
        /// The served TLS certificate expires soon, or has expired.
        Certificate = "certificate",
        PollsOverrun = "polls_overrun",
        RateLimited = "rate_limited",
        /// An entry of `targets` applies to no language.
        TargetUnused = "target_unused",
        RemovalUnconfirmed = "removal_unconfirmed",
        ClockBehind = "clock_behind",
        LogLinesDropped = "log_lines_dropped",
    }
}

labels! {
    /// How bad something is, the worst first.
    Severity {
        /// The API cannot be read, or data can no longer be shown.
        Error = "error",
        /// Somebody has to act; polls go on.
        Warning = "warning",
        /// Nobody has to act now.
        Info = "info",
    }
}

impl ProblemKind {
    /// The severity of the kind's alert, and the label of its metric; [`Severity::Info`] has no alert.
    pub fn severity(self) -> Severity {
        match self {
            Self::ApiKey
            | Self::PollsFailing
            | Self::DataStale
            | Self::NoRepositories
            | Self::RepositoriesDropped
            | Self::CompletionScale
            | Self::OmittedZeros
            | Self::ApiShape
            | Self::StateNotSaved
            | Self::StateDiscarded
            | Self::ReloadRefused
            | Self::Certificate => Severity::Warning,
            Self::PollsOverrun
            | Self::RateLimited
            | Self::TargetUnused
            | Self::RemovalUnconfirmed
            | Self::ClockBehind
            | Self::LogLinesDropped => Severity::Info,
        }
    }
}
