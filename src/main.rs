//! The program: arguments, run, exit code.

use std::{io::Write as _, process::ExitCode};

fn main() -> ExitCode {
    match translation_exporter::run(translation_exporter::cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If stderr is closed, there is nowhere to report it.
            let _ = writeln!(std::io::stderr(), "translation-exporter: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
