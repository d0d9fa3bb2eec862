//! Values that are none: what is refused, and what is said of it.

use super::{GOOD, refused_files};

#[test]
fn numbers_of_the_api_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            ("  page_size: 0\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…\"0\""),
            ("  page_size: 1001\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…\"1001\""),
            ("  page_size: -1\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…\"-1\""),
            ("  page_size: many\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…\"many\""),
            ("  page_size: 1.5\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…\"1.5\""),
            ("  page_size: [1]\n", "api.page_size (exporter.yml:4)…whole number from 1 to 1000…a list"),
            ("  concurrency: 0\n", "api.concurrency (exporter.yml:4)…1 to 1024"),
            ("  concurrency: 1025\n", "api.concurrency (exporter.yml:4)…1 to 1024"),
            (
                "  requests_per_second: -1\n",
                "api.requests_per_second (exporter.yml:4)…0 for no limit, or 0.001 to 1000000",
            ),
            (
                "  requests_per_second: 1e-9\n",
                "api.requests_per_second (exporter.yml:4)…0 for no limit, or 0.001 to 1000000",
            ),
            ("  requests_per_second: .inf\n", "exporter.yml:4: holds a number that is not finite; give a finite one"),
            ("  requests_per_second: fast\n", "api.requests_per_second (exporter.yml:4)…0.001 to 1000000…\"fast\""),
            ("  max_attempts: 0\n", "api.max_attempts (exporter.yml:4)…1 to 10"),
            ("  max_attempts: 11\n", "api.max_attempts (exporter.yml:4)…1 to 10"),
            (
                "  max_response_size: 0\n",
                "api.max_response_size (exporter.yml:4)…at least 1B, such as 512KiB or 16MiB…\"0\"",
            ),
            ("  max_response_size: 16MuB\n", "api.max_response_size (exporter.yml:4)…512KiB or 16MiB…\"16MuB\""),
            (
                "  completion_scale: 0.5\n",
                "api.completion_scale (exporter.yml:4)…means finished, a number of at least 1…\"0.5\"",
            ),
            ("  completion_scale: .nan\n", "exporter.yml:4: holds a number that is not finite; give a finite one"),
            ("  completion_scale: 'inf'\n", "api.completion_scale (exporter.yml:4)…a number of at least 1…\"inf\""),
            ("  completion_scale: all\n", "api.completion_scale (exporter.yml:4)…a number of at least 1…\"all\""),
            ("  allow_http: maybe\n", "api.allow_http (exporter.yml:4)…true or false…\"maybe\""),
            ("  allow_http: 1\n", "api.allow_http (exporter.yml:4)…true or false…\"1\""),
            ("  ca_file: [a]\n", "api.ca_file (exporter.yml:4)…path of a file…a list"),
        ],
    );
}

#[test]
fn durations_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            ("  timeout: 30\n", "api.timeout (exporter.yml:4)…1ms…with its unit, such as 30s, 5m or 1h 30m…\"30\""),
            ("  timeout: 0s\n", "api.timeout (exporter.yml:4)…1ms…with its unit…\"0s\""),
            ("  timeout: soon\n", "api.timeout (exporter.yml:4)…1ms…with its unit…\"soon\""),
            ("  timeout: 30s\n    and more than a duration\n", "api.timeout (exporter.yml:4)…a text of 28 characters"),
            ("  connect_timeout: 0ms\n", "api.connect_timeout (exporter.yml:4)…1ms…\"0ms\""),
            ("  timeout: 200y\n", "api.timeout (exporter.yml:4)…100years…\"200y\""),
            ("  max_retry_after: 25h\n", "api.max_retry_after (exporter.yml:4)…1day…\"25h\""),
            ("poll:\n  interval: 999ms\n", "poll.interval (exporter.yml:5)…1s…with its unit…\"999ms\""),
            ("poll:\n  interval: ''\n", "poll.interval (exporter.yml:5)…1s…with its unit…\"\""),
            (
                "poll:\n  stale_after: 9m\n",
                "poll.stale_after (exporter.yml:5)…9m is less than twice poll.interval, which is 5m (default)…at least 10m",
            ),
            (
                "poll:\n  interval: 2h\n  stale_after: 3h\n",
                "poll.stale_after (exporter.yml:6)…3h is less than twice poll.interval, which is 2h (exporter.yml:5)…at least 4h",
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
                "filter:\n  include: {acme: x}\n",
                "filter.include (exporter.yml:5)…list of globs on owner/repo…a mapping",
            ),
            ("filter:\n  include: ['acme/[']\n", "filter.include (exporter.yml:5)…\"acme/[\"…missing ']'…[\"acme/*\"]"),
            ("filter:\n  exclude: ['{acme']\n", "filter.exclude (exporter.yml:5)…\"{acme\"…missing '}'…[\"acme/*\"]"),
            ("filter:\n  exclude: ['']\n", "filter.exclude (exporter.yml:5)…empty glob…[\"acme/*\"]"),
            ("filter:\n  include: [1]\n", "filter.include (exporter.yml:5)…list of globs…a number…quotes"),
            ("filter:\n  private: perhaps\n", "filter.private (exporter.yml:5)…true or false…\"perhaps\""),
        ],
    );
}

