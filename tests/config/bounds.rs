//! Values outside their bounds or of the wrong type: what is refused, and what the message says.

use super::refused_values;

#[test]
fn numbers_outside_their_bounds_are_refused() {
    let rate = "0 for no limit, or 0.001 to 1000000…\"{}\"";
    let not_finite = "exporter.yml:4: holds a number that is not finite; give a finite one";
    refused_values(&[
        (
            "api.page_size",
            &["0", "1001", "-1", "many", "1.5"],
            "whole number from 1 to 1000…\"{}\"",
        ),
        ("api.concurrency", &["0", "1025"], "1 to 1024…\"{}\""),
        ("api.requests_per_second", &["-1", "0.0001", "fast"], rate),
        ("api.max_attempts", &["0", "11"], "1 to 10…\"{}\""),
        (
            "api.max_response_size",
            &["0", "16MuB"],
            "at least 1B, such as 512KiB or 16MiB…\"{}\"",
        ),
        (
            "api.completion_scale",
            &["0.5", "'inf'", "all"],
            "means finished, a number of at least 1…\"{}\"",
        ),
        (
            "api.max_repositories",
            &["0", "10000001"],
            "1 to 10000000…\"{}\"",
        ),
        ("web.max_requests", &["0"], "1 to 1000000…\"{}\""),
    ]);
    for value in [".inf", ".nan"] {
        let file = format!("{}  completion_scale: {value}\n", super::GOOD);
        super::refused(Some(&file), &[], &[], not_finite);
    }
}

#[test]
fn durations_outside_their_bounds_are_refused() {
    let unit = "1ms…with its unit, such as 30s, 5m or 1h 30m…\"{}\"";
    refused_values(&[
        ("api.timeout", &["30", "0s", "soon"], unit),
        (
            "api.timeout",
            &["30s\n    and more than a duration"],
            "a text of 28 characters",
        ),
        ("api.timeout", &["200y"], "100 years…\"{}\""),
        // A month.
        (
            "poll.interval",
            &["5M"],
            "is \"5M\", in months: write a lowercase m",
        ),
        ("api.connect_timeout", &["0ms"], "1ms…\"{}\""),
        ("api.max_retry_after", &["25h"], "1s to 24h…\"{}\""),
        ("poll.interval", &["999ms", "''"], "1s…with its unit…\"{}\""),
        (
            "poll.stale_after",
            &["0s"],
            "from twice poll.interval to 100 years…\"{}\"",
        ),
        (
            "poll.stale_after",
            &["9m"],
            "is 9m, less than twice poll.interval, which is 5m (default)…at least 10m",
        ),
    ]);
}

