//! Globs on names: `*` stays within a segment of `owner/repo`.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Parses a glob.
///
/// # Errors
/// Returns the mistake, such as an unclosed bracket.
pub fn glob(text: &str) -> Result<Glob, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map_err(|error| error.kind().to_string())
}

/// Compiles globs into a set. An empty set matches nothing.
///
/// # Errors
/// Fails if the globs are too large together.
pub fn glob_set<'a>(globs: impl IntoIterator<Item = &'a Glob>) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob.clone());
    }
    set.build().map_err(|error| error.kind().to_string())
}

/// Returns whether one of the globs matches a name. An empty set chooses every name.
pub fn chooses(globs: &GlobSet, name: &str) -> bool {
    globs.is_empty() || globs.is_match(name)
}
