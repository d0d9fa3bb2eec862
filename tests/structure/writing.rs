//! Holds how the source is written: lines fit 100 columns, names of tests fit 70 characters, no two
//! types of the crate share a name, and tests/README.md names tests that exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The widest line, in characters: rustfmt wraps code there, but neither comments nor strings.
const WIDEST_LINE: usize = 100;

/// The longest name of a test. A longer reason belongs in the comment of the test.
const LONGEST_NAME: usize = 70;

#[test]
fn lines_and_names_of_tests_have_a_limit() {
    let mut found = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (index, line) in text.lines().enumerate() {
            let file = path.strip_prefix(root()).unwrap();
            let place = format!("{}:{}", file.display(), index + 1);
            let width = line.chars().count();
            if width > WIDEST_LINE && !is_row(line) {
                found.push(format!("{place}: {width} columns are over {WIDEST_LINE}"));
            }
            if let Some(name) = function(line)
                && name.len() > LONGEST_NAME
            {
                let length = name.len();
                found.push(format!(
                    "{place}: {length} characters are over {LONGEST_NAME}: {name}"
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_table_of_tests_names_tests_that_exist() {
    let mut names = BTreeSet::new();
    for path in files_of(&["rs", "py", "sh"]) {
        let text = fs::read_to_string(&path).unwrap();
        names.extend(text.lines().filter_map(function).map(str::to_owned));
        names.extend(text.lines().filter_map(of_script).map(str::to_owned));
        names.extend(
            path.iter()
                .filter_map(|part| Some(part.to_str()?.trim_end_matches(".rs").to_owned())),
        );
        names.extend(text.lines().filter_map(module).map(str::to_owned));
    }
    let readme = fs::read_to_string(root().join("tests/README.md")).unwrap();
    let (_, promises) = readme
        .split_once("\n## Promises and their tests\n")
        .unwrap();
    let tests = promises.lines().filter_map(|line| line.split('|').nth(2));
    let quoted = tests.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let is_path = |text: &&str| text.chars().all(|c| ":…".contains(c) || is_part_of_name(c));
    let missing: BTreeSet<_> = quoted
        .filter(is_path)
        .filter(|path| {
            let mut parts = path.trim_start_matches('…').split("::");
            parts.any(|part| !part.is_empty() && !names.contains(part))
        })
        .collect();
    assert!(missing.is_empty(), "tests/README.md names {missing:#?}");
}

#[test]
fn no_two_types_of_the_crate_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources() {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if !file.starts_with("src/") || file.contains("test") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for name in text.lines().filter_map(declared_type) {
            places.entry(name.into()).or_default().push(file.into());
        }
    }
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Returns the Rust files of src and tests.
pub fn sources() -> Vec<PathBuf> {
    files_of(&["rs"])
}

/// Returns the files of src and tests with one of these extensions.
fn files_of(extensions: &[&str]) -> Vec<PathBuf> {
    let mut folders = vec![root().join("src"), root().join("tests")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if extensions
                .iter()
                .any(|one| path.extension() == Some(one.as_ref()))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Returns whether a line of a doc comment is the row of a table, which cannot wrap.
fn is_row(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//! |") || line.starts_with("/// |")
}

/// Returns the name of the function that begins on a line.
fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    name(line.strip_prefix("fn ")?)
}

/// Returns the name of the function of a script in Python or Bash that begins on a line.
fn of_script(line: &str) -> Option<&str> {
    let python = line.trim_start().strip_prefix("def ");
    name(python.or_else(|| line.strip_suffix("() {"))?)
}

/// Returns the name of the type that a line declares outside of all blocks.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(' && c != ')');
    let kind = words.find(|word| !word.starts_with("pub"))?;
    let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
    is_type.then(|| words.next())?
}

/// Returns the name of the module that begins on a line.
fn module(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("mod ")?;
    (before.is_empty() || before.trim_start().starts_with("pub")).then(|| name(after))?
}

fn name(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_part_of_name(c)).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}
