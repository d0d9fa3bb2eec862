//! Values that parse themselves from text, and say what they take.

use humantime::{format_duration, parse_duration};
use serde::{Deserialize, Deserializer, de::Error};
use std::{ops::Deref, time::Duration};

/// A value that is written as text, within bounds: seconds of a time, or ones of a number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed<T, const MIN: u32 = 0, const MAX: u32 = { u32::MAX }>(pub T);

pub const HOUR: u32 = 3600;
/// 365 days and 6 hours.
pub const YEAR: u32 = 8766 * HOUR;

/// A type that [`Parsed`] can hold. `config/text.rs` and the modules of globs, dates and links
/// implement it as well.
pub trait Parse: Sized {
    /// The texts that are taken, before their bounds.
    const TAKES: &'static str;

    /// True if the file may have a list of texts.
    const IS_LIST: bool = false;

    /// Parses a text, or returns the problem with it: a predicate.
    fn parse(text: &str) -> Result<Self, String>;

    /// Returns the number that has bounds.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Shows a bound.
    fn bound(bound: u32) -> String {
        bound.to_string()
    }
}

impl<T, const MIN: u32, const MAX: u32> Deref for Parsed<T, MIN, MAX> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Parse, const MIN: u32, const MAX: u32> Deserialize<'de> for Parsed<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer).map_err(|_| {
            let problem = "is a list, a mapping, an alias, tagged (!), or has an empty item";
            format!("{problem}; give {}", Self::takes())
        });
        text.and_then(|text| Self::parse_bounded(&text))
            .map_err(Error::custom)
    }
}

impl<T: Parse, const MIN: u32, const MAX: u32> Parsed<T, MIN, MAX> {
    pub const IS_LIST: bool = T::IS_LIST;

    /// Reads a text.
    ///
    /// # Errors
    /// Returns the problem with it, a predicate, and the texts that are taken.
    pub fn parse_bounded(text: &str) -> Result<Self, String> {
        T::parse(text)
            .and_then(|value| match value.number() {
                Some(number) if !(MIN.into()..=MAX.into()).contains(&number) => Err(is(text)),
                _ => Ok(Self(value)),
            })
            .map_err(|problem| format!("{problem}; give {}", Self::takes()))
    }

    /// Describes the texts that are taken.
    pub fn takes() -> String {
        match (T::bound(MIN), T::bound(MAX)) {
            _ if MAX == u32::MAX => T::TAKES.to_owned(),
            _ if MAX == 1 => format!("{} from 0 to 1, such as 0.95", T::TAKES),
            (least, most) => format!("{} from {least} to {most}", T::TAKES),
        }
    }
}

/// Returns the problem with a text. Quotes its first 100 characters, but nothing of a URL that may
/// hold a secret: user, query and fragment.
pub fn is(text: &str) -> String {
    let shown = text.rsplit('@').next().unwrap_or_default();
    let end = shown.find(['?', '#']).filter(|_| text.contains("://"));
    let shown: String = shown[..end.unwrap_or(shown.len())]
        .chars()
        .take(100)
        .collect();
    format!("is {shown:?}")
}

/// Splits a list at its commas, except within the braces of a glob.
pub fn items(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    items
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect()
}

/// Implements [`Parse`] for types by what they take, and a function that returns `None` for others.
/// Numbers have bounds.
macro_rules! parse {
    ($($type:ty: $takes:literal, $parse:expr $(, $number:expr)?;)*) => {$(
        impl crate::support::parsed::Parse for $type {
            const TAKES: &'static str = $takes;

            fn parse(text: &str) -> Result<Self, String> {
                $parse(text).ok_or_else(|| crate::support::parsed::is(text))
            }

            $(fn number(&self) -> Option<f64> {
                Some($number(self))
            })?
        }
    )*};
}
pub(crate) use parse;

parse! {
    bool: "true or false", |text: &str| text.to_ascii_lowercase().parse().ok();
    u32: "a whole number", |text: &str| text.parse().ok(), |number: &u32| f64::from(*number);
    f64: "a number", |text: &str| text.parse().ok(), |number: &f64| *number;
}

/// An empty text is none.
impl<T: Parse> Parse for Option<T> {
    const TAKES: &'static str = T::TAKES;
    const IS_LIST: bool = T::IS_LIST;

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(None),
            text => T::parse(text).map(Some),
        }
    }

    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }

    fn bound(bound: u32) -> String {
        T::bound(bound)
    }
}

/// A time of a millisecond or more.
impl Parse for Duration {
    const TAKES: &'static str = "a time (such as 90m or 1h 30m)";

    fn parse(text: &str) -> Result<Self, String> {
        match parse_duration(text) {
            // Nobody means a month by `M`.
            Ok(time) if time.as_millis() > 0 && !text.contains('M') => Ok(time),
            _ => Err(is(text)),
        }
    }

    fn number(&self) -> Option<f64> {
        Some(self.as_secs_f64())
    }

    fn bound(bound: u32) -> String {
        let bound = Self::from_secs(bound.into()).max(Self::from_millis(1));
        format_duration(bound)
            .to_string()
            .replace("years", " years")
    }
}
