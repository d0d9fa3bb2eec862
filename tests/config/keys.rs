//! Names that are none, files that are none, and the API key: what is refused, and how it is told without the key.

use super::{HEAD, refused_files};

#[test]
fn an_unknown_name_in_the_file_is_told_with_its_line_and_the_nearest_name() {
    refused_files(
        "",
        &[
            ("pol:\n  interval: 5m\n", r#"exporter.yml:1: unknown section "pol"; did you mean "poll"?"#),
            (
                "# a comment\n\ninterval: 5m\n",
                r#"exporter.yml:3: unknown section "interval"; indent it below the section "poll""#,
            ),
            (
                "poll.interval: 5m\n",
                r#"exporter.yml:1: unknown section "poll.interval"; write the section "poll:" and below it, indented, "interval:""#,
            ),
            (
                "zzz: 5m\n",
                r#"exporter.yml:1: unknown section "zzz"; the sections are api, poll, filter, state, web, log"#,
            ),
            (
                "api:\n  base-url: https://api.example.com\n",
                r#"exporter.yml:2: unknown key "api.base-url"; did you mean "api.base_url"?"#,
            ),
            (
                "api:\n  interval: 5m\n",
                r#"exporter.yml:2: unknown key "api.interval"; it belongs in the section "poll""#,
            ),
            (
                "api:\n  token: s3cret\n",
                r#"exporter.yml:2: unknown key "api.token"; the keys of api are base_url, allow_http, key, key_file, page_size, concurrency, requests_per_second, connect_timeout, timeout, max_attempts, max_retry_after, max_response_size, ca_file, completion_scale"#,
            ),
            (
                "poll:\n  intervall: 5m\n\nweb:\n  listen_adress: [':1']\n",
                "2 mistakes in the configuration:\n  exporter.yml:2: unknown key \"poll.intervall\"; did you mean \"poll.interval\"?\n  exporter.yml:5: unknown key \"web.listen_adress\"; did you mean \"web.listen_addresses\"?",
            ),
        ],
    );
}

#[test]
fn a_key_under_a_name_that_is_none_is_not_told() {
    refused_files(
        "",
        &[
            ("api: {kee: s3cret}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {kee: [s3cret]}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {kee: {s3cret: 1}}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {key:s3cret}\n", r#"exporter.yml:1: unknown key in the section api; did you mean "api.key"?"#),
            ("{key:s3cret}\n", "exporter.yml:1: unknown section; the sections are api, poll, filter, state, web, log"),
            (
                "api: {s3cretS3CRET0: }\n",
                "exporter.yml:1: unknown key in the section api; the keys of api are base_url, allow_http, key, key_file, page_size, concurrency, requests_per_second, connect_timeout, timeout, max_attempts, max_retry_after, max_response_size, ca_file, completion_scale",
            ),
            (
                "api: s3cret\n",
                "api (exporter.yml:1): is a section, but no mapping; write its keys below it, indented, each as `key: value`",
            ),
            ("key: s3cret\n", r#"exporter.yml:1: unknown section "key"; indent it below the section "api""#),
            (
                "s3cret\n",
                "exporter.yml: is no mapping; write sections (api, poll, filter, state, web, log) with their keys indented below",
            ),
        ],
    );
}

#[test]
fn a_key_that_is_no_text_or_cannot_be_sent_is_refused() {
    refused_files(
        HEAD,
        &[
            (
                "  key: 12345678901234567890\n",
                "api.key (exporter.yml:3): is a number, not text; give the API key as one text in quotes",
            ),
            (
                "  key: [s3cret, s3cret]\n",
                "api.key (exporter.yml:3): is a list, not text; give the API key as one text in quotes",
            ),
            (
                "  key: {s3cret: s3cret}\n",
                "api.key (exporter.yml:3): is a mapping, not text; give the API key as one text in quotes",
            ),
            (
                "  key: true\n",
                "api.key (exporter.yml:3): is a boolean, not text; give the API key as one text in quotes",
            ),
            ("  key: \n", "api.key (exporter.yml:3): is empty; give the API key, and nothing else"),
            ("  key: \"\"\n", "api.key (exporter.yml:3): is empty; give the API key, and nothing else"),
            (
                "  key: \"s3cret\\ns3cret\"\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
            (
                "  key: s3cret s3cret\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
            (
                "  key: s3cré s3cret\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
        ],
    );
}

#[test]
fn exactly_one_of_key_and_key_file_is_required() {
    refused_files(
        HEAD,
        &[
            (
                "",
                "api.key, api.key_file: one of them is required, and neither is given; set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
            ),
            (
                "  key: s3cret\n  key_file: key\n",
                "api.key (exporter.yml:3) and api.key_file (exporter.yml:4): only one of them may be given; remove one of the two",
            ),
        ],
    );
}

#[test]
fn a_key_file_that_cannot_give_a_key_is_refused() {
    refused_files(
        HEAD,
        &[
            (
                "  key_file: none/key\n",
                "api.key_file (exporter.yml:3): the API key file none/key cannot be read: No such file or directory (os error 2); see that the file exists and that this user may read it",
            ),
            (
                "  key_file: .\n",
                "api.key_file (exporter.yml:3): the API key file . cannot be read: Is a directory (os error 21); see that the file exists and that this user may read it",
            ),
            (
                "  key_file: ''\n",
                "api.key_file (exporter.yml:3): is empty; give the path of the file that holds the API key",
            ),
            (
                "  key_file: exporter.yml\n",
                "api.key_file (exporter.yml:3): the API key file exporter.yml holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); write the API key, and nothing else, into the file",
            ),
            (
                "  key_file: s3cretS3CRETs3cret\n",
                "api.key_file (exporter.yml:3): the file (not named here, for it might be the key itself) cannot be read: No such file or directory (os error 2); see that the file exists and that this user may read it",
            ),
        ],
    );
}

#[test]
fn a_file_that_is_no_yaml_is_refused_without_being_quoted() {
    refused_files(
        HEAD,
        &[
            (
                "  key: s3cret\n  key: s3cret\n",
                "exporter.yml:4: is not valid YAML: a name stands twice in one mapping; remove one of the two",
            ),
            (
                "   key: s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key s3cret\n  foo: 1\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key: \"s3cret\n",
                "exporter.yml:4: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key: *s3cret\n",
                "exporter.yml:3: is not valid YAML: an alias has no anchor; put the value in quotes if it begins with an asterisk",
            ),
            (
                "  key: !!int s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "	key: s3cret\n",
                "exporter.yml:2: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            ("  key: s3cret\n---\napi: {}\n", "exporter.yml:5: begins a second document; keep one document"),
            (
                "  ? [s3cret]\n  : s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
        ],
    );
}

#[test]
fn a_base_url_that_cannot_be_used_is_refused_without_being_quoted() {
    refused_files(
        "",
        &[
            (
                "api:\n  base_url: ''\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is empty; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: http://api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): would send the key in the clear: http to a host that is not loopback; write https://, or set api.allow_http to true",
            ),
            (
                "api:\n  base_url: ftp://api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is neither an https nor an http URL; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://user:s3cret@api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): holds a user or password, which the API does not take; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://api.example.com?key=s3cret\n  key: s3cret\n",
                r#"api.base_url (exporter.yml:2): holds a query (from its "?" on); give the root of the API, such as https://api.example.com"#,
            ),
            (
                "api:\n  base_url: https://api.example.com/#s3cret\n  key: s3cret\n",
                r##"api.base_url (exporter.yml:2): holds a fragment (from its "#" on); give the root of the API, such as https://api.example.com"##,
            ),
            (
                "api:\n  base_url: https://\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is no URL: empty host; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://[::1\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is no URL: invalid IPv6 address; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): does not begin with https://; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: localhost:80\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): does not begin with https://; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: [s3cret]\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is a list; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  key: s3cret\n",
                "api.base_url: is required and given nowhere; set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url",
            ),
        ],
    );
}
