//! The program: arguments, run, exit code.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A core dump would hold the API key. Without it, the program runs as well.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let code = match translation_exporter::run(translation_exporter::cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    };
    translation_exporter::end_log();
    code
}