#[test]
fn a_filter_that_is_not_a_list_of_globs_is_refused() {
    refused_values(&[
        (
            "filter.include",
            &["['acme/[']"],
            "\"acme/[\"…missing ']'…[\"acme/*\"]",
        ),
        (
            "filter.exclude",
            &["['{acme']"],
            "\"{acme\"…missing '}'…[\"acme/*\"]",
        ),
        (
            "filter.exclude",
            &["[acme]", "acme"],
            "\"acme\", which contains no slash, so it matches no owner/repo: append /*",
        ),
        (
            "filter.include",
            &["'\"acme/*\"'", "\"'acme/*'\""],
            "quote…in quotes, such as [\"acme/*\"]",
        ),
        ("filter.include", &["[~]"], "holds nothing…[\"acme/*\"]"),
    ]);
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused() {
    refused_values(&[
        (
            "web.listen_addresses",
            &["[]", "''"],
            "is empty…[\":10018\"",
        ),
        (
            "web.listen_addresses",
            &["['10018']"],
            "no port: write \":10018\"",
        ),
        (
            "web.listen_addresses",
            &["['localhost']"],
            "\"localhost\" has no port…host:port",
        ),
        (
            "web.listen_addresses",
            &["['::1:80']"],
            "\"::1:80\" holds an IPv6 address without brackets…\"[::1]:10018\"",
        ),
        (
            "web.listen_addresses",
            &["[':65536']"],
            "\":65536\"…0 to 65535",
        ),
        (
            "web.listen_addresses",
            &["['http://x:1']"],
            "\"http://x:1\"…host…host:port",
        ),
        (
            "web.listen_addresses",
            &["['*:1']", "['%31:1']", "['[x]:1']"],
            "neither a name nor an address",
        ),
    ]);
}

#[test]
fn a_path_that_cannot_be_served_is_refused() {
    refused_values(&[
        (
            "web.telemetry_path",
            &["metrics", "''"],
            "\"{}\", which does not begin with a slash…such as /metrics",
        ),
        (
            "web.telemetry_path",
            &["/", "/-/ready"],
            "\"{}\", which is a path of the exporter itself…such as /metrics",
        ),
        (
            "web.telemetry_path",
            &["/translations.json"],
            "which is a path of the exporter itself…such as /metrics",
        ),
        (
            "web.telemetry_path",
            &["//metrics"],
            "\"{}\", which begins with two slashes…one slash",
        ),
        (
            "web.telemetry_path",
            &["/./a", "/a/..", "/.", "/a/../b"],
            "\"{}\", which has a part . or ..…letters, digits and -._~/",
        ),
        (
            "web.telemetry_path",
            &["'/a?b'", "'/a#b'", "'/{a}'", "'/a b'"],
            "\"{}\", which holds a character that is not allowed…letters, digits and -._~/",
        ),
    ]);
}

#[test]
fn a_link_that_is_no_url_template_is_refused_with_its_placeholders() {
    let of_repository = "…the placeholders are {id}, {repo}, {owner} and {name}";
    let of_language = "…the placeholders are {id}, {repo}, {owner}, {name} and {language}";
    let start = "https://t.example.com/";
    for (value, words) in [
        (
            "ftp://t.example.com/{id}",
            "does not begin with https:// or http://",
        ),
        (
            "t.example.com/{id}",
            "does not begin with https:// or http://",
        ),
        (
            &*format!("{start}{{lang}}"),
            "holds the unknown placeholder {lang}",
        ),
        (
            &*format!("{start}{{s3cret0}}"),
            "holds an unknown placeholder; give",
        ),
        (&*format!("{start}{{id"), "a brace without its counterpart"),
        (
            &*format!("{start}a b"),
            "a blank, a quote or another character",
        ),
        ("https://me:s3cret@t.example.com/", "a user or a password"),
        ("https://", "makes no URL: empty host"),
    ] {
        let written = format!("'{value}'");
        let repository = format!("{words}{of_repository}");
        let language = format!("{words}{of_language}");
        refused_values(&[
            ("links.repository", &[&written], &repository),
            ("links.language", &[&written], &language),
        ]);
    }
    refused_values(&[
        (
            "links.repository",
            &["'https://t.example.com/{language}'"],
            "holds the unknown placeholder {language}…{id}, {repo}, {owner} and {name}",
        ),
        ("links.language", &["[a]"], "an https or http URL…is a list"),
    ]);
}

#[test]
fn a_word_that_is_not_one_of_those_allowed_is_refused() {
    refused_values(&[
        ("api.allow_http", &["maybe", "2"], "true or false…\"{}\""),
        ("filter.private", &["perhaps"], "true or false…\"{}\""),
        ("web.enable_lifecycle", &["maybe"], "true or false…\"{}\""),
        (
            "log.level",
            &["loud"],
            "error, warn, info, debug or trace…\"{}\"",
        ),
        ("log.format", &["text"], "logfmt or json…\"{}\""),
    ]);
}

#[test]
fn a_list_or_mapping_in_place_of_one_value_and_the_reverse_are_refused() {
    refused_values(&[
        (
            "api.page_size",
            &["[1]"],
            "whole number from 1 to 1000…is a list",
        ),
        ("api.ca_file", &["[a]"], "path of a file…a list"),
        ("web.config_file", &["{a: b}"], "path of a file…a mapping"),
        (
            "filter.include",
            &["{acme: x}"],
            "list of globs on owner/repo…a mapping",
        ),
    ]);
}

/// YAML reads `010` as 10, `1.10` as 1.1 and `no` as false, which is not what was written.
#[test]
fn a_bare_number_or_boolean_in_place_of_text_must_be_quoted() {
    refused_values(&[
        (
            "state.file",
            &["010", "1.10"],
            "path of a file…a number, not text in quotes",
        ),
        (
            "web.config_file",
            &["no"],
            "path of a file…a boolean, not text in quotes",
        ),
        ("web.telemetry_path", &["1"], "a number, not text in quotes"),
        (
            "web.listen_addresses",
            &["10018", "[10018]"],
            "host:port in quotes…a number",
        ),
        ("filter.include", &["[1]"], "list of globs…a number…quotes"),
        (
            "log.level",
            &["3"],
            "error, warn, info, debug or trace…a number",
        ),
    ]);
}
