//! Replays the committed corpora of the fuzz targets.

use std::{fs, path::Path};

mod inputs;

#[test]
fn the_parsers_keep_their_promises_for_the_corpora() {
    replay("decode_page", inputs::decode_page);
    replay("decode_languages", inputs::decode_languages);
    replay("configuration", inputs::configuration);
    replay("state_file", inputs::state_file);
}

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(files.len() > 4, "{target} has a corpus");
    for file in files {
        println!("{}", file.display());
        check(&fs::read(file).expect("a file"));
    }
}
