//! Declarations of the configuration's sections: each key once, as the field of a struct, with its
//! documentation and its default.

/// A key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The section and the name, joined by a dot.
    pub path: &'static str,
    /// The default as a user would write it; empty if there is none.
    pub default: &'static str,
    /// True if the file may have a list of texts, which commas separate elsewhere.
    pub is_list: bool,
    /// The meaning, in Markdown: the doc comment of the field.
    pub meaning: &'static str,
    /// The option that sets the key, with its dashes and the name of its value; empty if there is
    /// none.
    pub(crate) option: &'static str,
}

impl Key {
    /// The prefix of every variable.
    pub const PREFIX: &str = "TRANSLATION_EXPORTER_";

    /// Returns the option that sets the key, and the name of its value.
    pub fn option(&self) -> Option<(&'static str, &'static str)> {
        self.option.split_once('=')
    }

    /// Returns the name of the environment variable that sets the key.
    pub fn variable(&self) -> String {
        let name = self.path.replace('.', "__").to_ascii_uppercase();
        format!("{}{name}", Self::PREFIX)
    }

    /// Returns the section and the name within it.
    pub fn names(&self) -> [&'static str; 2] {
        self.path.split_once('.').unwrap_or_default().into()
    }
}

/// The path, for [`nearest`](super::hint::nearest).
impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.path
    }
}

/// Declares a section and the table of its keys: each with its meaning, its type, its default as a
/// user would write it, and its option. The value of a key whose name
/// ends in `file` is a path.
macro_rules! section {
    ($(#[$about:meta])* $section:ident: $name:ident {
        $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:literal $(, $option:literal)?;)*
    }) => {
        #[derive(Debug, Clone, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])* pub $key: $type,)*
        }

        impl $name {
            /// The keys, in the order of the documentation.
            pub const KEYS: &[crate::support::keys::Key] = &[$(crate::support::keys::Key {
                path: concat!(stringify!($section), ".", stringify!($key)),
                default: $default,
                is_list: <$type>::IS_LIST,
                meaning: concat!($($doc),*),
                option: concat!($($option)?),
            },)*];
        }
    };
}
pub(crate) use section;
