//! The build script: passes the revision and the version of the compiler to the crate, which reads
//! both with `env!`.
//!
//! The revision is `TRANSLATION_EXPORTER_REVISION` of the environment, else the commit that git has
//! checked out here, else "unknown". A build needs neither git nor a repository.

use std::{env, path::Path, process::Command};

const REVISION: &str = "TRANSLATION_EXPORTER_REVISION";

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

/// Returns the commit of the git repository whose root is the current directory, which Cargo sets
/// to the folder of Cargo.toml. `--git-dir` ignores a repository around it.
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
    // If a watched file does not exist, Cargo runs this script in every build.
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
