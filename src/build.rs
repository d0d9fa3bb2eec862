//! The build script: passes the revision, which a release sets, and the version of the compiler to
//! the crate, which reads both with `env!`.

use std::{env, process::Command};

const REVISION: &str = "TRANSLATION_EXPORTER_REVISION";

fn main() {
    println!("cargo::rerun-if-env-changed={REVISION}");
    let revision = env::var(REVISION).unwrap_or_else(|_| "unknown".to_owned());
    let compiler = env::var_os("RUSTC").unwrap_or_default();
    let answer = Command::new(compiler).arg("--version").output();
    let answer = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let answer = answer.unwrap_or_default();
    let version = answer.split(' ').nth(1).unwrap_or("unknown");
    println!("cargo::rustc-env={REVISION}={revision}");
    println!("cargo::rustc-env=TRANSLATION_EXPORTER_RUSTC={version}");
}
