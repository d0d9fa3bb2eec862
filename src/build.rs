//! Build script: which revision is built, and by which compiler. The crate reads both with `env!`.
//!
//! The revision is the first of these: `TRANSLATION_EXPORTER_REVISION` in the environment, the commit that git has
//! checked out here, the commit that `cargo package` noted in an unpacked crate, "unknown". Neither git nor a repository
//! is required.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const REVISION: &str = "TRANSLATION_EXPORTER_REVISION";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-env-changed={REVISION}");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let revision = given()
        .or_else(|| checked_out(&root))
        .or_else(|| packaged(&root));
    println!(
        "cargo::rustc-env={REVISION}={}",
        revision.as_deref().unwrap_or("unknown")
    );
    println!(
        "cargo::rustc-env=TRANSLATION_EXPORTER_RUSTC={}",
        compiler().as_deref().unwrap_or("unknown")
    );
}

fn given() -> Option<String> {
    let revision: String = env::var(REVISION)
        .ok()?
        .chars()
        .filter(char::is_ascii_graphic)
        .collect();
    (!revision.is_empty()).then_some(revision)
}

/// The commit of the git repository whose root this is, not of one around it.
fn checked_out(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    let revision = git(root, &["rev-parse", "--verify", "HEAD"])?;
    let branch = git(root, &["rev-parse", "--symbolic-full-name", "HEAD"]).unwrap_or_default();
    for file in ["HEAD", "logs/HEAD", "packed-refs", &branch] {
        // Cargo reruns this at each build if a watched file does not exist.
        if let Some(path) = git(root, &["rev-parse", "--git-path", file])
            && root.join(&path).is_file()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(revision)
}

fn packaged(root: &Path) -> Option<String> {
    let note = fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let (_, after) = note.split_once("\"sha1\"")?;
    after
        .split('"')
        .nth(1)
        .map(str::to_owned)
        .filter(|sha1| sha1.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn compiler() -> Option<String> {
    let version = output(Command::new(env::var_os("RUSTC")?).arg("--version"))?;
    version.split_whitespace().nth(1).map(str::to_owned)
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    output(Command::new("git").current_dir(root).args(arguments))
}

fn output(command: &mut Command) -> Option<String> {
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
