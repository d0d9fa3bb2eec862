//! Unknown names, files that cannot be used, and the API key: what is refused, and what is said
//! without showing the key.

use super::{GOOD, HEAD, accepted, load, refused, refused_files, refused_values};
use translation_exporter::config::{KEYS, TARGET_KEYS};

/// Refuses files whose required keys are variables.
fn refused_names(files: &[(&str, &str)]) {
    let required = [
        (
            "TRANSLATION_EXPORTER_API__BASE_URL",
            "https://api.example.com",
        ),
        ("TRANSLATION_EXPORTER_API__KEY", "1234567890"),
    ];
    for (file, expected) in files {
        refused(Some(file), &required, &[], expected);
    }
}

#[test]
fn an_unknown_name_in_the_file_is_shown_with_the_nearest_one() {
    let below = r#"…below the section "poll:""#;
    refused_names(&[
        (
            "pol:\n  interval: 5m\n",
            r#"exporter.yml:1: unknown section "pol"…did you mean "poll"?"#,
        ),
        (
            "# a comment\n\ninterval: 5m\n",
            &format!(r#"exporter.yml:3: unknown section "interval"{below}"#),
        ),
        (
            "poll.interval: 5m\n",
            &format!(r#"exporter.yml:1: unknown section "poll.interval"…"interval:"{below}"#),
        ),
        (
            "web:\n  max_requests: 5\n",
            "exporter.yml:2: web.max_requests is gone: it never limited anything…; remove it",
        ),
        (
            "zzz: 5m\n",
            r#"exporter.yml:1: unknown section "zzz"…poll, filter, thresholds, links, state"#,
        ),
        (
            "api:\n  base-url: x\n",
            r#"exporter.yml:2: unknown key "api.base-url"; did you mean "api.base_url"?"#,
        ),
        (
            "api:\n  interval: 5m\n",
            &format!(r#"exporter.yml:2: unknown key "api.interval"{below}"#),
        ),
        (
            "api:\n  token: s3cret\n",
            r#"exporter.yml:2: unknown key "api.token"…base_url, allow_http, key, key_file"#,
        ),
        (
            "poll:\n  intervall: 5m\n\nweb:\n  listen_adress: [':1']\n",
            "2 mistakes\nexporter.yml:2…did you mean \"poll.interval\"?\n\
                 exporter.yml:5…\"web.listen_addresses\"?",
        ),
    ]);
}

#[test]
fn a_key_under_an_unknown_name_is_not_shown() {
    let nearest = r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#;
    let no_section = "api (exporter.yml:1): is not a mapping; write the keys of a section below it";
    let no_sections = "exporter.yml:1: is not a mapping; write the keys of a section below it…the \
                       sections are api, poll";
    refused_names(&[
        ("api: {kee: s3cret}\n", nearest),
        ("api: {kee: [s3cret]}\n", nearest),
        (
            "api: {key:s3cret}\n",
            r#"exporter.yml:1: unknown key api.…; did you mean "api.key"?"#,
        ),
        (
            "{key:s3cret}\n",
            "exporter.yml:1: unknown section…api, poll, filter, thresholds, links",
        ),
        (
            "api: {s3cretS3CRET0: }\n",
            "exporter.yml:1: unknown key api.…base_url, allow_http, key",
        ),
        ("api: s3cret\n", no_section),
        ("api: [s3cret]\n", no_section),
        ("api: 1234567890\n", no_section),
        (
            "key: s3cret\n",
            r#"exporter.yml:1: unknown section "key"…below the section "api:""#,
        ),
        ("s3cret\n", no_sections),
        ("- api: s3cret\n", no_sections),
    ]);
}

#[test]
fn a_key_that_is_not_text_or_cannot_be_sent_is_refused() {
    let unfit = "api.key (exporter.yml:3)…cannot be sent in a header (a line break, a space, \
                 or one that is not printable ASCII); set the API key, and nothing else";
    refused_files(
        HEAD,
        &[
            (
                "  key: 12345678901234567890\n",
                "api.key (exporter.yml:3)…one text in quotes",
            ),
            (
                "  key: [s3cret, s3cret]\n",
                "api.key (exporter.yml:3)…one text in quotes…a list",
            ),
            (
                "  key: true\n",
                "api.key (exporter.yml:3): is not text in quotes; give the API key as one text",
            ),
            ("  key: \"s3cret\\ns3cret\"\n", unfit),
            ("  key: s3cret s3cret\n", unfit),
            (
                "  key: \"'s3cret'\"\n",
                "api.key (exporter.yml:3)…begins with a quote",
            ),
            (
                "  key: ${API_KEY}\n",
                "api.key (exporter.yml:3)…begins with ${",
            ),
            ("  key: \"s3cret \"\n", unfit),
            ("  key: s3cré s3cret\n", unfit),
        ],
    );
}

#[test]
fn exactly_one_of_key_and_key_file_is_required() {
    let neither = "api.key…required, or api.key_file…neither is set…set api.key_file to the file \
                   that holds the API \
                   key, or TRANSLATION_EXPORTER_API__KEY to the key";
    let both = "api.key (exporter.yml:3)…api.key_file (exporter.yml:4)…remove one of the two";
    refused_files(
        HEAD,
        &[
            ("", neither),
            ("  key: \n", neither),
            ("  key: \"\"\n", neither),
            ("  key_file: ''\n", neither),
            ("  key: s3cret\n  key_file: key\n", both),
        ],
    );
}

#[test]
fn an_unusable_key_file_is_refused() {
    let refused_file = |file: &str, words: &str| {
        let expected = format!("api.key_file (exporter.yml:3)…{words}");
        refused_files(HEAD, &[(&format!("  key_file: {file}\n"), &expected)]);
    };
    let see = "make sure that the file exists and that this user can read it";
    refused_file(".", &format!("file . cannot be read: Is a directory…{see}"));
    refused_file("/dev/null", "not a regular file");
    refused_file(
        "/dev/none",
        &format!("/dev/none cannot be read: No such file…{see}"),
    );
    refused_file(
        "./none.pem",
        &format!("./none.pem cannot be read: No such file…{see}"),
    );
    refused_file(
        "./exporter.yml",
        "./exporter.yml…header…the API key, and nothing else",
    );
}

/// Forms of API keys, among them relative and absolute paths.
const PASTED: &[&str] = &[
    "s3cretS3CRET0123456789abcdef0123456789",
    "s3cret789",
    "s3cret/S3CRET+0123456789abcdefABCDEF==",
    "/s3cretS3CRET0123456789abcdefABCDEF==",
    "/s3cret/S3CRET0123456789/abcdefABCDEF=",
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

/// Each form in the place of every value, and of every value but the key. A valid glob or path is
/// no mistake, even if it looks like a key.
#[test]
fn no_message_shows_a_key_in_the_place_of_another_value() {
    for (pasted, with_key) in PASTED
        .iter()
        .flat_map(|pasted| [(pasted, true), (pasted, false)])
    {
        let keys: Vec<_> = KEYS
            .iter()
            .filter(|key| with_key || key.path != "api.key")
            .collect();
        let quoted = format!("'{}'", pasted.replace('\'', "''"));
        let mut file = String::new();
        let mut section = "";
        for key in keys.iter().copied().chain(TARGET_KEYS) {
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
        let flags = keys.iter().filter_map(|key| key.flag.as_ref());
        let flags: Vec<_> = flags
            .map(|flag| format!("{}={pasted}", flag.name))
            .collect();
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        for (mistakes, loaded) in [
            (25, load(Some(&file), &[], &[])),
            (20, load(None, &variables, &[])),
            (5, load(None, &[], &flags)),
            (1, load(None, &[], &[&format!("--config.file={pasted}")])),
        ] {
            let message = loaded.unwrap_err();
            assert!(message.lines().count() >= mistakes, "{message}");
            assert!(!message.to_lowercase().contains("s3cret"), "{message}");
        }
    }
}

/// A message hides each name that might be the key, and says so.
#[test]
fn a_key_in_the_place_of_any_path_is_refused() {
    let hidden = "(its name is not shown, since it might be the API key itself) does not exist; ";
    let existing = format!("{hidden}give the path of a file that exists");
    let pasted = &[
        "s3cret",
        "a/s3cret",
        "/s3cret",
        "./s3cret",
        "/s3cret/s3cret",
    ];
    refused_values(&[
        ("api.ca_file", pasted, &existing),
        ("web.config_file", pasted, &existing),
        (
            "state.file",
            pasted,
            &format!("{hidden}write its folder too, or an extension such as that of state.json"),
        ),
    ]);
    for pasted in pasted {
        let expected = format!("api.key_file (exporter.yml:3)…{existing}");
        refused_files(HEAD, &[(&format!("  key_file: {pasted}\n"), &expected)]);
    }
    accepted(
        Some(&format!("{GOOD}state:\n  file: state.json\n")),
        &[],
        &[],
    );
}

#[test]
fn a_file_that_is_not_yaml_is_refused_without_being_quoted() {
    let malformed = |line: u64| {
        format!("exporter.yml:{line}: is not valid YAML…malformed…this line and the one before it")
    };
    let twice = "exporter.yml:4: is not valid YAML…twice in one mapping; remove one of the two";
    refused_files(
        HEAD,
        &[
            ("  key: s3cret\n  key: s3cret\n", twice),
            ("   key: s3cret\n", &malformed(3)),
            ("  key s3cret\n  foo: 1\n", &malformed(3)),
            ("  key: \"s3cret\n", &malformed(4)),
            (
                "  key: *s3cret\n",
                "exporter.yml:3: is not valid YAML: an alias has no anchor; put the value in \
                 quotes",
            ),
            ("  key: !!int s3cret\n", &malformed(3)),
            (
                "\tkey: s3cret\n",
                "line 3 begins with a tab; indent it with blanks",
            ),
            (
                "  key: s3cret\n---\napi: {}\n",
                "exporter.yml:5: is not valid YAML: a second document begins here; keep one",
            ),
            ("  ? [s3cret]\n  : s3cret\n", "exporter.yml:3: …"),
        ],
    );
}

#[test]
fn a_base_url_that_cannot_be_used_is_refused_without_being_quoted() {
    let with = |url: &str, words: &str| {
        let expected = format!("api.base_url (exporter.yml:2)…{words}");
        refused_files(
            "",
            &[(
                &format!("api:\n  base_url: {url}\n  key: s3cret\n"),
                &expected,
            )],
        );
    };
    with(
        "http://api.example.com",
        "unencrypted…write https://, or set api.allow_http to true",
    );
    let root = "give the root of the API, such as https://api.example.com";
    for (url, problem) in [
        ("ftp://api.example.com", "begins with neither https:// nor"),
        ("https://user:s3cret@api.example.com", "a password"),
        ("https://api.example.com?key=s3cret", "a query"),
        ("https://api.example.com/#s3cret", "a fragment"),
        ("https://", "not a URL"),
        ("https://[::1", "not a URL"),
        ("api.example.com", "begins with neither https:// nor"),
        ("localhost:80", "begins with neither https:// nor"),
    ] {
        with(url, &format!("{problem}…{root}"));
    }
    with(
        "[s3cret]",
        "the root of the API, such as https://api.example.com…a list",
    );
    let missing = "api.base_url…required, but not set…in the configuration file, as \
                   TRANSLATION_EXPORTER_API__BASE_URL or with --api.base-url";
    refused_files(
        "",
        &[
            ("api:\n  key: s3cret\n", missing),
            ("api:\n  base_url: ''\n  key: s3cret\n", missing),
        ],
    );
}
