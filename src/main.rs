//! The program: arguments, run, exit code.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::{env::args_os, process::ExitCode};
use translation_exporter::{cli, run};

fn main() -> ExitCode {
    // A core dump would hold the API key. Without it, the program runs as well.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let cli = cli::parse(args_os()).unwrap_or_else(|error| error.exit());
    run(cli).into()
}
