//! The rules of imports: each module imports only what [`TABLE`] allows, some libraries stay in the
//! modules that [`LIBRARIES`] names, and no files of a module import each other in a circle.
//!
//! The test reads every path in the code, in declarations of `use` and anywhere else. Tests may
//! import more, except those of `server`.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, helpers included"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Each module with the paths that it imports besides its own; `*` are all.
const TABLE: [(&str, &str); 16] = [
    ("domain", "support"),
    ("api", "config domain metrics::instruments support"),
    ("config", "domain support"),
    ("state", "domain support"),
    ("poller", "api domain state metrics::instruments support"),
    ("metrics", "domain support"),
    (
        "diagnosis",
        "domain metrics::facts metrics::instruments support",
    ),
    ("report", "domain diagnosis support"),
    ("server", "support"),
    ("web", "server report metrics diagnosis domain support"),
    ("cli", "config support"),
    ("demo", "domain support"),
    ("support", ""),
    ("commands", "*"),
    ("main", "*"),
    ("build", ""),
];

/// Libraries that only some modules may use.
const LIBRARIES: [(&str, &str); 4] = [
    ("reqwest", "api commands::health"),
    ("axum", "web server demo"),
    ("figment", "config"),
    ("prometheus_client", "metrics"),
];

/// Files that those below them may import in a circle, with the reason.
const CIRCLES: [(&str, &str); 4] = [
    ("api", "a session borrows the client that begins it"),
    (
        "commands",
        "`run` starts the commands, which load and fail alike",
    ),
    (
        "diagnosis",
        "`findings` calls a function for each kind, which make findings",
    ),
    (
        "report",
        "a report has the changes since a day, and words for both",
    ),
];

/// The names of a path.
type Names = Vec<String>;

/// A file of src: its module, and the paths in it from the root of the crate or a library.
struct Source {
    module: Names,
    paths: Vec<Names>,
    /// The paths that are not only passed on by `pub use`.
    needed: Vec<Names>,
    /// The paths behind `use`, by the names that they bring.
    uses: BTreeMap<String, Names>,
}

/// Reads a file, with its tests if it `is_tested`. `module` is its path in the crate.
fn source(module: &str, text: &str, is_tested: bool) -> Source {
    let module: Names = module.split("::").map(str::to_owned).collect();
    let tokens = tokens(text);
    let (mut paths, mut needed, mut uses, mut at) = (vec![], vec![], BTreeMap::new(), 0);
    while at < tokens.len() {
        if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"]) && !is_tested {
            at = end_of_item(&tokens, at + 7);
        } else if tokens[at] == "use" {
            let mut found = Vec::new();
            let is_passed_on = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
            at = tree(&tokens, at + 1, &[], &mut found);
            for (name, path) in found {
                let path = absolute(&path, &module);
                uses.insert(name, path.clone());
                let to = if is_passed_on {
                    &mut paths
                } else {
                    &mut needed
                };
                to.push(path);
            }
        } else if is_name(tokens[at]) && tokens.get(at + 1) == Some(&"::") {
            let mut found = Vec::new();
            at = tree(&tokens, at, &[], &mut found);
            let found = found.iter().map(|(_, path)| absolute(path, &module));
            needed.extend(found);
        } else {
            at += 1;
        }
    }
    paths.extend_from_slice(&needed);
    paths.retain(|path: &Names| !path.is_empty());
    Source {
        module,
        paths,
        needed,
        uses,
    }
}

/// Splits code into names, `::` and signs, without comments and literals.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").unwrap() + 2
        } else if first == '"' || rest.starts_with("r\"") {
            let is_raw = first == 'r';
            let (mut is_escaped, start) = (false, if is_raw { 2 } else { 1 });
            let end = rest[start..].find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = !is_raw && c == '\\' && !is_escaped;
                ends
            });
            start + end.unwrap() + 1
        } else if first == '\'' {
            // A character, or a lifetime.
            match rest[1..].find('\'') {
                Some(1..) if rest[1..].starts_with('\\') => rest[3..].find('\'').unwrap() + 4,
                Some(end @ 1..=4) if rest[1..=end].chars().count() == 1 => end + 2,
                _ => 1,
            }
        } else if let Some(1..) | None = name {
            let end = name.unwrap_or(rest.len());
            tokens.push(&rest[..end]);
            end
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the place behind the item at `at`: behind its semicolon or braces.
fn end_of_item(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0_usize;
    loop {
        match tokens[at] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 && [";", ",", "}"].contains(&tokens[at - 1]) {
            return at;
        }
    }
}

/// Reads a tree of paths such as `a::{b::c, d as e}`, each with the name that it brings. Returns
/// the place behind it.
fn tree(
    tokens: &[&str],
    mut at: usize,
    outer: &[String],
    found: &mut Vec<(String, Names)>,
) -> usize {
    let mut path = outer.to_vec();
    loop {
        match tokens[at] {
            "::" => at += 1,
            "{" if path.len() == outer.len() || tokens[at - 1] == "::" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            name if is_name(name) && (path.len() == outer.len() || tokens[at - 1] == "::") => {
                path.push(name.to_owned());
                at += 1;
            }
            "as" => {
                found.push((tokens[at + 1].to_owned(), path));
                return at + 2;
            }
            sign => {
                if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                    path.pop();
                }
                let name = path.last().cloned().unwrap_or_default();
                found.push((name, path));
                return at + usize::from(sign == "*");
            }
        }
    }
}

