//! What is wrong in the file, for all modules that read it.

use serde_saphyr::Spanned;

/// What is wrong, naming the key and what to do, and in which line of the file it is.
#[derive(Debug)]
pub struct Invalid {
    /// `None` if it is about the complete file.
    pub line: Option<u64>,
    pub message: String,
}

impl Invalid {
    pub fn new(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }

    pub fn at<T>(place: &Spanned<T>, message: impl Into<String>) -> Self {
        Self { line: Some(place.referenced.line()).filter(|line| *line > 0), message: message.into() }
    }
}

/// A text of the file.
pub type Text = Option<Spanned<String>>;

/// A value that is set and not empty: in this format, empty means not set.
pub fn set(text: &Text) -> Option<&Spanned<String>> {
    text.as_ref().filter(|text| !text.value.is_empty())
}
