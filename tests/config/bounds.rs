//! Values that are none: what is refused, and how it is told.

use super::{GOOD, refused_files};

#[test]
fn numbers_of_the_api_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            (
                "  page_size: 0\n",
                "api.page_size (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 1000",
            ),
            (
                "  page_size: 1001\n",
                "api.page_size (exporter.yml:4): 1001 is out of bounds; give a whole number from 1 to 1000",
            ),
            (
                "  page_size: many\n",
                r#"api.page_size (exporter.yml:4): "many" is no whole number; give a whole number from 1 to 1000"#,
            ),
            (
                "  page_size: 1.5\n",
                r#"api.page_size (exporter.yml:4): "1.5" is no whole number; give a whole number from 1 to 1000"#,
            ),
            ("  page_size: [1]\n", "api.page_size (exporter.yml:4): is a list; give a whole number from 1 to 1000"),
            (
                "  concurrency: 0\n",
                "api.concurrency (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 1024",
            ),
            (
                "  concurrency: 1025\n",
                "api.concurrency (exporter.yml:4): 1025 is out of bounds; give a whole number from 1 to 1024",
            ),
            (
                "  requests_per_second: -1\n",
                "api.requests_per_second (exporter.yml:4): -1 is out of bounds; give 0 for no limit, or 0.001 to 1000000",
            ),
            (
                "  requests_per_second: 1e-9\n",
                "api.requests_per_second (exporter.yml:4): 0.000000001 is out of bounds; give 0 for no limit, or 0.001 to 1000000",
            ),
            ("  requests_per_second: .inf\n", "exporter.yml:4: holds a number that is not finite; give a finite one"),
            (
                "  requests_per_second: fast\n",
                r#"api.requests_per_second (exporter.yml:4): "fast" is no number; give 0 for no limit, or 0.001 to 1000000"#,
            ),
            (
                "  max_attempts: 0\n",
                "api.max_attempts (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 10",
            ),
            (
                "  max_attempts: 11\n",
                "api.max_attempts (exporter.yml:4): 11 is out of bounds; give a whole number from 1 to 10",
            ),
            ("  max_retry_after: 25h\n", "api.max_retry_after (exporter.yml:4): 1day 1h is too long; give at most 24h"),
            (
                "  max_response_size: 0\n",
                r#"api.max_response_size (exporter.yml:4): "0" is too small; give at least 1B, such as 512KiB or 16MiB"#,
            ),
            (
                "  max_response_size: 16MuB\n",
                r#"api.max_response_size (exporter.yml:4): "16MuB" is no size; give at least 1B, such as 512KiB or 16MiB"#,
            ),
            (
                "  completion_scale: 0.5\n",
                "api.completion_scale (exporter.yml:4): 0.5 is out of bounds; give the completion that means finished, a number of at least 1",
            ),
            ("  completion_scale: .nan\n", "exporter.yml:4: holds a number that is not finite; give a finite one"),
            (
                "  completion_scale: all\n",
                r#"api.completion_scale (exporter.yml:4): "all" is no number; give the completion that means finished, a number of at least 1"#,
            ),
            (
                "  allow_http: maybe\n",
                r#"api.allow_http (exporter.yml:4): "maybe" is neither true nor false; write true or false"#,
            ),
            (
                "  allow_http: 1\n",
                r#"api.allow_http (exporter.yml:4): "1" is neither true nor false; write true or false"#,
            ),
            ("  ca_file: [a]\n", "api.ca_file (exporter.yml:4): is a list; give the path of a file"),
        ],
    );
}