/// Returns the path from the root of the crate, or that of a library or a module below.
fn absolute(path: &[String], module: &[String]) -> Names {
    let root = ["crate".to_owned()];
    let ups = path.iter().take_while(|name| *name == "super").count();
    match path.first().map(String::as_str) {
        Some("self") => [&root, module, &path[1..]].concat(),
        _ if ups > 0 => {
            let above = module.len().saturating_sub(ups);
            [&root, &module[..above], &path[ups..]].concat()
        }
        _ => path.to_vec(),
    }
}

/// Returns the Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|file| file.extension() == Some("rs".as_ref()))
        .collect()
}

/// Reads the crate, without its tests apart from those of the module `tested`.
fn sources(tested: &str) -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    for file in files(&src) {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap();
        let module = name.trim_end_matches(".rs").replace('/', "::");
        let is_test = module
            .split("::")
            .any(|name| ["tests", "testing"].contains(&name));
        let is_tested = module.starts_with(tested);
        if module != "lib" && (!is_test || is_tested) {
            sources.push(source(
                &module,
                &fs::read_to_string(&file).unwrap(),
                is_tested,
            ));
        }
    }
    sources
}

/// Returns whether `path` is one of `outer` or inside it.
fn is_within(path: &str, outer: &str) -> bool {
    outer.split(' ').any(|outer| {
        let rest = path.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Returns the row of a module.
fn row(module: &str) -> Option<&'static str> {
    let row = TABLE.iter().find(|(name, _)| *name == module);
    row.map(|(_, allowed)| *allowed)
}

/// Returns a line for each path of a file that breaks a rule.
fn violations(source: &Source) -> Vec<String> {
    let (module, file) = (&source.module[0], source.module.join("::"));
    let Some(allowed) = row(module) else {
        return vec![format!("{file}: the module has no row in TABLE")];
    };
    let mut found = BTreeSet::new();
    for path in &source.paths {
        let is_of_crate = path[0] == "crate" && path.len() > 1 && path[1] != *module;
        let (first, path) = (&path[0], path[usize::from(is_of_crate)..].join("::"));
        let is_whole = is_within(&path, "config::Config") && module != "commands";
        if is_of_crate && (is_whole || !is_within(&path, allowed) && allowed != "*") {
            found.insert(format!(
                "{file} imports {path}; rule: {module} -> {allowed}"
            ));
        }
        for (library, homes) in LIBRARIES {
            if first == library && !is_within(&file, homes) {
                found.insert(format!(
                    "{file} imports {library}; rule: it stays in {homes}"
                ));
            }
        }
    }
    found.into_iter().collect()
}

#[test]
fn modules_import_what_the_table_allows_and_need_all_of_it() {
    let sources = sources("server");
    let found: Vec<_> = sources.iter().flat_map(violations).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    for (module, allowed) in TABLE.iter().filter(|(_, allowed)| *allowed != "*") {
        let paths = sources.iter().filter(|source| source.module[0] == *module);
        let paths: Vec<_> = paths
            .flat_map(|source| &source.paths)
            .filter(|path| path[0] == "crate")
            .map(|path| path[1..].join("::"))
            .collect();
        for allowed in allowed.split_whitespace() {
            let is_used = paths.iter().any(|path| is_within(path, allowed));
            assert!(
                is_used,
                "{module} does not import {allowed}: remove it from TABLE"
            );
        }
    }
}

/// Returns the file that defines a path, through the files that only pass it on.
fn definition(
    mut path: &[String],
    files: &BTreeMap<String, &Source>,
    steps: usize,
) -> Option<String> {
    if path.first().is_some_and(|first| first == "crate") {
        path = &path[1..];
    }
    let length = (1..=path.len()).rev();
    let length = length
        .into_iter()
        .find(|length| files.contains_key(&path[..*length].join("::")))?;
    let (file, rest) = (path[..length].join("::"), &path[length..]);
    let passed = rest.first().and_then(|name| files[&file].uses.get(name));
    let passed = passed.filter(|_| steps > 0);
    let Some(passed) = passed.map(|passed| [passed, &rest[1..]].concat()) else {
        return Some(file);
    };
    // The path may begin at a module below the file.
    let below = [&path[..length], &passed].concat();
    let below = definition(&below, files, steps - 1).filter(|found| *found != file);
    below
        .or_else(|| definition(&passed, files, steps - 1))
        .or(Some(file))
}

/// Returns the imports between files of one module that reach each other, if those below import
/// none of the `excepted`.
fn circles(sources: &[Source], excepted: &[&str]) -> Vec<String> {
    let files: BTreeMap<_, _> = sources
        .iter()
        .map(|file| (file.module.join("::"), file))
        .collect();
    let imported = |file: &Source| {
        let module = file.module.clone();
        let paths = file.needed.iter().map(|path| {
            let below = [&*module, path].concat();
            definition(&below, &files, 4)
                .filter(|found| *found != module.join("::"))
                .or_else(|| definition(path, &files, 4))
        });
        let room = file.module[0].clone();
        let is_excepted = |path: &str| {
            let mut excepted = excepted.iter();
            excepted.any(|above| path == *above && is_within(&module.join("::"), above))
        };
        let paths = paths.flatten();
        let paths = paths.filter(|path| is_within(path, &room) && !is_excepted(path));
        paths.collect::<BTreeSet<_>>()
    };
    let edges: BTreeMap<_, _> = files
        .iter()
        .map(|(name, file)| (name, imported(file)))
        .collect();
    let reach = |from: &String| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            let new = edges[next]
                .iter()
                .filter(|file| reached.insert((*file).clone()));
            open.extend(new.collect::<Vec<_>>());
        }
        reached
    };
    let reached: BTreeMap<_, _> = files.keys().map(|file| (file, reach(file))).collect();
    let pairs = edges
        .iter()
        .flat_map(|(from, to)| to.iter().map(move |to| (*from, to)));
    pairs
        .filter(|(from, to)| from != to && reached[to].contains(*from))
        .map(|(from, to)| format!("{from} -> {to}"))
        .collect()
}

