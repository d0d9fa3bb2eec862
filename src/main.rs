//! The program: arguments, run, exit code.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::process::ExitCode;
use translation_exporter::{cli, run};

fn main() -> ExitCode {
    // A core dump would hold the API key. Without it, the program runs as well.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    run(cli::parse()).into()
}