#[test]
fn durations_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            (
                "  timeout: 30\n",
                r#"api.timeout (exporter.yml:4): "30" has no unit; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: 0s\n",
                r#"api.timeout (exporter.yml:4): "0s" is too short; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: soon\n",
                r#"api.timeout (exporter.yml:4): "soon" is no duration; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: 30s\n    and more than a duration\n",
                "api.timeout (exporter.yml:4): a text of 28 characters is no duration; give at least 1ms with its unit, such as 30s, 5m or 1h 30m",
            ),
            (
                "  connect_timeout: 0ms\n",
                r#"api.connect_timeout (exporter.yml:4): "0ms" is too short; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: 200y\n",
                r#"api.timeout (exporter.yml:4): "200y" is longer than 100 years; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "poll:\n  interval: 999ms\n",
                r#"poll.interval (exporter.yml:5): "999ms" is too short; give at least 1s with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "poll:\n  interval:\n",
                "poll.interval (exporter.yml:5): is empty; give at least 1s with its unit, such as 30s, 5m or 1h 30m",
            ),
            (
                "poll:\n  stale_after: 9m\n",
                "poll.stale_after (exporter.yml:5): 9m is less than twice poll.interval, which is 5m (default); give at least 10m, or shorten poll.interval",
            ),
            (
                "poll:\n  interval: 2h\n  stale_after: 3h\n",
                "poll.stale_after (exporter.yml:6): 3h is less than twice poll.interval, which is 2h (exporter.yml:5); give at least 4h, or shorten poll.interval",
            ),
        ],
    );
}

#[test]
fn a_filter_that_is_no_list_of_globs_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "filter:\n  include: acme/*\n",
                r#"filter.include (exporter.yml:5): is text, not a list; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  include: ['acme/[']\n",
                r#"filter.include (exporter.yml:5): the glob "acme/[" does not parse: unclosed character class; missing ']'; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  exclude: ['{acme']\n",
                r#"filter.exclude (exporter.yml:5): the glob "{acme" does not parse: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  exclude: ['']\n",
                r#"filter.exclude (exporter.yml:5): holds an empty glob; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  include: [1]\n",
                r#"filter.include (exporter.yml:5): holds a number where text should be; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  private: perhaps\n",
                r#"filter.private (exporter.yml:5): "perhaps" is neither true nor false; write true or false"#,
            ),
        ],
    );
}

#[test]
fn what_cannot_be_served_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "web:\n  listen_addresses: ':10018'\n",
                r#"web.listen_addresses (exporter.yml:5): is text, not a list; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: []\n",
                r#"web.listen_addresses (exporter.yml:5): is empty; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['10018']\n",
                r#"web.listen_addresses (exporter.yml:5): "10018" has no port; write ":10018""#,
            ),
            (
                "web:\n  listen_addresses: [10018]\n",
                r#"web.listen_addresses (exporter.yml:5): holds a number where text should be; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['localhost']\n",
                r#"web.listen_addresses (exporter.yml:5): "localhost" has no port; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['::1:80']\n",
                r#"web.listen_addresses (exporter.yml:5): "::1:80" holds an IPv6 address without brackets; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: [':65536']\n",
                r#"web.listen_addresses (exporter.yml:5): ":65536" has a port that is no number from 0 to 65535; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['http://x:1']\n",
                r#"web.listen_addresses (exporter.yml:5): "http://x:1" has a host that is neither a name nor an address; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: [':1', ':1']\n",
                r#"web.listen_addresses (exporter.yml:5): ":1" is given twice; remove one of the two"#,
            ),
            (
                "web:\n  telemetry_path: metrics\n",
                r#"web.telemetry_path (exporter.yml:5): "metrics" does not begin with a slash; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: /\n",
                r#"web.telemetry_path (exporter.yml:5): "/" is a path of the exporter already; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: /-/ready\n",
                r#"web.telemetry_path (exporter.yml:5): "/-/ready" is a path of the exporter already; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: '/a?b'\n",
                r#"web.telemetry_path (exporter.yml:5): "/a?b" holds a character that a path should not; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  enable_lifecycle: maybe\n",
                r#"web.enable_lifecycle (exporter.yml:5): "maybe" is neither true nor false; write true or false"#,
            ),
            (
                "web:\n  max_requests: 0\n",
                "web.max_requests (exporter.yml:5): 0 is out of bounds; give a whole number from 1 to 1000000",
            ),
            (
                "web:\n  config_file: {a: b}\n",
                "web.config_file (exporter.yml:5): is a mapping; give the path of a file",
            ),
        ],
    );
}

#[test]
fn an_unknown_level_or_format_of_logs_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "log:\n  level: loud\n",
                r#"log.level (exporter.yml:5): "loud" is no level; write error, warn, info, debug or trace"#,
            ),
            ("log:\n  format: text\n", r#"log.format (exporter.yml:5): "text" is no format; write logfmt or json"#),
        ],
    );
}
