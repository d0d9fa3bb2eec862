//! The inputs that the fuzz targets keep break no promise.

use std::{fs, path::Path};

mod inputs;

#[test]
fn no_input_of_the_corpora_breaks_a_promise() {
    let checks: [(&str, fn(&[u8])); 4] = [
        ("decode_page", inputs::decode_page),
        ("decode_languages", inputs::decode_languages),
        ("configuration", inputs::configuration),
        ("state_file", inputs::state_file),
    ];
    for (target, check) in checks {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() > 4, "{target} has a corpus");
        for file in files {
            println!("{}", file.display());
            check(&fs::read(file).unwrap());
        }
    }
}
