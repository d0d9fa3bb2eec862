//! The names in the demo's world.

/// What the demo says about a repository besides its progress.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub created_at: &'static str,
    /// `None` if the API does not say.
    pub private: Option<bool>,
    /// How many target languages it has.
    pub languages: usize,
}

const fn public(name: &'static str, created_at: &'static str, languages: usize) -> Entry {
    Entry {
        name,
        created_at,
        private: Some(false),
        languages,
    }
}

const fn private(name: &'static str, created_at: &'static str, languages: usize) -> Entry {
    Entry {
        name,
        created_at,
        private: Some(true),
        languages,
    }
}

/// Two dozen repositories, in the order of their creation and so of their ids.
pub const REPOSITORIES: [Entry; 24] = [
    public("fernwood/field-guide", "2018-03-12T08:15:00Z", 14),
    public("fernwood/field-guide-ios", "2018-06-30T11:42:19Z", 12),
    public("fernwood/field-guide-android", "2018-07-02T09:03:54Z", 12),
    public("harborlight/tide-tables", "2019-01-21T16:20:00+01:00", 9),
    public("harborlight/harbor-map", "2019-02-11T10:31:47.250Z", 8),
    private("harborlight/crew-portal", "2019-05-06T07:00:12Z", 4),
    public("opal-notes/opal", "2019-11-18T19:27:33Z", 22),
    public("opal-notes/opal-desktop", "2020-02-03T13:08:25Z", 20),
    public("opal-notes/opal-mobile", "2020-02-03T13:11:02Z", 20),
    public("opal-notes/handbook", "2020-04-27T15:55:41Z", 7),
    private("opal-notes/billing", "2020-09-14T06:44:08Z", 6),
    public("tinplate/checkout", "2021-01-05T12:00:00Z", 11),
    public("tinplate/storefront", "2021-01-05T12:00:01Z", 13),
    private("tinplate/merchant-console", "2021-03-23T17:38:29.500Z", 9),
    private("tinplate/mail-templates", "2021-08-10T09:49:56Z", 10),
    public("wayfinder-maps/router", "2022-02-22T22:22:22Z", 5),
    public("wayfinder-maps/web", "2022-02-28T08:12:37-05:00", 16),
    Entry {
        name: "wayfinder-maps/docs",
        created_at: "2022-10-17T14:05:03Z",
        private: None,
        languages: 3,
    },
    public("quiet-garden/planner", "2023-04-04T04:44:00Z", 8),
    public("quiet-garden/almanac", "2023-06-19T18:29:11Z", 6),
    public("lanternfish/reader", "2024-01-09T20:16:48Z", 17),
    private("lanternfish/catalog-admin", "2024-05-31T10:57:05Z", 3),
    public("lanternfish/reader-plugins", "2025-03-07T09:33:20Z", 1),
    public("lanternfish/audiobooks", "2026-09-29T11:02:14Z", 0),
];

/// The target languages: code and name, the common ones first.
pub const LANGUAGES: [(&str, &str); 32] = [
    ("de", "German"),
    ("fr", "French"),
    ("es", "Spanish"),
    ("ja", "Japanese"),
    ("pt-BR", "Portuguese (Brazil)"),
    ("zh-Hans", "Chinese (Simplified)"),
    ("it", "Italian"),
    ("ko", "Korean"),
    ("nl", "Dutch"),
    ("pl", "Polish"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("zh-Hant", "Chinese (Traditional)"),
    ("sv", "Swedish"),
    ("cs", "Czech"),
    ("ar", "Arabic"),
    ("da", "Danish"),
    ("fi", "Finnish"),
    ("hu", "Hungarian"),
    ("he", "Hebrew"),
    ("id", "Indonesian"),
    ("nb", "Norwegian Bokmål"),
    ("pt-PT", "Portuguese (Portugal)"),
    ("ro", "Romanian"),
    ("el", "Greek"),
    ("hi", "Hindi"),
    ("th", "Thai"),
    ("vi", "Vietnamese"),
    ("fa", "Persian"),
    ("ca", "Catalan"),
    ("es-419", "Spanish (Latin America)"),
    ("sr-Cyrl", "Serbian (Cyrillic)"),
];