#[test]
fn no_files_of_a_module_import_each_other_in_a_circle() {
    let sources = sources("none");
    let excepted = CIRCLES.map(|(file, _)| file);
    let found = circles(&sources, &excepted);
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    for file in excepted {
        let others: Vec<_> = excepted
            .into_iter()
            .filter(|other| *other != file)
            .collect();
        let found = circles(&sources, &others);
        assert!(
            !found.is_empty(),
            "{file} is in no circle: remove it from CIRCLES"
        );
    }
}

#[test]
fn the_files_that_the_map_of_the_crate_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = std::fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let docs: Vec<_> = map
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .collect();
    // Every second part is code. A folder has a slash, and a file an extension.
    let docs = docs.join("\n");
    let code = docs.split('`').skip(1).step_by(2);
    let paths = code.filter(|code| {
        let is_path = code.contains('/') || Path::new(code).extension().is_some();
        is_path && !code.contains(char::is_whitespace)
    });
    let is_missing =
        |path: &&str| !root.join(path).exists() && !root.join("src").join(path).exists();
    let (missing, found): (Vec<_>, Vec<_>) = paths.partition(is_missing);
    assert_eq!(missing, [""; 0]);
    assert!(found.len() > 20, "{found:?}");
}

#[test]
fn a_forbidden_import_is_named_with_its_rule() {
    let of = |module, text| violations(&source(module, text, module.starts_with("server")));
    let rule = "rule: domain -> support";
    for (text, expected) in [
        (
            "use crate::{config::{Filter, Key}, support::{clock::{Clock}, lock}};",
            "config::Filter",
        ),
        ("fn a() { reqwest::Client::new() }", "reqwest"),
        ("use {reqwest::Client, axum::Router};", "axum"),
        ("use super::super::web::router;", "web::router"),
        (
            "#[cfg(test)]\nmod tests { use crate::web; }\nuse crate::api as other;",
            "api",
        ),
    ] {
        let found = of("domain::filter", text);
        let start = format!("domain::filter imports {expected}; rule: ");
        assert!(found[0].starts_with(&start), "{text}: {found:?}");
    }
    let fine = "//! [`crate::config`]\nuse crate::support::clock;\nconst A: &str = \"crate::web::a\";\n\
                const B: char = '\"'; fn a<'a>() { crate::domain::b() }\n#[cfg(test)]\nmod tests {\n\
                use crate::web; }\n";
    assert_eq!(of("domain", fine), [""; 0]);
    assert_eq!(
        of("domain", "use crate::web;"),
        [format!("domain imports web; {rule}")]
    );
    assert_eq!(
        of("newcomer", ""),
        ["newcomer: the module has no row in TABLE"]
    );
    let tested = "#[cfg(test)]\nmod tests {\n    use crate::web;\n}\n";
    assert_eq!(
        of("server::follow", tested),
        ["server::follow imports web; rule: server -> support"]
    );
}

#[test]
fn two_files_that_call_each_other_are_a_circle() {
    let files = |second| {
        [
            source("room", "mod one;\nmod two;\npub use one::One;", false),
            source("room::one", "use super::two::Two;\npub struct One;", false),
            source("room::two", second, false),
        ]
    };
    assert_eq!(circles(&files("use crate::support::a;"), &[]), [""; 0]);
    let circle = ["room::one -> room::two", "room::two -> room::one"];
    let through_the_file_above = files("fn a() { super::One }");
    assert_eq!(circles(&through_the_file_above, &[]), circle);
}
