//! The rules of imports: each module imports only what [`TABLE`] allows, and some libraries stay in
//! the modules that [`LIBRARIES`] names.
//!
//! The test reads the paths behind `crate::`. Tests may import more, except those of `server`.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, helpers included"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each module with the paths that it may import besides its own.
const TABLE: [(&str, &[&str]); 14] = [
    ("domain", &["support"]),
    (
        "api",
        &["config", "domain", "metrics::instruments", "support"],
    ),
    ("config", &["domain", "support"]),
    ("state", &["config", "domain", "support"]),
    (
        "poller",
        &[
            "api",
            "config",
            "domain",
            "state",
            "metrics::instruments",
            "support",
        ],
    ),
    ("metrics", &["domain", "support"]),
    ("diagnosis", &["domain", "metrics::facts", "support"]),
    ("report", &["domain", "diagnosis", "support"]),
    ("server", &["support"]),
    (
        "web",
        &[
            "server",
            "report",
            "config",
            "metrics",
            "diagnosis",
            "domain",
            "support",
        ],
    ),
    ("cli", &["config", "support"]),
    ("demo", &["domain", "support"]),
    ("support", &[]),
    (
        "commands",
        &[
            "api",
            "cli",
            "config",
            "demo",
            "diagnosis",
            "domain",
            "metrics",
            "poller",
            "report",
            "server",
            "state",
            "support",
            "web",
        ],
    ),
];

/// Libraries that only some modules may use.
const LIBRARIES: [(&str, &[&str]); 4] = [
    ("reqwest", &["api", "commands::health"]),
    ("axum", &["web", "server", "demo"]),
    ("figment", &["config"]),
    ("prometheus_client", &["metrics"]),
];

#[test]
fn modules_import_only_what_the_table_allows() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&src) {
        let Ok(file) = path.strip_prefix(&src) else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        found.extend(violations(file.to_str().unwrap(), &text));
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
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

/// Returns the Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut files: Vec<_> = files
        .into_iter()
        .filter(|file| file.extension() == Some("rs".as_ref()))
        .collect();
    files.extend(folders.iter().flat_map(|folder| sources(folder)));
    files
}

/// Returns a line for each import of a file that breaks a rule.
fn violations(file: &str, text: &str) -> Vec<String> {
    let of_file = file.trim_end_matches(".rs").replace('/', "::");
    let module = of_file.split("::").next().unwrap();
    let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == module) else {
        return Vec::new();
    };
    let is_test = file.contains("/tests") || file.ends_with("testing.rs");
    if is_test && module != "server" {
        return Vec::new();
    }
    let end = text.find("#[cfg(test)]\nmod tests {");
    let end = end.filter(|_| module != "server").unwrap_or(text.len());
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines = text[..end].lines().filter(|line| !is_comment(line));
    let code: String = lines.map(|line| line.to_owned() + "\n").collect();
    let imported = code
        .split("crate::")
        .skip(1)
        .flat_map(|rest| paths(rest, 2));
    let is_allowed = |path: &str| {
        let row = allowed.iter().any(|allowed| is_within(path, allowed));
        row && (path != "config::Config" || module == "commands") || is_within(path, module)
    };
    let mut found: Vec<_> = imported
        .filter(|path| !is_allowed(path))
        .map(|path| {
            format!(
                "src/{file} imports {path}; rule: {module} -> {}",
                allowed.join(", ")
            )
        })
        .collect();
    for (library, homes) in LIBRARIES {
        let is_used = code.contains(&format!("use {library}::"));
        if is_used && !homes.iter().any(|home| is_within(&of_file, home)) {
            let homes = homes.join(", ");
            found.push(format!(
                "src/{file} imports {library}; rule: it stays in {homes}"
            ));
        }
    }
    found
}

/// Returns the paths at the start of `text`, such as `a::b` and `c` of `{a::{b}, c}`, cut to
/// `depth` names.
fn paths(text: &str, depth: usize) -> Vec<String> {
    if let Some(group) = text.strip_prefix('{') {
        return items(group).flat_map(|item| paths(item, depth)).collect();
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) if depth > 1 => {
            let rest = paths(rest, depth - 1);
            rest.iter().map(|path| format!("{name}::{path}")).collect()
        }
        _ => vec![name.to_owned()],
    }
}

/// Returns the items of a group, up to its closing brace.
fn items(group: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut begin, mut items) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(group[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        if c == '}' && depth == 0 && begin > at {
            break;
        }
    }
    items.into_iter().filter(|item| !item.is_empty())
}

/// Returns whether `path` is `outer` or inside it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn a_forbidden_import_is_named_with_its_rule() {
    let domain = "//! [`crate::config`]\nuse crate::{\n    config::{Filter, Key},\n    \
                  support::{clock::{Clock}, lock},\n    domain::Id,\n};\nuse axum::body;\n\
                  #[cfg(test)]\nmod tests { use crate::web; }\n";
    assert_eq!(
        violations("domain/filter.rs", domain),
        [
            "src/domain/filter.rs imports config::Filter; rule: domain -> support",
            "src/domain/filter.rs imports config::Key; rule: domain -> support",
            "src/domain/filter.rs imports axum; rule: it stays in web, server, demo",
        ]
    );
    let inline = "fn poll() { crate::metrics::exposition::encode(); crate::state::save() }\n";
    assert_eq!(
        violations("poller/poll.rs", inline),
        [
            "src/poller/poll.rs imports metrics::exposition; rule: poller -> api, config, domain, \
          state, metrics::instruments, support"
        ]
    );
    let tested = "#[cfg(test)]\nmod tests {\n    use crate::web;\n}\n";
    assert_eq!(
        violations("server/follow.rs", tested),
        ["src/server/follow.rs imports web; rule: server -> support"]
    );
}
