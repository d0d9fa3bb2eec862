//! Layers, files and addresses that cannot be read or used.

use super::{GOOD, check, run};
use std::{collections::BTreeMap, fs};
use translation_exporter::config::{self, Draft, Options};

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let utf_16 = GOOD.encode_utf16().flat_map(u16::to_le_bytes);
    let utf_16 = [0xff, 0xfe].into_iter().chain(utf_16).collect();
    for text in [utf_16, b"# f\xfcr\n".to_vec()] {
        fs::write(folder.path().join("exporter.yml"), text).unwrap();
        let path = folder.path().join("exporter.yml").display().to_string();
        let options = Options::from([("config.file", path)]);
        let message = config::read(&options, &BTreeMap::new())
            .and_then(Draft::finish)
            .unwrap_err()
            .to_string();
        let expected = "exporter.yml cannot be read: stream did not contain valid UTF-8; give the \
                        path of a readable YAML file in UTF-8";
        assert!(message.ends_with(expected), "{message}");
    }
}

/// Values, files, folders and addresses are checked in one go; `once` listens on no address and
/// reads no web configuration file.
#[test]
fn files_and_addresses_are_checked_together_with_values() {
    // No label of a name is so long, so that no resolver is asked.
    let host = "x".repeat(64);
    let file = format!(
        "{GOOD}  timeout: 0s\n  ca_file: ./ca.pem\nweb:\n  config_file: ./web.yml\n  \
         listen_addresses: [':1', '{host}:1']\nstate:\n  file: ./none/state.json\n"
    );
    let both = [
        "api.timeout (exporter.yml:4): is \"0s\"; give",
        "api.ca_file (exporter.yml:5): cannot read certificates from ./ca.pem: ",
        "state.file (exporter.yml:10): cannot use the state file ",
    ];
    let listen = format!("web.listen_addresses (exporter.yml:8): cannot listen on \"{host}:1\": ");
    let serving = [
        "web.config_file (exporter.yml:7): the web configuration",
        &*listen,
    ];
    for (command, expected) in [
        ("check-config", [&both[..2], &serving, &both[2..]].concat()),
        ("once", both.to_vec()),
    ] {
        let output = run(command, Some(&file), &[], &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        let message = message.trim_start_matches("translation-exporter: ");
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(lines.len(), expected.len(), "{message}");
        for (line, words) in lines.iter().zip(expected) {
            assert!(line.starts_with(words), "{line}\nis not\n{words}");
        }
    }
}

#[test]
fn check_config_refuses_a_folder_and_an_address_that_serve_cannot_use() {
    // No label of a name is so long, so that no resolver is asked.
    let host = "x".repeat(64);
    for (flag, words) in [
        (
            "--state.file=/proc/state.json",
            "cannot use the state file /proc/state.json: ",
        ),
        (&*format!("--web.listen-address={host}:1"), &*host),
    ] {
        let output = check(Some(GOOD), &[], &[flag]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message}");
    }
}
