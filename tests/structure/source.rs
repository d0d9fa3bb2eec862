//! The paths that a source file uses.

use std::{fs, path::Path};

/// A source file.
pub struct Source {
    /// The path of the file within src.
    pub file: String,
    /// The module path of the file, such as `server::quota`.
    pub module: String,
    /// The paths within the crate that the file uses, without its re-exports.
    pub uses: Vec<Use>,
    /// The first segments of all other used paths: libraries, or imported names.
    pub libraries: Vec<Use>,
    /// The re-exported names, each with its path in the crate.
    pub exports: Vec<(String, String)>,
}

/// A path and the line that uses it.
pub struct Use {
    pub path: String,
    line: usize,
}

/// Reads all sources except tests.
pub fn read(src: &Path) -> Vec<Source> {
    let (mut sources, mut folders) = (Vec::new(), vec![src.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if name != "tests" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !["tests.rs", "testing.rs"].contains(&name)
            {
                let file = path.strip_prefix(src).unwrap().to_str().unwrap();
                sources.push(Source::parse(file, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    sources
}

/// Follows re-exports from a path to the definition.
pub fn resolve(sources: &[Source], path: &str) -> String {
    let exports = sources.iter().flat_map(|source| {
        let exports = source.exports.iter();
        exports.map(|(name, target)| (format!("{}::{name}", source.module), target))
    });
    let (mut path, mut taken) = (path.to_owned(), Vec::new());
    let exports: Vec<_> = exports.collect();
    while let Some((exported, target)) = exports.iter().find(|(exported, _)| {
        let rest = path.strip_prefix(exported);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            && !taken.contains(exported)
    }) {
        // A child may have the name that it exports: each re-export is followed once.
        taken.push(exported.clone());
        path = path.replacen(exported, target, 1);
    }
    path
}

/// Returns the module path of the file that contains a path.
pub fn file_of(sources: &[Source], path: &str) -> String {
    let is_outer = |source: &&Source| {
        let rest = path.strip_prefix(&source.module);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let outer = sources.iter().filter(is_outer);
    let file = outer.max_by_key(|source| source.module.len());
    file.map_or_else(|| path.to_owned(), |file| file.module.clone())
}

impl Source {
    pub fn parse(file: &str, text: &str) -> Self {
        let stem = file.strip_suffix(".rs").unwrap().replace('/', "::");
        let module = match &*stem {
            "lib" | "main" | "build" => String::new(),
            _ => stem,
        };
        let mut source = Self {
            file: file.to_owned(),
            module,
            uses: Vec::new(),
            libraries: Vec::new(),
            exports: Vec::new(),
        };
        let tokens = without_tests(&tokens(text));
        let children: Vec<&str> = tokens
            .windows(3)
            .filter(|three| three[0].1 == "mod" && three[2].1 == ";")
            .map(|three| &*three[1].1)
            .collect();
        let mut rest = &tokens[..];
        while let Some((_, first)) = rest.first() {
            let is_export = first == "pub" && is_public_use(rest);
            if is_export || first == "use" {
                let begin = rest.iter().position(|(_, token)| token == "use").unwrap();
                let end = rest.iter().position(|(_, token)| token == ";").unwrap();
                let mut paths = Vec::new();
                expand(&mut &rest[begin + 1..end], "", &mut paths);
                for (line, path, name) in paths {
                    source.note(&children, line, &path, is_export.then_some(name));
                }
                rest = &rest[end + 1..];
                continue;
            }
            let mut path = first.clone();
            let mut length = 1;
            while rest.get(length).is_some_and(|(_, token)| token == "::")
                && let Some((_, next)) = rest.get(length + 1)
                && is_word(next)
            {
                path = format!("{path}::{next}");
                length += 2;
            }
            if length > 1 && is_word(first) {
                source.note(&children, rest[0].0, &path, None);
            }
            rest = &rest[length..];
        }
        source
    }

    fn note(&mut self, children: &[&str], line: usize, path: &str, exported: Option<String>) {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let parent = self
            .module
            .rsplit_once("::")
            .map_or("", |(parent, _)| parent);
        let join = |outer: &str| [outer, rest].map(str::to_owned).join("::");
        let is_child = children.contains(&first);
        let path = match first {
            "crate" => rest.to_owned(),
            "super" => join(parent),
            "self" => join(&self.module),
            _ if is_child => format!("{}::{path}", self.module),
            _ => {
                let path = first.to_owned();
                self.libraries.push(Use { path, line });
                return;
            }
        };
        let path = path.replace("super::", "");
        let path = path.trim_end_matches("::").to_owned();
        match exported {
            Some(name) => self.exports.push((name, path)),
            None if path.is_empty() => {}
            None => self.uses.push(Use { path, line }),
        }
    }

    /// Returns the file and line of a use.
    pub fn place(&self, used: &Use) -> String {
        format!("src/{}:{}", self.file, used.line)
    }
}

/// Returns whether the tokens begin with `pub use` or `pub(…) use`.
fn is_public_use(tokens: &[(usize, String)]) -> bool {
    let mut rest = tokens.iter().map(|(_, token)| &**token).skip(1).peekable();
    if rest.peek() == Some(&"(") {
        rest.by_ref().find(|token| *token == ")");
    }
    rest.next() == Some("use")
}

/// Adds the paths of a tree of imports: the line, the path and the imported name of each.
fn expand(tokens: &mut &[(usize, String)], prefix: &str, paths: &mut Vec<(usize, String, String)>) {
    let (mut path, mut line, mut name) = (prefix.to_owned(), 0, String::new());
    let mut is_tree = false;
    while let Some(((at, token), rest)) = tokens.split_first() {
        *tokens = rest;
        match &**token {
            "::" => path += "::",
            "{" => {
                expand(tokens, &path, paths);
                is_tree = true;
            }
            "as" => {
                name.clone_from(&rest[0].1);
                *tokens = &rest[1..];
            }
            "," | "}" => {
                if line > 0 && !is_tree {
                    paths.push((line, path, name));
                }
                if token == "}" {
                    return;
                }
                (path, line, name, is_tree) = (prefix.to_owned(), 0, String::new(), false);
            }
            "self" if path.ends_with("::") => {
                path.truncate(path.len() - 2);
                line = *at;
                path.rsplit("::")
                    .next()
                    .unwrap_or_default()
                    .clone_into(&mut name);
            }
            word => {
                path += word;
                line = *at;
                word.clone_into(&mut name);
            }
        }
    }
    if line > 0 && !is_tree {
        paths.push((line, path, name));
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Removes the items under `#[cfg(test)]`.
fn without_tests(tokens: &[(usize, String)]) -> Vec<(usize, String)> {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let next = tokens[at..].iter().map(|(_, token)| token);
        if !next.take(attribute.len()).eq(attribute) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        for (_, token) in &tokens[at..] {
            at += 1;
            match &**token {
                "{" => depth += 1,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => continue,
            }
            if depth == 0 {
                break;
            }
        }
    }
    kept
}

/// Splits Rust into words, `::` and single characters, each with its line. Skips comments and the
/// content of literals.
fn tokens(text: &str) -> Vec<(usize, String)> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut line, mut at) = (Vec::new(), 1, 0);
    let next_is = |at: usize, expected: &str| {
        let next = characters.get(at..at + expected.len());
        next.is_some_and(|next| next.iter().copied().eq(expected.chars()))
    };
    while at < characters.len() {
        let first = characters[at];
        let begin = at;
        if next_is(at, "//") {
            while at < characters.len() && characters[at] != '\n' {
                at += 1;
            }
        } else if first == '"' || next_is(at, "r\"") || next_is(at, "r#") {
            at = end_of_string(&characters, at);
        } else if first == '\'' {
            // A lifetime has no second quote.
            let length = if characters.get(at + 1) == Some(&'\\') {
                3
            } else {
                2
            };
            let end = (at + length..at + 12).find(|end| characters.get(*end) == Some(&'\''));
            let is_literal = length == 3 || characters.get(at + 2) == Some(&'\'');
            at = match end {
                Some(end) if is_literal => end + 1,
                _ => at + 1,
            };
        } else if first.is_alphanumeric() || first == '_' {
            let is_part = |one: &char| one.is_alphanumeric() || *one == '_';
            while characters.get(at).is_some_and(is_part) {
                at += 1;
            }
            tokens.push((line, characters[begin..at].iter().collect()));
        } else {
            at += if next_is(at, "::") { 2 } else { 1 };
            if !first.is_whitespace() {
                tokens.push((line, characters[begin..at].iter().collect()));
            }
        }
        line += characters[begin..at.min(characters.len())]
            .iter()
            .filter(|one| **one == '\n')
            .count();
    }
    tokens
}

/// Returns the end of the string literal at `begin`.
fn end_of_string(characters: &[char], begin: usize) -> usize {
    let is_raw = characters[begin] == 'r';
    let mut at = begin + usize::from(is_raw);
    let hashes = characters[at..]
        .iter()
        .take_while(|one| **one == '#')
        .count();
    at += hashes;
    if characters.get(at) != Some(&'"') {
        // A raw identifier.
        return at;
    }
    at += 1;
    while at < characters.len() {
        let closes = characters[at] == '"'
            && characters[at + 1..]
                .iter()
                .take_while(|one| **one == '#')
                .count()
                >= hashes;
        if closes {
            return at + 1 + hashes;
        }
        at += if characters[at] == '\\' && !is_raw {
            2
        } else {
            1
        };
    }
    at
}
