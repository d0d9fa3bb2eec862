//! The kinds of problems, each defined once.
//!
//! A kind's definition supplies its series of `translation_exporter_problem` and its row in the
//! table of `docs/metrics.md`.

/// The severity of a finding or a kind of problem; the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The API cannot be read, or data can no longer be shown. No kind has it: the label of a kind
    /// is `warning` or `info`.
    Error,
    /// Polls go on, but an operator has to act.
    Warning,
    /// No action is needed now.
    Info,
}

impl Severity {
    /// Returns the value of the metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Error | Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

macro_rules! problem_kinds {
    ($($kind:ident: $label:literal, $alert:expr, $meaning:literal;)+) => {
        /// A kind of problem that `translation_exporter_problem` reports; the worst come first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ProblemKind { $(#[doc = $meaning] $kind),+ }

        impl ProblemKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// Returns the value of the metric label `kind`.
            pub fn label(self) -> &'static str {
                match self { $(Self::$kind => $label),+ }
            }

            /// Returns the alert on the kind. Kinds that ask nobody to act have none.
            pub fn alert(self) -> Option<&'static str> {
                match self { $(Self::$kind => $alert),+ }
            }

            #[cfg(test)]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning),+ }
            }
        }
    };
}

problem_kinds! {
    ApiKey: "api_key", Some("TranslationApiKeyRejected"),
        "the API refuses the key, or its file cannot be read";
    PollsFailing: "polls_failing", Some("TranslationPollFailing"),
        "the last poll was an outage, its listing was incomplete, or 5 repositories or more and a \
         tenth or more of all failed";
    DataStale: "data_stale", Some("TranslationDataStale"),
        "data of repositories are stale and no longer exported, or repositories have failed for \
         `poll.stale_after` and were never read";
    NoRepositories: "no_repositories", Some("TranslationNoRepositories"),
        "there is no repository to show";
    CompletionScale: "completion_scale", Some("TranslationScaleSuspect"),
        "completions do not fit `api.completion_scale`";
    OmittedZeros: "omitted_zeros", Some("TranslationScaleSuspect"),
        "the API seems to leave out fields whose value is 0 or false";
    ApiShape: "api_shape", Some("TranslationApiShapeChanged"),
        "the current responses cannot be decoded, or have bad entries; of severity `info` if these \
         can be neither repositories nor completions";
    StateNotSaved: "state_not_saved", Some("TranslationStateNotSaved"),
        "the state file cannot be written";
    StateDiscarded: "state_discarded", Some("TranslationStateDiscarded"),
        "the exporter started within the last day and could not use its state file";
    WebConfigRefused: "web_config_refused", Some("TranslationWebConfigRefused"),
        "a changed web configuration file, or one of its files, is refused";
    Certificate: "certificate", Some("TranslationCertificateExpiring"),
        "the served TLS certificate has expired, or expires within 14 days";
    LanguagesGone: "languages_gone", None,
        "languages of repositories that are still listed left within a day";
    PollsOverrun: "polls_overrun", None,
        "the poll under way, or the last one, takes longer than `poll.interval`";
    TargetUnused: "target_unused", Some("TranslationTargetUnused"),
        "an entry of `targets` applies to no language";
    FilterUnused: "filter_unused", None,
        "a glob of `filter.exclude` or `filter.exclude_languages` matches nothing";
    RemovalUnconfirmed: "removal_unconfirmed", None,
        "the last listing lacks more than half of the repositories; the next one confirms their \
         removal";
    ClockWrong: "clock_wrong", None,
        "this machine's clock and the API's differ by more than an hour";
}

impl ProblemKind {
    /// Returns the severity of the kind: somebody has to act if there is an alert, but an unused
    /// target can wait for a day.
    pub fn severity(self) -> Severity {
        match self.alert() {
            Some(_) if self != Self::TargetUnused => Severity::Warning,
            _ => Severity::Info,
        }
    }

    /// Returns whether polls show the kind, and not this process.
    pub fn is_of_api(self) -> bool {
        !matches!(
            self,
            Self::StateNotSaved | Self::StateDiscarded | Self::WebConfigRefused | Self::Certificate
        )
    }

    /// Returns the labels of the severities of the kind's series. One kind has two, of which one at
    /// most is 1.
    pub fn severities(self) -> impl Iterator<Item = &'static str> {
        let severities = [Severity::Info, Severity::Warning].into_iter();
        severities
            .filter(move |severity| self == Self::ApiShape || *severity == self.severity())
            .map(Severity::label)
    }
}
