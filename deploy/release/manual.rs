//! Writes the man page and the shell completions of the program, for the package and the archives:
//!
//!     cargo run --example manual -- FOLDER
//!
//! They are generated from the definition of the command line, so that they always agree with `--help`.

use clap_complete::{Shell, generate_to};
use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("usage: manual FOLDER")?;
    fs::create_dir_all(&folder)?;
    // For --version the definition has another name and more than the number.
    let mut command = translation_exporter::cli::command()
        .display_name("translation-exporter")
        .version(env!("CARGO_PKG_VERSION"))
        .mut_subcommands(|command| {
            let name = format!("translation-exporter-{}", command.get_name());
            command
                .display_name(name)
                .version(env!("CARGO_PKG_VERSION"))
        });
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        generate_to(shell, &mut command, "translation-exporter", &folder)?;
    }
    clap_mangen::generate_to(command, &folder)?;
    Ok(())
}