#[test]
fn what_cannot_be_served_is_refused() {
    refused_files(
        GOOD,
        &[
            ("web:\n  listen_addresses: []\n", "web.listen_addresses (exporter.yml:5)…is empty…[\":10018\""),
            ("web:\n  listen_addresses: ''\n", "web.listen_addresses (exporter.yml:5)…is empty…[\":10018\""),
            ("web:\n  listen_addresses: ['10018']\n", "web.listen_addresses (exporter.yml:5)…no port…write \":10018\""),
            (
                "web:\n  listen_addresses: [10018]\n",
                "web.listen_addresses (exporter.yml:5)…host:port in quotes…a number",
            ),
            ("web:\n  listen_addresses: 10018\n", "web.listen_addresses (exporter.yml:5)…host:port in quotes…a number"),
            (
                "web:\n  listen_addresses: ['localhost']\n",
                "web.listen_addresses (exporter.yml:5)…\"localhost\" has no port…host:port",
            ),
            (
                "web:\n  listen_addresses: ['::1:80']\n",
                "web.listen_addresses (exporter.yml:5)…IPv6 address without brackets…\"[::1]:10018\"",
            ),
            ("web:\n  listen_addresses: [':65536']\n", "web.listen_addresses (exporter.yml:5)…\":65536\"…0 to 65535"),
            (
                "web:\n  listen_addresses: ['http://x:1']\n",
                "web.listen_addresses (exporter.yml:5)…\"http://x:1\"…host…host:port",
            ),
            (
                "web:\n  listen_addresses: [':1', ':1']\n",
                "web.listen_addresses (exporter.yml:5)…\":1\" is given twice; remove one",
            ),
            (
                "web:\n  telemetry_path: metrics\n",
                "web.telemetry_path (exporter.yml:5)…\"metrics\"…slash…such as /metrics",
            ),
            ("web:\n  telemetry_path: ''\n", "web.telemetry_path (exporter.yml:5)…slash…such as /metrics"),
            (
                "web:\n  telemetry_path: /\n",
                "web.telemetry_path (exporter.yml:5)…\"/\" is already a path of the exporter",
            ),
            (
                "web:\n  telemetry_path: /-/ready\n",
                "web.telemetry_path (exporter.yml:5)…is already a path of the exporter",
            ),
            (
                "web:\n  telemetry_path: '/a?b'\n",
                "web.telemetry_path (exporter.yml:5)…\"/a?b\"…character…letters, digits and -._~/",
            ),
            ("web:\n  enable_lifecycle: maybe\n", "web.enable_lifecycle (exporter.yml:5)…true or false…\"maybe\""),
            ("web:\n  max_requests: 0\n", "web.max_requests (exporter.yml:5)…1 to 1000000…\"0\""),
            ("web:\n  config_file: {a: b}\n", "web.config_file (exporter.yml:5)…path of a file…a mapping"),
        ],
    );
}

#[test]
fn an_unknown_level_or_format_of_logs_is_refused() {
    refused_files(
        GOOD,
        &[
            ("log:\n  level: loud\n", "log.level (exporter.yml:5)…error, warn, info, debug or trace…\"loud\""),
            ("log:\n  level: 3\n", "log.level (exporter.yml:5)…error, warn, info, debug or trace…a number"),
            ("log:\n  format: text\n", "log.format (exporter.yml:5)…logfmt or json…\"text\""),
        ],
    );
}

/// YAML reads `010` as 10, `1.10` as 1.1 and `no` as false: another text than was written.
#[test]
fn a_bare_number_or_boolean_in_the_place_of_text_is_to_be_quoted() {
    refused_files(
        GOOD,
        &[
            ("state:\n  file: 010\n", "state.file (exporter.yml:5)…path of a file…a number; put text in quotes"),
            ("state:\n  file: 1.10\n", "state.file (exporter.yml:5)…a number; put text in quotes"),
            ("web:\n  config_file: no\n", "web.config_file (exporter.yml:5)…a boolean; put text in quotes"),
            ("web:\n  telemetry_path: 1\n", "web.telemetry_path (exporter.yml:5)…a number; put text in quotes"),
        ],
    );
}
