//! No message shows the API key, wherever it was put.

use super::load;
use translation_exporter::{config::keys, domain::targets::TargetEntry};

/// Forms of API keys, among them relative paths. An absolute path is shown.
const PASTED: &[&str] = &[
    "s3cretS3CRET0123456789abcdef0123456789",
    "s3cret789",
    "s3cret/S3CRET+0123456789abcdefABCDEF==",
    "./s3cret/S3CRET0123456789abcdefABCDEF=",
    "../s3cretS3CRET0123456789abcdefABCDEF=",
    "sk_live_s3cretS3CRET0123456789abcdef",
    "s3cret00-1111-2222-3333-444455556666",
    "eyJs3cret.eyJzdWIiOiIxMjM0NTY3.SflKxwRJ",
    "~/s3cretS3CRET0123456789abcdefABCDEF",
    "user:s3cretS3CRET0123456789abcdefABCDEF",
    "s3cretS3CRET?0123456789abcdef#ABCDEF",
    "{s3cretS3CRET0123456789abcdefABCDEF",
    "[s3cretS3CRET0123456789abcdefABCDEF]",
    "'s3cret/S3CRET0123456789abcdefABCDEF'",
    "${s3cretS3CRET0123456789abcdefABCDEF}",
];

/// Each form in the place of every value, and of every value but the key: a file that does not exist
/// may then be the key. A valid glob or path is no mistake, even if it looks like a key.
#[test]
fn no_message_shows_a_key_in_the_place_of_another_value() {
    for (pasted, with_key) in PASTED
        .iter()
        .flat_map(|pasted| [(pasted, true), (pasted, false)])
    {
        let keys: Vec<_> = keys()
            .filter(|key| with_key || key.path != "api.key")
            .collect();
        let quoted = format!("'{}'", pasted.replace('\'', "''"));
        let mut file = String::new();
        let mut section = "";
        for key in keys.iter().copied().chain(TargetEntry::KEYS) {
            let (this, name) = key.path.split_once('.').unwrap();
            let indent = if this == "targets" { "  - " } else { "  " };
            if this != section {
                file = format!("{file}{this}:\n");
            }
            file = format!("{file}{indent}{name}: {quoted}\n");
            section = this;
        }
        let variables: Vec<_> = keys.iter().map(|key| (key.variable(), *pasted)).collect();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let flags = keys.iter().filter_map(|key| key.option());
        let flags: Vec<_> = flags.map(|(flag, _)| format!("{flag}={pasted}")).collect();
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        for (mistakes, loaded) in [
            (17, load(Some(&file), &[], &[])),
            (13, load(None, &variables, &[])),
            (5, load(None, &[], &flags)),
        ] {
            let message = loaded.unwrap_err();
            assert!(message.lines().count() >= mistakes, "{message}");
            assert!(!message.to_lowercase().contains("s3cret"), "{message}");
        }
    }
}
