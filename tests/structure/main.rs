//! The rules of imports: each module imports only what [`TABLE`] allows, and neither modules nor
//! the files of a module form a cycle.
//!
//! The test reads the paths that the files of src use. It skips tests (`tests.rs`, `tests/`,
//! `testing.rs` and items under `#[cfg(test)]`). A re-export (`pub use child::Name;`) does not
//! count as an import: a file that uses the name depends on the file that defines it.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, helpers included"
)]

mod source;
mod writing;

use source::Source;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
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
    ("diagnosis", &["domain", "metrics::instruments", "support"]),
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
    ("reqwest", &["api", "commands::probe"]),
    ("axum", &["web", "server", "demo"]),
    ("figment", &["config"]),
    ("prometheus_client", &["metrics"]),
];

/// The imports that still break a rule: a file, and the path that it imports (the file, within a
/// module). An unused entry fails the test, so that the list can only shrink.
const EXCEPTIONS: [(&str, &str); 16] = [
    ("api/session.rs", "api"),
    ("commands/check_config.rs", "commands"),
    ("commands/demo.rs", "commands"),
    ("commands/once.rs", "commands"),
    ("commands/probe.rs", "commands"),
    ("commands/publish.rs", "commands"),
    ("commands/reload.rs", "commands"),
    ("commands/serve.rs", "commands"),
    ("config/layers.rs", "config"),
    ("config/reader.rs", "config"),
    ("config/sections.rs", "config"),
    ("diagnosis/data.rs", "diagnosis"),
    ("diagnosis/polling.rs", "diagnosis"),
    ("metrics/instruments/facts.rs", "metrics::instruments"),
    ("metrics/instruments/process.rs", "metrics::instruments"),
    ("state/format.rs", "state"),
];

#[test]
fn modules_import_only_what_the_table_allows() {
    let sources = source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 100, "{}", sources.len());
    let found = violations(&sources);
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
    assert!(found.len() > 30, "{found:?}");
}

/// Returns a line for each import that breaks a rule.
fn violations(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut unused = BTreeSet::from(EXCEPTIONS);
    let mut is_excepted = |source: &Source, path: &str| {
        let matching = |(file, excepted): &(&str, &str)| *file == source.file && *excepted == path;
        let exception = EXCEPTIONS.into_iter().find(matching);
        exception.is_some_and(|exception| {
            unused.remove(&exception);
            true
        })
    };
    let (mut modules, mut files) = (Edges::new(), Edges::new());
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let module = top(&source.module);
        for used in &source.uses {
            let target = source::resolve(sources, &used.path);
            let place = source.place(used);
            if top(&target) == module {
                let to = source::file_of(sources, &target);
                if to != source.module && !is_excepted(source, &to) {
                    let from = files.entry(source.module.clone()).or_default();
                    from.entry(to).or_insert(place);
                }
                continue;
            }
            if let Some(row) = forbidden(module, &target) {
                if is_excepted(source, &target) {
                    continue;
                }
                found.push(format!("{place}: {module} imports {target}; {row}"));
            }
            let from = modules.entry(module.to_owned()).or_default();
            from.entry(top(&target).to_owned()).or_insert(place);
        }
        for used in &source.libraries {
            let homes = LIBRARIES.iter().find(|(library, _)| *library == used.path);
            let Some((library, homes)) = homes else {
                continue;
            };
            let is_home = |home: &&&str| is_within(&source.module, home);
            if homes.iter().find(is_home).is_none() && !is_excepted(source, library) {
                let place = source.place(used);
                let homes = homes.join(", ");
                found.push(format!(
                    "{place}: {module} imports {library}; rule: {library} stays in {homes}"
                ));
            }
        }
    }
    found.extend(cycles("modules", &modules));
    found.extend(cycles("files", &files));
    if sources.len() > 100 {
        let unused = unused.iter();
        found.extend(unused.map(|(file, path)| format!("{file}: the exception {path} is unused")));
    }
    found
}

/// Returns the rule that forbids `module` to import `target`.
fn forbidden(module: &str, target: &str) -> Option<String> {
    let Some((_, allowed)) = TABLE.iter().find(|(of, _)| *of == module) else {
        return Some(format!("rule: the table has no row for {module}"));
    };
    if target == "config::Config" && module != "commands" {
        return Some("rule: a module imports its own section of config, not Config".to_owned());
    }
    if allowed.iter().any(|path| is_within(target, path)) {
        return None;
    }
    Some(format!("rule: {module} -> {}", allowed.join(", ")))
}

/// Returns whether `path` is `outer` or inside it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Returns the top-level module of a path.
fn top(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

/// The imports: from a module or file, to another one, at a place.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

/// Returns a line for each group of modules or files that import each other.
fn cycles(what: &str, edges: &Edges) -> Vec<String> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|from| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(one) = next.pop() {
                for to in edges.get(one).into_iter().flat_map(BTreeMap::keys) {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (from, seen)
        })
        .collect();
    let mut found = BTreeSet::new();
    for (from, tos) in &reachable {
        let group: BTreeSet<_> = tos
            .iter()
            .filter(|to| reachable.get(*to).is_some_and(|back| back.contains(from)))
            .collect();
        if group.is_empty() {
            continue;
        }
        let within = |one: &String| group.iter().any(|member| ***member == *one);
        let mut lines = format!("a cycle of {what}; rule: no cycles");
        for (from, tos) in edges.iter().filter(|(from, _)| within(from)) {
            for (to, place) in tos.iter().filter(|(to, _)| within(to)) {
                lines = format!("{lines}\n    {place}: {from} imports {to}");
            }
        }
        found.insert(lines);
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(file: &str, text: &str) -> Source {
        Source::parse(file, text)
    }

    #[test]
    fn a_forbidden_import_is_named_with_its_rule() {
        let broken = [
            source("domain.rs", "pub mod filter;\npub struct Id;\n"),
            source(
                "domain/filter.rs",
                "//! [`crate::config`]\nuse crate::{\n    config::Filter,\n    support::clock\n};\n\
                 use axum::body;\n",
            ),
            source(
                "config.rs",
                "fn a() { crate::web::serve(); \"crate::api::b\"; }\n",
            ),
            source(
                "server/a.rs",
                "use super::b::B;\n#[cfg(test)]\nmod tests { use crate::web; }\n",
            ),
            source("server/b.rs", "fn b() -> crate::server::a::A {}\n"),
        ];
        assert_eq!(
            violations(&broken),
            [
                "src/domain/filter.rs:3: domain imports config::Filter; rule: domain -> support",
                "src/domain/filter.rs:6: domain imports axum; \
                 rule: axum stays in web, server, demo",
                "src/config.rs:1: config imports web::serve; rule: config -> domain, support",
                "a cycle of files; rule: no cycles\n    \
                 src/server/a.rs:1: server::a imports server::b\n    \
                 src/server/b.rs:1: server::b imports server::a",
            ]
        );
    }

    #[test]
    fn a_re_exported_name_belongs_to_the_file_that_defines_it() {
        let facade = [
            source("api.rs", "mod a;\nmod b;\npub use a::A;\n"),
            source("api/a.rs", "pub struct A;\n"),
            source("api/b.rs", "use crate::api::A;\nuse super::A as Other;\n"),
        ];
        assert_eq!(violations(&facade), Vec::<String>::new());
        assert_eq!(source::resolve(&facade, "api::A"), "api::a::A");
    }
}
