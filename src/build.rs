//! Build script: which revision is built, and by which compiler. The crate reads both with `env!`.
//!
//! The revision is the first of these: `TRANSLATION_EXPORTER_REVISION` in the environment, the commit that git has
//! checked out here, "unknown". Neither git nor a repository is required.

use std::{env, path::Path, process::Command};

const REVISION: &str = "TRANSLATION_EXPORTER_REVISION";

// Cargo runs this in the folder of Cargo.toml.
fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-env-changed={REVISION}");
    let unknown = || "unknown".to_owned();
    let revision = given().or_else(checked_out).unwrap_or_else(unknown);
    let compiler = compiler().unwrap_or_else(unknown);
    println!("cargo::rustc-env={REVISION}={revision}");
    println!("cargo::rustc-env=TRANSLATION_EXPORTER_RUSTC={compiler}");
}

fn given() -> Option<String> {
    let revision = env::var(REVISION).ok();
    revision.filter(|revision| !revision.is_empty())
}

/// The commit of the git repository whose root this is, not of one around it.
fn checked_out() -> Option<String> {
    let question = [
        "--git-dir=.git",
        "rev-parse",
        "HEAD",
        "--git-path",
        "logs/HEAD",
    ];
    let answer = output(Command::new("git").args(question))?;
    let (revision, log) = answer.split_once('\n')?;
    // Cargo reruns this at each build if a watched file does not exist.
    if Path::new(log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    Some(revision.to_owned())
}

fn compiler() -> Option<String> {
    let version = output(Command::new(env::var_os("RUSTC")?).arg("--version"))?;
    version.split_whitespace().nth(1).map(str::to_owned)
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
