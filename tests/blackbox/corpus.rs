//! The bytes of strangers that the fuzz targets keep break no promise.

use std::{fs, path::Path};

#[path = "../fuzz/inputs.rs"]
mod inputs;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 4, "{target} has a corpus");
    for file in files {
        println!("{}", file.display());
        check(&fs::read(file).unwrap());
    }
}

#[test]
fn pages_of_the_listing() {
    replay("decode_page", inputs::decode_page);
}

#[test]
fn languages_of_a_repository() {
    replay("decode_languages", inputs::decode_languages);
}

#[test]
fn the_configuration_file() {
    replay("configuration", inputs::configuration);
}

#[test]
fn the_state_file() {
    replay("state_file", inputs::state_file);
}
