//! The kinds of problems, each defined once.
//!
//! A kind's definition supplies its series of `translation_exporter_problem`, its row in the table
//! of `docs/metrics.md`, and its line in the log when the problem ends.

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

/// The definition of a kind of problem.
#[derive(Debug)]
pub struct ProblemDefinition {
    /// The value of the metric label `kind`.
    pub label: &'static str,
    /// The alert on the kind. Kinds that ask nobody to act have none.
    pub alert: Option<&'static str>,
    #[cfg(test)]
    pub meaning: &'static str,
    /// The message in the log when the problem ends; `None` for an event, which is logged where it
    /// happens.
    pub end: Option<&'static str>,
}

macro_rules! problem_kinds {
    ($($kind:ident: $label:literal, $alert:expr, $meaning:literal, $end:expr;)+) => {
        /// A kind of problem that `translation_exporter_problem` reports; the worst come first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ProblemKind { $(#[doc = $meaning] $kind),+ }

        impl ProblemKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            pub fn definition(self) -> &'static ProblemDefinition {
                match self { $(Self::$kind => &ProblemDefinition {
                    label: $label,
                    alert: $alert,
                    #[cfg(test)]
                    meaning: $meaning,
                    end: $end,
                }),+ }
            }
        }
    };
}

problem_kinds! {
    ApiKey: "api_key", Some("TranslationApiKeyRejected"),
        "the API refuses the key, or its file cannot be read",
        Some("the key can be used again");
    PollsFailing: "polls_failing", Some("TranslationPollFailing"),
        "the last poll did not read everything apart from a few repositories (fewer than 5, or \
         than a tenth), or the poll under way fails; of severity `info` at once, and of severity \
         `warning` once no poll has gone well for three intervals or 15 minutes, whichever is \
         longer, plus the duration of the last poll",
        Some("polls read the repositories again");
    DataStale: "data_stale", Some("TranslationDataStale"),
        "data of repositories are stale and no longer shown, or repositories have never been read \
         for three intervals or an hour, whichever is longer",
        Some("no data are stale any more");
    NoRepositories: "no_repositories", Some("TranslationNoRepositories"),
        "there is no repository to show",
        Some("there are repositories to show again");
    CompletionScale: "completion_scale", Some("TranslationScaleSuspect"),
        "completions do not fit `api.completion_scale`",
        Some("completions fit api.completion_scale again");
    OmittedZeros: "omitted_zeros", Some("TranslationScaleSuspect"),
        "the API seems to leave out fields whose value is 0 or false",
        Some("the API no longer seems to leave out zeros");
    ApiShape: "api_shape", Some("TranslationApiShapeChanged"),
        "the current responses have bad entries, or cannot be decoded",
        Some("responses follow the specification again");
    StateNotSaved: "state_not_saved", Some("TranslationStateNotSaved"),
        "the state file cannot be written",
        Some("the state is saved again");
    StateDiscarded: "state_discarded", Some("TranslationStateDiscarded"),
        "the exporter started within the last day and could not use its state file",
        None;
    WebConfigRefused: "web_config_refused", Some("TranslationWebConfigRefused"),
        "a changed web configuration file, or one of its files, is refused",
        Some("the web configuration file is valid again");
    Certificate: "certificate", Some("TranslationCertificateExpiring"),
        "the served TLS certificate has expired, or expires within 14 days",
        Some("no TLS certificate that is served expires within 14 days");
    LanguagesGone: "languages_gone", None,
        "languages left within a day, although their repositories are still listed",
        Some("no language has left within a day");
    PollsOverrun: "polls_overrun", None,
        "the last poll took longer than `poll.interval`",
        Some("the last poll took no longer than poll.interval");
    RateLimited: "rate_limited", None,
        "the API limits the rate of requests, and thereby slowed the last poll",
        Some("requests are sent at the configured rate again");
    TargetUnused: "target_unused", Some("TranslationTargetUnused"),
        "an entry of `targets` applies to no language",
        Some("every entry of targets applies to a language");
    RemovalUnconfirmed: "removal_unconfirmed", None,
        "the last listing lacks more than half of the repositories; the next one confirms their \
         removal",
        Some("no removal waits for confirmation");
    ClockWrong: "clock_wrong", None,
        "this machine's clock and the API's differ by more than an hour",
        Some("the clocks of this machine and of the API agree again");
}

impl ProblemKind {
    pub fn label(self) -> &'static str {
        self.definition().label
    }

    /// Returns the severity of the kind: somebody has to act if there is an alert, but an unused
    /// target can wait for a day.
    pub fn severity(self) -> Severity {
        match self.definition().alert {
            Some(_) if self != Self::TargetUnused => Severity::Warning,
            _ => Severity::Info,
        }
    }

    /// Returns the severities of the kind's series. Failing polls and another shape have two, of
    /// which one at most is 1.
    pub fn severities(self) -> impl Iterator<Item = Severity> {
        let milder = matches!(self, Self::PollsFailing | Self::ApiShape).then_some(Severity::Info);
        milder.into_iter().chain([self.severity()])
    }
}
