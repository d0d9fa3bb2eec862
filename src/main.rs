//! The program: arguments, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
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
